"""A station with another passphrase fails saying so, on both sides, and one with the right one links."""

from rig import wifi
from rig.shell import check, wait_until

AIRS = ("packet",)
NO_LINK = 6


def run(t):
    air = t.network(clients=1)
    client = air.clients[0]
    for node in air.nodes:
        node.make_tap()
    for cipher in ("tkip", "ccmp"):
        ap = wifi.daemon(t, air.ap, "ap", cipher).start().ready()
        wrong = wifi.daemon(t, client, "client", cipher, passphrase="battery staple",
                            options=["--timeout", "6s"])
        done = client.sh(*wrong.argv("join"), *wrong.options, ok=False, timeout=30)
        check(done.returncode == NO_LINK, f"join ended with {done.returncode}: {done.stderr}")
        last = done.stderr.strip().splitlines()[-1]
        check("passphrase" in last, f"join said: {last}")
        counters = ap.status()["protection"]["counters"]
        check(counters["handshakes_wrong_key"] >= 1, f"the access point counts {counters}")
        check("passphrase differs" in ap.process.output(), "the access point's log says nothing")
        right = wifi.daemon(t, client, "client", cipher).start().ready().linked()
        check(client.ping(air.ap.ip4) == 3, f"{cipher}: no ping with the right passphrase")
        right.process.stop()
        wait_until(lambda ap=ap: not ap.status()["links"], 5, "the access point hears the leave")
        ap.process.stop()
