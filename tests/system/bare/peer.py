"""An independent peer of the exchange, from Ethernet up: nothing here shares code with the program.

It speaks to QEMU's `stream` network device (each frame behind its length, 4 bytes, big-endian), does
ARP, IPv4 and UDP by hand, and CCM with the `cryptography` package.
"""

import os
import socket
import struct
import time

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESCCM

MAC = bytes.fromhex("020000000063")
REQUEST = 0xFFFFFFFF


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF ^ total


class Wire:
    """One end of a QEMU `stream` network; this side listens."""

    def __init__(self, path, own, peer):
        self.own, self.peer = (socket.inet_aton(a) for a in (own, peer))
        self.peer_mac = None
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(1)
        self.stream = None
        self.buffer = b""
        self.identification = 0

    def accept(self, seconds=20):
        self.listener.settimeout(seconds)
        self.stream, _ = self.listener.accept()

    def close(self):
        for s in (self.stream, self.listener):
            if s is not None:
                s.close()

    def send_frame(self, frame):
        self.stream.settimeout(20)
        self.stream.sendall(struct.pack(">I", len(frame)) + frame)

    def frame(self, seconds):
        """Returns the next frame, or None."""
        end = time.monotonic() + seconds
        while True:
            if len(self.buffer) >= 4:
                length = struct.unpack(">I", self.buffer[:4])[0]
                if len(self.buffer) >= 4 + length:
                    frame = self.buffer[4:4 + length]
                    self.buffer = self.buffer[4 + length:]
                    return frame
            left = end - time.monotonic()
            if left <= 0:
                return None
            self.stream.settimeout(left)
            try:
                data = self.stream.recv(1 << 20)
            except TimeoutError:
                return None
            if not data:
                return None
            self.buffer += data

    def _arp(self, operation, mac, target_mac):
        return (target_mac + MAC + b"\x08\x06" + struct.pack(">HHBBH", 1, 0x0800, 6, 4, operation)
                + MAC + self.own + mac + self.peer)

    def resolve(self, seconds=20):
        """Asks until the peer answers; returns its address."""
        end = time.monotonic() + seconds
        while self.peer_mac is None and time.monotonic() < end:
            self.send_frame(self._arp(1, b"\0" * 6, b"\xff" * 6))
            for _ in range(8):
                self._handle(self.frame(0.2))
                if self.peer_mac:
                    break
        if self.peer_mac is None:
            raise TimeoutError("nobody answers ARP")
        return self.peer_mac

    def _handle(self, frame):
        """Answers ARP; returns (source port, destination port, payload) of UDP to this end."""
        if frame is None or len(frame) < 14:
            return None
        kind = frame[12:14]
        if kind == b"\x08\x06" and frame[38:42] == self.own:
            if frame[28:32] == self.peer:
                self.peer_mac = frame[22:28]
            if frame[20:22] == b"\0\1":
                self.send_frame(self._arp(2, frame[22:28], frame[22:28]))
        if kind != b"\x08\x00" or frame[23] != 17 or frame[30:34] != self.own:
            return None
        header = frame[14:34]
        assert checksum(header) == 0, "the IPv4 header's checksum is wrong"
        total = struct.unpack(">H", frame[16:18])[0]
        udp = frame[34:14 + total]
        source, target, length, given = struct.unpack(">HHHH", udp[:8])
        assert length == len(udp), "the UDP length is wrong"
        if given:
            pseudo = frame[26:34] + b"\0\x11" + udp[4:6]
            assert checksum(pseudo + udp) == 0, "the UDP checksum is wrong"
        return source, target, udp[8:]

    def datagram(self, seconds):
        """Returns the next datagram as (source port, destination port, payload), or None."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            frame = self.frame(left)
            if frame is None:
                return None
            got = self._handle(frame)
            if got is not None:
                return got
        return None

    def send(self, source, target, payload):
        length = 8 + len(payload)
        udp = struct.pack(">HHHH", source, target, length, 0) + payload
        pseudo = self.own + self.peer + b"\0\x11" + struct.pack(">H", length)
        udp = udp[:6] + struct.pack(">H", checksum(pseudo + udp) or 0xFFFF) + payload
        self.identification = (self.identification + 1) & 0xFFFF
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, self.identification, 0x4000, 64, 17, 0)
        ip += self.own + self.peer
        ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
        self.send_frame(self.resolve() + MAC + b"\x08\x00" + ip + udp)


def clear(run, number, n):
    return struct.pack(">II", run, number) + bytes((7 * i + 13) & 0xFF for i in range(8, n))


class Sealing:
    """CCM of one run, both directions."""

    def __init__(self, key, run, m, n):
        self.ccm = AESCCM(key, tag_length=8)
        self.context = b"slyfi-bare" + struct.pack(">III", run, m, n)
        self.salt = os.urandom(8)
        self.sealed = 0

    def seal(self, direction, message, client_salt=b""):
        nonce = bytes([direction]) + self.salt + struct.pack(">I", self.sealed)
        self.sealed += 1
        return nonce + self.ccm.encrypt(nonce, message, self.context + client_salt)

    def open(self, direction, sealed, client_salt=b""):
        nonce, rest = sealed[:13], sealed[13:]
        assert nonce[0] == direction, "the nonce has the wrong direction"
        try:
            return nonce, self.ccm.decrypt(nonce, rest, self.context + client_salt)
        except InvalidTag:
            return nonce, None


def run_client(wire, key, run, m, n, port=4000, own=50_000, junk=()):
    """Plays the client of one run against the image; raises AssertionError on any wrong byte.

    `junk` are frames that go onto the wire between the messages.
    """
    seal = Sealing(key, run, m, n)
    wire.resolve()
    for frame in junk:
        wire.send_frame(frame)
    wire.send(own, port, clear(run, REQUEST, n))
    for number in range(m):
        got = wire.datagram(20)
        assert got == (port, own, clear(run, number, n)), f"clear message {number}: {got}"
    for frame in junk:
        wire.send_frame(frame)
    wire.send(own, port, seal.seal(0, clear(run, REQUEST, n)))
    nonces = set()
    for number in range(m):
        got = wire.datagram(20)
        assert got and got[:2] == (port, own) and len(got[2]) == n + 21, f"sealed {number}: {got}"
        nonce, message = seal.open(1, got[2], seal.salt)
        assert message == clear(run, number, n), f"sealed message {number}"
        nonces.add(nonce)
    assert len(nonces) == m, "a nonce came twice"
    return nonces


def run_server(wire, key, run, m, n, port=4000, between=None):
    """Plays the server of one run against the image, with junk datagrams `between` if given."""
    seal = Sealing(key, run, m, n)
    while True:
        got = wire.datagram(30)
        assert got, "the client does not ask"
        client, to, message = got
        if to == port and message == clear(run, REQUEST, n):
            break
    for number in range(m):
        if between:
            wire.send(port, client, between)
        wire.send(port, client, clear(run, number, n))
    while True:
        got = wire.datagram(30)
        assert got, "the client does not ask for the sealed messages"
        if len(got[2]) == n + 21:
            break
    nonce, message = seal.open(0, got[2])
    if message is None:
        return False
    assert message == clear(run, REQUEST, n), "the sealed request"
    for number in range(m):
        if between:
            wire.send(port, client, between)
        wire.send(port, client, seal.seal(1, clear(run, number, n), nonce[1:9]))
    return True
