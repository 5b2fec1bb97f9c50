"""Frames of a network interface, as they pass, as a capture (Linux, AF_PACKET: packet(7)).

A process of its own reads the socket and writes a pcap stream, as tcpdump does in a pipeline, so that Ctrl-C ends the
capture and whoever reads it comes to its end.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

from lasthop.errors import InputError

LOOPBACK: Final = 772
LINK_TYPES: Final = {1: 1, LOOPBACK: 1, 65534: 101, 801: 105, 803: 127}
"""Link types of captures by the kinds of devices (if_arp.h): Ethernet, loopback, TUN without a header, 802.11 and that
with radiotap."""

ETH_P_ALL: Final = 3
PACKET_OUTGOING: Final = 4
SOL_PACKET: Final = 263
PACKET_STATISTICS: Final = 6
SO_TIMESTAMPNS: Final = 35
SNAP_LENGTH: Final = 65_536
"""Longest part of a frame that is kept: all of it, super-segments of offloading included."""
NANOSECONDS: Final = 0xA1B23C4D
RECEIVE_BUFFER: Final = 16 << 20


def open_interface(name: str) -> socket.socket:
    """Return a socket that receives every frame of an interface.

    Raises InputError if there is no such interface, the user may not capture, or the system is not Linux.
    """
    if not hasattr(socket, "AF_PACKET"):
        raise InputError("interfaces are captured on Linux only", help=_pipe(name))
    if name not in (names := [each for _, each in socket.if_nameindex()]):
        raise InputError(f"there is no interface {name!r}", help=f"there are: {', '.join(names)}")
    try:
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    except PermissionError:
        remedy = f"run it as root, or {_pipe(name)}"
        raise InputError("capturing needs the privilege CAP_NET_RAW", help=remedy) from None
    tap.bind((name, ETH_P_ALL))
    device = tap.getsockname()[3]
    if device not in LINK_TYPES:
        tap.close()
        raise InputError(f"the interface {name!r} is of the kind {device}, which is not known", help=_pipe(name))
    tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    return tap


def _pipe(name: str) -> str:
    return f"sudo tcpdump -i {name} -w - | lasthop analyze -"


@contextmanager
def as_standard_input(name: str) -> Iterator[None]:
    """Make standard input a capture of an interface, up to Ctrl-C. Raises InputError as `open_interface` does."""
    with open_interface(name) as tap, _blocked(signal.SIGINT):
        command = [sys.executable, "-P", "-m", "lasthop.interface", str(tap.fileno())]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, pass_fds=[tap.fileno()])
    before, interrupt = os.dup(0), signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert writer.stdout is not None
    os.dup2(writer.stdout.fileno(), 0)
    writer.stdout.close()
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)
        signal.signal(signal.SIGINT, interrupt)
        writer.terminate()
        writer.wait()


@contextmanager
def _blocked(number: signal.Signals) -> Iterator[None]:
    """Hold a signal back, also from a process that is started, until that is ready for it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})


def write_frames(tap: socket.socket, out: BinaryIO, stop: int) -> None:
    """Write frames as a pcap stream: all that come before the descriptor `stop` can be read."""
    link_type = LINK_TYPES[tap.getsockname()[3]]
    out.write(struct.pack("<IHHiIII", NANOSECONDS, 2, 4, 0, 0, SNAP_LENGTH, link_type))
    out.flush()
    until: int | None = None
    while True:
        ready: list[socket.socket | int] = [tap] if until is not None else [tap, stop]
        ready = select.select(ready, [], [], None if until is None else 0)[0]
        if stop in ready:
            until = time.time_ns()
        elif not ready or not _write_next(tap, out, until):
            return


def _write_next(tap: socket.socket, out: BinaryIO, until: int | None) -> bool:
    """Write the next frame; return whether it came `until` that time. Frames that one's own host sends to itself pass a
    loopback interface twice and are written once."""
    data, ancillary, flags, sender = tap.recvmsg(SNAP_LENGTH, 64, socket.MSG_TRUNC)
    if sender[3] == LOOPBACK and sender[2] == PACKET_OUTGOING:
        return True
    at = _stamp(ancillary)
    if until is not None and at > until:
        return False
    length = SNAP_LENGTH + 1 if flags & socket.MSG_TRUNC else len(data)
    out.write(struct.pack("<IIII", *divmod(at, 1_000_000_000), len(data), length) + data)
    out.flush()
    return True


def _stamp(ancillary: list[tuple[int, int, bytes]]) -> int:
    """Return the kernel's time of a frame in nanoseconds since 1970, or else the present one."""
    for level, kind, value in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
            seconds, nanoseconds = struct.unpack("ll", value[: struct.calcsize("ll")])
            return int(seconds) * 1_000_000_000 + int(nanoseconds)
    return time.time_ns()


def main() -> None:
    """Write the frames of the socket with the descriptor that the first argument has, until a signal comes."""
    tap = socket.socket(fileno=int(sys.argv[1]))
    stop, stopping = os.pipe()
    os.set_blocking(stopping, False)
    signal.set_wakeup_fd(stopping)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        write_frames(tap, sys.stdout.buffer, stop)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    dropped = struct.unpack("II", tap.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]
    if dropped:
        print(f"the kernel dropped {dropped} frames that were not read in time", file=sys.stderr)


if __name__ == "__main__":
    main()
