"""Checks for all studies: queue lengths and drops of links, from a run's table `packets`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lasthop.results.run import Run

Times = npt.NDArray[np.int64]


def drops_slowstart(run: Run) -> int:
    """Return the number of queue drops before the first retransmission: the overshoot of slow start."""
    return _drops_before_and_after(run.tables["packets"])[0]


def drops_congavoid(run: Run) -> int:
    """Return the number of queue drops after the first retransmission."""
    return _drops_before_and_after(run.tables["packets"])[1]


def pipe_capacity_pkts(run: Run) -> int:
    """Return the largest number of packets in a direction of a link at one time, queue and buffers together."""
    packets = run.tables["packets"]
    taken = packets.filter(pc.not_equal(packets["fate"], "queue_drop"))
    places = pc.binary_join_element_wise(taken["link"].cast(pa.string()), taken["direction"].cast(pa.string()), " ")
    most = 0
    for place in pc.unique(places).to_pylist():
        inside = taken.filter(pc.equal(places, place))
        most = max(most, _most_at_once(_times(inside["entered_ns"]), _times(inside["delivered_ns"].drop_null())))
    return most


def _drops_before_and_after(packets: pa.Table) -> tuple[int, int]:
    dropped = packets.filter(pc.equal(packets["fate"], "queue_drop"))
    first_resent = pc.min(packets.filter(packets["retransmission"])["entered_ns"]).as_py()
    if first_resent is None:
        return dropped.num_rows, 0
    before = int(np.sum(_times(dropped["entered_ns"]) < first_resent))
    return before, dropped.num_rows - before


def _most_at_once(entered: Times, left: Times) -> int:
    times = np.concatenate([left, entered])
    steps = np.concatenate([np.full(len(left), -1), np.ones(len(entered), dtype=np.int64)])
    # Stable: at the same time a packet leaves before another enters.
    order = np.argsort(times, kind="stable")
    return int(np.max(np.cumsum(steps[order]), initial=0))


def _times(column: pa.ChunkedArray) -> Times:
    times: Times = column.to_numpy().astype(np.int64)
    return times


CHECKS: Final[dict[str, Callable[[Run], int]]] = {
    "drops_slowstart": drops_slowstart,
    "drops_congavoid": drops_congavoid,
    "pipe_capacity_pkts": pipe_capacity_pkts,
}
"""The checks by their names in study files."""
