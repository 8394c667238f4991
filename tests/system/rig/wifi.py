"""Ordinary 802.11 on the same airs: ciphers, secrets, and tshark as the independent judge."""

import os
import struct
import subprocess

from .capture import frames
from .daemon import Daemon
from .shell import check

SSID = "system test"
PASSPHRASE = "correct horse battery"
WEP_KEY = "0123456789abcdef0123456789"
SBKH_KEY = "5b" * 32
WITH_PASSPHRASE = ("tkip", "ccmp", "ccmp-256", "gcmp", "gcmp-256")
ALL = ("open", "wep", "sbkh", *WITH_PASSPHRASE)
LINKTYPE_IEEE802_11 = 105


def secret_file(test, name, text):
    """Writes a secret as the daemon wants it: readable by its owner only."""
    path = test.path(name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as f:
        f.write(text + "\n")
    return path


def settings(test, cipher, passphrase=PASSPHRASE):
    """Returns the [wifi] table of one end."""
    table = {"cipher": cipher}
    if cipher in WITH_PASSPHRASE:
        name = f"passphrase-{abs(hash(passphrase))}"
        table["passphrase_file"] = secret_file(test, name, passphrase)
    elif cipher != "open":
        key = WEP_KEY if cipher == "wep" else SBKH_KEY
        table["key_file"] = secret_file(test, f"key-{cipher}", key)
    return table


def daemon(test, node, role, cipher, passphrase=PASSPHRASE, options=()):
    """Makes a daemon of ordinary 802.11, not started yet, with a store of its own."""
    made = Daemon(test, node, role, options, {"name": SSID}, wifi=settings(test, cipher, passphrase))
    made.store = test.path(f"{node.label}-{cipher}-store")
    with open(made.config) as f:
        text = f.read()
    with open(made.config, "w") as f:
        f.write(text.replace(f"{node.label}-store", f"{node.label}-{cipher}-store"))
    return made


def write_80211(captured, file):
    """Writes the 802.11 frames of a capture without what carried them."""
    with open(file, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, LINKTYPE_IEEE802_11))
        for frame in captured:
            seconds = int(frame.time)
            micros = int((frame.time - seconds) * 1e6)
            length = len(frame.dot11)
            f.write(struct.pack("<IIII", seconds, micros, length, length) + frame.dot11)
    return file


def packets(file, key=None, during=None):
    """Returns the ICMP and TCP packets that tshark finds, as a set: who, which, what.

    `during` keeps those between two times.
    """
    argv = ["tshark", "-n", "-r", file, "-o", "tcp.desegment_tcp_streams:FALSE"]
    if key:
        argv += ["-o", "wlan.enable_decryption:TRUE", "-o", f'uat:80211_keys:"{key[0]}","{key[1]}"']
    fields = ("ip.src", "ip.dst", "ip.id", "icmp.type", "icmp.seq", "data.data", "tcp.seq_raw",
              "tcp.payload")
    argv += ["-Y", "icmp || tcp", "-T", "fields", "-e", "frame.time_epoch"]
    for field in fields:
        argv += ["-e", field]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    check(done.returncode == 0, f"tshark: {done.stderr.strip()[:300]}")
    found = set()
    for line in done.stdout.splitlines():
        time, _, packet = line.partition("\t")
        if packet.strip() and (during is None or during[0] <= float(time) <= during[1]):
            found.add(packet)
    return found


def tshark_key(cipher):
    if cipher == "wep":
        return "wep", WEP_KEY
    if cipher in WITH_PASSPHRASE:
        return "wpa-pwd", f"{PASSPHRASE}:{SSID}"
    return None


def data_frames(captured):
    """Yields (transmitter, receiver, body) of the data frames with a body."""
    for frame in captured:
        d = frame.dot11
        if len(d) > 24 and d[0] == 0x08:
            yield d[10:16], d[4:10], d[24:]


def reused(captured, cipher):
    """Returns the counters that one transmitter used for two different frames under one key.

    Of WEP the IV, of SBKH the counter and the number of the base key (a key for each pair).
    """
    seen, again = {}, []
    for sender, receiver, body in data_frames(captured):
        if cipher == "wep":
            use = (sender, body[:3])
        else:
            use = (sender, receiver, body[:4])
        if use in seen and seen[use] != body:
            again.append(use)
        seen[use] = body
    return again


def read(file):
    return list(frames(file))
