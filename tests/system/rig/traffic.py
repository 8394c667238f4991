"""What hosts do on a link: files over HTTP, datagrams, counters of their interface."""

import hashlib
import os
import sys

from .air import TAP
from .shell import check, wait_until

PORT = 8080


def make_file(path, size):
    """Writes `size` random bytes and returns their SHA-256."""
    digest, left = hashlib.sha256(), size
    with open(path, "wb") as f:
        while left:
            part = os.urandom(min(left, 1 << 20))
            digest.update(part)
            f.write(part)
            left -= len(part)
    return digest.hexdigest()


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def serve(test, node, folder):
    """Serves a folder over HTTP from a node's namespace."""
    server = node.spawn(
        [sys.executable, "-u", "-m", "http.server", PORT, "--bind", node.ip4, "--directory", folder],
        test.path("http.log"))
    wait_until(lambda: "Serving HTTP" in server.output(), 30, "the HTTP server is up")
    return server


def fetch(test, node, server, name, limit):
    """Starts `curl` on a node for a file of a server; returns the process and the file's path."""
    target = test.path(f"fetched-by-{node.label}")
    argv = ["curl", "-sS", "--fail", "--connect-timeout", "20", "--max-time", limit,
            "-o", target, f"http://{server.ip4}:{PORT}/{name}"]
    return node.spawn(argv, test.path(f"curl-{node.label}.log")), target


def fetched(process, target, digest, limit):
    """Waits for a download and checks what came."""
    status = process.wait(limit)
    check(status == 0, f"curl ended with {status}: {process.output().strip()}")
    check(sha256(target) == digest, "the file is another one after the way through the link")


def delivered(node):
    """Returns how many packets the daemon has handed to this host."""
    return int(node.sh("cat", f"/sys/class/net/{TAP}/statistics/rx_packets").stdout)
