"""What proxies count, and what the literature says of them, judged by the rows of the study."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from lasthop.results.run import Run
from lasthop.study.claims import Evidence, Verdict

CHANCE = 0.98
"""Share of another goodput that counts as not below it: two runs with the same losses differ in their ends."""
SPEED_UP = 3.0
"""Speed-up over Reno that counts as far better, at 5 % of losses behind the longer wire."""
HIDDEN = 0.05
"""Share of Reno's retransmissions that counts as nearly none."""
FILLED = 0.9
"""Share of the capacity of the hop that counts as full."""
CAPACITY_KBPS = 2000 * 1448 / 1500
"""Payload that the hop carries, with timestamps."""
WIRES = ("50", "100")
LOSSES = ("0.1", "0.5", "1", "2", "5")


def local_retransmissions(run: Run) -> float:
    """Return the segments that proxies sent again: those of Snoop, or of the second connections of a split."""
    counts = _counts(run)
    return float(counts.get("local_retransmissions", counts.get("retransmissions", 0)))


def early(run: Run) -> float:
    """Return the most kB that a split had acknowledged to the server and not delivered."""
    return float(_counts(run).get("acknowledged_early_max", 0)) / 1000


def _counts(run: Run) -> Mapping[str, Any]:
    proxies = run.summary.get("proxies", ())
    counts: Mapping[str, Any] = proxies[0]["counts"] if proxies else {}
    return counts


class Rows:
    """The measured medians of some rows, by table, way, loss, wire and metric."""

    def __init__(self, evidence: Evidence) -> None:
        keys = ("table", "way", "loss_pct", "wire_ms", "metric")
        self._values = {tuple(str(row[key]) for key in keys): row["measured"] for row in evidence.rows}

    def loss(self, way: str, loss: str, wire: str, metric: str = "goodput_kbps") -> float:
        """Return a number of the table `loss`."""
        return float(self._values["loss", way, loss, wire, metric])

    def of(self, table: str, way: str, metric: str = "goodput_kbps") -> float:
        """Return a number of a table in which only the way differs."""
        return float(self._values[table, way, "0", "50", metric])


def snoop_is_never_below_reno(evidence: Evidence) -> Verdict:
    """Claim `snoop-robust`."""
    ratios = _speed_ups(Rows(evidence), ("0", *LOSSES))
    least = min(ratios, key=lambda cell: ratios[cell])
    return Verdict(ratios[least] >= CHANCE, f"the least speed-up is {ratios[least]:.2f}, at {_cell(least)}")


def speed_up_grows_with_losses(evidence: Evidence) -> Verdict:
    """Claim `snoop-speedup`."""
    ratios = _speed_ups(Rows(evidence), LOSSES)
    grows = all(ratios[low, wire] < ratios[high, wire] for wire in WIRES for low, high in pairwise(LOSSES))
    most = max(ratios, key=lambda cell: ratios[cell])
    holds = grows and ratios["5", "100"] >= SPEED_UP and ratios[most] <= 20
    figures = ", ".join(f"{ratio:.1f} at {_cell(cell)}" for cell, ratio in ratios.items())
    return Verdict(holds, f"speed-ups {figures}")


def without_losses_nothing_changes(evidence: Evidence) -> Verdict:
    """Claim `snoop-quiet`."""
    ratios = _speed_ups(Rows(evidence), ("0",))
    far = max(abs(ratio - 1) for ratio in ratios.values())
    return Verdict(far <= 1 - CHANCE, f"without losses the goodputs differ by {100 * far:.2f} %")


def losses_stay_hidden(evidence: Evidence) -> Verdict:
    """Claim `snoop-timeouts`."""
    rows = Rows(evidence)
    counts = {way: rows.loss(way, "1", "50", "retransmissions") for way in ("reno", "snoop, reno")}
    holds = counts["snoop, reno"] <= HIDDEN * counts["reno"]
    return Verdict(holds, f"sent again at 1 %: {counts['reno']:.0f} by Reno, {counts['snoop, reno']:.0f} behind Snoop")


