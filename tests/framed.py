"""Captures of one TCP conversation in every framing that lasthop reads, written byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

ETHERNET: Final = 1
RAW: Final = 101
MICROSECONDS: Final = 0xA1B2C3D4

CLIENT, SERVER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
GATEWAYS: Final = (bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
CLIENT_6, SERVER_6 = bytes([0x20, 1, 0xD, 0xB8, *[0] * 11, 1]), bytes([0x20, 1, 0xD, 0xB8, *[0] * 11, 2])
MACS: Final = bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1])

SYN, FIN, ACK = 2, 1, 16

Frames = Sequence[tuple[float, bytes]]
"""Times in seconds, and the bytes of each frame."""


def checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    words = struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2))
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return int(~total & 0xFFFF)


def ipv4(source: bytes, target: bytes, protocol: int, payload: bytes, identification: int = 1, part: int = 0) -> bytes:
    """Return an IPv4 packet; `part` is its field of flags and fragment offset."""
    head = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), identification, part, 64, protocol, 0, source, target
    )
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def ipv6(source: bytes, target: bytes, protocol: int, payload: bytes) -> bytes:
    """Return an IPv6 packet."""
    return struct.pack("!IHBB16s16s", 6 << 28, len(payload), protocol, 64, source, target) + payload


def udp(port: int, payload: bytes) -> bytes:
    """Return a UDP datagram without a checksum."""
    return struct.pack("!HHHH", 40000, port, 8 + len(payload), 0) + payload


def tcp(up: bool, seq: int, ack: int, flags: int, data: bytes, addresses: tuple[bytes, bytes]) -> bytes:
    """Return a TCP segment of the client (`up`) or of the server."""
    ports = (40000, 80) if up else (80, 40000)
    source, target = addresses if up else addresses[::-1]
    head = struct.pack("!HHIIBBHHH", *ports, seq, ack, 0x50, flags, 8000, 0, 0)
    pseudo = source + target + struct.pack("!IHH", len(head) + len(data), 0, 6)[:8]
    value = checksum(pseudo + head + data)
    return head[:16] + struct.pack("!H", value) + head[18:] + data


def segments(addresses: tuple[bytes, bytes] = (CLIENT, SERVER)) -> Iterator[tuple[float, bool, bytes]]:
    """Yield a conversation of 60 ms round trips captured at the server: 40 segments, the fifth on a timeout again."""
    yield 0.0, True, tcp(True, 99, 0, SYN, b"", addresses)
    yield 0.00002, False, tcp(False, 499, 100, SYN | ACK, b"", addresses)
    yield 0.06, True, tcp(True, 100, 500, ACK, b"", addresses)
    for round_ in range(8):
        begins = 0.07 if round_ == 0 else 0.44 + 0.06 * round_
        for place in range(5):
            seq = 500 + 1000 * (5 * round_ + place)
            yield begins + 0.0001 * place, False, tcp(False, seq, 100, ACK, bytes(1000), addresses)
        if round_ == 0:
            yield 0.1299, True, tcp(True, 100, 4500, ACK, b"", addresses)
            yield 0.43, False, tcp(False, 4500, 100, ACK, bytes(1000), addresses)
            yield 0.4899, True, tcp(True, 100, 5500, ACK, b"", addresses)
        else:
            yield begins + 0.0599, True, tcp(True, 100, 5500 + 5000 * round_, ACK, b"", addresses)


def conversation() -> list[tuple[float, bool, bytes]]:
    """Return the conversation as IPv4 packets in the order of time."""
    found = [
        (time, up, ipv4(*((CLIENT, SERVER) if up else (SERVER, CLIENT)), 6, segment, number))
        for number, (time, up, segment) in enumerate(segments(), start=1)
    ]
    return sorted(found, key=lambda packet: packet[0])


def conversation_6() -> list[tuple[float, bool, bytes]]:
    """Return the conversation as IPv6 packets in the order of time."""
    ends = (CLIENT_6, SERVER_6)
    found = [(time, up, ipv6(*(ends if up else ends[::-1]), 6, segment)) for time, up, segment in segments(ends)]
    return sorted(found, key=lambda packet: packet[0])


def write(path: Path, link_type: int, frames: Frames, snap: int = 262_144) -> Path:
    """Write frames as a pcap file, each cut at `snap` bytes; return its path."""
    out = struct.pack("<IHHiIII", MICROSECONDS, 2, 4, 0, 0, snap, link_type)
    for time, frame in frames:
        kept = frame[:snap]
        micros = round(time * 1e6) + 1_700_000_000_000_000
        out += struct.pack("<IIII", *divmod(micros, 1_000_000), len(kept), len(frame)) + kept
    path.write_bytes(out)
    return path


def ethernet(ether_type: int, payload: bytes) -> bytes:
    """Return an Ethernet frame."""
    return MACS + struct.pack("!H", ether_type) + payload


def outer(payload: bytes, protocol: int) -> bytes:
    """Return an Ethernet frame with the packet of a tunnel between two gateways."""
    return ethernet(0x0800, ipv4(*GATEWAYS, protocol, payload))


def snap(packet: bytes) -> bytes:
    """Return a packet after the headers of LLC and SNAP."""
    return b"\xaa\xaa\x03\0\0\0\x08\0" + packet


def pppoe(packet: bytes) -> bytes:
    """Return a session's frame of PPP over Ethernet."""
    return ethernet(0x8864, struct.pack("!BBHH", 0x11, 0, 1, len(packet) + 2) + b"\0\x21" + packet)


