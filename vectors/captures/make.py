#!/usr/bin/env python3
"""Makes captures with other people's programs: Debian's hostapd and wpa_supplicant on the simulated
radios of a QEMU guest, recorded by tcpdump on the medium.

    sudo python3 vectors/captures/make.py [--out DIR] [SCENARIO ...]     (--list names them)

Every scenario leaves NAME.pcap (management and data frames, most beacons left out) and an entry in
keys.json: what was set up, and the keys as `slyfi decrypt` takes them (passphrases where there are
any, else master keys that hostapd printed with -K).
"""

import argparse
import json
import pathlib
import re
import shlex
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from scene import PASSPHRASE, PATTERN, Scene, sh  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCENARIOS = {}


def scenario(f):
    SCENARIOS[f.__name__.replace("_", "-")] = f
    return f


def psk(key_mgmt="WPA-PSK", pairwise="CCMP", group=None, mfp=0, mgmt=None, extra=(), sta=(),
        wpa=2, ssid='"made by hand"'):
    """The lines of both sides for a network with a passphrase."""
    ap = [f"wpa={wpa}", f"wpa_key_mgmt={key_mgmt}", f"wpa_passphrase={PASSPHRASE}",
          f"ieee80211w={mfp}", *extra]
    ap.append(f"{'rsn' if wpa == 2 else 'wpa'}_pairwise={pairwise}")
    if group:
        ap.append(f"group_cipher={group}")
    if mgmt:
        ap.append(f"group_mgmt_cipher={mgmt}")
    station = [f"ssid={ssid}", f"key_mgmt={key_mgmt}", f'psk="{PASSPHRASE}"',
               f"proto={'RSN' if wpa == 2 else 'WPA'}", f"ieee80211w={mfp}", "scan_freq=2412",
               f"pairwise={pairwise}", f"group={group or pairwise}", *sta]
    if mgmt:
        station.append(f"group_mgmt={mgmt}")
    return ap, station


def simple(s, ap, station, key=True):
    s.ap(0, ap)
    s.station(2, station)
    s.linked(2)
    s.ping(2)
    s.broadcast()
    if key:
        s.key(f"wpa-pwd:{PASSPHRASE}:made by hand")


def deauthentications(s):
    """Protected ones: to a station, then to all."""
    s.cli(0, f"deauthenticate {s.mac(2)}", ok=False)
    time.sleep(1)
    s.linked(2, 2)
    s.ping(2)
    s.cli(0, "deauthenticate ff:ff:ff:ff:ff:ff", ok=False)
    time.sleep(1)


def wep(s, key, shared):
    quoted = key
    s.ap(0, [f"wep_key1={quoted}", "wep_default_key=1", f"auth_algs={2 if shared else 1}"])
    s.station(2, ['ssid="made by hand"', "key_mgmt=NONE", f"wep_key1={quoted}", "wep_tx_keyidx=1",
                  "scan_freq=2412", f"auth_alg={'SHARED' if shared else 'OPEN'}"])
    s.linked(2)
    s.ping(2, count=3)
    s.broadcast()
    s.key(f"wep:{key}")


@scenario
def wep_40(s):
    wep(s, "0b1c2d3e4f", False)


@scenario
def wep_104_shared(s):
    wep(s, "0b1c2d3e4f5061728394a5b6c7", True)


@scenario
def wpa_tkip(s):
    simple(s, *psk(pairwise="TKIP", wpa=1, extra=["wpa_group_rekey=5"]))
    time.sleep(6)
    s.ping(2)
    s.broadcast()


@scenario
def rsn_tkip(s):
    simple(s, *psk(pairwise="TKIP", extra=["wpa_group_rekey=5"]))
    time.sleep(6)
    s.broadcast()


@scenario
def wpa_ccmp(s):
    simple(s, *psk(pairwise="CCMP", wpa=1, extra=["wpa_group_rekey=5"]))
    time.sleep(6)
    s.broadcast()


