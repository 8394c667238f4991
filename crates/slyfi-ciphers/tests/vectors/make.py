#!/usr/bin/env python3
"""Vectors for the link ciphers, from OpenSSL's AES (through `cryptography`) and nothing of this project.

Nonce, associated data and TKIP's mixing are written here from IEEE 802.11-2020 §12.5, independently of
the crate. Every field takes part: key identifiers 0 to 3, packet numbers above 2^32, four addresses,
TIDs, HT control, fragments, management frames. Run: `python3 make.py > made.json`.
"""
import json
import random
import struct
import zlib

from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM

R = random.Random(80211)
HEX = bytes.hex


def rand(n):
    return bytes(R.randrange(256) for _ in range(n))


def rc4(key, data):
    return Cipher(ARC4(key), None).encryptor().update(data)


def header(kind, four, qos, htc, tid, fragment, retry, from_ds):
    """A header and its parts: (bytes, masked AAD, priority, DA, SA, A2)."""
    fc0 = {"data": 0x08, "mgmt": 0xD0}[kind] | (0x80 if qos else 0)
    fc1 = 0x40
    if kind == "data":
        fc1 |= 3 if four else (2 if from_ds else 1)
    if retry:
        fc1 |= 0x38
    if fragment:
        fc1 |= 4
    if htc:
        fc1 |= 0x80
    a1, a2, a3, a4 = (bytes([b[0] & 0xFE]) + b[1:] for b in (rand(6), rand(6), rand(6), rand(6)))
    sequence = R.randrange(4096)
    h = bytes([fc0, fc1]) + rand(2) + a1 + a2 + a3 + struct.pack("<H", sequence << 4 | fragment)
    aad = bytes([fc0 & (0x8F if kind == "data" else 0xFF), fc1 & ~0x38 & (0x7F if qos else 0xFF)])
    aad += a1 + a2 + a3 + bytes([fragment, 0])
    if kind == "data" and four:
        h += a4
        aad += a4
    if qos:
        h += bytes([tid | 0x60, R.randrange(256)])
        aad += bytes([tid, 0])
    if htc:
        h += rand(4)
    to_ds, frm = fc1 & 1, fc1 & 2
    da = a3 if to_ds else a1
    sa = (a4 if to_ds else a3) if frm else a2
    return h, aad, tid if qos else 0, da, sa, a2


def ext_iv(pn, key_id):
    p = pn.to_bytes(6, "little")
    return bytes([p[0], p[1], 0, 0x20 | key_id << 6]) + p[2:]


def ccmp(tk, mic, pn, key_id, kind, parts, payload):
    h, aad, prio, _, _, a2 = parts
    nonce = bytes([prio | (0x10 if kind == "mgmt" else 0)]) + a2 + pn.to_bytes(6, "big")
    return ext_iv(pn, key_id) + AESCCM(tk, tag_length=mic).encrypt(nonce, payload, aad)


def gcmp(tk, pn, key_id, parts, payload):
    h, aad, _, _, _, a2 = parts
    return ext_iv(pn, key_id) + AESGCM(tk).encrypt(a2 + pn.to_bytes(6, "big"), payload, aad)


def wep(key, iv, key_id, payload):
    icv = struct.pack("<I", zlib.crc32(payload))
    return iv + bytes([key_id << 6]) + rc4(iv + key, payload + icv)


def aes_sbox():
    box = []
    for x in range(256):
        inverse = next((y for y in range(256) if mul(x, y) == 1), 0)
        r = 0x63
        for k in range(5):
            r ^= (inverse << k | inverse >> (8 - k)) & 255
        box.append(r)
    return box


def mul(a, b):
    r = 0
    while b:
        if b & 1:
            r ^= a
        a = a << 1 ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return r


TKIP_S = [mul(s, 2) << 8 | mul(s, 3) for s in aes_sbox()]


def S(v):
    t = TKIP_S[v >> 8]
    return TKIP_S[v & 255] ^ (t >> 8 | (t & 255) << 8)


