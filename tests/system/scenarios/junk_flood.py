"""Random frames at a hundred times the data rate, and the whole capture sent again: nothing happens.

Nothing of it is delivered to any host, every frame is counted under a reason, and the link's own
traffic goes on meanwhile.
"""

import os
import re
import sys

from rig import checks, traffic
from rig.air import Sniffer
from rig.capture import frames
from rig.daemon import Network
from rig.shell import check, wait_until

AIRS = ("packet",)
PINGS, PING_INTERVAL, TIMES = 400, 0.02, 100


def adversary(t, net, *options):
    """Transmits from a port of the hub that belongs to nobody."""
    script = os.path.join(os.path.dirname(checks.__file__), "inject.py")
    return net.air.sniffer_ns.spawn(
        [sys.executable, script, "--interface", net.air.sniffer_if,
         "--capture", t.path("air.pcap"), *options], t.path("inject.log"))


def sent(process):
    status = process.wait(180)
    said = process.output().strip().splitlines()
    check(status == 0, f"the injector ended with {status}: {said[-3:]}")
    return int(re.match(r"(\d+) frames", said[-1]).group(1))


def quiet(net):
    """Waits until no host has been given a packet for two seconds and returns the counts."""
    def counts():
        return [traffic.delivered(n) for n in net.air.nodes]
    last = [counts(), 0]

    def unchanged():
        now = counts()
        last[1] = last[1] + 1 if now == last[0] else 0
        last[0] = now
        return last[1] >= 8
    wait_until(unchanged, 60, "the hosts' own chatter ends", step=0.25)
    return last[0]


def dropped(daemon):
    return sum(daemon.status()["drops"].values())


def run(t):
    net = Network(t, clients=2, start=False)
    sniffer = Sniffer(net.air, t.path("air.pcap"))
    net.ap.start().ready()
    for client in net.clients:
        client.start(net.ap.invite()).ready()
    for client in net.clients:
        client.linked()
    node = net.air.clients[0]
    check(node.ping(net.air.ap.ip4, count=100, interval=0.01) == 100, "pings before the flood")
    captured = len(list(frames(sniffer.stop())))

    # Random addresses, at a hundred times the rate of the pings' frames.
    before = [dropped(d) for d in (net.ap, *net.clients)]
    rate = 2 / PING_INTERVAL * TIMES
    flood = adversary(t, net, "--junk", str(int(PINGS * PING_INTERVAL * rate)), "--rate", str(rate))
    got = node.ping(net.air.ap.ip4, count=PINGS, interval=PING_INTERVAL)
    junk = sent(flood)
    check(got >= PINGS * 99 // 100, f"{got} of {PINGS} pings under the flood")
    quiet(net)
    for daemon, b in zip((net.ap, *net.clients), before, strict=True):
        counted = dropped(daemon) - b
        check(counted >= junk * 95 // 100,
              f"{daemon.node.label} counted {counted} of {junk} junk frames as dropped")

    # Everything that was ever on the air, once more.
    delivered = quiet(net)
    before = [dropped(d) for d in (net.ap, *net.clients)]
    replayed = sent(adversary(t, net))
    check(replayed == captured, f"{replayed} of {captured} captured frames were sent again")
    after = quiet(net)
    check(after == delivered, f"packets were delivered to hosts by a replay: {delivered} → {after}")
    for daemon, b in zip((net.ap, *net.clients), before, strict=True):
        counted = dropped(daemon) - b
        check(counted >= replayed * 95 // 100,
              f"{daemon.node.label} counted {counted} of {replayed} replayed frames as dropped")
    for client in net.clients:
        check(client.status()["phase"] == "linked", "the replay tore a link down")
    check(node.ping(net.air.ap.ip4) == 3, "no ping after the replay")
    return f"{junk} junk and {replayed} replayed frames"