@scenario
def mixed(s):
    """WPA and WPA2 in one network: group keys for TKIP, stations with either."""
    s.ap(0, ["wpa=3", "wpa_key_mgmt=WPA-PSK", f"wpa_passphrase={PASSPHRASE}", "wpa_pairwise=TKIP",
             "rsn_pairwise=CCMP", "wpa_group_rekey=8"])
    s.station(2, psk(group="TKIP")[1])
    s.linked(2)
    s.station(3, psk(pairwise="TKIP", wpa=1)[1])
    s.linked(3)
    for i in (2, 3):
        s.ping(i)
    s.ping(2, to="10.9.0.3")
    s.broadcast()
    time.sleep(8)
    s.broadcast()
    s.key(f"wpa-pwd:{PASSPHRASE}:made by hand")


@scenario
def ccmp_rekeys(s):
    simple(s, *psk(extra=["wpa_group_rekey=4", "wpa_ptk_rekey=6"]))
    for _ in range(3):
        time.sleep(4)
        s.ping(2)
        s.broadcast()


@scenario
def ccmp_reconnects(s):
    simple(s, *psk())
    for n in (2, 3):
        s.cli(2, "disconnect")
        time.sleep(0.5)
        s.cli(2, "reconnect")
        s.linked(2, n)
        s.ping(2)


@scenario
def ccmp_256(s):
    simple(s, *psk(pairwise="CCMP-256", mfp=2, mgmt="BIP-CMAC-256", key_mgmt="WPA-PSK-SHA256"))
    deauthentications(s)


@scenario
def gcmp(s):
    simple(s, *psk(pairwise="GCMP", mfp=2, mgmt="BIP-GMAC-128", key_mgmt="WPA-PSK-SHA256"))
    deauthentications(s)


@scenario
def gcmp_256(s):
    simple(s, *psk(pairwise="GCMP-256", mfp=2, mgmt="BIP-GMAC-256", key_mgmt="WPA-PSK-SHA256",
                   extra=["wpa_group_rekey=5"]))
    time.sleep(5)
    s.broadcast()
    deauthentications(s)


@scenario
def sha256_pmf(s):
    simple(s, *psk(mfp=2, key_mgmt="WPA-PSK-SHA256", extra=["beacon_prot=1", "wpa_ptk_rekey=5"]))
    time.sleep(6)
    s.ping(2)
    deauthentications(s)


def given(s, i, pattern, length=None):
    for pmk in s.printed(i, pattern):
        if length is None or len(pmk) == 2 * length:
            s.key(f"wpa-psk:{pmk}")


@scenario
def sae(s):
    ap, station = psk(key_mgmt="SAE", mfp=2, extra=["sae_pwe=2"])
    s.ap(0, ap)
    s.station(2, station, ["sae_pwe=1"])
    s.linked(2)
    s.ping(2)
    s.broadcast()
    s.cli(2, "disconnect")
    s.cli(2, "reconnect")
    s.linked(2, 2)
    s.ping(2)
    given(s, 0, "SAE: PMK")


def owe(s, group):
    s.ap(0, ["wpa=2", "wpa_key_mgmt=OWE", "rsn_pairwise=CCMP", "ieee80211w=2",
             f"owe_groups={group}"])
    s.station(2, ['ssid="made by hand"', "key_mgmt=OWE", "ieee80211w=2", "scan_freq=2412",
                  f"owe_group={group}"])
    s.linked(2)
    s.ping(2)
    s.broadcast()
    given(s, 0, "OWE: PMK")


@scenario
def owe_19(s):
    owe(s, 19)


@scenario
def owe_20(s):
    owe(s, 20)


@scenario
def owe_21(s):
    owe(s, 21)