def sack_must_be_hidden(evidence: Evidence) -> Verdict:
    """Claim `snoop-sack`."""
    rows = Rows(evidence)
    passed, hidden = (rows.loss(way, "2", "100") for way in ("snoop with SACK passed, sack", "snoop, sack"))
    return Verdict(passed < CHANCE * hidden, f"at 2 %: {passed:.0f} kbit/s with blocks passed, {hidden:.0f} without")


def split_is_above_end_to_end(evidence: Evidence) -> Verdict:
    """Claim `split-shields`."""
    rows = Rows(evidence)
    cells = [(tcp, loss, wire) for tcp in ("reno", "sack") for loss in LOSSES for wire in WIRES]
    ratios = {cell: rows.loss(f"split, {cell[0]}", *cell[1:]) / rows.loss(*cell) for cell in cells}
    least = min(ratios, key=lambda cell: ratios[cell])
    return Verdict(
        ratios[least] >= CHANCE,
        f"the least speed-up is {ratios[least]:.2f}, of {least[0]} at {_cell(least[1:])}; "
        f"the most {max(ratios.values()):.1f}",
    )


def split_acknowledges_early(evidence: Evidence) -> Verdict:
    """Claim `split-reliability`."""
    rows = Rows(evidence)
    bytes_early = {
        "WLAN at 1 %": rows.loss("split, sack", "1", "50", "early_kB"),
        "GPRS": rows.of("gprs", "split, sack", "early_kB"),
    }
    figures = ", ".join(f"{kilobytes:.0f} kB over {hop}" for hop, kilobytes in bytes_early.items())
    return Verdict(min(bytes_early.values()) > 0, f"acknowledged and not delivered, at most: {figures}")


def snoop_acknowledges_nothing(evidence: Evidence) -> Verdict:
    """Claim `snoop-end-to-end`."""
    rows = Rows(evidence)
    found = rows.loss("snoop, sack", "1", "50", "early_kB") + rows.of("gprs", "snoop, sack", "early_kB")
    return Verdict(found == 0, f"{found:.0f} kB")


def spikes_are_the_senders_matter(evidence: Evidence) -> Verdict:
    """Claim `spikes`."""
    rows = Rows(evidence)
    goodputs = {way: rows.of("spikes", way) for way in ("sack", "eifel", "aix", "snoop, sack", "split, sack")}
    figures = ", ".join(f"{way} {goodput:.1f}" for way, goodput in goodputs.items())
    best = max(goodputs["eifel"], goodputs["aix"])
    return Verdict(goodputs["snoop, sack"] < best, f"kbit/s: {figures}")


def way_back_is_full_first(evidence: Evidence) -> Verdict:
    """Claim `ack-ratio`."""
    goodput = Rows(evidence).of("acks", "sack")
    return Verdict(goodput < FILLED * CAPACITY_KBPS, f"{goodput:.0f} kbit/s of {CAPACITY_KBPS:.0f}")


def filter_fills_the_way_forward(evidence: Evidence) -> Verdict:
    """Claim `ack-filter`."""
    rows = Rows(evidence)
    plain, thinned = (rows.of("acks", way) for way in ("sack", "ack-filter, sack"))
    return Verdict(thinned > plain, f"{plain:.0f} kbit/s without, {thinned:.0f} with it, of {CAPACITY_KBPS:.0f}")


def _speed_ups(rows: Rows, losses: tuple[str, ...]) -> dict[tuple[str, str], float]:
    """Return Snoop's goodput over Reno's by loss and wire."""
    cells = [(loss, wire) for loss in losses for wire in WIRES]
    return {cell: rows.loss("snoop, reno", *cell) / rows.loss("reno", *cell) for cell in cells}


def _cell(cell: tuple[str, ...]) -> str:
    loss, wire = cell
    return f"{loss} % and {wire} ms"
