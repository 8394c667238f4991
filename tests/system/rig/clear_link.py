"""The control: a link that hides nothing, over the same airs.

It carries Ethernet frames between a TAP and the air as ordinary broadcast 802.11 frames in the
clear. The rig is proven with it, and every check of a capture has to find its identifiers.
"""

import argparse
import fcntl
import os
import select
import socket
import struct

TUNSETIFF = 0x400454CA
IFF_TAP_NO_PI = 0x0002 | 0x1000
ETH_P_ALL = 0x0003
PACKET_OUTGOING = 4
# Radiotap with the TX flags field only. No acknowledgement (8) is always asked for; "keep my
# sequence number" (0x10) and "keep my order" (0x20) only where the radio is told to be discreet.
NO_ACK = 0x0008
DISCREET = 0x0038
ETHERNET = b"\xff" * 6 + b"\x02\x00\x00\x00\x00\x00" + b"\x88\xb5"


def radiotap(flags):
    return struct.pack("<BBHIH", 0, 0, 10, 1 << 15, flags)


def dot11_header(station):
    """A data frame to everybody that names its sender, as open Wi-Fi does."""
    return struct.pack("<HH6s6s6sH", 0x0008, 0, b"\xff" * 6, station, station, 0)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--air", required=True)
    p.add_argument("--tap", required=True)
    p.add_argument("--station", required=True, help="this station's address, 12 hex digits")
    p.add_argument("--monitor", action="store_true", help="the air is a monitor interface")
    p.add_argument("--keep-sequence", action="store_true")
    a = p.parse_args()
    station = bytes.fromhex(a.station)
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH", a.tap.encode(), IFF_TAP_NO_PI))
    air = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    air.bind((a.air, 0))
    outer = b"" if a.monitor else ETHERNET
    head = outer + radiotap(DISCREET if a.keep_sequence else NO_ACK) + dot11_header(station)
    print("ready", flush=True)
    while True:
        for fd in select.select([tap, air], [], [])[0]:
            if fd == tap:
                air.send(head + os.read(tap, 4096))
                continue
            data, (_, _, kind, _, _) = air.recvfrom(4096)
            data = data[len(outer):]
            if kind == PACKET_OUTGOING or len(data) < 10:
                continue
            length = struct.unpack_from("<H", data, 2)[0]
            frame = data[length:]
            # A sender's own frame comes back on some radios; other stations' count.
            if len(frame) > 38 and frame[10:16] != station and frame[0] == 0x08:
                os.write(tap, frame[24:])


if __name__ == "__main__":
    main()