def ft(s, key_mgmt, over_ds, mfp=0, extra=(), sta=(), glob=()):
    """A station that roams between both access points, which are one process."""
    macs = [s.mac(0), s.mac(1)]
    key = bytes(range(32)).hex()
    both = []
    for i in (0, 1):
        ap, station = psk(key_mgmt=key_mgmt, mfp=mfp, extra=[
            "mobility_domain=a1b2", f"nas_identifier=holder{i}.example",
            f"r1_key_holder=0011223344{i:02x}", f"ft_over_ds={int(over_ds)}",
            "ft_psk_generate_local=0", "pmk_r1_push=1", *extra,
            *(f"r0kh={macs[k]} holder{k}.example {key}" for k in (0, 1)),
            *(f"r1kh={macs[k]} 00:11:22:33:44:{k:02x} {key}" for k in (0, 1))])
        both.append(ap)
    s.aps(both)
    sh("ip addr add 10.9.0.100/24 dev wlan1")
    s.station(2, [*station, *sta], glob)
    s.linked(2)
    s.ping(2, ok=False)
    for _ in range(3):
        now = re.search(r"^bssid=(.*)$", s.cli(2, "status"), re.M).group(1)
        other = macs[1] if now == macs[0] else macs[0]
        s.cli(2, "scan freq=2412", ok=False)
        time.sleep(3)

        def there():
            if "OK" in s.cli(2, f"{'ft_ds' if over_ds else 'roam'} {other}"):
                time.sleep(2)
            else:
                s.cli(2, "scan freq=2412", ok=False)
                time.sleep(1)
            status = s.cli(2, "status")
            return f"bssid={other}" in status and "COMPLETED" in status

        s.until(there, 40, f"at {other}")
        sh(f"ip route replace 10.9.0.2/32 dev wlan{macs.index(other)}")
        s.ping(2, ok=False)
        s.broadcast()
        sh(f"ping -n -b -i 0.2 -c 2 -W 1 -p {PATTERN} -I wlan1 10.9.0.255", ok=False)


@scenario
def ft_psk(s):
    ft(s, "FT-PSK", False)
    s.key(f"wpa-pwd:{PASSPHRASE}:made by hand")


@scenario
def ft_psk_over_ds(s):
    ft(s, "FT-PSK", True)
    s.key(f"wpa-pwd:{PASSPHRASE}:made by hand")


@scenario
def ft_sae(s):
    ft(s, "FT-SAE", False, mfp=2, extra=["wpa_group_rekey=7"])
    given(s, 0, "SAE: PMK")


@scenario
def ft_sae_over_ds(s):
    ft(s, "FT-SAE", True, mfp=2)
    given(s, 0, "SAE: PMK")


@scenario
def extended_key_id(s):
    ap, station = psk(mfp=2, key_mgmt="WPA-PSK-SHA256", extra=["extended_key_id=1", "wpa_ptk_rekey=4"])
    s.ap(0, ap)
    s.station(2, station, ["extended_key_id=1"])
    s.linked(2)
    for _ in range(3):
        s.ping(2)
        time.sleep(4)
    s.broadcast()
    s.key(f"wpa-pwd:{PASSPHRASE}:made by hand")


def fragments(s, pairwise, wpa):
    for i in (0, 2):
        where = f"ip netns exec sta{i} " if i >= 2 else ""
        phy = sh(f"{where}cat /sys/class/net/wlan{i}/phy80211/name").strip()
        sh(f"{where}iw phy {phy} set frag 256")
    simple(s, *psk(pairwise=pairwise, wpa=wpa, extra=["wpa_ptk_rekey=5", "fragm_threshold=256"]))
    s.ping(2, size=900)
    time.sleep(6)
    s.ping(2, size=600)


@scenario
def fragments_ccmp(s):
    fragments(s, "CCMP", 2)


@scenario
def fragments_tkip(s):
    fragments(s, "TKIP", 1)


def four_addresses(s, ap, station):
    s.ap(0, ap, address="10.8.0.1")
    sh("ip netns exec sta2 iw dev wlan2 set 4addr on")
    s.station(2, station)
    s.linked(2)
    s.ping(2, ok=False, count=1)
    sh("ip link set wlan0.sta1 up")
    sh("ip addr add 10.9.0.1/24 dev wlan0.sta1")
    s.ping(2, ok=False, count=4)
    s.broadcast()
    s.key(f"wpa-pwd:{PASSPHRASE}:made by hand")


@scenario
def wds(s):
    ap, station = psk(extra=["wds_sta=1"])
    four_addresses(s, ap, station)


@scenario
def wds_tkip(s):
    ap, station = psk(extra=["wds_sta=1"], pairwise="TKIP", wpa=1)
    four_addresses(s, ap, station)


