"""Estimates of one direction of a link from its packets: rate, delay, queue, losses, spikes, reordering.

Two methods are used. Packet pairs: if a packet is sent before the one ahead of it has left the link, it arrives one
transmission time after that one (Keshav 1991). The virtual queue: packets that have been sent and have not arrived
after the propagation delay are waiting (iBox, Ashok et al. 2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final, Literal

import numpy as np

from lasthop.fitting.passage import Bools, Floats, Ints, Passage

Confidence = Literal["high", "medium", "low", "none"]

BLOCK: Final = 50
"""Number of packet pairs in a block with one rate, so that timing errors of a host or a clock cancel out."""
LEAST_PAIRS: Final = 20
"""Least number of queued packet pairs for an estimate of the rate."""
VARIES: Final = 0.2
"""Spread of the middle 80 % of blocks, as a share of the rate, above which the rate counts as varying."""
EXACT: Final = 0.02
"""Spread of the middle half of all pairs, as a share of the rate, within which their median is the rate."""
LEAST_GAP: Final = 1e-6
"""Seconds below which two packets arrived at once, as those of one radio block do: their gap shows no rate."""
MARKED: Final = 10.0
"""Log-likelihood ratio above which losses are taken to depend on the queue's length."""
SURELY_NOT_FULL: Final = 0.7
"""Share of the queue's limit below which a loss is not a queue drop."""
BUSY: Final = 0.8
"""Least share of the time in which packets wait on a way whose varying rate they show. Below it, they wait for grants,
frames or repairs as well, and how fast the way would be under load is not known."""
STEP: Final = 0.1
"""Least length of a step of a varying rate, in seconds."""
NORMAL_95: Final = 1.96
"""The 97.5 % quantile of the normal distribution."""


@dataclass(frozen=True)
class Figure:
    """An estimate with its 95 % interval, its confidence ("high", "medium", "low"), and its basis in words."""

    value: float
    low: float
    high: float
    confidence: Confidence
    basis: str


@dataclass(frozen=True)
class Direction:
    """One direction of a link. Rates in bit/s, times in seconds, the queue's limit in waiting packets.

    `rate` is None if no packets queued, or if they waited for other reasons than the rate, which is `at_least` then;
    `queue` is None if the queue was never full. `steps` are the times and rates of a varying rate. `spikes` are (start,
    length) of pauses in which no packet arrived although packets waited.
    """

    rate: Figure | None
    at_least: float | None
    steps: tuple[tuple[float, float], ...]
    delay: Figure
    queue: Figure | None
    longest_queue: int
    discipline: str
    loss: Figure
    overflows: int
    spikes: tuple[tuple[float, float], ...]
    reordering: Figure | None
    reordering_delay: tuple[float, float]


def fit_direction(passage: Passage, *, is_bulk: bool = True) -> Direction:
    """Estimate one direction from the packets that crossed it: those of a bulk transfer, or its acknowledgments.

    Acknowledgments fill no way whose rate varies, so that such a rate is not known.
    """
    arrived, delays, size = passage.fastest
    backlog = _Backlog(passage, float(delays.min()))
    rate, steps, spikes = _rate(backlog)
    at_least = None
    if rate and steps and (backlog.busy < BUSY or not is_bulk):
        at_least, rate, steps, spikes = rate.value, None, (), ()
    seconds_per_byte = 8.0 / rate.value if rate else 0.0
    own = delays - size * seconds_per_byte
    if steps:
        # The rate at the time of the fastest packet may differ from the mean rate.
        local = np.interp(arrived, [at for at, _ in steps], [step for _, step in steps])
        own = delays - size * 8.0 / local
    delay = _delay(own)
    waiting, entered = _waiting(passage, delay.value, seconds_per_byte)
    queue, overflow, discipline = _queue(passage, waiting)
    if queue:
        # A packet that was lost while the queue was far from full was lost after it, and has waited in it.
        behind = passage.lost & (waiting < SURELY_NOT_FULL * queue.value)
        waiting, entered = _waiting(passage, delay.value, seconds_per_byte, behind)
        queue, overflow, discipline = _queue(passage, waiting)
    reordering, extra = _reordering(passage, seconds_per_byte)
    return Direction(
        rate=rate,
        at_least=at_least,
        steps=steps,
        delay=delay,
        queue=queue,
        longest_queue=int(waiting[entered].max(initial=0)),
        discipline=discipline,
        loss=_loss(passage, waiting, queue, overflow),
        overflows=int(overflow.sum()),
        spikes=spikes,
        reordering=reordering,
        reordering_delay=extra,
    )


