"""The time-sequence diagrams of a scenario in real and in virtual time, in one figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lasthop import _native
from lasthop.real_time.live import live_result
from lasthop.scenario import Scenario, in_memory

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

RECORD = {"tables": ["packets"], "captures": []}
"""Tables that both runs record."""


def draw_overlay(scenario: Scenario, file: Path) -> None:
    """Run the scenario in real and in virtual time, and draw the data segments of the first flow into `file`.

    A segment is drawn at the time when it entered the link. `scenario` must record the table `packets`. Raises
    LiveError if this machine does not allow real time.
    """
    from matplotlib.figure import Figure

    with live_result(scenario, quiet_output=True) as result:
        real = result.table("packets")
    virtual = in_memory(_native.run(scenario.json, RECORD), scenario).table("packets")
    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.add_subplot(xlabel="time (s)", ylabel="sequence number (kB)", title=scenario.name)
    _draw(axes, real, "kernel", "tab:blue", marker=".")
    _draw(axes, virtual, "virtual time", "tab:orange", marker="x")
    axes.legend()
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file)


def _draw(axes: Axes, packets: pa.Table, name: str, colour: str, marker: str) -> None:
    """Draw the segments of one run; retransmissions have larger marks."""
    rows = packets.select(["flow", "len", "seq", "entered_ns", "retransmission"]).to_pylist()
    first = next((row["flow"] for row in rows if row["len"] > 0), None)
    data = [row for row in rows if row["len"] > 0 and row["flow"] == first]
    for again, size in ((False, 6), (True, 40)):
        shown = [row for row in data if bool(row["retransmission"]) is again]
        axes.scatter(
            [row["entered_ns"] / 1e9 for row in shown],
            [row["seq"] / 1e3 for row in shown],
            s=size,
            c=colour,
            marker=marker,
            linewidths=0.6,
            label=f"{name}, sent again" if again else name,
        )
