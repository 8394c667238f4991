"""Each kind of bad input gets one clear line, an exit code of its own, and loses nothing."""

import os
import pathlib
import shutil

from rig.daemon import USER, Network
from rig.shell import check, sh

AIRS = ("packet",)
# crates/slyfi-link/src/error.rs: exit codes by whose business it is.
USAGE, PRIVILEGES, STORE, INVITE = 2, 3, 4, 5


def refused(done, code, *words):
    """Checks an ended command: its code, one line that has all words, no panic."""
    what = " ".join(done.args[-6:])
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    said = done.stderr.strip()
    check(done.returncode == code, f"`{what}` ended with {done.returncode}, not {code}: {said}")
    check("panicked" not in said, f"`{what}` panicked: {said}")
    check(len(lines) == 1, f"`{what}` said {len(lines)} lines, not one: {said}")
    for word in words:
        check(word.lower() in said.lower(), f"`{what}` did not say {word!r}: {said}")


def files(folder):
    return {p.name: p.read_bytes() for p in pathlib.Path(folder).rglob("*") if p.is_file()}


def run(t):
    net = Network(t, clients=1)
    client, node = net.clients[0], net.air.clients[0]

    # An unknown key in the configuration.
    good = pathlib.Path(client.config).read_text()
    wrong = t.path("wrong.toml")
    pathlib.Path(wrong).write_text(good.replace("[tap]", "[tap]\nnmae = \"x\""))
    join = [t.binary, "join", "--config"]
    refused(node.sh(*join, wrong, ok=False), USAGE, "wrong.toml", "nmae")
    pathlib.Path(wrong).write_text("this is = = no TOML\n")
    refused(node.sh(*join, wrong, ok=False), USAGE, "wrong.toml")
    refused(node.sh(*join, t.path("absent.toml"), ok=False), USAGE, "absent.toml")

    # A wrong invite, a damaged one and a spent one.
    url = net.ap.invite()
    flipped = url[:-1] + ("A" if url[-1] != "A" else "B")
    client.process.stop()
    for bad in ("https://example.org/", flipped, url[:-4]):
        refused(node.sh(*client.argv("join", bad), ok=False, timeout=30), INVITE, "invite")
    brief = net.ap.invite("--valid", "1s")
    sh("sleep", "2.5")
    refused(node.sh(*client.argv("join", brief), ok=False, timeout=60), INVITE, "expired")

    # No rights for the TAP: as an ordinary user, with a store and an interface of one's own.
    mine = t.path("mine.toml")
    private = t.path("private")
    os.mkdir(private)
    shutil.chown(private, USER)
    pathlib.Path(mine).write_text(
        "[air]\nkind = \"udp\"\n[tap]\nname = \"other0\"\n"
        f"[store]\npath = \"{private}/store\"\n")
    done = node.sh("setpriv", "--reuid", USER, "--clear-groups", "--inh-caps=-all", t.binary, "ap",
                   "--config", mine, ok=False, timeout=20)
    refused(done, PRIVILEGES, "TAP")

    # A damaged key store is refused and left as it is; the good one still works after that.
    store = pathlib.Path(client.store)
    backup = t.path("backup")
    shutil.copytree(store, backup, ignore=shutil.ignore_patterns("*.sock"))
    for file in (f for f in store.rglob("*") if f.is_file()):
        data = bytearray(file.read_bytes())
        for at in range(0, len(data), 16):
            data[at] ^= 0x5A
        file.write_bytes(data)
    damaged = files(store)
    refused(node.sh(*client.argv("join"), ok=False, timeout=30), STORE, "store")
    check(files(store) == damaged, "the damaged store was changed")
    for name, data in files(backup).items():
        (store / name).write_bytes(data)
    client.start().ready().linked()
    check(node.ping(net.air.ap.ip4) == 3, "the old pairing does not work any more")
    # The invite that was only looked at is still good.
    client.process.stop()
    client.start(url).ready().linked()
    check(node.ping(net.air.ap.ip4) == 3, "the unspent invite does not work")
