"""Clients find each other's addresses by ARP and neighbour discovery, answered by the access point.

The question never goes on the air to the others: the access point knows who has which address and
answers by itself, so the capture of the target's interface has no question in it.
"""

import ipaddress

from rig.air import TAP
from rig.capture import others
from rig.daemon import Network
from rig.shell import check, wait_until

AIRS = ("packet", "udp")
ARP, IPV6 = 0x0806, 0x86DD
SOLICITATION, ADVERTISEMENT = 135, 136


def capture(t, node):
    file = t.path(f"tap-{node.label}.pcap")
    process = node.spawn(["tcpdump", "-i", TAP, "-w", file, "-U", "-n", "-s", "0", "-Z", "root",
                          "arp or icmp6"], file + ".log")
    wait_until(lambda: "listening on" in process.output(), 20, "tcpdump on the TAP is up")
    return process, file


def arp(file, operation):
    """Returns (sender, target) addresses of the ARP packets of a capture (RFC 826)."""
    return [(p[14:18], p[24:28]) for _, _, _, kind, p in others(file)
            if kind == ARP and int.from_bytes(p[6:8], "big") == operation]


def discovery(file, message):
    """Returns the targets of the neighbour messages of a capture (RFC 4861 §4.3, §4.4)."""
    return [p[48:64] for _, _, _, kind, p in others(file)
            if kind == IPV6 and p[6] == 58 and p[40] == message]


def packed(address):
    return ipaddress.ip_address(address).packed


def run(t):
    net = Network(t, clients=2)
    asking, asked = net.air.clients
    # Both have to have shown their addresses once, as hosts do when they come up.
    check(asked.ping(net.air.ap.ip4) > 0, "the asked client does not reach the access point")
    check(asked.ping(net.air.ap.ip6) > 0, "the asked client does not reach it over IPv6")
    for node in (asking, asked):
        node.sh("ip", "neigh", "flush", "dev", TAP)
    captures = [capture(t, node) for node in (asking, asked)]
    check(asking.ping(asked.ip4) == 3, "no ping from client to client")
    check(asking.ping(asked.ip6) == 3, "no ping over IPv6 from client to client")
    for process, _ in captures:
        process.stop()
    (_, at_asking), (_, at_asked) = captures
    four = (packed(asking.ip4), packed(asked.ip4))
    check(four in arp(at_asking, 1), "the asking host sent no ARP request")
    check(four[::-1] in arp(at_asking, 2), "no ARP reply came")
    check(four not in arp(at_asked, 1), "the ARP request went to the asked host")
    six = packed(asked.ip6)
    check(six in discovery(at_asking, SOLICITATION), "the asking host sent no solicitation")
    check(six in discovery(at_asking, ADVERTISEMENT), "no neighbour advertisement came")
    multicast_questions = [
        p for _, to, _, kind, p in others(at_asked)
        if kind == IPV6 and p[6] == 58 and p[40] == SOLICITATION and p[48:64] == six and to[0] & 1]
    check(not multicast_questions, "the multicast solicitation went to the asked host")
