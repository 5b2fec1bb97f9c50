"""An adapter that runs a congestion control of aioquic unchanged.

aioquic reports packets, and TCP reports bytes: each segment that leaves counts as a packet, and the bytes that an ACK
delivers or that recovery marks as lost are taken from the oldest packets in the network.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from lasthop._native import Ack, Congestion, Sent

REQUIRED: Final = ("on_packet_acked", "on_packet_sent", "on_packets_lost", "on_persistent_congestion")
"""Methods without which a class is no congestion control of aioquic."""


@dataclass(slots=True)
class Packet:
    """What a congestion control of aioquic reads of a `QuicSentPacket`: seconds of the run, and bytes."""

    sent_time: float
    sent_bytes: int
    packet_number: int


class QuicCongestionControl(Protocol):
    """The interface of aioquic.quic.congestion.base.QuicCongestionControl (aioquic 1.x)."""

    congestion_window: int
    ssthresh: int | None

    def on_packet_acked(self, *, now: float, packet: Packet) -> None:
        """Take in that a packet is acknowledged."""

    def on_packet_sent(self, *, packet: Packet) -> None:
        """Take in that a packet leaves."""

    def on_packets_lost(self, *, now: float, packets: Iterable[Packet]) -> None:
        """Take in that packets are lost, in the order in which they were sent."""

    def on_persistent_congestion(self) -> None:
        """Start anew: nothing arrived for a long time."""

    def on_rtt_measurement(self, *, now: float, rtt: float) -> None:
        """Take in a round-trip time in seconds."""


def is_of_aioquic(given: type) -> bool:
    """Whether a class has the methods of aioquic's congestion controls, and not those of lasthop's."""
    return callable(getattr(given, "on_packet_acked", None)) and not callable(getattr(given, "acknowledged", None))


class Adapted:
    """A congestion control of lasthop around one of aioquic: the window counts in fast recovery too."""

    governs_recovery = True

    def __init__(self, inner: QuicCongestionControl) -> None:
        """Take over a fresh object, with the first window that it has chosen."""
        self._inner = inner
        self._packets: deque[Packet] = deque()
        self._sent = 0

    @property
    def window(self) -> int:
        """The congestion window in bytes."""
        return self._inner.congestion_window

    @window.setter
    def window(self, window: int) -> None:
        self._inner.congestion_window = window

    @property
    def ssthresh(self) -> float:
        """The slow-start threshold in bytes; infinity until there was a loss."""
        return math.inf if self._inner.ssthresh is None else self._inner.ssthresh

    @ssthresh.setter
    def ssthresh(self, ssthresh: float) -> None:
        self._inner.ssthresh = None if ssthresh == math.inf else int(ssthresh)

    def sent(self, event: Sent) -> None:
        """Report a packet that leaves; a retransmission is a new packet, as in QUIC."""
        packet = Packet(event.now, event.size, self._sent)
        self._sent += 1
        self._packets.append(packet)
        self._inner.on_packet_sent(packet=packet)

    def acknowledged(self, ack: Ack) -> None:
        """Report the round-trip time, the losses and the delivered packets of an ACK, in this order."""
        if ack.rtt is not None:
            self._inner.on_rtt_measurement(now=ack.now, rtt=ack.rtt)
        if lost := self._oldest(ack.lost):
            self._inner.on_packets_lost(now=ack.now, packets=lost)
        for packet in self._oldest(ack.acked):
            self._inner.on_packet_acked(now=ack.now, packet=packet)

    def lost(self, event: Congestion) -> None:
        """Ignore the beginning of fast recovery: `acknowledged` reports the lost packets."""

    def marked(self, event: Congestion) -> None:
        """Report a mark as a loss without a packet (RFC 9002 section 7.1)."""
        self._inner.on_packets_lost(now=event.now, packets=[Packet(event.now, 0, self._sent)])

    def timeout(self, event: Congestion) -> None:
        """Report all packets as lost, and a repeated timeout as persistent congestion (RFC 9002 section 7.6)."""
        if self._packets:
            self._inner.on_packets_lost(now=event.now, packets=list(self._packets))
            self._packets.clear()
        if event.repeated:
            self._inner.on_persistent_congestion()

    def recovered(self, window: int) -> None:
        """Keep the window at the end of fast recovery."""

    def _oldest(self, size: int) -> list[Packet]:
        """Take the packets that hold the oldest `size` bytes; a packet that is only begun is split."""
        taken = []
        while size > 0 and self._packets:
            packet = self._packets[0]
            if packet.sent_bytes <= size:
                taken.append(self._packets.popleft())
            else:
                taken.append(Packet(packet.sent_time, size, packet.packet_number))
                packet.sent_bytes -= size
            size -= taken[-1].sent_bytes
        return taken
