"""A 100 MB download through the link arrives unchanged."""

import os
import time

from rig import traffic
from rig.daemon import Network
from rig.shell import check

AIRS = ("packet", "udp")
SIZE = 100_000_000


def run(t):
    net = Network(t, clients=1)
    folder = t.path("www")
    os.mkdir(folder)
    digest = traffic.make_file(os.path.join(folder, "file"), SIZE)
    ap, client = net.air.ap, net.air.clients[0]
    traffic.serve(t, ap, folder)
    start = time.monotonic()
    traffic.fetched(*traffic.fetch(t, client, ap, "file", limit=240), digest, limit=250)
    took = time.monotonic() - start
    check(net.clients[0].status()["phase"] == "linked", "the link did not live through it")
    return f"{SIZE * 8 / took / 1e6:.0f} Mb/s"
