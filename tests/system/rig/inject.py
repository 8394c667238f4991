"""The adversary's transmitter: random frames with a valid carrier, or a capture once more."""

import argparse
import os
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True

from rig.capture import frames  # noqa: E402
from rig.checks import ADDRESS, CARRIER  # noqa: E402


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--interface", required=True)
    p.add_argument("--capture", required=True, help="where frames, or the carrier, are taken from")
    p.add_argument("--junk", type=int, metavar="N", help="send N random frames instead of replaying")
    p.add_argument("--rate", type=float, default=0, metavar="PER_SECOND")
    a = p.parse_args()
    air = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    air.bind((a.interface, 0))
    seen = list(frames(a.capture))
    if a.junk:
        head = seen[0].outer + seen[0].radiotap + seen[0].dot11[:CARRIER]
        # As long as real ones, so that nothing but the address tells them apart.
        sizes = [len(f.dot11) - CARRIER - ADDRESS for f in seen]
        out = (head + os.urandom(ADDRESS + sizes[n % len(sizes)]) for n in range(a.junk))
    else:
        out = (f.outer + f.radiotap + f.dot11 for f in seen)
    start, sent = time.monotonic(), 0
    for frame in out:
        while True:
            try:
                air.send(frame)
                break
            except OSError as full:
                if full.errno != 105:  # ENOBUFS
                    raise
                time.sleep(0.001)
        sent += 1
        if a.rate and sent % 32 == 0:
            time.sleep(max(0.0, start + sent / a.rate - time.monotonic()))
    print(f"{sent} frames in {time.monotonic() - start:.3f} s")


if __name__ == "__main__":
    main()
