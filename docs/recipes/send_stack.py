"""A TCP in a few lines, for a host with `stack = "program"`: it sends one segment and waits for its acknowledgment.

    lasthop live send.toml --in server 'python3 docs/recipes/send_stack.py'

`LASTHOP_FLOWS` has a line for each flow of the host, and this program does the first: "send", its own port, the
receiver's address and port, how many bytes, and when to begin, in seconds.
"""

import os
import select
import socket
import struct
import time

FIN, SYN, PSH, ACK = 1, 2, 8, 16
HEADERS = 40
MOST = 65_535
TIMEOUT_S = 1.0
"""RFC 6298 §2.1: until a round-trip time is known; here, always."""


def checksum(data: bytes) -> int:
    """RFC 1071: the ones' complement of the ones' complement sum of all 16-bit words."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def pattern(first: int, count: int) -> bytes:
    """Return bytes of the stream from `first` on: the receiver compares what it reads with these."""
    return bytes((at * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF) >> 56 for at in range(first, first + count))


class Connection:
    """The sending end of a connection."""

    def __init__(self, device: int, own: tuple[str, int], other: tuple[str, int]) -> None:
        self.device = device
        self.addresses = socket.inet_aton(own[0]) + socket.inet_aton(other[0])
        self.ports = own[1], other[1]
        self.next = 0
        """SND.NXT: the sequence number that comes next."""
        self.peers = 0
        """RCV.NXT: the peer's."""

    def deliver(self, flags: int, data: bytes = b"") -> None:
        """Send a segment, and again each second until its ACK comes."""
        length = len(data) + bool(flags & (SYN | FIN))
        deadline = 0.0
        while True:
            if time.monotonic() >= deadline:
                self.send(flags, data)
                deadline = time.monotonic() + TIMEOUT_S
            if self.acknowledged(self.next + length, deadline):
                self.next += length
                return

    def send(self, flags: int, data: bytes = b"") -> None:
        """Send a segment once."""
        tcp = bytearray(struct.pack("!HHIIBBHHH", *self.ports, self.next, self.peers, 5 << 4, flags, MOST, 0, 0))
        pseudo = self.addresses + struct.pack("!HH", socket.IPPROTO_TCP, len(tcp) + len(data))
        tcp[16:18] = checksum(pseudo + bytes(tcp) + data).to_bytes(2, "big")
        length = 20 + len(tcp) + len(data)
        ip = bytearray(struct.pack("!BBHHHBBH", 0x45, 0, length, 0, 0, 64, socket.IPPROTO_TCP, 0) + self.addresses)
        ip[10:12] = checksum(bytes(ip)).to_bytes(2, "big")
        os.write(self.device, bytes(ip + tcp + data))

    def acknowledged(self, wanted: int, deadline: float) -> bool:
        """Read one packet, if one comes in time; return whether it acknowledges all that was wanted."""
        readable, _, _ = select.select([self.device], [], [], max(0.0, deadline - time.monotonic()))
        if not readable:
            return False
        packet = os.read(self.device, MOST)
        segment = packet[(packet[0] & 0xF) * 4 :]
        seq, ack, offset, flags = struct.unpack("!IIBB", segment[4:14])
        # What the peer sends takes sequence numbers where it opens or closes.
        end = seq + len(segment) - (offset >> 4) * 4 + bool(flags & (SYN | FIN))
        if flags & SYN or seq == self.peers:
            self.peers = end
        if flags & FIN:
            self.send(ACK)
        return bool(flags & ACK) and ack >= wanted


def main() -> None:
    """Send what the first flow says."""
    verb, port, address, other_port, count, start = os.environ["LASTHOP_FLOWS"].splitlines()[0].split()
    assert verb == "send"
    time.sleep(float(start))
    own, other = (os.environ["LASTHOP_ADDRESS"], int(port)), (address, int(other_port))
    connection = Connection(int(os.environ["LASTHOP_TUN_FD"]), own, other)
    connection.deliver(SYN)
    # The third part of the handshake carries data.
    most, sent = int(os.environ["LASTHOP_MTU"]) - HEADERS, 0
    while sent < int(count):
        data = pattern(sent, min(most, int(count) - sent))
        connection.deliver(ACK | PSH, data)
        sent += len(data)
    connection.deliver(FIN | ACK)
    while True:
        # The peer's FIN may come after the ACK of ours.
        connection.acknowledged(1 << 32, time.monotonic() + TIMEOUT_S)


if __name__ == "__main__":
    main()
