"""An access point that is killed and started again: the download goes on, nothing is used twice."""

from rig.crash import survive

AIRS = ("packet", "udp")


def run(t):
    return survive(t, "ap")