@scenario
def two_networks(s):
    """A name that is no ASCII, a hidden name, and another passphrase, on two access points."""
    name = "Café ☕ 名前".encode()
    ap, _ = psk()
    s.ap(0, [f"ssid2={name.hex()}", *ap], ssid=None)
    hidden = [line.replace(PASSPHRASE, "another: 100% phrase") for line in ap]
    s.ap(1, ["ignore_broadcast_ssid=1", *hidden], ssid="hidden: %", address="10.8.0.1")
    s.station(2, psk(ssid=name.hex())[1])
    s.linked(2)
    s.ping(2)
    other = [line.replace(PASSPHRASE, "another: 100% phrase")
             for line in psk(ssid='"hidden: %"')[1]]
    s.station(3, [*other, "scan_ssid=1"])
    s.linked(3)
    s.ping(3, to="10.8.0.1", ok=False)
    s.broadcast()
    s.key(f"wpa-pwd:{PASSPHRASE}")
    s.key("wpa-pwd:another%3a 100%25 phrase:hidden%3a %25")


@scenario
def tdls(s):
    ap, station = psk()
    s.ap(0, ap)
    for i in (2, 3):
        s.station(i, station)
        s.linked(i)
    s.ping(2, to="10.9.0.3")
    s.cli(2, f"tdls_discover {s.mac(3)}", ok=False)
    s.cli(2, f"tdls_setup {s.mac(3)}")
    time.sleep(2)
    s.ping(2, to="10.9.0.3", count=3)
    s.cli(2, f"tdls_teardown {s.mac(3)}", ok=False)
    time.sleep(1)
    s.ping(2, to="10.9.0.3")
    s.key(f"wpa-pwd:{PASSPHRASE}:made by hand")


def eap(s, key_mgmt, pairwise="CCMP", mfp=1, length=32, ap_lines=(), sta_lines=(), glob=()):
    users = s.folder / "users"
    users.write_text('"somebody" PWD "%s"\n* PWD\n' % PASSPHRASE)
    s.ap(0, ["wpa=2", f"wpa_key_mgmt={key_mgmt}", f"rsn_pairwise={pairwise}", f"ieee80211w={mfp}",
             f"group_cipher={pairwise}", "ieee8021x=1", "eap_server=1", f"eap_user_file={users}", *ap_lines])
    s.station(2, ['ssid="made by hand"', f"key_mgmt={key_mgmt}", f"ieee80211w={mfp}",
                  f"pairwise={pairwise}", f"group={pairwise}", "scan_freq=2412", "eap=PWD", 'identity="somebody"',
                  f'password="{PASSPHRASE}"', *sta_lines], glob)
    s.linked(2)
    s.ping(2)
    s.broadcast()


@scenario
def eap_sha256(s):
    eap(s, "WPA-EAP-SHA256", ap_lines=["wpa_group_rekey=5"])
    time.sleep(5)
    s.broadcast()
    given(s, 2, "EAPOL: PMK", 32)
    given(s, 2, "WPA: PMK from EAPOL state machines", 32)
    given(s, 2, "WPA: PMK", 32)


@scenario
def suite_b_192(s):
    eap(s, "WPA-EAP-SUITE-B-192", "GCMP-256", 2, 48,
        ["group_mgmt_cipher=BIP-GMAC-256", "wpa_group_rekey=5"], ["group_mgmt=BIP-GMAC-256"])
    time.sleep(5)
    s.broadcast()
    given(s, 2, "WPA: PMK from EAPOL state machines", 48)
    given(s, 2, "WPA: PMK", 48)


def fils(s, key_mgmt, length):
    lines = ["eap_server_erp=1", "erp_domain=example.com", "fils_realm=example.com",
             "wpa_group_rekey=6"]
    users = s.folder / "users"
    users.write_text('"somebody@example.com" PWD "%s"\n* PWD\n' % PASSPHRASE)
    s.ap(0, ["wpa=2", f"wpa_key_mgmt={key_mgmt} WPA-EAP", "rsn_pairwise=CCMP", "ieee80211w=1",
             "ieee8021x=1", "eap_server=1", f"eap_user_file={users}", *lines])
    s.station(2, ['ssid="made by hand"', f"key_mgmt={key_mgmt}", "ieee80211w=1", "scan_freq=2412",
                  "eap=PWD", 'identity="somebody@example.com"', f'password="{PASSPHRASE}"', "erp=1"])
    s.linked(2)
    s.ping(2)
    s.cli(2, "disconnect")
    s.cli(2, "reconnect")
    s.linked(2, 2)
    s.ping(2)
    s.broadcast()
    time.sleep(6)
    s.broadcast()
    given(s, 2, "FILS: PMK", length)
    given(s, 2, "WPA: PMK from EAPOL state machines")