def gtp(packet: bytes) -> bytes:
    """Return the user plane of a mobile network, with a sequence number."""
    return outer(udp(2152, struct.pack("!BBHIHBB", 0x32, 255, len(packet) + 4, 7, 1, 0, 0) + packet), 17)


def nflog(packet: bytes) -> bytes:
    """Return a record of the Linux packet filter's log: a prefix, and the payload."""
    fields = struct.pack("<HH", 6, 10) + b"a\0" + b"\0\0" + struct.pack("<HH", 4 + len(packet), 9) + packet
    return b"\x02\0\0\0" + fields


def wireless(packet: bytes) -> bytes:
    """Return a QoS data frame to the distribution system after a radiotap header with a timer and flags."""
    radiotap = struct.pack("<BBHIQB", 0, 0, 17, 3, 123_456, 0)
    return radiotap + b"\x88\x01" + bytes(2) + MACS + MACS[:6] + bytes(2) + bytes(2) + snap(packet)


FRAMINGS: Final[dict[str, tuple[int, Callable[[bytes], bytes]]]] = {
    "ethernet": (ETHERNET, lambda packet: ethernet(0x0800, packet)),
    "vlan in vlan": (ETHERNET, lambda packet: ethernet(0x88A8, b"\0\x05\x81\0\0\x06\x08\0" + packet)),
    "llc": (ETHERNET, lambda packet: MACS + struct.pack("!H", len(packet) + 8) + snap(packet)),
    "pppoe": (ETHERNET, pppoe),
    "mpls": (ETHERNET, lambda packet: ethernet(0x8847, b"\0\x01\0\x40\0\x02\x01\x40" + packet)),
    "ip in ip": (ETHERNET, lambda packet: outer(packet, 4)),
    "4in6": (ETHERNET, lambda packet: ethernet(0x86DD, ipv6(CLIENT_6, SERVER_6, 4, packet))),
    "gre": (ETHERNET, lambda packet: outer(b"\0\0\x08\0" + packet, 47)),
    "gre with key": (ETHERNET, lambda packet: outer(b"\x20\0\x65\x58\0\0\0\x07" + ethernet(0x0800, packet), 47)),
    "gtp-u": (ETHERNET, gtp),
    "vxlan": (ETHERNET, lambda packet: outer(udp(4789, b"\x08\0\0\0\0\0\x07\0" + ethernet(0x0800, packet)), 17)),
    "geneve": (
        ETHERNET,
        lambda packet: outer(udp(6081, b"\x01\0\x65\x58\0\0\x07\0\x01\x02\x03\0" + ethernet(0x0800, packet)), 17),
    ),
    "raw ip": (RAW, lambda packet: packet),
    "bsd loopback": (0, lambda packet: b"\x02\0\0\0" + packet),
    "openbsd loopback": (108, lambda packet: b"\0\0\0\x02" + packet),
    "ppp": (9, lambda packet: b"\xff\x03\0\x21" + packet),
    "cisco hdlc": (104, lambda packet: b"\x0f\0\x08\0" + packet),
    "linux cooked": (113, lambda packet: struct.pack("!HHHQH", 0, 1, 6, 0, 0x0800) + packet),
    "linux cooked 2": (276, lambda packet: struct.pack("!HHIHBBQ", 0x0800, 0, 1, 1, 0, 6, 0) + packet),
    "radiotap": (127, wireless),
    "802.11": (105, lambda packet: wireless(packet)[17:]),
    "nflog": (239, nflog),
}
"""The link type of each framing, and what it makes of a packet."""


def fragments(packet: bytes, size: int = 480) -> list[bytes]:
    """Return an IPv4 packet in fragments of at most `size` bytes of payload, a multiple of eight."""
    payload, identification = packet[20:], int.from_bytes(packet[4:6], "big")
    parts = []
    for offset in range(0, len(payload), size):
        more = 0x2000 if offset + size < len(payload) else 0
        part = payload[offset : offset + size]
        parts.append(ipv4(packet[12:16], packet[16:20], packet[9], part, identification, more | offset // 8))
    return parts
