"""Every cipher of ordinary 802.11 carries pings and a file, and tshark opens what it should.

What tshark decrypts with the passphrase or key is packet for packet what the host's interface saw;
of SBKH, which tshark does not know, nothing may be readable. Open is the control.
"""

import os
import time
from types import SimpleNamespace

from rig import traffic, wifi
from rig.air import TAP, Sniffer
from rig.shell import check, wait_until

AIRS = ("packet",)
SIZE = 300_000


def run(t):
    air = t.network(clients=1)
    client = air.clients[0]
    for node in air.nodes:
        node.make_tap()
    folder = t.path("www")
    os.mkdir(folder)
    digest = traffic.make_file(os.path.join(folder, "file"), SIZE)
    with open(os.path.join(folder, "file"), "rb") as f:
        secret = f.read()[1000:1032]
    traffic.serve(t, air.ap, folder)
    on_air = Sniffer(air, t.path("air.pcap"))
    on_host = Sniffer(SimpleNamespace(sniffer_ns=client, sniffer_if=TAP), t.path("host.pcap"))
    times = {cipher: carry(t, air, client, cipher, digest) for cipher in wifi.ALL}
    captured = wifi.read(on_air.stop())
    host = on_host.stop()
    return ", ".join(judge(t, cipher, during, captured, host, secret)
                     for cipher, during in times.items())


def carry(t, air, client, cipher, digest):
    """Links, pings, fetches and parts; returns when data flowed."""
    start = time.time()
    ap = wifi.daemon(t, air.ap, "ap", cipher).start().ready()
    station = wifi.daemon(t, client, "client", cipher).start().ready().linked()
    wait_until(lambda: len(ap.status()["links"]) == 1, 5, "the access point counts the link")
    for size in (56, 1400):
        got = client.ping(air.ap.ip4, count=5, interval=0.02, size=size)
        check(got == 5, f"{cipher}: {got} of 5 replies of {size} bytes")
    download, target = traffic.fetch(t, client, air.ap, "file", limit=30)
    traffic.fetched(download, target, digest, limit=40)
    for end, name in ((ap, "ap"), (station, "client")):
        status = end.status()
        check(status["protection"]["cipher"] == cipher, f"{cipher}: {name} says {status}")
        broken = cipher in ("open", "wep", "sbkh", "tkip")
        check(status["protection"]["broken"] == broken, f"{cipher} is not marked right")
        check("cipher_refused" not in status["drops"], f"{cipher}: {name} drops {status['drops']}")
    station.process.stop()
    ap.process.stop()
    return start, time.time()


def judge(t, cipher, during, captured, host, secret):
    """Holds what is on the air against what the host saw."""
    mine = [f for f in captured if during[0] <= f.time <= during[1]]
    clear = sum(secret in f.dot11 for f in mine)
    check((clear > 0) == (cipher == "open"), f"{cipher}: the file was seen {clear} times in clear")
    plain = wifi.write_80211(mine, t.path(f"80211-{cipher}.pcap"))
    seen = wifi.packets(host, during=during)
    check(len(seen) > 100, f"{cipher}: the host saw only {len(seen)} packets")
    if cipher != "open":
        check(not wifi.packets(plain), f"packets of {cipher} are readable without a key")
    if cipher == "sbkh":
        return f"{cipher} {len(seen)}"
    opened = wifi.packets(plain, wifi.tshark_key(cipher))
    missing = seen - opened
    # What a host sends while there is no link is on its interface only: the end of the last
    # connection, at most.
    check(len(missing) <= 4, f"{cipher}: tshark does not find {len(missing)} of {len(seen)}: "
                             f"{sorted(missing)[:2]}")
    check(not opened - seen, f"{cipher}: tshark finds {len(opened - seen)} that no host saw")
    return f"{cipher} {len(opened)}"
