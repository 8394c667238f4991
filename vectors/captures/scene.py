"""The stage of `make.py`: radios, hostapd, wpa_supplicant and tcpdump in the guest."""

import os
import pathlib
import re
import struct
import subprocess
import time

PASSPHRASE = "correct horse battery"
PATTERN = "736c7966"


def sh(command, ok=True, timeout=40):
    done = subprocess.run(command, shell=True, capture_output=True, text=True, errors="replace",
                          timeout=timeout, stdin=subprocess.DEVNULL)
    if ok and done.returncode:
        raise RuntimeError(f"{command}: {done.stderr or done.stdout}")
    return done.stdout


class Scene:
    """Two access points (wlan0, wlan1) and two stations in name spaces (wlan2, wlan3) on one air."""

    def __init__(self, folder, name):
        self.folder = pathlib.Path(folder)
        self.name = name
        self.children = []
        self.keys = []
        sh("modprobe -r mac80211_hwsim", ok=False)
        sh("modprobe mac80211_hwsim radios=4")
        time.sleep(1)
        for i in (2, 3):
            sh(f"ip netns add sta{i}")
            phy = os.path.basename(os.path.realpath(f"/sys/class/net/wlan{i}/phy80211"))
            sh(f"iw phy {phy} set netns name sta{i}")
            sh(f"ip netns exec sta{i} ip link set lo up")
        sh("ip link set hwsim0 up")
        self.pcap = self.folder / f"{name}.raw"
        self.spawn(f"tcpdump -i hwsim0 -s 0 -U -w {self.pcap} 'type mgt or type data'")
        time.sleep(1)

    def spawn(self, command, log="/dev/null"):
        with open(log, "ab") as out:
            self.children.append(subprocess.Popen(
                ["exec " + command], shell=True, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT))

    def mac(self, i):
        where = f"ip netns exec sta{i} " if i >= 2 else ""
        return sh(f"{where}cat /sys/class/net/wlan{i}/address").strip()

    def ap(self, i, lines, ssid="made by hand", address="10.9.0.1"):
        """Starts hostapd on wlan0 or wlan1."""
        conf = self.folder / f"ap{i}.conf"
        head = [f"interface=wlan{i}", "driver=nl80211", "hw_mode=g", "channel=1",
                f"ctrl_interface=/tmp/hostapd{i}", "wmm_enabled=1"]
        if ssid is not None:
            head.append(f"ssid={ssid}")
        conf.write_text("\n".join(head + lines) + "\n")
        self.log(i).write_text("")
        self.spawn(f"hostapd -K -dd -t {conf}", self.log(i))
        self.until(lambda: "AP-ENABLED" in self.log(i).read_text(errors="replace"), 30, "AP-ENABLED")
        sh(f"ip addr add {address}/24 dev wlan{i}", ok=False)

    def aps(self, both, ssid="made by hand"):
        """Starts one hostapd on both."""
        confs = []
        for i, lines in enumerate(both):
            confs.append(self.folder / f"ap{i}.conf")
            head = [f"interface=wlan{i}", "driver=nl80211", "hw_mode=g", "channel=1",
                    f"ctrl_interface=/tmp/hostapd{i}", "wmm_enabled=1", f"ssid={ssid}"]
            confs[-1].write_text("\n".join(head + lines) + "\n")
        self.log(0).write_text("")
        self.spawn(f"hostapd -K -dd -t {confs[0]} {confs[1]}", self.log(0))
        self.until(lambda: self.log(0).read_text(errors="replace").count("AP-ENABLED") >= 2, 30,
                   "AP-ENABLED twice")
        sh("ip addr add 10.9.0.1/24 dev wlan0")

    def log(self, i):
        return self.folder / f"{self.name}-{i}.log"

    def station(self, i, lines, glob=()):
        """Starts wpa_supplicant on wlan2 or wlan3."""
        conf = self.folder / f"sta{i}.conf"
        text = [f"ctrl_interface=/tmp/wpa{i}", *glob, "network={", *lines, "}"]
        conf.write_text("\n".join(text) + "\n")
        self.log(i).write_text("")
        self.spawn(f"ip netns exec sta{i} wpa_supplicant -K -dd -t -Dnl80211 -iwlan{i} -c {conf}",
                   self.log(i))
        sh(f"ip netns exec sta{i} ip addr add 10.9.0.{i}/24 dev wlan{i}")

    def cli(self, i, command, ok=True):
        if i < 2:
            return sh(f"hostapd_cli -p /tmp/hostapd{i} {command}", ok)
        return sh(f"wpa_cli -p /tmp/wpa{i} -i wlan{i} {command}", ok)

    def until(self, condition, seconds, what):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"not within {seconds} s: {what}")
            time.sleep(0.1)

    def linked(self, i, count=1):
        self.until(lambda: self.log(i).read_text(errors="replace").count("CTRL-EVENT-CONNECTED")
                   >= count, 40, f"station {i} linked {count} times")

    def ping(self, i, to="10.9.0.1", count=3, size=56, ok=True):
        command = f"ip netns exec sta{i} ping -n -i 0.2 -c {count} -W 3 -s {size} -p {PATTERN} {to}"
        for last in (False, False, ok):
            # The first packets after an association can find the key not installed yet.
            if " 0 received" not in sh(command, last):
                return
            time.sleep(0.5)

    def broadcast(self, count=2):
        sh(f"ping -n -b -i 0.2 -c {count} -W 1 -p {PATTERN} -I wlan0 10.9.0.255", ok=False)

    def key(self, text):
        self.keys.append(text)

    def printed(self, i, pattern):
        """The keys that a log has behind `pattern`, in order, each once."""
        found = re.findall(pattern + r" - hexdump\(len=\d+\): ([0-9a-f ]+)",
                           self.log(i).read_text(errors="replace"))
        out = []
        for f in found:
            text = f.replace(" ", "")
            if text.strip("0") and text not in out:
                out.append(text)
        return out

    def end(self):
        time.sleep(0.5)
        for child in reversed(self.children):
            child.terminate()
        for child in self.children:
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
        for i in (2, 3):
            sh(f"ip netns del sta{i}", ok=False)
        thin(self.pcap, self.folder / f"{self.name}.pcap")
        self.pcap.unlink()


def thin(source, target):
    """Copies a pcap and leaves out all but three beacons of each transmitter."""
    data = source.read_bytes()
    out, at, seen = [data[:24]], 24, {}
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        packet = data[at + 16:at + 16 + size]
        frame = packet[struct.unpack_from("<H", packet, 2)[0]:]
        keep = True
        if frame[:1] == b"\x80":
            seen[frame[10:16]] = seen.get(frame[10:16], 0) + 1
            keep = seen[frame[10:16]] <= 3
        if keep:
            out.append(data[at:at + 16 + size])
        at += 16 + size
    target.write_bytes(b"".join(out))
