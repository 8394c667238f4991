"""Debian's wpa_supplicant associates to `slyfi ap`, and `slyfi join` to Debian's hostapd.

On simulated radios. A monitor interface acknowledges nothing, and both programs wait for
acknowledgements; so each radio that slyfi uses also has a managed interface, idle, with the card's
address: the radio acknowledges what is sent to that.
"""

from rig import wifi
from rig.air import AIR_IF, TAP
from rig.shell import check, wait_until

AIRS = ("hwsim",)
FREQUENCY = 2412
CARD = "card0"


def acknowledge(node, mac):
    """Makes a node's radio acknowledge frames to `mac`, which becomes the TAP's address too."""
    node.sh("iw", "dev", AIR_IF, "interface", "add", CARD, "type", "managed", "addr", mac)
    node.sh("ip", "link", "set", CARD, "up")
    node.sh("ip", "link", "set", TAP, "down")
    node.sh("ip", "link", "set", TAP, "address", mac)
    node.sh("ip", "link", "set", TAP, "up")


def ordinary(node):
    """Gives a node's radio back to the system: a managed interface instead of the monitor."""
    node.sh("iw", "dev", AIR_IF, "interface", "add", "wlan0", "type", "managed")
    node.sh("iw", "dev", AIR_IF, "del")
    node.sh("ip", "link", "set", "wlan0", "up")


def run(t):
    told = []
    for what, ciphers in ((supplicant, ("ccmp", "gcmp")), (host_access_point, ("ccmp", "tkip"))):
        net = t.network(clients=1)
        for cipher in ciphers:
            told.append(what(t, net, cipher))
        for node in net.nodes:
            node.ns.remove()
        net.air.remove()
    return ", ".join(told)


def suite(cipher):
    return {"ccmp": "CCMP", "gcmp": "GCMP", "tkip": "TKIP"}[cipher]


def supplicant(t, net, cipher):
    """wpa_supplicant, an independent station, at our access point."""
    station = net.clients[0]
    if cipher == "ccmp":
        net.ap.make_tap()
        acknowledge(net.ap, "02:00:00:00:aa:00")
        ordinary(station)
        station.sh("ip", "addr", "add", f"{station.ip4}/24", "dev", "wlan0")
    ap = wifi.daemon(t, net.ap, "ap", cipher, options=["--interface", AIR_IF]).start().ready()
    config = t.path(f"supplicant-{cipher}.conf")
    with open(config, "w") as f:
        f.write(f'network={{\n ssid="{wifi.SSID}"\n psk="{wifi.PASSPHRASE}"\n key_mgmt=WPA-PSK\n'
                f" proto=RSN\n pairwise={suite(cipher)}\n group={suite(cipher)}\n"
                f" scan_freq={FREQUENCY}\n ieee80211w=0\n}}\n")
    process = station.spawn(["wpa_supplicant", "-D", "nl80211", "-i", "wlan0", "-c", config, "-d"],
                            t.path(f"supplicant-{cipher}.log"))
    wait_until(lambda: "CTRL-EVENT-CONNECTED" in process.output(), 60,
               f"wpa_supplicant is connected with {cipher}")
    got = station.ping(net.ap.ip4, count=5, wait=5)
    check(got >= 4, f"{got} of 5 pings from wpa_supplicant's station ({cipher})")
    counters = ap.status()["protection"]["counters"]
    check(counters["handshakes"] >= 1, f"the access point counts {counters}")
    process.stop()
    ap.process.stop()
    return f"wpa_supplicant {cipher}"


def host_access_point(t, net, cipher):
    """hostapd, an independent access point, and our station; its group key changes meanwhile."""
    client = net.clients[0]
    if cipher == "ccmp":
        client.make_tap()
        acknowledge(client, "02:00:00:00:bb:00")
        ordinary(net.ap)
        net.ap.sh("ip", "addr", "add", f"{net.ap.ip4}/24", "dev", "wlan0")
    config = t.path(f"hostapd-{cipher}.conf")
    with open(config, "w") as f:
        f.write(f"interface=wlan0\ndriver=nl80211\nssid={wifi.SSID}\nhw_mode=g\nchannel=1\nwpa=2\n"
                f"wpa_passphrase={wifi.PASSPHRASE}\nwpa_key_mgmt=WPA-PSK\n"
                f"rsn_pairwise={suite(cipher)}\nwpa_group_rekey=3\n")
    process = net.ap.spawn(["hostapd", "-d", config], t.path(f"hostapd-{cipher}.log"))
    wait_until(lambda: "AP-ENABLED" in process.output(), 30, "hostapd is up")
    ours = wifi.daemon(t, client, "client", cipher).start().ready().linked(40)
    got = client.ping(net.ap.ip4, count=5, wait=5)
    check(got >= 4, f"{got} of 5 pings from our station at hostapd ({cipher})")
    # New group keys come under the pairwise key; hostapd says when the station has one.
    wait_until(lambda: "group key handshake completed" in process.output(), 30,
               f"our station takes hostapd's new group key ({cipher})")
    got = client.ping(net.ap.ip4, count=3, wait=5)
    check(got >= 2, f"{got} of 3 pings after the new group key ({cipher})")
    ours.process.stop()
    process.stop()
    return f"hostapd {cipher}"
