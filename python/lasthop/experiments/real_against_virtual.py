"""Runs of a scenario in real time compared with one in virtual time, by the measures of their transfers.

The kernel varies from run to run: packets leave slightly earlier or later, and at a full queue that decides which of
them is lost. A difference counts if virtual time is outside the range of all runs in real time, and further from their
mean than a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lasthop.stats import jain_index

if TYPE_CHECKING:
    import pyarrow as pa

DATA_LEN = 1
"""Least payload, in bytes, of the packets that round trips are measured with."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure, and its tolerance: the larger of `least` and the share `within` of the kernel's mean."""

    name: str
    says: str
    within: float = 0.0
    least: float = 0.0


MEASURES: Final = (
    Measure("goodput_Bps", "goodput, byte/s", within=0.05),
    Measure("retransmissions", "retransmissions", within=0.25, least=5),
    Measure("timeouts", "timeouts", least=1),
    Measure("fairness", "fairness (Jain)", least=0.05),
    Measure("transfers", "transfers", within=0.05, least=1),
    Measure("transfer_mean_s", "mean transfer, s", within=0.15, least=0.01),
    Measure("transfer_p95_s", "95 % transfer, s", within=0.25, least=0.02),
    Measure("frame_loss", "datagrams lost or late", least=0.02),
    Measure("delay_mean_s", "mean delay of datagrams, s", within=0.1, least=0.002),
    Measure("round_trip_mean_s", "mean round trip, s", within=0.1, least=0.002),
    Measure("round_trip_p95_s", "95 % round trip, s", within=0.1, least=0.002),
    Measure("queue_mean", "mean queue, packets", within=0.25, least=2),
)
"""The compared measures, with their tolerances."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The values of one measure: of each run in real time, and of virtual time."""

    measure: Measure
    real: tuple[float, ...]
    virtual: float

    @property
    def mean(self) -> float:
        """The mean of the runs in real time."""
        return sum(self.real) / len(self.real)

    @property
    def differs(self) -> bool:
        """Whether virtual time is outside the real runs' range, and further from their mean than the tolerance."""
        outside = not min(self.real) <= self.virtual <= max(self.real)
        allowed = max(self.measure.within * abs(self.mean), self.measure.least)
        return outside and abs(self.virtual - self.mean) > allowed

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as a JSON object."""
        return {
            "measure": self.measure.name,
            "real": list(self.real),
            "real_mean": self.mean,
            "virtual": self.virtual,
            "differs": self.differs,
        }


@dataclass(frozen=True, slots=True)
class Measured:
    """The measures of a run in real time, and why it is tainted, if it is."""

    measures: dict[str, float]
    tainted_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs in real time."""

    measures: tuple[dict[str, float], ...] = ()
    """The runs that are compared: the untainted runs, or all if all are tainted."""
    tainted: tuple[str, ...] = ()
    """The reasons of the tainted ones, one for each."""
    made: int = 0

    @property
    def are_tainted(self) -> bool:
        """Whether all runs are tainted."""
        return 0 < self.made == len(self.tainted)

    def to_json(self) -> dict[str, Any]:
        """Return the numbers of runs as a JSON object."""
        return {"made": self.made, "untainted": self.made - len(self.tainted), "tainted_by": list(self.tainted)}


MOST_TRIES: Final = 3
"""Maximum number of runs for each requested run: a machine that taints more is too busy."""


def untainted_runs(first: Measured, again: Callable[[], Measured], wanted: int) -> Runs:
    """Return as many untainted runs as are wanted, `first` among them; at most `MOST_TRIES` times as many are made.

    If one is wanted, only the first is made, tainted or not.
    """
    runs = [first]
    while wanted > 1 and len(runs) < MOST_TRIES * wanted and sum(not run.tainted_by for run in runs) < wanted:
        runs.append(again())
    good = [run.measures for run in runs if not run.tainted_by]
    tainted = tuple("; ".join(run.tainted_by) for run in runs if run.tainted_by)
    return Runs(tuple(good or [run.measures for run in runs]), tainted, len(runs))


def compare_runs(real: Sequence[Mapping[str, float]], virtual: Mapping[str, float]) -> list[Compared]:
    """Compare the measures of runs in real time with those of one in virtual time; only measures that all runs have."""
    return [
        Compared(measure, tuple(run[measure.name] for run in real), virtual[measure.name])
        for measure in MEASURES
        if measure.name in virtual and all(measure.name in run for run in real)
    ]


def measures_of(summary: Mapping[str, Any], packets: pa.Table | None = None) -> dict[str, float]:
    """Return the measures of a run, named and in units as in `MEASURES`: of all flows together, and the longest queue.

    Round trips are computed from the table `packets`, if there is one. Flows that have sent nothing do not count.
    """
    flows = [flow for flow in summary["flows"] if flow["throughput_Bps"]]
    rates = [float(flow["throughput_Bps"]) for flow in flows]
    found = {
        "goodput_Bps": sum(rates),
        "retransmissions": float(sum(flow["retransmissions"] for flow in flows)),
        "timeouts": float(sum(flow["timeouts"] for flow in flows)),
    }
    found |= _of_transfers(flows) | _of_datagrams(flows)
    if len(rates) > 1:
        found["fairness"] = jain_index(rates)
    queues = [float(link["queue_mean"]) for link in summary["links"] if link["queue_mean"] is not None]
    if queues:
        found["queue_mean"] = max(queues)
    if packets is not None and packets.num_rows:
        found |= _round_trips(packets)
    return found


def _of_transfers(flows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return number and mean of the transfers of all flows, and the 95 % quantile of the slowest flow."""
    with_some = [flow for flow in flows if flow.get("transfers")]
    count = sum(int(flow["transfers"]) for flow in with_some)
    if not count:
        return {}
    return {
        "transfers": float(count),
        "transfer_mean_s": sum(flow["transfer_mean_s"] * flow["transfers"] for flow in with_some) / count,
        "transfer_p95_s": max(float(flow["transfer_p95_s"]) for flow in with_some),
    }


def _of_datagrams(flows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the measures of datagrams: the means over all flows of datagrams."""
    known = [flow for flow in flows if flow.get("frame_loss") is not None]
    delays = [float(flow["delay_mean_s"]) for flow in known if flow["delay_mean_s"] is not None]
    found = {"frame_loss": sum(float(flow["frame_loss"]) for flow in known) / len(known)} if known else {}
    return found | ({"delay_mean_s": sum(delays) / len(delays)} if delays else {})


def _round_trips(packets: pa.Table) -> dict[str, float]:
    """Return mean and 95 % quantile of the round trip over the links: each data packet's delay plus the ACKs' mean."""
    import pyarrow.compute as pc

    arrived = packets.filter(pc.equal(packets["fate"], "delivered"))
    on_the_way = pc.divide(pc.subtract(arrived["delivered_ns"], arrived["entered_ns"]).cast("float64"), 1e9)
    carries_data = pc.greater_equal(arrived["len"], DATA_LEN)
    data, acks = on_the_way.filter(carries_data), on_the_way.filter(pc.invert(carries_data))
    if len(data) == 0 or len(acks) == 0:
        return {}
    back = pc.mean(acks).as_py()
    return {
        "round_trip_mean_s": pc.mean(data).as_py() + back,
        "round_trip_p95_s": pc.quantile(data, q=0.95)[0].as_py() + back,
    }


def differing(compared: Iterable[Compared]) -> list[str]:
    """Return the names of the measures that differ."""
    return [one.measure.says for one in compared if one.differs]
