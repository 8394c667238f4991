"""Ends of ordinary 802.11 that are killed and started again link anew and use no IV or PN twice.

Of WEP and SBKH, whose keys outlive the process, no counter comes twice; of CCMP each handshake has a
key of its own, and tshark, which follows the handshakes, opens everything.
"""

from types import SimpleNamespace

from rig import wifi
from rig.air import TAP, Sniffer
from rig.shell import check, wait_until

AIRS = ("packet",)


def run(t):
    air = t.network(clients=1)
    client = air.clients[0]
    for node in air.nodes:
        node.make_tap()
    for cipher in ("wep", "sbkh", "ccmp"):
        one(t, air, client, cipher)


def one(t, air, client, cipher):
    sniffer = Sniffer(air, t.path(f"air-{cipher}.pcap"))
    ap = wifi.daemon(t, air.ap, "ap", cipher).start().ready()
    station = wifi.daemon(t, client, "client", cipher).start().ready().linked()
    host = SimpleNamespace(sniffer_ns=client, sniffer_if=TAP)
    seen = Sniffer(host, t.path(f"host-{cipher}.pcap"))

    def works():
        # The first packet tells an end that was left alone that the other has started anew.
        return client.ping(air.ap.ip4, count=3, interval=0.05, wait=1) == 3
    wait_until(works, 10, f"{cipher}: pings pass")
    for victim in (station, ap, station):
        victim.process.kill()
        victim.start().ready()
        wait_until(works, 20, f"{cipher}: pings pass after {victim.node.label} was killed")
    on_host = wifi.packets(seen.stop())
    captured = wifi.read(sniffer.stop())
    station.process.stop()
    ap.process.stop()
    sent = len(list(wifi.data_frames(captured)))
    check(sent > 40, f"{cipher}: only {sent} frames with data")
    if cipher == "ccmp":
        plain = wifi.write_80211(captured, t.path("80211.pcap"))
        opened = wifi.packets(plain, wifi.tshark_key(cipher))
        replies = {p for p in on_host if p.split("\t")[3] == "0"}
        check(replies and replies <= opened, f"tshark misses {len(replies - opened)} replies")
    else:
        again = wifi.reused(captured, cipher)
        check(not again, f"{cipher}: {len(again)} counters were used twice: {again[:3]}")
