"""The rig carries real traffic, and its checks find a link that hides nothing.

A plain forwarder takes the daemon's place. Pings and a download have to work over it, and each
check of the capture has to shout: a check that is content with this link proves nothing elsewhere.
"""

import hashlib
import os
import sys

from rig import checks
from rig.air import AIR_IF, TAP, Sniffer
from rig.capture import frames
from rig.shell import check, wait_until

AIRS = ("packet", "hwsim")
SIZE = 2_000_000


def run(t):
    guest = t.air == "hwsim"
    net = t.network(clients=1 if guest else 3)
    sniffer = Sniffer(net, t.path("air.pcap"))
    forwarder = os.path.join(os.path.dirname(checks.__file__), "clear_link.py")
    for node in net.nodes:
        node.make_tap()
        argv = [sys.executable, forwarder, "--air", AIR_IF, "--tap", TAP,
                "--station", f"0200000000{node.number:02x}"]
        link = node.spawn(argv + (["--monitor"] if guest else []), t.path(f"{node.label}.log"))
        wait_until(lambda link=link: "ready" in link.output(), 20, f"{node.label} did not start")
    for client in net.clients:
        got = client.ping(net.ap.ip4, count=5)
        check(got >= 4, f"{client.label} got {got} of 5 ping replies")
    blob = os.urandom(SIZE)
    with open(t.path("file"), "wb") as f:
        f.write(blob)
    net.ap.spawn([sys.executable, "-m", "http.server", "8080", "--directory", t.folder],
                 t.path("http.log"))
    fetched = t.path("fetched")
    net.clients[0].sh("curl", "-sS", "--retry", "5", "--retry-connrefused", "--max-time", "120",
                      "-o", fetched, f"http://{net.ap.ip4}:8080/file", timeout=130)
    with open(fetched, "rb") as f:
        check(hashlib.sha256(f.read()).digest() == hashlib.sha256(blob).digest(),
              "the file changed on the way")
    seen = list(frames(sniffer.stop()))
    check(len(seen) > 1000, f"the sniffer saw only {len(seen)} frames")
    check(checks.carrier(seen), "two stations' names went unnoticed in the carrier")
    check(checks.stable_bytes(seen), "constant Ethernet addresses went unnoticed past the carrier")
    check(checks.repeated_addresses(seen), "a repeated 16-byte address went unnoticed")
    check(checks.contains(seen, blob[1000:1016]), "the file's bytes went unnoticed in the clear")
