"""Over Linux's real 802.11 stack: pings, a 10 MB download, and a carrier that is always the same.

Two pure-monitor interfaces carry the link; a third radio's capture has every frame identical up to
the address, with no sequence number and nothing of the driver's that changes.
"""

import os
import time

from rig import checks, traffic
from rig.air import Sniffer
from rig.capture import frames
from rig.daemon import Network
from rig.shell import check

AIRS = ("hwsim",)
SIZE = 10_000_000


def run(t):
    net = Network(t, clients=1, start=False)
    sniffer = Sniffer(net.air, t.path("air.pcap"))
    net.ap.start().ready(60)
    client = net.clients[0]
    client.start(net.ap.invite()).ready(60).linked(60)
    ap, node = net.air.ap, net.air.clients[0]
    for target in (ap.ip4, ap.ip6):
        got = node.ping(target, count=10)
        check(got >= 9, f"{got} of 10 replies from {target}")
    folder = t.path("www")
    os.mkdir(folder)
    digest = traffic.make_file(os.path.join(folder, "file"), SIZE)
    traffic.serve(t, ap, folder)
    start = time.monotonic()
    traffic.fetched(*traffic.fetch(t, node, ap, "file", limit=240), digest, limit=250)
    took = time.monotonic() - start
    seen = list(frames(sniffer.stop()))
    check(len(seen) > SIZE / 1600, f"the third radio saw only {len(seen)} frames")
    for find in (checks.carrier, checks.stable_bytes, checks.repeated_bodies):
        check(not find(seen), f"{find.__name__}: {find(seen)[:5]}")
    again = checks.repeated_addresses(seen)
    check(len(again) <= 4, f"{len(again)} addresses were seen more than once")
    return f"{SIZE * 8 / took / 1e6:.1f} Mb/s in the emulator, {len(seen)} frames"
