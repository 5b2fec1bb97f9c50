"""The share of a link's capacity that a flow leaves unused, and the order of environments by it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from lasthop.results.run import Run
from lasthop.study.claims import Evidence, Verdict

MONOTONE = 0.7
"""Rank correlation from which two orders count as the same."""
NEAR = 0.1
"""Difference of scores that counts as near."""


def unused(run: Run) -> float:
    """Return the unused share of the capacity of the link: 1 less the bytes that left it over those that it carries."""
    down = next(link for link in run.specification["links"] if link["name"] == "path")["down"]
    (cell,) = down["handovers"]["cells"]
    change_s = _number(down["handovers"]["interval"][0])
    whole_s = float(run.summary["stopped_s"])
    bits = _number(down["rate"]) * change_s + _number(cell["rate"]) * (whole_s - change_s)
    links = run.summary["links"]
    (sent,) = (link["bytes_out"] for link in links if (link["link"], link["direction"]) == ("path", "down"))
    return 1 - 8 * float(sent) / bits


_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_UNITS |= {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}


def _number(text: str) -> float:
    """Return a duration in seconds or a rate in bit/s."""
    number, unit = text.split()
    return float(number) * _UNITS[unit]


def environments_have_their_order(evidence: Evidence) -> Verdict:
    """Claim `rank`."""
    published, measured = _scores(evidence)
    found = spearman(published, measured)
    return Verdict(found >= MONOTONE, f"{len(measured)} environments, Spearman's correlation {found:.3f}")


def scores_are_near(evidence: Evidence) -> Verdict:
    """Claim `error`."""
    published, measured = _scores(evidence)
    found = median(abs(ours - theirs) for ours, theirs in zip(measured, published, strict=True))
    return Verdict(found <= NEAR, f"{len(measured)} environments, median of the difference {found:.3f}")


def algorithms_have_their_order(evidence: Evidence) -> Verdict:
    """Claim `common`."""
    published, measured = _scores(evidence)
    found = kendall(published, measured)
    return Verdict(found >= MONOTONE, f"{len(measured)} congestion controls, Kendall's correlation {found:.3f}")


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the rank correlation of Spearman, with the mean of the ranks for equal values."""
    one, other = _ranks(first), _ranks(second)
    mean = (len(one) + 1) / 2
    both = sum((a - mean) * (b - mean) for a, b in zip(one, other, strict=True))
    spread = (sum((a - mean) ** 2 for a in one) * sum((b - mean) ** 2 for b in other)) ** 0.5
    return both / spread if spread else 0.0


def kendall(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the rank correlation of Kendall: pairs in the same order less pairs in the other, over all pairs."""
    pairs = [(a, b) for b in range(len(first)) for a in range(b)]
    signs = [(first[a] - first[b]) * (second[a] - second[b]) for a, b in pairs]
    return sum((sign > 0) - (sign < 0) for sign in signs) / len(pairs)


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    first = {value: place for place, value in reversed(list(enumerate(ordered, start=1)))}
    last = {value: place for place, value in enumerate(ordered, start=1)}
    return [(first[value] + last[value]) / 2 for value in values]


def _scores(evidence: Evidence) -> tuple[list[float], list[float]]:
    """Return the published and the measured scores of the rows that have both."""
    rows = [row for row in evidence.rows if row["published"] is not None and row["measured"] is not None]
    return [float(row["published"]) for row in rows], [float(row["measured"]) for row in rows]
