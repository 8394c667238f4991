"""What the image claims, each as a function that raises when it does not hold."""

import copy
import json
import os
import struct

import counts
import grub
import linux_guest
import peer
from counts import KEY
from machine import DONE, EXCEPTION, FAILED, PANICKED, card, check, connect, listen, random_device
from rig import shell

SERVER = ["role=server", f"key={KEY}", "address=10.9.0.1/24"]
CLIENT = ["role=client", f"key={KEY}", "address=10.9.0.2/24", "peer=10.9.0.1"]
RAW = bytes.fromhex(KEY)


def wire_for(bench, own, other):
    """A wire whose other end is this program; returns it and the card's arguments."""
    path = bench.path("wire")
    return peer.Wire(path, own, other), card(connect(path), "02:00:00:00:00:01")


def no_allocations(machine):
    said = [line for line in machine.lines if line.startswith("allocator calls")]
    check(said, "the image does not say how often it allocated")
    check(all(line.endswith(": 0") for line in said), f"the data path allocates: {said}")


def an_independent_client_reads_every_byte_of_both_bursts(bench):
    wire, net = wire_for(bench, "10.9.0.2", "10.9.0.1")
    with bench.bare([*SERVER, "n=8,50,1000,1451", "m=200"], net) as machine:
        wire.accept()
        for run, n in enumerate((8, 50, 1000, 1451)):
            peer.run_client(wire, RAW, run, 200, n)
        check(machine.wait_exit(20) == DONE, f"the server ended badly: {machine.lines[-3:]}")
        check("AES AES-NI" in machine.lines[1], f"not the processor's AES: {machine.lines[1]}")
        no_allocations(machine)
    wire.close()


def an_independent_server_is_read_by_the_images_client(bench):
    wire, net = wire_for(bench, "10.9.0.1", "10.9.0.2")
    with bench.bare([*CLIENT, "n=50,1000", "m=200"], net) as machine:
        wire.accept()
        for run, n in enumerate((50, 1000)):
            check(peer.run_server(wire, RAW, run, 200, n), "the client's request does not verify")
        check(machine.wait_exit(20) == DONE, f"the client ended badly: {machine.lines[-3:]}")
        no_allocations(machine)
    wire.close()


def nonces_differ_from_boot_to_boot(bench):
    seen = set()
    for _ in range(2):
        wire, net = wire_for(bench, "10.9.0.2", "10.9.0.1")
        with bench.bare([*SERVER, "n=50", "m=20"], net) as machine:
            wire.accept()
            nonces = peer.run_client(wire, RAW, 0, 20, 50)
            check(not seen & nonces, "a nonce of the boot before came again")
            seen |= nonces
            check(machine.wait_exit(20) == DONE, "the server ended badly")
        wire.close()


def a_client_with_the_wrong_key_gets_nothing_and_the_server_says_why(bench):
    wire, net = wire_for(bench, "10.9.0.2", "10.9.0.1")
    with bench.bare([*SERVER, "n=50", "m=20", "patience=2"], net) as machine:
        wire.accept()
        try:
            peer.run_client(wire, bytes(16), 0, 20, 50)
            raise AssertionError("a client without the key was served")
        except AssertionError as e:
            check("sealed 0: None" in str(e), f"it failed otherwise: {e}")
        check(machine.wait_exit(20) == FAILED, f"a run without a result: {machine.lines[-3:]}")
        failure = machine.objects()[-1]
        check(failure.get("failure") == "not verified", f"it says {failure}")
    wire.close()


def a_server_with_the_wrong_key_is_not_believed(bench):
    wire, net = wire_for(bench, "10.9.0.1", "10.9.0.2")
    with bench.bare([*CLIENT, "n=50", "m=20", "patience=2"], net) as machine:
        wire.accept()
        check(not peer.run_server(wire, bytes(16), 0, 20, 50), "a request verified under a wrong key")
        seal = peer.Sealing(bytes(16), 0, 20, 50)
        for number in range(20):
            wire.send(4000, 49_152, seal.seal(1, peer.clear(0, number, 50), bytes(8)))
        check(machine.wait_exit(20) == FAILED, f"a run without a result: {machine.lines[-3:]}")
        failure = machine.objects()[-1]
        check(failure.get("failure") == "not verified" and failure["refused"] == 20,
              f"it says {failure}")
    wire.close()


