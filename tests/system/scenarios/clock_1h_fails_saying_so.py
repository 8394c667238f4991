"""A clock that is an hour off: no link, and both sides say why."""

import time

from rig.daemon import Network
from rig.shell import check, wait_until

AIRS = ("packet",)
# crates/slyfi-link/src/error.rs
NO_LINK = 6


def run(t):
    net = Network(t, clients=1, start=False)
    net.ap.start().ready()
    client = net.clients[0]
    # Paired with a good clock, which then goes wrong.
    client.start(net.ap.invite()).ready().linked()
    client.process.stop()
    client.options = ["--clock-offset", "3600"]
    client.start()

    def client_says():
        return "clock" in client.process.output().lower()
    wait_until(client_says, 30, "the client's log speaks of its clock")

    def ap_says():
        off = net.ap.status()["clock"]["clients_off"]
        return [seconds for seconds in off.values() if 3000 <= seconds <= 4200]
    wait_until(ap_says, 30, "the access point's status names the client's clock")
    time.sleep(1)
    check(net.air.clients[0].ping(net.air.ap.ip4, count=2) == 0, "a link came up all the same")
    status = client.status()
    check(status["phase"] != "linked" and status["trouble"], f"the status says: {status}")
    client.process.stop()

    # In a script: one try, one message, the exit code for "no link".
    once = net.air.clients[0].sh(*client.argv("join", "--once"), *client.options, ok=False)
    check(once.returncode == NO_LINK, f"join --once ended with {once.returncode}")
    check("clock" in once.stderr.splitlines()[-1].lower(), f"join --once said: {once.stderr}")

    # And with the clock put right, all is well: nothing was lost.
    client.options = []
    client.start().ready().linked()
    check(net.air.clients[0].ping(net.air.ap.ip4) == 3, "no link with the clock put right")
