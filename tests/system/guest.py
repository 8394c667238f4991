#!/usr/bin/env python3
"""Runs the guest's system tests: QEMU, Debian's kernel and simulated 802.11 radios.

The host has no 802.11 stack, so a Debian kernel boots under QEMU's emulator (no KVM needed) with
this machine's files as its root, and `run.py --where guest` runs in it. Nothing is installed:
the kernel is unpacked into the cache folder.

    python3 tests/system/guest.py [--bin target/release/slyfi] [--shell] [SCENARIO ...]
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VIRTME = "virtme-ng==1.42"
# What the guest and virtme's initramfs load; the rest of the kernel's 400 MB stays packed.
PARTS = ("drivers/virtio", "drivers/block/virtio_blk.ko", "drivers/char/virtio_console.ko",
         "drivers/net/tun.ko", "drivers/net/veth.ko", "drivers/net/virtio_net.ko",
         "drivers/net/net_failover.ko", "drivers/net/wireless/mac80211_hwsim.ko", "fs/9p",
         "fs/fscache", "fs/fuse", "fs/netfs", "fs/overlayfs", "lib/crypto", "net/9p",
         "net/core", "net/mac80211", "net/packet", "net/rfkill", "net/wireless", "crypto", "net/ipv6",
         "arch/x86/crypto")


def say(line):
    print(f"guest: {line}", flush=True)


def run(*argv, **kw):
    return subprocess.run([str(a) for a in argv], check=True, stdin=subprocess.DEVNULL, **kw)


def prepare_kernel(cache):
    """Fetches and unpacks Debian's kernel once; returns the image."""
    done = sorted(cache.glob("kernel/boot/vmlinuz-*"))
    if done and (cache / "kernel/complete").exists():
        return done[-1]
    meta = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], check=True,
                          capture_output=True, text=True).stdout
    package = re.search(r"Depends: (linux-image-\S+)", meta)
    if package is None:
        sys.exit("guest: apt knows no linux-image-amd64; run `apt-get update` on a Debian machine")
    say(f"fetching {package.group(1)} (about 70 MB)")
    shutil.rmtree(cache / "kernel", ignore_errors=True)
    kernel = cache / "kernel"
    kernel.mkdir(parents=True)
    run("apt-get", "download", "-q", package.group(1), cwd=cache, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    deb = max(cache.glob("linux-image-*.deb"), key=lambda f: f.stat().st_mtime)
    unpack = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE)
    run_tar = ["tar", "-x", "-C", str(kernel), "--wildcards", "./boot/vmlinuz-*",
               "./lib/modules/*/modules.*"]
    run_tar += [f"./lib/modules/*/kernel/{part}" for part in PARTS]
    # Parts that are built in are not there as files; tar says so and unpacks the rest.
    subprocess.run(run_tar, stdin=unpack.stdout, stderr=subprocess.DEVNULL, check=False)
    unpack.wait()
    deb.unlink()
    image = next(kernel.glob("boot/vmlinuz-*"))
    version = image.name.removeprefix("vmlinuz-")
    run("depmod", "-b", kernel, version)
    (kernel / "complete").touch()
    return image


def prepare_virtme(cache):
    """Installs virtme-ng into the cache once; returns the environment to run it in."""
    target = cache / "virtme"
    if not (target / "bin/vng").exists():
        say(f"installing {VIRTME}")
        run(sys.executable, "-m", "pip", "install", "-q", "--target", target, VIRTME)
    env = dict(os.environ)
    env["PYTHONPATH"] = str(target)
    env["PATH"] = f"{target / 'bin'}:{env['PATH']}"
    return env


def boot(image, env, command, shared, seconds):
    """Boots the guest, runs `command` in it and returns what its console said."""
    argv = ["vng", "--force-9p", "--disable-kvm", "--run", str(image), "--memory", "2G",
            "--cpus", "2", "--verbose", f"--rwdir={shared}", "--", command]
    child = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace",
                             start_new_session=True)
    try:
        return child.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return child.communicate()[0] + f"\nguest: no end within {seconds} s\n"
    except BaseException:
        os.killpg(child.pid, signal.SIGKILL)
        raise


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("names", nargs="*", metavar="SCENARIO")
    p.add_argument("--bin", default=str(ROOT / "target/release/slyfi"))
    p.add_argument("--cache", default=str(ROOT / "target/guest"), type=pathlib.Path)
    p.add_argument("--shell", action="store_true", help="a prompt instead of the tests")
    p.add_argument("--keep", metavar="DIR", help="keep logs and captures of failed scenarios there")
    p.add_argument("--prepare", action="store_true", help="only fetch what is needed")
    p.add_argument("--timeout", type=int, default=600, metavar="SECONDS")
    a = p.parse_args()
    a.cache.mkdir(parents=True, exist_ok=True)
    image = prepare_kernel(a.cache)
    env = prepare_virtme(a.cache)
    if a.prepare:
        return 0
    if a.shell:
        say("modprobe mac80211_hwsim radios=3 makes the radios; leave with ctrl-d")
        return subprocess.run(["vng", "--force-9p", "--disable-kvm", "--run", image, "--memory",
                               "2G", "--cpus", "2"], env=env, check=False).returncode
    shared = tempfile.mkdtemp(prefix="slyfi-guest-")
    start = time.monotonic()
    tests = [sys.executable, HERE / "run.py", "--where", "guest", "--bin",
             os.path.abspath(a.bin), "--json", f"{shared}/outcome.json", *a.names]
    if a.keep:
        tests[-len(a.names) or len(tests):0] = ["--keep", f"{shared}/keep"]
    command = "modprobe tun; " + " ".join(shlex.quote(str(t)) for t in tests)
    console = boot(image, env, f"{command} >{shared}/output 2>&1", shared, a.timeout)
    outcome, output = pathlib.Path(shared, "outcome.json"), pathlib.Path(shared, "output")
    if output.exists():
        print(output.read_text(errors="replace").rsplit("\n", 2)[0])
    # The outcome is what the guest wrote when it was through: silence is failure.
    if not outcome.exists():
        print("\n".join(console.splitlines()[-40:]))
        total = "0 passed, 1 failed, 0 skipped"
    else:
        total = json.loads(outcome.read_text())["total"]
    if a.keep and os.path.isdir(f"{shared}/keep"):
        shutil.copytree(f"{shared}/keep", a.keep, dirs_exist_ok=True)
    shutil.rmtree(shared, ignore_errors=True)
    say(f"booted, ran and halted in {time.monotonic() - start:.0f} s")
    print(total, flush=True)
    return 0 if re.fullmatch(r"[1-9]\d* passed, 0 failed, \d+ skipped", total) else 1


if __name__ == "__main__":
    sys.exit(main())