class _Backlog:
    """Pairs of packets in which the second waited for the first."""

    def __init__(self, passage: Passage, least_delay: float) -> None:
        first, second = passage.pairs
        whole = np.cumsum(passage.size)
        behind = passage.sent[second] <= passage.arrived[first] - least_delay
        gap = passage.arrived[second] - passage.arrived[first]
        chosen = behind & (gap >= 0)
        self.at = passage.arrived[first][chosen]
        self.bits = 8.0 * (whole[second] - whole[first])[chosen]
        self.gap = gap[chosen]
        span = float(np.ptp(passage.arrived[second])) if len(second) else 0.0
        self.busy = float(self.gap.sum()) / span if span > 0 else 0.0
        """Share of the time in which a packet waited for the one before it."""


def _rate(backlog: _Backlog) -> tuple[Figure | None, tuple[tuple[float, float], ...], tuple[tuple[float, float], ...]]:
    if len(backlog.gap) < LEAST_PAIRS:
        return None, (), ()
    usual = float(np.median(backlog.gap / backlog.bits))
    pause = backlog.gap > np.maximum(0.05, 10.0 * usual * backlog.bits)
    spikes = tuple(
        (float(at), float(gap - usual * bits))
        for at, gap, bits in zip(backlog.at[pause], backlog.gap[pause], backlog.bits[pause], strict=True)
    )
    at, bits, gap = backlog.at[~pause], backlog.bits[~pause], backlog.gap[~pause]
    blocks = max(len(gap) // BLOCK, 5)
    edges = np.linspace(0, len(gap), blocks + 1).astype(np.int64)[:-1]
    seconds = np.add.reduceat(gap, edges)
    rates = np.add.reduceat(bits, edges)[seconds > 0] / seconds[seconds > 0]
    if not len(rates):
        return None, (), spikes
    low, middle, high = np.percentile(rates, (10, 50, 90))
    error = NORMAL_95 * 1.2533 * float(np.std(rates)) / sqrt(len(rates))
    quarter, median, three_quarters = np.percentile(bits / np.maximum(gap, 1e-9), (25, 50, 75))
    if float(np.median(gap)) >= LEAST_GAP and three_quarters - quarter <= EXACT * median:
        # Half of all pairs agree: the rest is not due to the link.
        middle, error = median, float(three_quarters - quarter)
        low = high = middle
    if (high - low) / middle <= VARIES:
        sure: Confidence = "high" if len(gap) >= 200 else "medium"
        figure = Figure(float(middle), float(middle) - error, float(middle) + error, sure, f"{len(gap)} packets queued")
        return figure, (), spikes
    mean = float(bits.sum() / gap.sum())
    figure = Figure(mean, float(low), float(high), "medium", f"varies; the mean over {len(gap)} packets queued")
    return figure, _steps(at, bits, gap, mean), spikes


def _steps(at: Floats, bits: Floats, gap: Floats, mean: float) -> tuple[tuple[float, float], ...]:
    """Return times and rates of a varying rate, interpolated where no packets queued."""
    width = max(STEP, 20.0 * float(np.median(bits)) / mean)
    place = (at / width).astype(np.int64)
    size = int(place.max()) + 1
    carried, seconds = np.bincount(place, bits, size), np.bincount(place, gap, size)
    known = np.flatnonzero(seconds > 0)
    rates = np.interp(np.arange(size), known, carried[known] / seconds[known])
    return tuple((float(number * width), float(rate)) for number, rate in enumerate(rates))


def _delay(own: Floats) -> Figure:
    """Return the base delay: the delay of the fastest packet minus its transmission time."""
    least = float(own.min())
    near = float(np.percentile(own, min(100.0, 500.0 / len(own))))
    sure: Confidence = "high" if near - least <= max(0.001, 0.02 * least) else "medium"
    return Figure(max(least, 0.0), max(least, 0.0), max(near, 0.0), sure, f"the fastest of {len(own)} packets")


def _waiting(
    passage: Passage, delay: float, seconds_per_byte: float, also: Bools | None = None
) -> tuple[Floats, Bools]:
    """Return the number of waiting packets when each packet was sent, without the one in transmission; and which
    packets entered the queue.

    A packet whose arrival is not known is assumed to have left between its neighbours.
    """
    entered = ~passage.lost if also is None else ~passage.lost | also
    place = np.arange(len(passage.sent), dtype=np.float64)
    in_turn = np.flatnonzero(~np.isnan(passage.arrived) & ~passage.late)
    left = np.interp(place, in_turn, passage.arrived[in_turn]) - delay
    starts = np.maximum.accumulate(left - passage.size * seconds_per_byte)[entered]
    before: Ints = np.cumsum(entered) - entered
    begun = np.searchsorted(starts, passage.sent, side="right")
    return (before - np.minimum(begun, before)).astype(np.float64), entered


def _queue(passage: Passage, waiting: Floats) -> tuple[Figure | None, Bools, str]:
    """Return the queue's limit, the losses that it caused, and the discipline, from the queue's length at losses."""
    none = np.zeros(len(waiting), dtype=bool)
    if not passage.lost.any():
        return None, none, "tail-drop"
    top = float(waiting[~passage.lost].max(initial=0))
    threshold, gain = _threshold(passage.lost, waiting, top)
    full = waiting >= threshold
    overflow = passage.lost & full
    count = int(overflow.sum())
    share_full = count / max(int(full.sum()), 1)
    share_below = float(passage.lost[~full].mean()) if not full.all() else 0.0
    # Losses at a full queue and hardly any below: random losses would be as frequent below.
    sharp = share_full > 0.2 or threshold >= 0.9 * top - 1.0
    if gain > MARKED and count >= 2 and top >= 2 and sharp and share_full > 3.0 * share_below:
        levels = waiting[overflow]
        limit = float(np.median(levels))
        low, high = np.percentile(levels, (2.5, 97.5))
        sure: Confidence = "high" if count >= 3 and high - low <= 0.1 * limit + 1 else "medium"
        return Figure(limit, float(low), float(high), sure, f"{count} losses when it was full"), overflow, "tail-drop"
    long_queue = waiting > top / 2
    lost_long, lost_short = passage.lost[long_queue], passage.lost[~long_queue]
    if lost_long.sum() >= 5 and lost_long.mean() > 5.0 * max(float(lost_short.mean()), 1.0 / len(waiting)):
        return None, none, "codel"
    return None, none, "tail-drop"


def _threshold(lost: Bools, waiting: Floats, top: float) -> tuple[float, float]:
    """Return the queue length that divides packets into two groups with the most different shares of losses, and the
    log-likelihood ratio of two shares to one.
    """
    candidates = np.arange(max(1.0, np.floor(0.5 * top)), top + 2)
    chances = [
        _likelihood(lost[waiting >= level]) + _likelihood(lost[waiting < level])
        if (waiting >= level).any()
        else -np.inf
        for level in candidates
    ]
    best = int(np.argmax(chances))
    return float(candidates[best]), float(chances[best]) - _likelihood(lost)


def _likelihood(lost: Bools) -> float:
    """Return the log-likelihood of a number of losses, given their own share."""
    count, some = len(lost), int(lost.sum())
    return float(sum(part * np.log(part / count) for part in (some, count - some) if part))


def _loss(passage: Passage, waiting: Floats, queue: Figure | None, overflow: Bools) -> Figure:
    """Return the probability of a loss that is not a queue drop, with Wilson's interval (1927)."""
    room = waiting < 0.9 * queue.value if queue else np.ones(len(waiting), dtype=bool)
    room &= ~overflow
    lost, count = int((passage.lost & room).sum()), int(room.sum())
    if not count:
        return Figure(0.0, 0.0, 1.0, "none", "the queue was always full")
    share, z = lost / count, NORMAL_95
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    sure: Confidence = "high" if lost >= 100 else "medium" if lost >= 10 or count >= 1000 else "low"
    basis = f"{lost} of {count} packets that found room"
    return Figure(share, max(middle - half, 0.0), middle + half, sure, basis)


def _reordering(passage: Passage, seconds_per_byte: float) -> tuple[Figure | None, tuple[float, float]]:
    """Return the share of packets that were overtaken, and the mean and deviation of their extra delay."""
    late, timed = np.flatnonzero(passage.late), passage.timed
    count = len(late) + len(timed)
    if not len(late) or len(timed) < 2:
        return None, (0.0, 0.0)
    ahead = timed[np.maximum(np.searchsorted(timed, late) - 1, 0)]
    due = np.maximum(
        passage.arrived[ahead], passage.sent[late] + float(np.min(passage.arrived[timed] - passage.sent[timed]))
    )
    extra = passage.arrived[late] - due - passage.size[late] * seconds_per_byte
    share = len(late) / count
    half = NORMAL_95 * sqrt(share * (1 - share) / count)
    sure: Confidence = "high" if len(late) >= 100 else "medium" if len(late) >= 10 else "low"
    figure = Figure(share, max(share - half, 0.0), share + half, sure, f"{len(late)} of {count} packets were overtaken")
    return figure, (float(np.median(extra)), float(np.std(extra)))
