"""Killing a daemon in the middle of a transfer, and what has to hold afterwards."""

import os
import time

from . import checks, keylog, traffic
from .air import Sniffer
from .capture import frames
from .daemon import Network
from .shell import check, wait_until

SIZE = 100_000_000
INTERVAL = 20


def survive(t, victim, kills=2):
    """Downloads 100 MB while `victim` is killed and started again; then reads the capture."""
    log = t.path("keys")
    net = Network(t, clients=1, options={"ap": ["--key-log", log]},
                  network={"interval": f"{INTERVAL}s"}, start=False)
    sniffer = Sniffer(net.air, t.path("air.pcap"))
    net.ap.start().ready()
    client = net.clients[0]
    client.start(net.ap.invite()).ready().linked()
    folder = t.path("www")
    os.mkdir(folder)
    digest = traffic.make_file(os.path.join(folder, "file"), SIZE)
    traffic.serve(t, net.air.ap, folder)
    download, target = traffic.fetch(t, net.air.clients[0], net.air.ap, "file", limit=280)
    killed = net.daemons[victim]
    for n in range(1, kills + 1):
        goal = SIZE * n // (kills + 2)

        def arrived(goal=goal):
            check(download.alive, f"curl ended before the kill: {download.output().strip()}")
            return os.path.exists(target) and os.path.getsize(target) >= goal
        wait_until(arrived, 120, f"{goal} bytes have arrived", step=0.01)
        killed.process.kill()
        time.sleep(0.5)
        killed.start()
    traffic.fetched(download, target, digest, limit=290)
    check(killed.starts == 1 + kills, "the daemon was not restarted as often as it was killed")
    seen = list(frames(sniffer.stop()))
    shroud, tryst = keylog.sort(seen, log)
    sessions = {stream for stream, _, _ in shroud if stream.startswith("session")}
    check(len(sessions) >= 2 * (1 + kills), f"only {len(sessions)} streams: no new link was made?")
    check(len(shroud) > SIZE / 1600, f"only {len(shroud)} frames belong to a session")
    again = keylog.reused(shroud)
    check(not again, f"{len(again)} numbers were reused, among them: {again[:3]}")
    check(len(tryst) < 200 + len(seen) / 100, f"{len(tryst)} frames belong to no session")
    old = keylog.outlived(tryst, INTERVAL)
    check(not old, f"{old[:3]}")
    for find in (checks.carrier, checks.wrapping, checks.repeated_bodies):
        check(not find(seen), f"{find.__name__}: {find(seen)[:5]}")
    return f"{len(shroud)} frames of {len(sessions)} streams, {len(tryst)} of discovery"
