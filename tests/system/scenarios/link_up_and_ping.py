"""Three clients link to an access point; everybody reaches everybody; nobody can tell who is who.

The daemons run without rights by then, and the sniffer's capture has no byte that differs before
the address, none that stays the same after it, and no address twice but those of discovery.
"""

from rig import checks
from rig.air import Sniffer
from rig.capture import frames
from rig.daemon import Network
from rig.shell import check

AIRS = ("packet", "udp")


def run(t):
    net = Network(t, clients=3, start=False)
    sniffer = Sniffer(net.air, t.path("air.pcap"))
    net.ap.start().ready()
    for client in net.clients:
        client.start(net.ap.invite()).ready()
    for client in net.clients:
        client.linked()
    for daemon in (net.ap, *net.clients):
        user, capabilities = daemon.rights()
        check(user != 0 and capabilities == 0,
              f"{daemon.node.label} still has user {user} and capabilities {capabilities:x}")
    links = net.ap.status()["links"]
    check(len(links) == 3, f"the access point counts {len(links)} links")
    nodes = net.air.nodes
    for a in nodes:
        for b in nodes:
            if a is not b:
                for target in (b.ip4, b.ip6):
                    got = a.ping(target, count=10, interval=0.02)
                    check(got >= 10, f"{a.label} got {got} of 10 replies from {b.label} ({target})")
    got = nodes[1].ping(nodes[2].ip4, count=5, size=1472)
    check(got == 5, f"{got} of 5 full-sized packets came back")
    seen = list(frames(sniffer.stop()))
    check(len(seen) > 500, f"the sniffer saw only {len(seen)} frames")
    for find in (checks.carrier, checks.wrapping, checks.stable_bytes, checks.repeated_bodies):
        check(not find(seen), f"{find.__name__}: {find(seen)[:5]}")
    again = checks.repeated_addresses(seen)
    # One interval, three pairings: what may come again is each one's probe and authentication
    # address, and those of the invites.
    check(len(again) <= 3 * 2 * 2, f"{len(again)} addresses were seen more than once")
