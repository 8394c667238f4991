"""The media under test and the nodes on them.

    ns slyfi-N-ap        ns slyfi-N-c1 … c3          ns slyfi-N-air
    [slyfi0 TAP]         [slyfi0 TAP]                 br0 (a hub: it learns nothing)
    [air0]---------------[air0]-----------------------ap, c1 … c3, sniff0 -- sniff1 (the sniffer)

On the guest's air, `air0` is a monitor interface of a simulated 802.11 radio instead, and the
sniffer is one more radio. Nothing is ever made in the host's own namespace.
"""

import os
import re
import time

from . import shell
from .shell import Namespace, check, sh, wait_until

# Room for 1500 bytes of Ethernet payload with radiotap, carrier, SlyFi and UDP/IP around it.
AIR_MTU = 2600
# The most that mac80211 lets a monitor interface have (IEEE80211_MAX_DATA_LEN).
MONITOR_MTU = 2304
TAP = "slyfi0"
AIR_IF = "air0"


class Node:
    """One host: a namespace with an interface on the air and, later, a TAP."""

    def __init__(self, label, number):
        self.label = label
        self.number = number
        self.ns = Namespace(label)
        self.name = self.ns.name
        self.ip4 = f"10.98.0.{number}"
        self.ip6 = f"fd98::{number}"
        self.air_ip = f"10.97.0.{number}"

    def sh(self, *argv, **kw):
        return self.ns.sh(*argv, **kw)

    def spawn(self, argv, log, env=None):
        return self.ns.spawn(argv, log, env=env)

    def make_tap(self, mtu=None):
        """Makes a persistent TAP with this node's addresses, so that a restart keeps them."""
        self.sh("ip", "tuntap", "add", "dev", TAP, "mode", "tap")
        # The hosts' own chatter (MLD, router solicitation) is traffic like any other, but a test
        # that counts frames needs a quiet start.
        self.sh("sysctl", "-qw", f"net.ipv6.conf.{TAP}.accept_ra=0",
                f"net.ipv6.conf.{TAP}.router_solicitations=0",
                f"net.ipv6.conf.{TAP}.accept_dad=0")
        if mtu:
            self.sh("ip", "link", "set", TAP, "mtu", mtu)
        self.sh("ip", "addr", "add", f"{self.ip4}/24", "dev", TAP)
        self.sh("ip", "-6", "addr", "add", f"{self.ip6}/64", "dev", TAP, "nodad")
        self.sh("ip", "link", "set", TAP, "up")

    def ping(self, target, count=3, wait=2, interval=0.2, size=56):
        """Sends `count` echo requests to `target`, an address; returns how many were answered.

        ping(8) waits for the last reply only twice as long as for the slowest before it, whatever
        it is told; so it sends a few more, which do not count.
        """
        more = 3
        done = self.sh("ping", "-n", "-c", count + more, "-i", interval, "-W", wait, "-s", size,
                       target, ok=False, timeout=(count + more) * (interval + wait) + 30)
        answered = {int(n) for n in re.findall(r"bytes from .*icmp_seq=(\d+) ", done.stdout)}
        return len([n for n in answered if n <= count])


