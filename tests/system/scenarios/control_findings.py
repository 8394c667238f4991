"""Every check of a capture finds what it is there for, and nothing in frames that are as they should be.

The frames are made here: no air is needed, and each fault is in exactly one of them.
"""

import os

from rig import checks, keylog
from rig.capture import Frame
from rig.shell import check

AIRS = ("packet",)
SECRET = bytes(range(32))


def frame(time, address, body=None, head=bytes(checks.CARRIER), radiotap=b"\0\0\x08\0\0\0\0\0"):
    return Frame(time, b"", radiotap, head + address + (body or os.urandom(200)))


def run(t):
    aead = keylog.reference()
    k_addr, _ = aead.shroud_keys(SECRET, 16)
    good = [frame(n / 100, aead.shroud_address(k_addr, n)) for n in range(1, 601)]
    discovery = [frame(0, b"T" * 16), frame(7, b"T" * 16)]
    with open(t.path("keys"), "w") as f:
        f.write(f"SLYFI_SESSION {'00' * 8} 10 {SECRET.hex()} {bytes(32).hex()}\n")

    for find in (checks.carrier, checks.wrapping, checks.stable_bytes, checks.repeated_bodies,
                 checks.repeated_addresses):
        check(not find(good), f"{find.__name__} finds {find(good)} in good frames")
    shroud, tryst = keylog.sort(good + discovery, t.path("keys"))
    check(len(shroud) == len(good) and tryst == discovery, "frames were sorted wrongly")
    check(not keylog.reused(shroud), "a number is called reused that is not")
    check(not keylog.outlived(tryst, 20), "an address is called outlived that is not")

    other = bytes(checks.CARRIER - 1) + b"\1"
    faults = {
        checks.carrier: frame(9, os.urandom(16), head=other),
        checks.wrapping: frame(9, os.urandom(16), radiotap=b"\0\0\x08\0\1\0\0\0"),
        checks.repeated_bodies: frame(9, os.urandom(16), body=good[5].dot11[-200:]),
        checks.repeated_addresses: frame(9, checks.address(good[5])),
    }
    for find, fault in faults.items():
        check(len(find([*good, fault])) == 1, f"{find.__name__} does not find its fault")
    for at in (0, 3, 150):
        leak = [frame(f.time, checks.address(f), os.urandom(at) + b"\7" + os.urandom(199 - at))
                for f in good]
        found = checks.stable_bytes(leak, depth=200)
        check(len(found) == 1, f"a constant byte {at} after the address gives {found}")
    shroud, _ = keylog.sort([*good, frame(9, checks.address(good[5]))], t.path("keys"))
    check(len(keylog.reused(shroud)) == 1, "a number that was sent twice goes unnoticed")
    check(len(keylog.outlived([*discovery, frame(21, b"T" * 16)], 20)) == 1,
          "an address that outlives its interval goes unnoticed")
