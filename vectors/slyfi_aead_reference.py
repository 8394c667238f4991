#!/usr/bin/env python3
"""Independent reference for suite `aead` of SlyFi, on the `cryptography` package, hashlib and hmac.

Writes JSON vectors for what docs/protocol.md defines beside the paper's suite: Tryst (single and scoped), the day
ratchet, Shroud under every size policy, the window of live addresses with late ones, the agreement (X25519, and
ML-KEM-768 beside it), the derivation of roaming sessions, invites, and the stored form of a pairing. It shares no code
with the Rust implementation on purpose: use its vectors, do not port it.

    python3 slyfi_aead_reference.py SEED > vectors.json

Everything follows from SEED except the ML-KEM ciphertexts, whose randomness the package keeps to itself.
"""
import base64, hashlib, hmac, json, random, sys
from cryptography.hazmat.primitives import cmac, serialization
from cryptography.hazmat.primitives.asymmetric import mlkem, x25519
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

DAY = 86400
BUCKETS = (128, 256, 512, 1024)
# name: (suite byte, bytes of an AES-GCM key, whether ML-KEM-768 stands beside X25519)
SUITES = {"aead": (0x10, 16, False), "aead-256": (0x11, 32, False),
          "aead-mlkem": (0x12, 16, True), "aead-256-mlkem": (0x13, 32, True)}


def expand(prk, info, n):
    """HKDF-Expand over SHA-256 (RFC 5869 section 2.3)."""
    out, t, c = b"", b"", 1
    while len(out) < n:
        t = hmac.new(prk, t + info + bytes([c]), hashlib.sha256).digest()
        out, c = out + t, c + 1
    return out[:n]


def derive(salt, ikm, info, n):
    """HKDF over SHA-256: extract, then expand."""
    return expand(hmac.new(salt, ikm, hashlib.sha256).digest(), info, n)


def aes(key, block):
    e = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return e.update(block) + e.finalize()


def mac(key, message):
    c = cmac.CMAC(algorithms.AES(key))
    c.update(message)
    return c.finalize()


def day_secret(d0, day):
    for _ in range(day):
        d0 = expand(d0, b"slyfi aead day", 32)
    return d0


def tryst_keys(d):
    k = expand(d, b"slyfi aead tryst", 48)
    return k[:16], k[16:32], k[32:]


def padded(head, message, policy, max_body):
    """len ‖ message ‖ zeros, so that head + this + a tag of 16 bytes is as long as the policy says."""
    least = head + 2 + len(message) + 16
    assert least <= max_body
    if policy == "none":
        total = least
    elif policy == "constant":
        total = max_body
    else:
        total = min([b for b in BUCKETS if least <= b <= max_body] or [max_body])
    return len(message).to_bytes(2, "big") + message + bytes(total - least)


def tryst_address(k_addr, klass, i):
    return aes(k_addr, bytes([klass]) + bytes(7) + i.to_bytes(8, "big"))


def tryst_packet(size, recipients, kp, payload, policy, max_body):
    """recipients: (address, k_enc, k_mac) of each."""
    heads = b""
    for addr, k_enc, k_mac in recipients:
        s = addr + aes(k_enc, kp)
        heads += s + mac(k_mac, s)
    key = derive(b"slyfi aead tryst packet", kp, b"key", size)
    return heads + AESGCM(key).encrypt(bytes(12), padded(len(heads), payload, policy, max_body), heads)


def shroud_keys(secret, size):
    return expand(secret, b"slyfi aead shroud addr", 16), expand(secret, b"slyfi aead shroud gcm", size)


def shroud_address(k_addr, i):
    return aes(k_addr, i.to_bytes(16, "big"))


def window(secret, ahead, late, received):
    """The live addresses after each receipt, sorted: those of numbers in (highest - late, highest + ahead] not used."""
    k_addr, _ = shroud_keys(secret, 16)
    used, highest, steps = set(), 0, []
    for i in [None] + received:
        if i is not None:
            used.add(i)
            highest = max(highest, i)
        low = max(highest - late, 0) if highest else 0
        live = [n for n in range(low + 1, highest + ahead + 1) if n not in used]
        steps.append(sorted(shroud_address(k_addr, n).hex() for n in live))
    return steps


