#!/usr/bin/env python3
"""Makes tracedge.json: rows, commitments, trees and logins of docs/tracedge.md.

Written from RFC 9496 (ristretto255), RFC 5869 (HKDF), RFC 6962 and docs/tracedge.md; Python's standard library
only, no code in common with the crate. Run it again with the same seed: the same file.

    python3 tracedge.py 2015 > tracedge.json
"""

import hashlib
import hmac
import json
import sys

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)


def negative(x):
    return x % P % 2 == 1


def absolute(x):
    x %= P
    return P - x if negative(x) else x


def sqrt_ratio(u, v):
    """RFC 9496 4.2."""
    r = u * pow(v, 3, P) % P * pow(u * pow(v, 7, P) % P, (P - 5) // 8, P) % P
    check = v * r % P * r % P
    u %= P
    correct, flipped = check == u, check == -u % P
    flipped_i = check == -u * SQRT_M1 % P
    if flipped or flipped_i:
        r = r * SQRT_M1 % P
    return correct or flipped, absolute(r)


INVSQRT_A_MINUS_D = sqrt_ratio(1, (-1 - D) % P)[1]
# RFC 9496 4.1 gives this constant; it is the odd root, so it is written out.
SQRT_AD_MINUS_ONE = 25063068953384623474111414158702152701244531502492656460079210482610430750235
ONE_MINUS_D_SQ = (1 - D * D) % P
D_MINUS_ONE_SQ = (D - 1) ** 2 % P


def add(p, q):
    x1, y1, z1, t1 = p
    x2, y2, z2, t2 = q
    a, b = (y1 - x1) * (y2 - x2), (y1 + x1) * (y2 + x2)
    c, d = 2 * D * t1 * t2, 2 * z1 * z2
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def mul(k, p):
    out = (0, 1, 1, 0)
    while k:
        if k & 1:
            out = add(out, p)
        p, k = add(p, p), k >> 1
    return out


def encode(p):
    """RFC 9496 4.3.2."""
    x0, y0, z0, t0 = p
    u1, u2 = (z0 + y0) * (z0 - y0) % P, x0 * y0 % P
    _, invsqrt = sqrt_ratio(1, u1 * u2 % P * u2 % P)
    den1, den2 = invsqrt * u1 % P, invsqrt * u2 % P
    z_inv = den1 * den2 % P * t0 % P
    if negative(t0 * z_inv):
        x, y, den_inv = y0 * SQRT_M1 % P, x0 * SQRT_M1 % P, den1 * INVSQRT_A_MINUS_D % P
    else:
        x, y, den_inv = x0, y0, den2
    if negative(x * z_inv):
        y = -y % P
    return absolute(den_inv * (z0 - y)).to_bytes(32, "little")


def decode(data):
    """RFC 9496 4.3.1."""
    s = int.from_bytes(data, "little")
    assert s < P and s % 2 == 0
    ss = s * s % P
    u1, u2 = (1 - ss) % P, (1 + ss) % P
    v = (-(D * u1 % P * u1) - u2 * u2) % P
    ok, invsqrt = sqrt_ratio(1, v * u2 % P * u2 % P)
    den_x = invsqrt * u2 % P
    den_y = invsqrt * den_x % P * v % P
    x = absolute(2 * s * den_x)
    y = u1 * den_y % P
    t = x * y % P
    assert ok and not negative(t) and y
    return x, y, 1, t


def element_of_field(t):
    """RFC 9496 4.3.4, MAP."""
    r = SQRT_M1 * t % P * t % P
    u, v = (r + 1) * ONE_MINUS_D_SQ % P, (-1 - r * D) * (r + D) % P
    square, s = sqrt_ratio(u, v)
    if not square:
        s = -absolute(s * t) % P
    c = -1 if square else r
    n = (c * (r - 1) % P * D_MINUS_ONE_SQ - v) % P
    w0, w1 = 2 * s * v % P, n * SQRT_AD_MINUS_ONE % P
    w2, w3 = (1 - s * s) % P, (1 + s * s) % P
    return w0 * w3 % P, w2 * w1 % P, w1 * w3 % P, w0 * w2 % P


B = decode(bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76"))


def lizard(key):
    """Lizard: 16 bytes between bytes of their own SHA-256, through MAP."""
    t = bytearray(hashlib.sha256(key).digest())
    t[8:24] = key
    t[0] &= 0xFE
    t[31] &= 0x3F
    return element_of_field(int.from_bytes(t, "little"))


def hash_to_scalar(*parts):
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % L


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def hkdf(salt, ikm, info, length):
    prk = hmac.new(salt, ikm, hashlib.sha256).digest()
    out, block = b"", b""
    for i in range((length + 31) // 32):
        block = hmac.new(prk, block + info + bytes([i + 1]), hashlib.sha256).digest()
        out += block
    return out[:length]


class Random:
    """SHA-256 of seed and counter."""

    def __init__(self, seed):
        self.seed, self.count = seed, 0

    def bytes(self, n):
        out = b""
        while len(out) < n:
            self.count += 1
            out += sha256(b"tracedge vectors", self.seed.to_bytes(8, "big"), self.count.to_bytes(8, "big"))
        return out[:n]

    def scalar(self):
        return int.from_bytes(self.bytes(64), "little") % L


def block_root(leaves):
    absent = sha256(b"\x02")
    while len(leaves) > 1:
        if len(leaves) % 2:
            leaves = leaves + [absent]
        leaves = [sha256(b"\x01", leaves[i], leaves[i + 1]) for i in range(0, len(leaves), 2)]
        absent = sha256(b"\x01", absent, absent)
    return leaves[0]


def epoch(rng):
    operator, key = rng.bytes(32), rng.bytes(16)
    number = int.from_bytes(rng.bytes(4), "little")
    before = 1_600_000_000 + int.from_bytes(rng.bytes(4), "little") % 10**8
    after = before + 600 + int.from_bytes(rng.bytes(2), "little")
    u64 = lambda n: n.to_bytes(8, "little")
    r = hash_to_scalar(b"slyfi-tracedge/1 ephemeral", operator, u64(number), u64(before), u64(after), key)
    m = lizard(key)
    # Not a multiple of a leaf's 64 rows, three leaves: an absent one beside the third.
    secrets = [rng.scalar() for _ in range(3)]
    publics = [mul(s, B) for s in secrets]
    row = [encode(add(m, mul(r, p))) for p in publics]
    order = [(i * i + 1) % 3 for i in range(150)]
    table = b"".join(row[i] for i in order)
    leaves = [sha256(b"\x00", table[i : i + 64 * 32]) for i in range(0, len(table), 64 * 32)]
    return {
        "operator": operator.hex(),
        "number": number,
        "not_before": before,
        "not_after": after,
        "key": key.hex(),
        "message": encode(m).hex(),
        "commitment": encode(mul(r, B)).hex(),
        "secrets": [s.to_bytes(32, "little").hex() for s in secrets],
        "publics": [encode(p).hex() for p in publics],
        "rows": [c.hex() for c in row],
        "order": order,
        "table_root": block_root(leaves).hex(),
    }


def login(rng):
    key, a, b = rng.bytes(16), rng.scalar(), rng.scalar()
    binding = rng.bytes(int.from_bytes(rng.bytes(1), "little") % 40)
    x1, x2, z = encode(mul(a, B)), encode(mul(b, B)), encode(mul(a * b % L, B))
    salt, ikm = sha256(x1, x2), key + z + binding
    return {
        "key": key.hex(),
        "binding": binding.hex(),
        "a": a.to_bytes(32, "little").hex(),
        "b": b.to_bytes(32, "little").hex(),
        "x1": x1.hex(),
        "x2": x2.hex(),
        "client_proof": sha256(x2, x1, key).hex(),
        "server_proof": sha256(x1, x2, key).hex(),
        "server_to_client": hkdf(salt, ikm, b"slyfi-tracedge/1 server to client", 32).hex(),
        "client_to_server": hkdf(salt, ikm, b"slyfi-tracedge/1 client to server", 32).hex(),
        "msk": hkdf(salt, ikm, b"slyfi-tracedge/1 msk", 64).hex(),
    }


def main():
    seed = int(sys.argv[1])
    rng = Random(seed)
    out = {"seed": seed, "epochs": [epoch(rng) for _ in range(4)], "logins": [login(rng) for _ in range(4)]}
    json.dump(out, sys.stdout, indent=1)
    print()


main()
