"""The decisions of one connection's sender, as columns; single ones are read on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lasthop.explanation.hops import Places
from lasthop.plots.columns import Booleans, Columns, Floats, Texts

DECISION_COLUMNS: Final = (
    "time_ns", "event", "reason", "cwnd", "ssthresh", "flight", "advertised", "phase",
)  # fmt: skip
"""The columns of the table `tcp` that an explanation reads."""


@dataclass(frozen=True)
class Decision:
    """A row of the table `tcp`: a decision of the sender, and its windows after it."""

    time: float
    event: str
    reason: str
    cwnd: float
    ssthresh: float
    phase: str


class Decisions:
    """The rows of one connection in the table `tcp`, in the order of time."""

    def __init__(self, rows: Columns) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: int) -> Decision:
        texts = {name: str(values[row]) for name, values in self._texts.items()}
        return Decision(
            time=float(self.time[row]), cwnd=float(self.cwnd[row]), ssthresh=float(self._ssthresh[row]), **texts
        )

    def of(self, *events: str) -> Places:
        """Return the rows of some events."""
        return np.flatnonzero(self._rows.among("event", events))

    def all_of(self, *events: str) -> Iterator[Decision]:
        """Yield the decisions of some events."""
        return (self[int(row)] for row in self.of(*events))

    @cached_property
    def time(self) -> Floats:
        """Times in seconds."""
        return self._rows.seconds("time_ns")

    @cached_property
    def cwnd(self) -> Floats:
        """Congestion windows in bytes."""
        return self._rows.numbers("cwnd")

    @cached_property
    def flight(self) -> Floats:
        """Bytes sent and not yet acknowledged."""
        return self._rows.numbers("flight")

    @cached_property
    def advertised(self) -> Floats:
        """The peer's window in bytes."""
        return self._rows.numbers("advertised")

    @cached_property
    def phase(self) -> Texts:
        """The phases of the sender."""
        return self._texts["phase"]

    def end_of_phase(self, row: int, phase: str) -> float:
        """Return the end of the phase that starts at a row: the time of the first decision in another phase."""
        later = np.flatnonzero(self._ends(phase))
        place = np.searchsorted(later, row, side="right")
        return float(self.time[later[place]] if place < len(later) else self.time[-1])

    def before(self, row: int) -> Decision | None:
        """Return the last decision at an earlier time."""
        place = int(np.searchsorted(self.time, self.time[row], side="left")) - 1
        return self[place] if place >= 0 else None

    def stalls(self) -> Iterator[tuple[float, float | None]]:
        """Yield the periods in which the peer's window was closed: begin, and end if there is one."""
        closed = self._rows.among("event", ("ack", "duplicate_ack")) & (self.advertised == 0)
        changes = np.diff(np.concatenate([[False], closed, [False]]).astype(np.int8))
        for begin, end in zip(np.flatnonzero(changes == 1), np.flatnonzero(changes == -1), strict=True):
            later = int(np.searchsorted(self.time, self.time[end - 1], side="right"))
            yield float(self.time[begin]), float(self.time[later]) if later < len(self) else None

    def _ends(self, phase: str) -> Booleans:
        if phase not in self._ended:
            self._ended[phase] = ~self._rows.among("phase", (phase,)) | self._rows.among(
                "event", ("timeout", "fast_retransmit")
            )
        return self._ended[phase]

    @cached_property
    def _ended(self) -> dict[str, Booleans]:
        return {}

    @cached_property
    def _ssthresh(self) -> Floats:
        return self._rows.numbers("ssthresh")

    @cached_property
    def _texts(self) -> dict[str, npt.NDArray[Any]]:
        return {name: self._rows.texts(name) for name in ("event", "reason", "phase")}