def tkip_seed(tk, ta, tsc):
    iv16, iv32 = tsc & 0xFFFF, tsc >> 16
    k = lambda i: tk[i] | tk[i + 1] << 8
    p = [iv32 & 0xFFFF, iv32 >> 16] + [ta[2 * i] | ta[2 * i + 1] << 8 for i in range(3)]
    for i in range(8):
        j = 2 * (i & 1)
        p[0] = p[0] + S(p[4] ^ k(j)) & 0xFFFF
        p[1] = p[1] + S(p[0] ^ k(4 + j)) & 0xFFFF
        p[2] = p[2] + S(p[1] ^ k(8 + j)) & 0xFFFF
        p[3] = p[3] + S(p[2] ^ k(12 + j)) & 0xFFFF
        p[4] = p[4] + S(p[3] ^ k(j)) + i & 0xFFFF
    q = p + [p[4] + iv16 & 0xFFFF]
    for i in range(6):
        q[i] = q[i] + S(q[i - 1] ^ k(2 * i)) & 0xFFFF
    ror = lambda v: (v >> 1 | v << 15) & 0xFFFF
    q[0] = q[0] + ror(q[5] ^ k(12)) & 0xFFFF
    q[1] = q[1] + ror(q[0] ^ k(14)) & 0xFFFF
    for i in range(2, 6):
        q[i] = q[i] + ror(q[i - 1]) & 0xFFFF
    seed = [iv16 >> 8, (iv16 >> 8 | 0x20) & 0x7F, iv16 & 255, (q[5] ^ k(0)) >> 1 & 255]
    for v in q:
        seed += [v & 255, v >> 8]
    return bytes(seed)


def michael(key, message):
    l, r = struct.unpack("<II", key)
    message += b"\x5a" + bytes(4 + -(len(message) + 5) % 4)
    rol = lambda v, n: (v << n | v >> (32 - n)) & 0xFFFFFFFF
    for (w,) in struct.iter_unpack("<I", message):
        l ^= w
        r ^= rol(l, 17)
        l = l + r & 0xFFFFFFFF
        r ^= (l & 0xFF00FF) << 8 | l >> 8 & 0xFF00FF
        l = l + r & 0xFFFFFFFF
        r ^= rol(l, 3)
        l = l + r & 0xFFFFFFFF
        r ^= rol(l, 30)
        l = l + r & 0xFFFFFFFF
    return struct.pack("<II", l, r)


def tkip(tk, pn, key_id, parts, payload):
    h, _, prio, da, sa, a2 = parts
    mic_key = tk[16:24] if h[1] & 2 else tk[24:32]
    data = payload + michael(mic_key, da + sa + bytes([prio, 0, 0, 0]) + payload)
    seed = tkip_seed(tk, a2, pn)
    p = pn.to_bytes(6, "little")
    head = bytes([p[1], seed[1], p[0], 0x20 | key_id << 6]) + p[2:]
    return head + rc4(seed, data + struct.pack("<I", zlib.crc32(data)))


def frames():
    out = []
    lengths = [0, 1, 15, 16, 17, 31, 64, 100, 255, 1500]
    for n in range(120):
        cipher = ["ccmp128", "ccmp256", "gcmp128", "gcmp256", "tkip", "wep40", "wep104"][n % 7]
        classic = cipher in ("tkip", "wep40", "wep104")
        kind = "mgmt" if n % 9 == 8 and not classic else "data"
        qos = kind == "data" and n % 3 != 0
        four = kind == "data" and n % 4 == 3
        htc = qos and n % 5 == 0
        fragment = 0 if classic or n % 11 else 1 + n % 7
        parts = header(kind, four, qos, htc, R.randrange(16), fragment, n % 2, n % 2)
        payload = rand(lengths[n % len(lengths)])
        pn = R.choice([R.randrange(1, 1 << 16), R.randrange(1 << 32, 1 << 48), (1 << 48) - 1])
        key_id = (n // 7) % 4
        size = {"ccmp128": 16, "gcmp128": 16, "wep40": 5, "wep104": 13}.get(cipher, 32)
        tk = rand(size)
        if cipher.startswith("ccmp"):
            sealed = ccmp(tk, 8 if size == 16 else 16, pn, key_id, kind, parts, payload)
        elif cipher.startswith("gcmp"):
            sealed = gcmp(tk, pn, key_id, parts, payload)
        elif cipher == "tkip":
            sealed = tkip(tk, pn, key_id, parts, payload)
        else:
            pn &= 0xFFFFFF
            sealed = wep(tk, pn.to_bytes(3, "little"), key_id, payload)
        out.append(dict(cipher=cipher, key=HEX(tk), number=pn, key_id=key_id, header=HEX(parts[0]),
                        payload=HEX(payload), sealed=HEX(sealed)))
    return out


def ccm():
    out = []
    for m in range(4, 17, 2):
        for l in range(2, 9):
            for size in (16, 24, 32):
                key, nonce = rand(size), rand(15 - l)
                aad, data = rand(R.choice([0, 1, 13, 14, 15, 30, 400])), rand(R.choice([0, 1, 16, 33, 200]))
                sealed = AESCCM(key, tag_length=m).encrypt(nonce, data, aad)
                out.append(dict(m=m, l=l, key=HEX(key), nonce=HEX(nonce), aad=HEX(aad), data=HEX(data),
                                sealed=HEX(sealed)))
    return out


print(json.dumps(dict(frames=frames(), ccm=ccm()), indent=0))