def junk():
    """Frames that no program should mind: cut, lying about their lengths, of every kind."""
    to = b"\x02\0\0\0\0\x01" + peer.MAC
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 65535, 1, 0, 64, 17, 0, b"\x0a\x09\0\x02",
                     b"\x0a\x09\0\x01")
    frames = [b"", b"\0", to, to + b"\x08\0", to + b"\x08\0" + ip, to + b"\x08\x06" + b"\0" * 5,
              to + b"\x08\x06" + b"\xff" * 28, to + b"\x86\xdd" + b"\x60" * 60,
              to + b"\x88\xb5" + os.urandom(100), b"\xff" * 1514, to + b"\x81\0" + os.urandom(40)]
    frames += [to + b"\x08\0" + os.urandom(n) for n in range(1, 200, 7)]
    frames += [to + b"\x08\0" + ip[:2] + struct.pack(">H", n) + ip[4:] + os.urandom(n)
               for n in (20, 27, 28, 100)]
    # QEMU pads nothing and takes nothing longer than its cards do.
    return [frame for frame in frames if frame]


def junk_on_the_wire_neither_stops_a_server_nor_gets_into_a_burst(bench):
    wire, net = wire_for(bench, "10.9.0.2", "10.9.0.1")
    with bench.bare([*SERVER, "n=250", "m=100"], net) as machine:
        wire.accept()
        peer.run_client(wire, RAW, 0, 100, 250, junk=junk())
        check(machine.wait_exit(20) == DONE, f"the server ended badly: {machine.lines[-3:]}")
    wire.close()


def datagrams_of_strangers_do_not_get_into_a_burst(bench):
    wire, net = wire_for(bench, "10.9.0.1", "10.9.0.2")
    with bench.bare([*CLIENT, "n=250", "m=100"], net) as machine:
        wire.accept()
        check(peer.run_server(wire, RAW, 0, 100, 250, between=os.urandom(271)), "no request")
        check(machine.wait_exit(20) == DONE, f"the client ended badly: {machine.lines[-3:]}")
        check(machine.objects()[-1]["refused"] >= 100, "junk was not counted")
    wire.close()


def without_aes_instructions_the_same_bytes_come_from_portable_code(bench):
    wire, net = wire_for(bench, "10.9.0.2", "10.9.0.1")
    with bench.bare([*SERVER, "n=50,1000", "m=50"], net, "qemu64", random_device()) as machine:
        wire.accept()
        for run, n in enumerate((50, 1000)):
            peer.run_client(wire, RAW, run, 50, n)
        check(machine.wait_exit(30) == DONE, f"the server ended badly: {machine.lines[-3:]}")
        check("AES portable" in machine.lines[1] and "virtio-rng" in machine.lines[1],
              f"it says {machine.lines[1]}")
        no_allocations(machine)
    wire.close()


def ends_with(bench, words, status, saying, cpu="max"):
    with bench.bare(words, cpu=cpu) as machine:
        got = machine.wait_exit(20)
        check(got == status, f"status {got}, expected {status}: {machine.lines[-3:]}")
        check(any(saying in line for line in machine.lines),
              f"nothing like `{saying}`: {machine.lines[-3:]}")


def without_randomness_nothing_is_done(bench):
    ends_with(bench, [*SERVER], FAILED, "no randomness", cpu="qemu64")


def wrong_words_and_missing_cards_are_said(bench):
    ends_with(bench, [], FAILED, "`role`: is missing")
    ends_with(bench, ["role=server", "key=12"], FAILED, "`key`: is 32 hexadecimal digits")
    ends_with(bench, [*SERVER], FAILED, "no virtio network card")
    ends_with(bench, ["role=station", "invite=SLYFI://JOIN/AAAA", "address=10.9.0.1/24"], FAILED,
              "invite: the invite is damaged")


def panics_and_exceptions_are_printed_and_end_the_machine(bench):
    ends_with(bench, ["role=panic"], PANICKED, "PANIC panicked at")
    ends_with(bench, ["role=fault"], EXCEPTION, "EXCEPTION 14")


def both_pc_machines_boot(bench):
    # MACHINE says q35; the last -machine counts.
    with bench.bare(["role=panic"], extra=["-machine", "pc"]) as machine:
        check(machine.wait_exit(20) == PANICKED, f"`pc` does not boot: {machine.lines}")


def grub_boots_it_from_cd_and_from_a_usb_stick(bench):
    words = [*SERVER, "n=50", "m=20"]
    iso = grub.make(bench, words)
    for boot in (grub.cdrom(iso), grub.usb_stick(iso)):
        wire, net = wire_for(bench, "10.9.0.2", "10.9.0.1")
        with bench.bare([], net, boot=boot) as machine:
            wire.accept()
            machine.wait_line("server at", 60)
            peer.run_client(wire, RAW, 0, 20, 50)
            check(machine.wait_exit(20) == DONE, f"ended badly: {machine.lines[-3:]}")
        wire.close()


