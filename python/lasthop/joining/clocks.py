"""Offset and skew between the clocks of two points, from the delays of packets in both directions.

The skew is the slope of the line below all delays that is nearest to them. It is the edge of their lower convex hull at
the mean of the times (Moon, Skelly and Towsley 1999, by a linear program; Zhang, Liu and Xia 2002, by the hull). The
offset cannot be measured: if the smallest delays of both directions are positive, it is taken as 0; else the path is
assumed to have the same delay in both directions (as NTP does, RFC 5905 §8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Assumption = Literal["same clock", "delays possible as they are", "path of equal lengths", "one way only"]
Choice = Literal["auto", "same", "different"]

LEAST_PACKETS: Final = 10
"""Least number of packets for a slope."""


@dataclass(frozen=True)
class Clocks:
    """The far clock is `offset_s` ahead of the near one at `epoch_s` (near clock), and gains `skew` s per second."""

    offset_s: float
    skew: float
    epoch_s: float
    assumption: Assumption

    def near_time(self, far_s: Floats) -> Floats:
        """Return the near clock's time at `far_s` of the far clock."""
        return (far_s - self.offset_s + self.skew * self.epoch_s) / (1.0 + self.skew)


def compare(forward: tuple[Floats, Floats], backward: tuple[Floats, Floats], choice: Choice) -> Clocks:
    """Compare two clocks by packets: for each direction the near point's times, and the differences far minus near.

    Forward, a difference is the delay plus the clocks' difference; backward it is the clocks' difference minus the
    delay.
    """
    epoch = float(forward[0][0]) if len(forward[0]) else 0.0
    if choice == "same":
        return Clocks(0.0, 0.0, epoch, "same clock")
    lines = [_line(forward[0] - epoch, forward[1]), _line(backward[0] - epoch, -backward[1])]
    skew = _skew(lines)
    least = [
        float((delay - sign * skew * (time - epoch)).min()) if len(time) else np.nan
        for (time, delay), sign in (((forward[0], forward[1]), 1.0), ((backward[0], -backward[1]), -1.0))
    ]
    if not np.isfinite(least).all():
        return Clocks(0.0, skew, epoch, "one way only")
    if choice == "auto" and min(least) > 0.0 and skew == 0.0:
        return Clocks(0.0, 0.0, epoch, "delays possible as they are")
    return Clocks((least[0] - least[1]) / 2.0, skew, epoch, "path of equal lengths")


def _skew(lines: list[tuple[float, float, float] | None]) -> float:
    """Return the mean skew of both directions, weighted by how closely the delays are above the line."""
    known = [(line, sign) for line, sign in zip(lines, (1.0, -1.0), strict=True) if line is not None]
    if not known:
        return 0.0
    weights = np.array([1.0 / max(spread, 1e-7) ** 2 for (_, spread, _), _ in known])
    slopes = np.array([sign * slope for (slope, _, _), sign in known])
    skew = float(np.average(slopes, weights=weights))
    span = max(span for (_, _, span), _ in known)
    spread = min(spread for (_, spread, _), _ in known)
    # A drift over the capture that is smaller than the variation of the delays counts as none.
    return skew if abs(skew) * span > max(2.0 * spread, 50e-6) else 0.0


def _line(time: Floats, delay: Floats) -> tuple[float, float, float] | None:
    """Return slope, median distance above it, and the span of time; None if there are too few packets."""
    if len(time) < LEAST_PACKETS or np.ptp(time) <= 0:
        return None
    hull = lower_hull(time, delay)
    mean = float(time.mean())
    edge = min(max(int(np.searchsorted(time[hull], mean)) - 1, 0), len(hull) - 2)
    left, right = hull[edge], hull[edge + 1]
    slope = float((delay[right] - delay[left]) / (time[right] - time[left]))
    above = delay - (delay[left] + slope * (time - time[left]))
    return slope, float(np.median(above)), float(np.ptp(time))


def lower_hull(x: Floats, y: Floats) -> npt.NDArray[np.int64]:
    """Return the indices of the lower convex hull's corners, from left to right (Andrew 1979)."""
    hull: list[int] = []
    for place in np.lexsort((y, x)):
        if hull and x[hull[-1]] == x[place]:
            continue
        while len(hull) > 1 and _turns_down(x, y, hull[-2], hull[-1], place):
            hull.pop()
        hull.append(int(place))
    return np.array(hull, dtype=np.int64)


def _turns_down(x: Floats, y: Floats, first: int, second: int, third: int) -> bool:
    return bool((x[second] - x[first]) * (y[third] - y[first]) <= (y[second] - y[first]) * (x[third] - x[first]))
