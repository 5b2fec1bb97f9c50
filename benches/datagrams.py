"""Sends or counts datagrams many at a time, by sendmmsg(2) and recvmmsg(2), as QUIC stacks do.

datagrams.py send ADDRESS PORT PAYLOAD RATE SECONDS    prints how many were sent
datagrams.py count PORT                                prints how many came, after a second without any
"""

from __future__ import annotations

import ctypes
import os
import select
import socket
import sys
import time

BATCH = 32
BUFFER = 4 << 20
SO_RCVBUFFORCE = 33
MSG_WAITFORONE = 0x10000


class Iovec(ctypes.Structure):
    """`struct iovec`."""

    _fields_ = (("base", ctypes.c_void_p), ("len", ctypes.c_size_t))


class Msghdr(ctypes.Structure):
    """`struct msghdr`."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("namelen", ctypes.c_uint32),
        ("iov", ctypes.POINTER(Iovec)),
        ("iovlen", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("controllen", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class Mmsghdr(ctypes.Structure):
    """`struct mmsghdr`."""

    _fields_ = (("header", Msghdr), ("len", ctypes.c_uint))


class Batch:
    """A number of buffers of one length, for one call."""

    def __init__(self, length: int) -> None:
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.memory = (ctypes.c_char * length)()
        self.iovec = Iovec(ctypes.addressof(self.memory), length)
        one = Msghdr(iov=ctypes.pointer(self.iovec), iovlen=1)
        self.headers = (Mmsghdr * BATCH)(*[Mmsghdr(header=one) for _ in range(BATCH)])

    def send(self, sender: socket.socket, count: int) -> int:
        """Send datagrams; return how many."""
        return self._checked(self.libc.sendmmsg(sender.fileno(), self.headers, count, 0))

    def receive(self, receiver: socket.socket) -> int:
        """Wait for one; return how many were there."""
        return self._checked(self.libc.recvmmsg(receiver.fileno(), self.headers, BATCH, MSG_WAITFORONE, None))

    def _checked(self, result: int) -> int:
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return result


def send(address: str, port: int, payload: int, rate: float, seconds: float) -> int:
    """Send at a rate, in batches."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect((address, port))
    batch, began, sent = Batch(payload), time.monotonic(), 0
    while (now := time.monotonic() - began) < seconds:
        due = int(now * rate) - sent
        if due >= BATCH:
            sent += batch.send(sender, BATCH)
        else:
            time.sleep((BATCH - due) / rate)
    return sent


def count(port: int) -> int:
    """Count what comes, until a second without any."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    except PermissionError:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    receiver.bind(("", port))
    batch, counted = Batch(2048), 0
    while select.select([receiver], [], [], 30.0 if counted == 0 else 1.0)[0]:
        counted += batch.receive(receiver)
    return counted


def main() -> None:
    """Do what the arguments say."""
    match sys.argv[1:]:
        case ["send", address, port, payload, rate, seconds]:
            print(send(address, int(port), int(payload), float(rate), float(seconds)))
        case ["count", port]:
            print(count(int(port)))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
