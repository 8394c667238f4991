"""A multicast datagram of one client, as mDNS sends them, is seen by all others and not by itself."""

import sys

from rig.air import TAP
from rig.daemon import Network
from rig.shell import check, sh, wait_until

AIRS = ("packet", "udp")
GROUP, PORT = "224.0.0.251", 5353

LISTEN = """
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", int(sys.argv[2])))
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
             struct.pack("4s4s", socket.inet_aton(sys.argv[1]), socket.inet_aton(sys.argv[3])))
print("listening", flush=True)
while True:
    data, sender = s.recvfrom(2048)
    print("heard", data.decode(), "from", sender[0], flush=True)
"""
SAY = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(sys.argv[3]))
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
s.sendto(sys.argv[4].encode(), (sys.argv[1], int(sys.argv[2])))
"""


def run(t):
    net = Network(t, clients=3)
    nodes = net.air.nodes
    ears = {}
    for node in nodes:
        node.sh("ip", "route", "add", f"{GROUP}/32", "dev", TAP)
        ears[node.label] = node.spawn(
            [sys.executable, "-c", LISTEN, GROUP, PORT, node.ip4], t.path(f"ear-{node.label}.log"))
    for label, ear in ears.items():
        wait_until(lambda ear=ear: "listening" in ear.output(), 20, f"{label} listens")
    for speaker in (nodes[1], nodes[0]):
        words = f"question-of-{speaker.label}"
        sh(sys.executable, "-c", SAY, GROUP, PORT, speaker.ip4, words, ns=speaker.name)
        line = f"heard {words} from {speaker.ip4}"
        for node in nodes:
            if node is not speaker:
                wait_until(lambda node=node, line=line: line in ears[node.label].output(), 5,
                           f"{node.label} hears the multicast of {speaker.label}")
        for node in nodes:
            times = ears[node.label].output().count(line)
            expected = 0 if node is speaker else 1
            check(times == expected, f"{node.label} heard it {times} times, expected {expected}")
