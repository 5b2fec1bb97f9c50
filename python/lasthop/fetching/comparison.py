"""The gain of one profile over another, by pairs of fetches."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lasthop.stats import median_interval


@dataclass(frozen=True)
class Gain:
    """The relative gain in goodput (0.1 is 10 % more): the median over pairs of consecutive fetches."""

    median: float
    interval: tuple[float, float] | None
    pairs: int

    def to_json(self) -> dict[str, Any]:
        """Return the keys of `--json`."""
        return {"median": self.median, "interval": self.interval, "pairs": self.pairs}

    def in_words(self, for_more: str = "--repeat") -> str:
        """Return the gain as a short text; `for_more` says how to get more pairs."""
        text = f"{100 * self.median:+.1f} %"
        if self.interval is None:
            return f"{text} (one pair; {for_more} measures how far pairs vary)"
        low, high = self.interval
        held = "95 %" if self.pairs >= _FOR_CONFIDENCE else "all pairs"
        return f"{text} (median of {self.pairs} pairs; {held}: {100 * low:+.1f} to {100 * high:+.1f} %)"


def gain_of(tested: Sequence[float], against: Sequence[float]) -> Gain:
    """Return the gain of the first goodputs over the second, both in the order of the pairs."""
    gains = sorted(one / other - 1 for one, other in zip(tested, against, strict=True))
    interval = median_interval(gains) if len(gains) > 1 else None
    return Gain(statistics.median(gains), interval, len(gains))


_FOR_CONFIDENCE = 6
"""Least number of pairs for a 95 % interval of the median: see `lasthop.stats.median_interval`."""