@scenario
def fils_sha256(s):
    fils(s, "FILS-SHA256", 32)


@scenario
def fils_sha384(s):
    fils(s, "FILS-SHA384", 48)


@scenario
def wnm_sleep(s):
    ap, station = psk(mfp=2, key_mgmt="WPA-PSK-SHA256", extra=["wnm_sleep_mode=1", "wpa_group_rekey=4"])
    s.ap(0, ap)
    s.station(2, station)
    s.linked(2)
    s.ping(2)
    s.cli(2, "wnm_sleep enter", ok=False)
    time.sleep(5)
    s.cli(2, "wnm_sleep exit", ok=False)
    time.sleep(0.5)
    s.broadcast()
    s.key(f"wpa-pwd:{PASSPHRASE}:made by hand")


@scenario
def ocv(s):
    ft(s, "FT-SAE", False, mfp=2, extra=["ocv=1", "sae_pwe=2"], sta=["ocv=1"], glob=["sae_pwe=1"])
    given(s, 0, "SAE: PMK")


def inside(folder, names):
    """What runs in the guest."""
    made = {}
    for name in names:
        start, why = time.monotonic(), None
        scene = None
        try:
            scene = Scene(folder, name)
            SCENARIOS[name](scene)
        except Exception as e:
            why = f"{type(e).__name__}: {e}"
        try:
            scene.end()
        except Exception as e:
            why = f"{why}; {type(e).__name__}: {e}"
        made[name] = {"keys": scene.keys if scene else [], "failed": why}
        print(f"{name}: {why or 'ok'} in {time.monotonic() - start:.0f} s", flush=True)
        pathlib.Path(folder, "keys.json").write_text(json.dumps(made, indent=1, ensure_ascii=False))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("names", nargs="*", metavar="SCENARIO")
    p.add_argument("--out", default=str(ROOT / "target/captures"), type=pathlib.Path)
    p.add_argument("--cache", default=str(ROOT / "target/guest"), type=pathlib.Path)
    p.add_argument("--list", action="store_true")
    p.add_argument("--inside", metavar="DIR", help=argparse.SUPPRESS)
    p.add_argument("--timeout", type=int, default=1800, metavar="SECONDS")
    a = p.parse_args()
    names = a.names or list(SCENARIOS)
    if a.list:
        print("\n".join(SCENARIOS))
        return 0
    if a.inside:
        inside(a.inside, names)
        return 0
    sys.path.insert(0, str(ROOT / "tests/system"))
    import guest
    a.cache.mkdir(parents=True, exist_ok=True)
    image, env = guest.prepare_kernel(a.cache), guest.prepare_virtme(a.cache)
    shared = tempfile.mkdtemp(prefix="slyfi-captures-")
    command = shlex.join([sys.executable, str(HERE / "make.py"), "--inside", shared, *names])
    console = guest.boot(image, env, f"{command} >{shared}/output 2>&1", shared, a.timeout)
    output = pathlib.Path(shared, "output")
    print(output.read_text() if output.exists() else "\n".join(console.splitlines()[-40:]))
    a.out.mkdir(parents=True, exist_ok=True)
    for file in pathlib.Path(shared).iterdir():
        if file.suffix in (".pcap", ".log"):
            shutil.copy(file, a.out)
    known = a.out / "keys.json"
    keys = json.loads(known.read_text()) if known.exists() else {}
    made = pathlib.Path(shared, "keys.json")
    keys.update(json.loads(made.read_text()) if made.exists() else {})
    known.write_text(json.dumps(keys, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    shutil.rmtree(shared, ignore_errors=True)
    return 0 if all(not k["failed"] for k in keys.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
