"""Reading captures as an outsider would: pcap, radiotap, Ethernet and UDP wrappings off."""

import struct

LINKTYPE_ETHERNET = 1
LINKTYPE_RADIOTAP = 127
# IEEE 802, local experimental EtherType 1.
ETHERTYPE_SLYFI = 0x88B5
ETHERTYPE_IPV4 = 0x0800


class Frame:
    """One captured frame: when, the wrapping up to 802.11, and the 802.11 frame without FCS."""

    __slots__ = ("dot11", "outer", "radiotap", "time")

    def __init__(self, time, outer, radiotap, dot11):
        self.time = time
        self.outer = outer
        self.radiotap = radiotap
        self.dot11 = dot11


def records(file):
    """Yields (time, link type, bytes) of a pcap file; a cut last record ends it."""
    with open(file, "rb") as f:
        head = f.read(24)
        if len(head) < 24:
            return
        magic = struct.unpack("<I", head[:4])[0]
        unit = {0xA1B2C3D4: 1e-6, 0xA1B23C4D: 1e-9}[magic]
        link_type = struct.unpack("<I", head[20:24])[0] & 0xFFFF
        while len(header := f.read(16)) == 16:
            seconds, part, length, _ = struct.unpack("<IIII", header)
            data = f.read(length)
            if len(data) < length:
                return
            yield seconds + part * unit, link_type, data


def split_radiotap(data):
    """Returns (radiotap header, 802.11 frame without FCS), or None if it is neither."""
    if len(data) < 8 or data[0] != 0:
        return None
    length, present = struct.unpack_from("<HI", data, 2)
    if not 8 <= length <= len(data):
        return None
    offset, word, more = 8, present, present
    while more & 0x8000_0000:
        more = struct.unpack_from("<I", data, offset)[0]
        offset += 4
    if word & 1:  # TSFT: 8 bytes, 8-aligned
        offset = (offset + 7) & ~7
        offset += 8
    fcs = 4 if word & 2 and data[offset] & 0x10 else 0
    end = len(data) - fcs
    return data[:length], data[length:end]


def frames(file, port=None):
    """Yields every 802.11 frame of a capture: from radiotap, the Ethernet air or the UDP air.

    What is neither (ARP of the UDP air, for one) is left out.
    """
    for time, link_type, data in records(file):
        outer, inner = b"", data
        if link_type == LINKTYPE_ETHERNET:
            kind = int.from_bytes(data[12:14], "big")
            if kind == ETHERTYPE_SLYFI:
                cut = 14
            elif kind == ETHERTYPE_IPV4 and len(data) > 42 and data[23] == 17:
                cut = 14 + (data[14] & 15) * 4 + 8
                if port is not None and port not in struct.unpack_from(">HH", data, cut - 8):
                    continue
            else:
                continue
            outer, inner = data[:cut], data[cut:]
        parts = split_radiotap(inner)
        if parts is not None:
            yield Frame(time, outer, *parts)


def others(file):
    """Yields the Ethernet frames of a capture of a TAP as (time, destination, source, type, rest)."""
    for time, _, data in records(file):
        if len(data) >= 14:
            yield time, data[:6], data[6:12], int.from_bytes(data[12:14], "big"), data[14:]
