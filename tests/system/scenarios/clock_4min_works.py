"""Clocks four minutes apart, in either direction, are no obstacle."""

from rig.daemon import Network
from rig.shell import check

AIRS = ("packet",)


def run(t):
    net = Network(t, clients=2, options={"c1": ["--clock-offset", "240"],
                                         "c2": ["--clock-offset", "-240"]})
    for client in net.air.clients:
        got = client.ping(net.air.ap.ip4)
        check(got == 3, f"{client.label} got {got} of 3 replies")
