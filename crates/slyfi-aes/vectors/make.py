#!/usr/bin/env python3
"""Makes vectors.txt with Python's `cryptography`, that is with OpenSSL, sharing no code with slyfi-aes.

    python3 make.py > vectors.txt

Each line is a kind and its fields in hexadecimal, `-` for an empty or absent one:

    cbc-cmac  encryption-key mac-key iv mac-prefix plaintext ciphertext tag
    cmac      key message tag
    gcm       key nonce aad plaintext ciphertext tag
    ccm       key nonce aad plaintext ciphertext tag
"""
import random

import cryptography
from cryptography.hazmat.backends.openssl import backend
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM
from cryptography.hazmat.primitives.cmac import CMAC

SEED = 2008
noise = random.Random(SEED)


def cmac(key, message):
    mac = CMAC(algorithms.AES(key))
    mac.update(message)
    return mac.finalize()


def line(kind, *fields):
    print(kind, *(field.hex() or "-" for field in fields))


print(f"# make.py, seed {SEED}; cryptography {cryptography.__version__} on {backend.openssl_version_text()}")
for blocks in [*range(0, 20), 31, 32, 33, 93, 94, 95, 128, 129, 144]:
    for prefix in [b"", noise.randbytes(16)]:
        enc, mac, iv = (noise.randbytes(16) for _ in range(3))
        plain = noise.randbytes(16 * blocks)
        encryptor = Cipher(algorithms.AES(enc), modes.CBC(iv)).encryptor()
        sealed = encryptor.update(plain) + encryptor.finalize()
        line("cbc-cmac", enc, mac, iv, prefix, plain, sealed, cmac(mac, prefix + sealed))
for length in [*range(0, 50), 255, 256, 257, 1500]:
    key, message = noise.randbytes(16), noise.randbytes(length)
    line("cmac", key, message, cmac(key, message))
for length in [*range(0, 70), 127, 128, 129, 240, 241, 255, 256, 257, 511, 512, 513, 1500, 2304]:
    for size in [16, 32]:
        key, nonce = noise.randbytes(size), noise.randbytes(12)
        aad = noise.randbytes(noise.choice([0, 1, 16, 16, 16, 20, 300]))
        plain = noise.randbytes(length)
        sealed = AESGCM(key).encrypt(nonce, plain, aad)
        line("gcm", key, nonce, aad, plain, sealed[:-16], sealed[-16:])
for length in [*range(0, 70), 127, 128, 129, 255, 256, 257, 1500, 2304]:
    # L is 15 less the nonce's length, and the message has to fit its length field.
    key, nonce = noise.randbytes(noise.choice([16, 24, 32])), noise.randbytes(noise.randrange(7, 14))
    aad = noise.randbytes(noise.choice([0, 1, 13, 14, 15, 22, 30, 300]))
    plain = noise.randbytes(length)
    tag = noise.randrange(4, 17, 2)
    sealed = AESCCM(key, tag_length=tag).encrypt(nonce, plain, aad)
    line("ccm", key, nonce, aad, plain, sealed[:-tag], sealed[-tag:])
