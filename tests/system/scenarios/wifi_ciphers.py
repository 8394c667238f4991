"""Every cipher of ordinary 802.11 carries pings and a file, and tshark opens what it should.

What tshark decrypts with the passphrase or key is packet for packet what the host's interface saw;
of SBKH, which tshark does not know, nothing may be readable. Open is the control.
"""

import os
from types import SimpleNamespace

from rig import traffic, wifi
from rig.air import TAP, Sniffer
from rig.shell import check, wait_until

AIRS = ("packet",)
SIZE = 400_000


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
    told = []
    for cipher in wifi.ALL:
        told.append(one(t, air, client, cipher, digest, secret))
    return ", ".join(told)


def one(t, air, client, cipher, digest, secret):
    host = SimpleNamespace(sniffer_ns=client, sniffer_if=TAP)
    sniffer = Sniffer(air, t.path(f"air-{cipher}.pcap"))
    ap = wifi.daemon(t, air.ap, "ap", cipher).start().ready()
    station = wifi.daemon(t, client, "client", cipher).start().ready().linked()
    seen = Sniffer(host, t.path(f"host-{cipher}.pcap"))
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
    on_host = wifi.packets(seen.stop())
    captured = wifi.read(sniffer.stop())
    station.process.stop()
    ap.process.stop()
    clear = sum(secret in f.dot11 for f in captured)
    check((clear > 0) == (cipher == "open"), f"{cipher}: the file was seen {clear} times in clear")
    plain = wifi.write_80211(captured, t.path(f"80211-{cipher}.pcap"))
    if cipher == "sbkh":
        check(not wifi.packets(plain), "packets of sbkh are readable without a key")
        return f"{cipher} {len(on_host)}"
    if cipher != "open":
        check(not wifi.packets(plain), f"packets of {cipher} are readable without a key")
    opened = wifi.packets(plain, wifi.tshark_key(cipher))
    check(len(on_host) > 100, f"{cipher}: the host saw only {len(on_host)} packets")
    missing, strange = on_host - opened, opened - on_host
    check(not missing, f"{cipher}: tshark does not find {len(missing)} of {len(on_host)}: "
                       f"{sorted(missing)[:2]}")
    # What was on its way when the host's capture began or ended is on the air only.
    check(len(strange) <= 20, f"{cipher}: tshark finds {len(strange)} that no host saw")
    return f"{cipher} {len(opened)}"
