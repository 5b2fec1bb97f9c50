"""The segments that a sender sent, as columns; single ones are read on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from lasthop.explanation.hops import Hop, Hops, Places
from lasthop.plots.columns import Booleans, Columns, Floats, Texts


@dataclass(frozen=True)
class Copy:
    """A segment that the sender sent: the original, or a later copy of the same bytes."""

    packet: int
    time: float
    seq: int
    len: int
    retransmission: bool
    cause: str
    needless: bool | None
    why: str
    explanation: str
    arrived: float | None
    hops: Sequence[Hop]

    @property
    def end(self) -> int:
        """The sequence number after its last byte."""
        return self.seq + max(self.len, 1)

    @property
    def drop(self) -> Hop | None:
        """The hop that dropped it, if one did."""
        return next((hop for hop in self.hops if hop.dropped), None)

    @property
    def hold(self) -> tuple[Hop, tuple[float, float]] | None:
        """The hop with its longest unusual delay, with start and end."""
        held = [(hop, hop.hold) for hop in self.hops if hop.hold is not None]
        longest = max(held, key=lambda item: item[0].delay, default=None)
        return None if longest is None or longest[1] is None else (longest[0], longest[1])


class Copies:
    """All segments with data, SYNs and FINs of one connection's sender, in the order of sending."""

    def __init__(self, sent: Columns, received: Columns, hops: Hops) -> None:
        self._rows = sent
        self._received = received
        self.hops = hops

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: int) -> Copy:
        needless = bool(self._flags["needless"][row]) if self._flags["judged"][row] else None
        arrived = self.arrived[row]
        return Copy(
            packet=int(self.packet[row]),
            time=float(self.time[row]),
            seq=int(self.seq[row]),
            len=int(self.length[row]),
            retransmission=bool(self.retransmission[row]),
            cause=str(self._texts["cause"][row]),
            needless=needless,
            why=str(self._texts["why"][row]),
            explanation=str(self._texts["explanation"][row]),
            arrived=None if np.isnan(arrived) else float(arrived),
            hops=self.hops.of(int(self.packet[row])),
        )

    def __iter__(self) -> Iterator[Copy]:
        return (self[row] for row in range(len(self)))

    def at(self, rows: npt.NDArray[Any]) -> list[Copy]:
        """Return the copies of some rows."""
        return [self[int(row)] for row in rows]

    @cached_property
    def packet(self) -> Floats:
        """Packet numbers."""
        return self._rows.numbers("packet")

    @cached_property
    def time(self) -> Floats:
        """Times of sending, in seconds."""
        return self._rows.seconds("time_ns")

    @cached_property
    def seq(self) -> Floats:
        """First sequence numbers."""
        return self._rows.numbers("seq")

    @cached_property
    def length(self) -> Floats:
        """Bytes of data."""
        return self._rows.numbers("len")

    @cached_property
    def end(self) -> Floats:
        """Sequence numbers after the last byte."""
        return self.seq + np.maximum(self.length, 1)

    @cached_property
    def retransmission(self) -> Booleans:
        """Whether they are retransmissions."""
        return self._rows.flags("retransmission")

    @cached_property
    def cause(self) -> Texts:
        """The causes of retransmissions."""
        return self._texts["cause"]

    @cached_property
    def needless(self) -> Booleans:
        """Whether they are retransmissions that were judged needless."""
        return self._flags["needless"] & self._flags["judged"]

    @cached_property
    def arrived(self) -> Floats:
        """Times of arrival in seconds; NaN where they did not arrive, or it is not known."""
        return found_at(self.packet, self._received.numbers("packet"), self._received.seconds("time_ns"))

    def earlier(self, copy: Copy) -> list[Copy]:
        """Return the copies of its first byte that were sent before it."""
        order, starts = self._by_start
        first, last = np.searchsorted(starts, (copy.seq, copy.seq + 1))
        same = order[first:last]
        same = same[self.packet[same] < copy.packet]
        if not len(same):
            covers = (self.seq <= copy.seq) & (copy.seq < self.end) & (self.packet < copy.packet)
            same = np.flatnonzero(covers)
        return self.at(same)

    @cached_property
    def sent_once(self) -> Booleans:
        """Whether no other copy begins with the same byte."""
        order, starts = self._by_start
        alone = np.ones(len(self), dtype=np.bool_)
        repeats = starts[1:] == starts[:-1]
        alone[order[1:][repeats]] = False
        alone[order[:-1][repeats]] = False
        return alone

    @cached_property
    def _by_start(self) -> tuple[Places, Floats]:
        order = np.argsort(self.seq, kind="stable")
        return order, self.seq[order]

    @cached_property
    def _texts(self) -> dict[str, Texts]:
        return {name: self._rows.texts(name) for name in ("cause", "why", "explanation")}

    @cached_property
    def _flags(self) -> dict[str, Booleans]:
        return {"needless": self._rows.flags("needless"), "judged": self._rows.known("needless")}


def found_at(wanted: Floats, keys: Floats, values: Floats) -> Floats:
    """Return for each wanted key the last value of it, NaN for one that is not there."""
    if not len(keys):
        return np.full(len(wanted), np.nan)
    order = np.argsort(keys, kind="stable")
    place = np.searchsorted(keys[order], wanted, side="right") - 1
    there = (place >= 0) & (keys[order][place] == wanted)
    return np.where(there, values[order][place], np.nan)
