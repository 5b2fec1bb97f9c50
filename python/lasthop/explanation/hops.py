"""The packets of a flow on the directions of links, read row by row, on demand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lasthop.plots.columns import Booleans, Columns, Floats
from lasthop.plots.flow import DROPPED, HOLD_THE_LINK

HOP_COLUMNS: Final = (
    "packet", "link", "direction", "entered_ns", "behind", "transmitted_ns", "delivered_ns", "fate", "rule", "delay_ns",
    "delay_cause",
)  # fmt: skip
"""The columns of the table `packets` that an explanation reads."""

QUEUE_DROP: Final = "queue_drop"

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Hop:
    """One packet on one direction of a link."""

    packet: int
    link: str
    entered: float
    behind: int
    transmitted: float | None
    delivered: float | None
    fate: str
    rule: str
    delay: float
    delay_cause: str

    @property
    def dropped(self) -> bool:
        """Whether the packet was lost here."""
        return self.fate in DROPPED

    @property
    def end(self) -> float:
        """Time at which the packet left the link, or was lost."""
        return next(time for time in (self.delivered, self.transmitted, self.entered) if time is not None)

    @property
    def hold(self) -> tuple[float, float] | None:
        """Start and end of the unusual delay of the packet, if it had one."""
        if self.delay <= 0 or not self.delay_cause:
            return None
        # A delay of the transmitter ends when the packet is transmitted, that of a single packet at its delivery.
        end = self.transmitted if self.delay_cause in HOLD_THE_LINK and self.transmitted is not None else self.end
        return end - self.delay, end


@dataclass(frozen=True, order=True)
class Hold:
    """An unusual delay of a packet on a link, in seconds."""

    start: float
    end: float
    link: str
    cause: str
    packet: int


class Hops:
    """The rows of one flow in the table `packets`, by packet."""

    def __init__(self, rows: Columns) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def packet(self) -> Floats:
        """The packet of each row."""
        return self._rows.numbers("packet")

    @cached_property
    def dropped(self) -> Booleans:
        """Whether the packet was lost in each row."""
        return self._rows.among("fate", DROPPED)

    @cached_property
    def refused(self) -> Booleans:
        """Whether a queue dropped the packet in each row."""
        return self._rows.among("fate", (QUEUE_DROP,))

    def holds(self, packets: Floats) -> list[Hold]:
        """Return the longest unusual delay of each of some packets that had one, in the order of their starts."""
        rows = self._rows
        held = rows.where((rows.numbers("delay_ns") > 0) & rows.known("delay_cause") & np.isin(self.packet, packets))
        length = held.seconds("delay_ns")
        sent, there = held.seconds("transmitted_ns"), held.seconds("delivered_ns")
        left = np.where(np.isnan(there), np.where(np.isnan(sent), held.seconds("entered_ns"), sent), there)
        end = np.where(held.among("delay_cause", HOLD_THE_LINK) & ~np.isnan(sent), sent, left)
        packet = held.numbers("packet")
        by_length = np.lexsort((-length, packet))
        longest = by_length[np.append(True, np.diff(packet[by_length]) != 0)[: len(packet)]]
        texts = (held.texts(name)[longest] for name in ("link", "direction", "delay_cause"))
        numbers = ((end - length)[longest], end[longest], packet[longest].astype(np.int64))
        found = zip(*(column.tolist() for column in (*numbers, *texts)), strict=True)
        return sorted(
            Hold(start, end, f"{link}.{way}", cause, number) for start, end, number, link, way, cause in found
        )

    @cached_property
    def entered(self) -> Floats:
        """When the packet entered the link, in seconds."""
        return self._rows.seconds("entered_ns")

    def of(self, packet: int) -> list[Hop]:
        """Return the hops of one packet, in the order of the table."""
        order, sorted_packets = self._by_packet
        first, last = np.searchsorted(sorted_packets, (packet, packet + 1))
        return [self._hop(int(row)) for row in order[first:last]]

    @cached_property
    def _by_packet(self) -> tuple[Places, Floats]:
        order = np.argsort(self.packet, kind="stable")
        return order, self.packet[order]

    def _hop(self, row: int) -> Hop:
        read = {name: values[row] for name, values in self._columns.items()}
        out, there = (None if np.isnan(read[name]) else float(read[name]) for name in ("transmitted", "delivered"))
        return Hop(
            packet=int(self.packet[row]),
            link=f"{read['link']}.{read['direction']}",
            entered=float(self.entered[row]),
            behind=int(read["behind"]),
            transmitted=out,
            delivered=there,
            fate=str(read["fate"]),
            rule=str(read["rule"]),
            delay=float(read["delay"]),
            delay_cause=str(read["delay_cause"]),
        )

    @cached_property
    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        rows = self._rows
        texts = {name: rows.texts(name) for name in ("link", "direction", "fate", "rule", "delay_cause")}
        times = {name: rows.seconds(f"{name}_ns") for name in ("transmitted", "delivered", "delay")}
        return {**texts, **times, "behind": rows.numbers("behind")}
