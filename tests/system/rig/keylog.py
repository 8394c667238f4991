"""Who sent what, for the tests alone: the addresses that the key log's secrets lead to.

The derivation is the independent reference's (vectors/slyfi_aead_reference.py), not the program's.
"""

import importlib.util
import pathlib

from .checks import address
from .shell import check

REFERENCE = pathlib.Path(__file__).resolve().parents[3] / "vectors/slyfi_aead_reference.py"
CHUNK = 4096


def reference():
    spec = importlib.util.spec_from_file_location("slyfi_aead_reference", REFERENCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def secrets(file):
    """Yields (name, secret) of every stream of transmission numbers in a key log."""
    with open(file) as f:
        for number, line in enumerate(f):
            kind, *rest = line.split()
            if kind == "SLYFI_SESSION":
                yield f"session {number} up", bytes.fromhex(rest[2])
                yield f"session {number} down", bytes.fromhex(rest[3])
            elif kind == "SLYFI_GROUP":
                yield f"group {rest[0]} of line {number}", bytes.fromhex(rest[2])


def sort(frames, file):
    """Splits frames into Shroud (stream, number, frame) and the rest, which must be Tryst."""
    on_air = {}
    for f in frames:
        on_air.setdefault(address(f), []).append(f)
    aead = reference()
    shroud = []
    for name, secret in dict((s, (n, s)) for n, s in secrets(file)).values():
        k_addr, _ = aead.shroud_keys(secret, 16)
        start, empty = 1, 0
        # A link may lose a whole window of frames to a sniffer too; two empty chunks are the end.
        while empty < 2:
            blocks = b"".join(i.to_bytes(16, "big") for i in range(start, start + CHUNK))
            addresses = aead.aes(k_addr, blocks)
            hits = 0
            for n in range(CHUNK):
                for f in on_air.pop(addresses[16 * n:16 * n + 16], ()):
                    shroud.append((name, start + n, f))
                    hits += 1
            start, empty = start + CHUNK, 0 if hits else empty + 1
    check(shroud, "no frame belongs to a session of the key log")
    return shroud, [f for fs in on_air.values() for f in fs]


def reused(shroud):
    """Finds transmission numbers, and so addresses and nonces, that went on the air twice."""
    seen, found = set(), []
    for stream, number, _ in shroud:
        if (stream, number) in seen:
            found.append(f"number {number} of {stream} was sent twice")
        seen.add((stream, number))
    return found


def outlived(tryst, interval):
    """Finds Tryst addresses that were sent for longer than their interval, in seconds."""
    first, found = {}, []
    for f in sorted(tryst, key=lambda f: f.time):
        begin = first.setdefault(address(f), f.time)
        if f.time - begin > interval:
            found.append(f"a Tryst address was still sent {f.time - begin:.1f} s after its first use")
    return found