def image_and_linux_run_the_exchange_with_each_other(bench):
    prepared = linux_guest.prepare(bench)
    words = ["n=50,1000", "m=200"]
    for bare_serves in (True, False):
        path = bench.path("wire")
        first, second = (card(listen(path), "02:00:00:00:00:01"),
                         card(connect(path), "02:00:00:00:00:02"))
        bare_words, linux_words = (SERVER, CLIENT) if bare_serves else (CLIENT, SERVER)
        with linux_guest.boot(bench, prepared, [*linux_words, *words], first) as linux:
            linux.wait_line("guest: ready", 90)
            with bench.bare([*bare_words, *words], second) as bare:
                check(bare.wait_exit(90) == DONE, f"bare ended badly: {bare.lines[-3:]}")
                check(linux.wait_exit(60) == 0, f"Linux ended badly: {linux.lines[-3:]}")
                runs = [*bare.objects(), *linux.objects()]
        check(len(runs) == 4 and not any("failure" in r for r in runs), f"they say {runs}")


def instruction_counts_are_the_same_twice_and_within_the_baseline(bench):
    first, second = counts.take(bench), counts.take(bench)
    check(first == second, f"counted {first}, then {second}")
    check(all(o["allocations"] == 0 for o in first), "the counted path allocates")
    findings = counts.compare(first, counts.baseline())
    check(not findings, "; ".join(findings))


def without_the_newer_instructions_it_counts_more_and_is_right(bench):
    plain = counts.take(bench, "qemu64", random_device())
    check(all(o["seal"] > 10 * b["seal"] for o, b in zip(plain, counts.baseline(), strict=True)),
          f"portable AES as cheap as the processor's: {plain}")


def the_gate_finds_ten_per_cent_more_instructions_and_missing_sizes(_):
    baseline = counts.baseline()
    check(not counts.compare(copy.deepcopy(baseline), baseline), "the baseline fails itself")
    for what in ("seal", "open", "clear_path", "sealed_path"):
        slower = copy.deepcopy(baseline)
        slower[2][what] = int(slower[2][what] * 1.1)
        found = counts.compare(slower, baseline)
        check(len(found) == 1 and what in found[0], f"10 % more of {what} was not found: {found}")
    allocating = copy.deepcopy(baseline)
    allocating[0]["allocations"] = 1
    check(counts.compare(allocating, baseline), "an allocation was not found")
    check(counts.compare(baseline[1:], baseline), "a missing size was not found")


