"""QEMU machines for the image without an operating system and its twin on Linux."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

# What the image's exit(v) makes of QEMU's exit status, 2·v + 1 (src/bin/image/exit.rs).
DONE, FAILED, PANICKED, EXCEPTION = 33, 35, 37, 39

# The twin's guest and the image get the same machine.
MACHINE = ["-machine", "q35", "-m", "256M", "-nodefaults", "-no-reboot", "-display", "none"]
DEBUG_EXIT = ["-device", "isa-debug-exit,iobase=0xf4,iosize=4"]
# One instruction is one nanosecond of the guest's clocks. Idle guests wait as long as they say: a
# peer outside has to have its time.
ICOUNT = ["-icount", "shift=0,sleep=on"]


class Failed(Exception):
    """A check that did not hold, for people."""


def check(holds, why):
    if not holds:
        raise Failed(why)


class Machine:
    """One running QEMU whose first serial port is read line by line."""

    def __init__(self, argv, log):
        self.log = pathlib.Path(log)
        self.lines = []
        self._came = threading.Condition()
        self._out = open(self.log, "wb")
        self.process = subprocess.Popen(
            [str(a) for a in argv], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for raw in self.process.stdout:
            self._out.write(raw)
            self._out.flush()
            with self._came:
                self.lines.append(raw.decode(errors="replace").strip())
                self._came.notify_all()
        with self._came:
            self._came.notify_all()

    def wait_line(self, pattern, seconds, after=0):
        """Returns the first line from number `after` on that matches, or fails with the end of the log."""
        wanted = re.compile(pattern)
        end = time.monotonic() + seconds
        at = after
        with self._came:
            while True:
                while at < len(self.lines):
                    if wanted.search(self.lines[at]):
                        return self.lines[at]
                    at += 1
                left = end - time.monotonic()
                if left <= 0 or (self.process.poll() is not None and not self._reader.is_alive()):
                    break
                self._came.wait(min(left, 0.5))
        raise Failed(f"no line like `{pattern}`; the last ones: {self.lines[-6:]}")

    def wait_exit(self, seconds):
        """Returns QEMU's exit status, or the image's last word if QEMU crashed after it."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            raise Failed(f"no end within {seconds} s; the last lines: {self.lines[-6:]}") from None
        self._reader.join(10)
        said = re.fullmatch(r"exit (\d+)", self.lines[-1]) if self.lines else None
        return int(said[1]) if status < 0 and said else status

    def objects(self):
        """Returns the lines that are JSON objects."""
        return [json.loads(line) for line in self.lines if line.startswith("{")]

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._reader.join(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self._out.close()


class Bench:
    """Where the programs are, and a folder for sockets and logs that goes when all is well."""

    def __init__(self, image, twin, cache, program=None, keep=None):
        self.image = pathlib.Path(image)
        self.twin = pathlib.Path(twin)
        self.cache = pathlib.Path(cache)
        self.program = program
        self.keep = keep
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="slyfi-bare-"))
        self._number = 0

    def path(self, name):
        self._number += 1
        return self.folder / f"{self._number:03d}-{name}"

    def close(self, failed):
        if failed and self.keep:
            shutil.rmtree(self.keep, ignore_errors=True)
            shutil.copytree(self.folder, self.keep, ignore=lambda d, names: [
                n for n in names if pathlib.Path(d, n).is_socket()])
        shutil.rmtree(self.folder, ignore_errors=True)

    def bare(self, words, net=(), cpu="max", extra=(), icount=False, boot=None, prefix=()):
        """Boots the image with these words on its command line."""
        boot = boot or ["-kernel", self.image, "-append", " ".join(words)]
        argv = [*prefix, "qemu-system-x86_64", *MACHINE, *DEBUG_EXIT, "-cpu", cpu,
                "-serial", "stdio", *boot, *net, *extra]
        return Machine([*argv, *(ICOUNT if icount else [])], self.path("bare.log"))


def card(netdev, mac, dump=None):
    """A virtio card on `netdev`, with a capture of what passes it if `dump` names a file."""
    argv = ["-netdev", f"{netdev},id=n0",
            "-device", f"virtio-net-pci,netdev=n0,mac={mac}"]
    if dump:
        argv += ["-object", f"filter-dump,id=d0,netdev=n0,file={dump},maxlen=128"]
    return argv


def listen(path):
    """The end of a wire between two machines that is there first; it loses nothing."""
    return f"stream,server=on,addr.type=unix,addr.path={path}"


def connect(path):
    return f"stream,server=off,addr.type=unix,addr.path={path}"


def random_device():
    return ["-object", "rng-random,filename=/dev/urandom,id=r0",
            "-device", "virtio-rng-pci,rng=r0"]
