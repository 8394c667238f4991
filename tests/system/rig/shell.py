"""Commands, namespaces and processes that never outlive the test."""

import atexit
import os
import re
import signal
import subprocess
import sys
import time


class Failed(Exception):
    """A claim of a scenario did not hold; the message says which and what was seen instead."""


class Skipped(Exception):
    """A scenario cannot run here; the message says what is missing."""


def check(condition, claim):
    """Fails the scenario unless `condition` holds."""
    if not condition:
        raise Failed(claim)


def sh(*argv, ns=None, timeout=60, ok=True, stdin=None, env=None):
    """Runs a command to its end and returns it with its output; a failure is an error if `ok`."""
    argv = [str(a) for a in argv]
    if ns is not None:
        argv = ["ip", "netns", "exec", ns, *argv]
    try:
        done = subprocess.run(
            argv, input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True, text=True, timeout=timeout, env=env,
        )
    except subprocess.TimeoutExpired as late:
        raise Failed(f"`{' '.join(argv)}` did not end within {timeout} s") from late
    if ok and done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-800:]
        raise Failed(f"`{' '.join(argv)}` ended with {done.returncode}: {said}")
    return done


def wait_until(condition, seconds, what, step=0.05):
    """Waits until `condition()` is true; fails with `what` after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"not within {seconds} s: {what}")
        time.sleep(step)


class Process:
    """A running program with its output in a file."""

    def __init__(self, argv, log, ns=None, env=None):
        argv = [str(a) for a in argv]
        if ns is not None:
            # `ip netns exec` replaces itself, so the process id is the program's own.
            argv = ["ip", "netns", "exec", ns, *argv]
        self.argv = argv
        self.log = log
        with open(log, "ab") as out:
            self.child = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env=env, start_new_session=True,
            )
        _running.add(self)

    @property
    def alive(self):
        return self.child.poll() is None

    def output(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def kill(self):
        """Ends the program as a power cut would: nothing of its own runs any more."""
        if self.alive:
            self.child.kill()
        self.child.wait(timeout=10)
        _running.discard(self)

    def stop(self, seconds=10):
        """Asks the program to end and returns its exit status."""
        if self.alive:
            self.child.send_signal(signal.SIGTERM)
        try:
            status = self.child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed(f"`{self.argv[-1]}` did not end within {seconds} s of SIGTERM") from None
        _running.discard(self)
        return status

    def wait(self, seconds):
        """Waits for the program to end by itself and returns its exit status."""
        try:
            status = self.child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"`{' '.join(self.argv)}` did not end within {seconds} s") from None
        _running.discard(self)
        return status


class Namespace:
    """A network namespace of this run, removed at its end with everything in it."""

    def __init__(self, label):
        self.label = label
        self.name = f"slyfi-{os.getpid()}-{label}"
        sh("ip", "netns", "add", self.name)
        _namespaces.append(self)
        self.sh("ip", "link", "set", "lo", "up")

    def sh(self, *argv, **kw):
        return sh(*argv, ns=self.name, **kw)

    def spawn(self, argv, log, env=None):
        return Process(argv, log, ns=self.name, env=env)

    def remove(self):
        remove_namespace(self.name)
        if self in _namespaces:
            _namespaces.remove(self)


def remove_namespace(name):
    """Ends every process in a namespace and removes it."""
    for pid in sh("ip", "netns", "pids", name, ok=False).stdout.split():
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            continue
    sh("ip", "netns", "del", name, ok=False)


_running = set()
_namespaces = []


def clean_up():
    """Ends every process and removes every namespace of this run."""
    for process in list(_running):
        process.kill()
    for namespace in list(_namespaces):
        namespace.remove()


def remove_leftovers():
    """Removes namespaces whose run is dead: a killed run cannot clean up after itself."""
    for line in sh("ip", "netns", "list", ok=False).stdout.splitlines():
        name = line.split()[0] if line.split() else ""
        m = re.fullmatch(r"slyfi-(\d+)-\w+", name)
        if m and not os.path.exists(f"/proc/{m.group(1)}"):
            remove_namespace(name)


def _on_signal(number, _frame):
    sys.exit(128 + number)


atexit.register(clean_up)
for _number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(_number, _on_signal)
