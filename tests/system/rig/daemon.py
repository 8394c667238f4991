"""The program under test: configuration, start, pairing, status."""

import json
import os

from .air import AIR_IF, TAP
from .shell import Failed, check, sh, wait_until

# The unprivileged user whose rights the daemon keeps; Debian always has it.
USER = "nobody"


class Daemon:
    """`slyfi ap` or `slyfi join` on a node, with its configuration and its key store."""

    def __init__(self, test, node, role, options=(), network=None, link=None, air=None, wifi=None):
        self.test = test
        self.node = node
        self.role = role
        self.options = list(options)
        self.config = test.path(f"{node.label}.toml")
        self.store = test.path(f"{node.label}-store")
        self.process = None
        self.starts = 0
        tables = {
            "": {"user": USER},
            "network": {"name": "system test", **(network or {})},
            "air": {"kind": "udp" if test.air == "udp" else "packet", "interface": AIR_IF,
                    **(air or {})},
            "tap": {"name": TAP, "persist": True},
            "link": link or {},
            "wifi": wifi or {},
            "store": {"path": self.store},
        }
        with open(self.config, "w") as f:
            f.write(toml(tables))

    def argv(self, command, *rest):
        return [self.test.binary, command, *rest, "--config", self.config]

    def start(self, *arguments):
        """Starts the daemon; `arguments` go behind the command (the invite of a first join)."""
        self.starts += 1
        log = self.test.path(f"{self.node.label}-{self.starts}.log")
        argv = [*self.argv("ap" if self.role == "ap" else "join", *arguments), *self.options]
        self.process = self.node.spawn(argv, log)
        return self

    def ready(self, seconds=15):
        """Waits until the daemon answers on its control socket."""
        def answers():
            check(self.process.alive, f"slyfi on {self.node.label} ended: {self.last_words()}")
            return self.status() is not None
        wait_until(answers, seconds, f"slyfi on {self.node.label} answers", step=0.1)
        return self

    def linked(self, seconds=20):
        """Waits until a client's link is up and returns how long it took."""
        def is_up():
            check(self.process.alive, f"slyfi on {self.node.label} ended: {self.last_words()}")
            status = self.status()
            return status is not None and status.get("phase") == "linked"
        wait_until(is_up, seconds, f"{self.node.label} is linked (last: {self.status()}, "
                                   f"log: {self.last_words()})", step=0.05)
        return self

    def status(self):
        done = sh(*self.argv("status", "--json"), ok=False, timeout=20)
        if done.returncode != 0:
            return None
        try:
            return json.loads(done.stdout)
        except ValueError as e:
            raise Failed(f"`slyfi status --json` printed no JSON: {done.stdout[:200]!r}") from e

    def invite(self, *options):
        """Makes an invite on an access point and returns its URL."""
        done = sh(*self.argv("pair", "--json", *options), timeout=20)
        return json.loads(done.stdout)["url"]

    def last_words(self):
        return " / ".join(self.process.output().strip().splitlines()[-3:])

    def rights(self):
        """Returns the effective user number and capabilities that the process has now."""
        with open(f"/proc/{self.process.child.pid}/status") as f:
            fields = dict(line.split(":", 1) for line in f if ":" in line)
        return int(fields["Uid"].split()[1]), int(fields["CapEff"].strip(), 16)



def toml(tables):
    """Writes tables of simple values as TOML (strings, numbers, booleans, lists of strings)."""
    lines = []
    for name, table in tables.items():
        if name and table:
            lines.append(f"[{name}]")
        # JSON's forms of these values are TOML's too.
        lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


class Network:
    """An access point and linked clients on an air, every host with its TAP."""

    def __init__(self, test, clients=3, options=None, network=None, link=None, start=True):
        check(os.access(test.binary, os.X_OK), f"{test.binary} is not there; build it first")
        options = options or {}
        self.test = test
        self.air = test.network(clients)
        self.daemons = {}
        for node in self.air.nodes:
            node.make_tap()
            role = "ap" if node is self.air.ap else "client"
            own = options.get(node.label, options.get(role, ()))
            self.daemons[node.label] = Daemon(test, node, role, own, network, link)
        self.ap = self.daemons["ap"]
        self.clients = [self.daemons[n.label] for n in self.air.clients]
        if start:
            self.ap.start().ready()
            for client in self.clients:
                client.start(self.ap.invite()).ready()
            for client in self.clients:
                client.linked()
