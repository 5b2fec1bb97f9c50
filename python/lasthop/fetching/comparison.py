"""What one profile gained against another, fetch by fetch."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lasthop.stats import median_interval


@dataclass(frozen=True)
class Gain:
    """The gain in goodput, as a share: 0.1 is a tenth more. Median over pairs of fetches, one after the other."""

    median: float
    interval: tuple[float, float] | None
    pairs: int

    def to_json(self) -> dict[str, Any]:
        """Return the keys of `--json`."""
        return {"median": self.median, "interval": self.interval, "pairs": self.pairs}

    def in_words(self) -> str:
        """Say it in a few words."""
        text = f"{100 * self.median:+.1f} %"
        if self.interval is None:
            return f"{text} (one pair: how far it varies is not known; --repeat)"
        low, high = self.interval
        held = "95 %" if self.pairs >= _FOR_CONFIDENCE else "all pairs"
        return f"{text} (median of {self.pairs} pairs; {held}: {100 * low:+.1f} to {100 * high:+.1f} %)"


def gain_of(tested: Sequence[float], against: Sequence[float]) -> Gain:
    """Return the gain of the first goodputs over the second. Both lists are in the order of the pairs."""
    gains = sorted(one / other - 1 for one, other in zip(tested, against, strict=True))
    interval = median_interval(gains) if len(gains) > 1 else None
    return Gain(statistics.median(gains), interval, len(gains))


_FOR_CONFIDENCE = 6
"""Pairs from which on an interval holds the median with 95 %: see `lasthop.stats.median_interval`."""