def session(suite, client_random, ap_random, shared, request, response):
    salt = hashlib.sha256(b"slyfi aead agreement" + bytes([SUITES[suite][0]]) + request + response).digest()
    prk = hmac.new(salt, client_random + ap_random + shared, hashlib.sha256).digest()
    return {n: expand(prk, n.encode(), 32) for n in ("up", "down", "roam", "export")}


def agreement(suite, b):
    raw = (serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    client, ap, cr, ar = b(32), b(32), b(32), b(32)
    c, a = (x25519.X25519PrivateKey.from_private_bytes(k) for k in (client, ap))
    request, response = cr + c.public_key().public_bytes(*raw), ar + a.public_key().public_bytes(*raw)
    shared = a.exchange(c.public_key())
    out = {"suite": suite, "client_random": cr, "client_x25519": client, "ap_random": ar, "ap_x25519": ap}
    if SUITES[suite][2]:
        seed = b(64)
        private = mlkem.MLKEM768PrivateKey.from_seed_bytes(seed)
        k, ct = private.public_key().encapsulate()
        request, response, shared = request + private.public_key().public_bytes_raw(), response + ct, shared + k
        out["client_mlkem_seed"] = seed
    return out | {"request": request, "response": response} | session(suite, cr, ar, shared, request, response)


def stored(suite, pid, t0, interval, skew, day, expires, name, up, down):
    kind = bytes([0]) + bytes(8) if expires is None else bytes([1]) + expires.to_bytes(8, "big")
    return (bytes([1, SUITES[suite][0]]) + pid + t0.to_bytes(8, "big") + interval.to_bytes(4, "big") + bytes([skew])
            + day.to_bytes(4, "big") + kind + bytes([len(name)]) + name + up + down)


def invite(suite, expires, secret, name):
    fields = (bytes([1, SUITES[suite][0]]) + expires.to_bytes(8, "big") + secret + bytes([len(name)]) + name)
    check = hashlib.sha256(b"slyfi invite" + fields).digest()[:4]
    url = "SLYFI://JOIN/" + base64.b32encode(fields + check).decode().rstrip("=")
    okm = derive(b"slyfi invite", secret, fields, 72)
    return url, okm[:8], okm[8:40], okm[40:]


def main(seed):
    r = random.Random(seed)
    b = r.randbytes
    hx = lambda d: {k: v.hex() if isinstance(v, bytes) else v for k, v in d.items()}
    out = {"suite": "aead", "seed": seed, "ratchet": [], "tryst": [], "tryst_scoped": [], "shroud": [], "window": [],
           "agreement": [], "roam": [], "invite": [], "stored": []}
    policies = [("none", 2300), ("buckets", 1600), ("buckets", 700), ("constant", 1600), ("constant", 1300)]

    for suite in SUITES:
        d0 = b(32)
        for day in (0, 1, 2, 30, 400):
            d = day_secret(d0, day)
            k_addr, k_enc, k_mac = tryst_keys(d)
            out["ratchet"].append(hx({"suite": suite, "day_0": d0, "day": day, "secret": d, "k_addr": k_addr,
                "k_enc": k_enc, "k_mac": k_mac}))

    n_of = (0, 1, 15, 16, 63, 200, 412, 600, 1100)
    for n, suite, direction in [(n, s, d) for n in n_of for s in ("aead", "aead-256") for d in ("up", "down")]:
        policy, max_body = r.choice([p for p in policies if p[1] >= n + 66])
        up, down = b(32), b(32)
        t0, interval, skew = r.randrange(1_600_000_000, 1_700_000_000), r.choice([60, 300, 420, 900, 7001]), 2
        t, klass, kp, p = t0 + r.randrange(interval, 9 * DAY), r.randrange(2), b(16), b(n)
        i = (t - t0) // interval
        day = i * interval // DAY
        k_addr, k_enc, k_mac = tryst_keys(day_secret(up if direction == "up" else down, day))
        addr = tryst_address(k_addr, klass, i)
        out["tryst"].append(hx({"suite": suite, "up": up, "down": down, "direction": direction, "t0_s": t0,
            "interval_s": interval, "skew": skew, "t_s": t, "class": klass, "i": i, "day": day, "address": addr,
            "kp": kp, "policy": policy, "max_body": max_body, "payload": p,
            "packet": tryst_packet(SUITES[suite][1], [(addr, k_enc, k_mac)], kp, p, policy, max_body)}))

    for recipients, suite in [(c, s) for c in range(2, 9) for s in ("aead", "aead-256")]:
        kp, p, t = b(16), b(r.randrange(0, 200)), 1_750_000_000 + r.randrange(10**6)
        policy, max_body = r.choice(policies)
        heads, who = [], []
        for _ in range(recipients):
            up, down = b(32), b(32)
            t0, interval, skew = t - r.randrange(1000, 3 * DAY), r.choice([60, 300, 900]), 3
            i = (t - t0) // interval
            day = i * interval // DAY
            k_addr, k_enc, k_mac = tryst_keys(day_secret(up, day))
            addr = tryst_address(k_addr, 0, i)
            heads.append((addr, k_enc, k_mac))
            who.append(hx({"up": up, "down": down, "t0_s": t0, "interval_s": interval, "skew": skew, "i": i, "day": day,
                "address": addr}))
        out["tryst_scoped"].append({"suite": suite, "t_s": t, "kp": kp.hex(), "policy": policy, "max_body": max_body,
            "payload": p.hex(), "recipients": who,
            "packet": tryst_packet(SUITES[suite][1], heads, kp, p, policy, max_body).hex()})

    for n, suite in [(n, s) for n in (0, 1, 14, 94, 95, 222, 223, 478, 600, 990, 1200) for s in ("aead", "aead-256")]:
        policy, max_body = r.choice([p for p in policies if p[1] >= n + 34])
        secret, i, p = b(32), r.randrange(1, 2**48), b(n)
        k_addr, k_gcm = shroud_keys(secret, SUITES[suite][1])
        addr = shroud_address(k_addr, i)
        etxt = AESGCM(k_gcm).encrypt(i.to_bytes(12, "big"), padded(16, p, policy, max_body), addr)
        out["shroud"].append(hx({"suite": suite, "secret": secret, "i": i, "address": addr, "policy": policy,
            "max_body": max_body, "payload": p, "packet": addr + etxt}))

    for ahead, late, received in ((3, 0, [1, 2, 5]), (5, 2, [1, 3, 2, 6, 5]), (2, 64, [2, 4, 1, 3, 5, 7]),
                                  (50, 8, [50, 43, 49, 44, 100, 93, 150])):
        secret = b(32)
        out["window"].append({"suite": "aead", "secret": secret.hex(), "ahead": ahead, "late": late,
            "received": received, "live": window(secret, ahead, late, received)})

    out["agreement"] = [hx(agreement(suite, b)) for suite in SUITES for _ in range(2)]

    for suite, generation, salt in [(s, g, b(n)) for s in SUITES for g, n in ((1, 16), (2, 32), (2**32 - 1, 7))]:
        roam = b(32)
        okm = expand(roam, b"slyfi roam" + bytes([SUITES[suite][0]]) + generation.to_bytes(4, "big") + salt, 64)
        out["roam"].append(hx({"suite": suite, "roam": roam, "salt": salt, "generation": generation,
            "up": okm[:32], "down": okm[32:]}))

    for suite, name in [(s, n) for s in SUITES for n in (b"x", "Café Müller".encode(), bytes(range(200, 232)))]:
        expires, secret = 1_800_000_000 + r.randrange(10**7), b(16)
        url, pid, up, down = invite(suite, expires, secret, name)
        out["invite"].append(hx({"suite": suite, "expires_s": expires, "secret": secret, "network": name, "url": url,
            "id": pid, "t0_s": expires - 8 * DAY, "interval_s": 300, "skew": 1, "up": up, "down": down,
            "stored": stored(suite, pid, expires - 8 * DAY, 300, 1, 0, expires, name, up, down)}))

    for suite in SUITES:
        pid, name, up, down = b(8), b(r.randrange(1, 33)), b(32), b(32)
        t0, interval, skew = r.randrange(2**33), r.randrange(1, DAY + 1), r.randrange(17)
        for day in (0, 3):
            bytes_ = stored(suite, pid, t0, interval, skew, day, None, name, day_secret(up, day), day_secret(down, day))
            out["stored"].append(hx({"suite": suite, "id": pid, "network": name, "t0_s": t0, "interval_s": interval,
                "skew": skew, "day": day, "up": up, "down": down, "stored": bytes_}))

    json.dump(out, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(int(sys.argv[1]))