class Place:
    """A namespace with a TAP that is the wire between the image and `slyfi ap` (the daemon)."""

    def __init__(self, bench):
        self.bench = bench
        self.ns = shell.Namespace("bare")
        self.folder = bench.path("ap")
        self.folder.mkdir()
        # The daemon's unprivileged user has to reach its store.
        bench.folder.chmod(0o755)
        self.ns.sh("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1",
                   "net.ipv6.conf.default.disable_ipv6=1")
        self.ns.sh("ip", "tuntap", "add", "dev", "air0", "mode", "tap")
        self.ns.sh("ip", "link", "set", "air0", "up")
        self.ns.sh("ip", "tuntap", "add", "dev", "host0", "mode", "tap")
        self.ns.sh("ip", "addr", "add", "10.77.0.1/24", "dev", "host0")
        self.config = self.folder / "ap.toml"
        self.config.write_text(
            'user = "nobody"\n[network]\nname = "bare test"\n'
            '[air]\nkind = "packet"\ninterface = "air0"\n'
            '[tap]\nname = "host0"\npersist = true\n'
            f'[store]\npath = "{self.folder / "store"}"\n')
        self.ap = self.ns.spawn([bench.program, "ap", "--config", self.config],
                                str(self.folder / "ap.log"))
        shell.wait_until(lambda: self.status() is not None, 20,
                         f"the access point answers: {self.ap.output()[-300:]}")

    def status(self):
        done = shell.sh(self.bench.program, "status", "--json", "--config", self.config, ok=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def invite(self):
        done = shell.sh(self.bench.program, "pair", "--json", "--config", self.config)
        return json.loads(done.stdout)["url"]

    def image(self, words):
        """Boots the image as a station on the wire."""
        net = card("tap,ifname=air0,script=no,downscript=no", "02:00:00:00:00:09")
        return self.bench.bare(["role=station", "address=10.77.0.9/24", *words], net,
                               prefix=["ip", "netns", "exec", self.ns.name])

    def ping(self, count=5, size=56):
        done = self.ns.sh("ping", "-n", "-c", count, "-i", "0.2", "-W", "3", "-s", size, "10.77.0.9",
                          ok=False)
        return done.stdout.count("bytes from 10.77.0.9")

    def echo(self, payloads):
        """Sends datagrams to the image's echo port from inside the namespace."""
        script = ("import socket,sys\n"
                  "s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM);s.settimeout(5)\n"
                  "for n in map(int,sys.argv[1:]):\n"
                  "  d=bytes(i*n&255 for i in range(n));s.sendto(d,('10.77.0.9',7))\n"
                  "  assert s.recv(2000)==d,n\n"
                  "print('echoed')\n")
        done = self.ns.sh("python3", "-c", script, *payloads, ok=False)
        return done.stdout.strip() == "echoed", done.stderr[-200:]


def the_image_joins_a_real_access_point_and_carries_traffic(bench):
    place = Place(bench)
    with place.image([f"invite={place.invite()}"]) as machine:
        machine.wait_line("station: linked as 10.77.0.9", 40)
        check(any("paired, until power is off" in line for line in machine.lines),
              "it does not say that the pairing is in memory only")
        answered = place.ping()
        check(answered >= 4, f"{answered} of 5 pings were answered: {machine.lines[-4:]}")
        check(place.ping(3, 1200) >= 2, "long pings are not answered")
        echoed, why = place.echo([1, 100, 500, 1200])
        check(echoed, f"the echo differs or does not come: {why}")
        # Junk on its wire: frames of the right kind with nothing right in them.
        raw = ("import socket,os\n"
               "s=socket.socket(socket.AF_PACKET,socket.SOCK_RAW);s.bind(('air0',0))\n"
               "h=b'\\xff'*6+b'\\2SLYF\\1'+b'\\x88\\xb5'\n"
               "for n in range(2,1400,3): s.send(h+os.urandom(n))\n"
               "t=bytes([0,0,12,0,4,0x80,0,0,12,0,0x38,0])\n"
               "for n in range(0,1400,3): s.send(h+t+os.urandom(n))\n")
        place.ns.sh("python3", "-c", raw)
        answered = place.ping()
        check(answered >= 4, f"after junk {answered} of 5 pings: {machine.lines[-4:]}")
        check(not any("PANIC" in line or "EXCEPTION" in line for line in machine.lines),
              f"it ended: {machine.lines[-3:]}")


def an_image_with_an_invite_of_another_network_gets_no_link(bench):
    place = Place(bench)
    other = bench.path("other")
    other.mkdir()
    config = other / "ap.toml"
    config.write_text(f'[network]\nname = "other"\n[store]\npath = "{other / "store"}"\n')
    done = shell.sh(bench.program, "pair", "--json", "--config", config)
    with place.image([f"invite={json.loads(done.stdout)['url']}"]) as machine:
        machine.wait_line("NoLink", 40)
        check(not any("linked as" in line for line in machine.lines), "it linked")
        check(place.ping(2) == 0, "somebody without a link answers")


CLAIMS = [
    panics_and_exceptions_are_printed_and_end_the_machine,
    wrong_words_and_missing_cards_are_said,
    without_randomness_nothing_is_done,
    both_pc_machines_boot,
    an_independent_client_reads_every_byte_of_both_bursts,
    an_independent_server_is_read_by_the_images_client,
    nonces_differ_from_boot_to_boot,
    a_client_with_the_wrong_key_gets_nothing_and_the_server_says_why,
    a_server_with_the_wrong_key_is_not_believed,
    junk_on_the_wire_neither_stops_a_server_nor_gets_into_a_burst,
    datagrams_of_strangers_do_not_get_into_a_burst,
    without_aes_instructions_the_same_bytes_come_from_portable_code,
    grub_boots_it_from_cd_and_from_a_usb_stick,
    instruction_counts_are_the_same_twice_and_within_the_baseline,
    without_the_newer_instructions_it_counts_more_and_is_right,
    the_gate_finds_ten_per_cent_more_instructions_and_missing_sizes,
    image_and_linux_run_the_exchange_with_each_other,
    the_image_joins_a_real_access_point_and_carries_traffic,
    an_image_with_an_invite_of_another_network_gets_no_link,
]