class VethAir:
    """An access point, clients and a sniffer on a hub made of veth pairs and a bridge."""

    monitor = False

    def __init__(self, clients=3):
        self.air = Namespace("air")
        self.air.sh("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1",
                    "net.ipv6.conf.default.disable_ipv6=1")
        # Ageing 0 and no learning make the bridge a hub: everybody hears every frame.
        self.air.sh("ip", "link", "add", "br0", "mtu", AIR_MTU, "type", "bridge",
                    "mcast_snooping", 0, "ageing_time", 0, "stp_state", 0)
        self.air.sh("ip", "link", "set", "br0", "up")
        self.air.sh("ip", "link", "add", "sniff0", "mtu", AIR_MTU, "type", "veth",
                    "peer", "name", "sniff1", "mtu", AIR_MTU)
        self.air.sh("ip", "link", "set", "sniff1", "up")
        self._plug("sniff0")
        self.ap = self._node("ap", 1)
        self.clients = [self._node(f"c{n}", n + 1) for n in range(1, clients + 1)]
        self.nodes = [self.ap, *self.clients]
        self.sniffer_ns = self.air
        self.sniffer_if = "sniff1"

    def _plug(self, port):
        self.air.sh("ip", "link", "set", port, "master", "br0", "up")
        self.air.sh("ip", "link", "set", port, "type", "bridge_slave", "learning", "off")

    def _node(self, label, number):
        node = Node(label, number)
        node.sh("sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0")
        node.sh("ip", "link", "add", AIR_IF, "mtu", AIR_MTU, "type", "veth",
                "peer", "name", label, "mtu", AIR_MTU, "netns", self.air.name)
        node.sh("sysctl", "-qw", f"net.ipv6.conf.{AIR_IF}.disable_ipv6=1")
        self._plug(label)
        node.sh("ip", "addr", "add", f"{node.air_ip}/24", "brd", "+", "dev", AIR_IF)
        node.sh("ip", "link", "set", AIR_IF, "up")
        node.sh("ip", "route", "add", "224.0.0.0/4", "dev", AIR_IF)
        return node


class HwsimAir:
    """The same nodes on mac80211_hwsim radios in pure monitor mode; needs the guest's kernel."""

    monitor = True
    FREQUENCY = 2412

    def __init__(self, clients=1):
        radios = clients + 2
        sh("modprobe", "mac80211_hwsim", f"radios={radios}", timeout=120)
        phys = wait_until(self._phys, 30, "no simulated radio appeared")
        check(len(phys) == radios, f"expected {radios} radios, found {phys}")
        self.air = Namespace("air")
        self.ap = self._node(phys[0], "ap", 1)
        self.clients = [self._node(p, f"c{n}", n + 1) for n, p in enumerate(phys[1:-1], start=1)]
        self.nodes = [self.ap, *self.clients]
        self._monitor(phys[-1], self.air, "sniff1")
        self.sniffer_ns = self.air
        self.sniffer_if = "sniff1"

    @staticmethod
    def _phys():
        path = "/sys/class/ieee80211"
        return sorted(os.listdir(path)) if os.path.isdir(path) else []

    def _monitor(self, phy, ns, name):
        for interface in os.listdir(f"/sys/class/ieee80211/{phy}/device/net"):
            sh("iw", "dev", interface, "del")
        sh("iw", "phy", phy, "set", "netns", "name", ns.name)
        ns.sh("iw", "phy", phy, "interface", "add", name, "type", "monitor")
        ns.sh("ip", "link", "set", name, "mtu", MONITOR_MTU, "up")
        ns.sh("iw", "dev", name, "set", "freq", self.FREQUENCY)

    def _node(self, phy, label, number):
        node = Node(label, number)
        self._monitor(phy, node.ns, AIR_IF)
        return node


class Sniffer:
    """A capture of everything on the air, by a node that holds no key."""

    def __init__(self, air, file):
        self.file = file
        self.process = air.sniffer_ns.spawn(
            ["tcpdump", "-i", air.sniffer_if, "-w", file, "-B", 65536, "-s", 0, "-n", "-U",
             "-Z", "root"], file + ".log")
        wait_until(lambda: "listening on" in self.process.output() or not self.process.alive, 20,
                   "tcpdump did not start")
        check(self.process.alive, f"tcpdump ended: {self.process.output().strip()}")

    def stop(self):
        """Ends the capture and returns the file; a capture with losses would prove nothing."""
        # The kernel hands out full blocks at once and others after a second; what it still holds
        # when tcpdump is told to end is lost without being counted.
        time.sleep(1.3)
        self.process.stop()
        said = self.process.output()
        lost = [line for line in said.splitlines() if "dropped by" in line]
        check(lost and all(line.split()[0] == "0" for line in lost),
              f"the sniffer lost frames: {lost or said}")
        return self.file


__all__ = ["AIR_IF", "AIR_MTU", "HwsimAir", "Node", "Sniffer", "TAP", "VethAir", "shell"]
