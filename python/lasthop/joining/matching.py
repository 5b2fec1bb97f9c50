"""The same packet at two points of its path."""

from __future__ import annotations

from typing import Final

import numpy as np

from lasthop.joining.views import NONE, Bools, Ints, View

NEVER: Final = np.iinfo(np.int64).min
"""Arrival time of a packet that was not seen at the other point."""

_HEADER: Final = ("seq", "length", "ack", "flags")
_KEYS: Final = ((*_HEADER, "timestamp", "identification"), (*_HEADER, "timestamp"), ("seq", "length", "flags"))
"""Fields that identify a packet, and the fewer ones to try if a middlebox has rewritten some."""


def arrivals(near: View, far: View, side: int) -> tuple[Ints, Ints, Bools]:
    """Match the packets that `side` sent at `near` with those at `far`.

    Returns, for each packet at `near`, its index at `far`, or NONE, and its time there by the far clock, or NEVER; and
    the indices of the packets at `far` without a match: those that `near` did not see, and duplicates.

    A packet is identified by its numbers, flags, timestamp and IP identification. Copies that are equal in all of these
    are matched by their delay, which must fit those of the packets around them.
    """
    sent, seen = near.sent_by(side), far.sent_by(side)
    places = np.full(len(sent), NONE, dtype=np.int64)
    left = np.ones(len(seen), dtype=bool)
    for key in _KEYS:
        places, left = _matched(near, far, sent, seen, key)
        if not len(seen) or np.count_nonzero(left) <= len(seen) // 2:
            break
    there = places != NONE
    rows, times = np.full(len(sent), NONE, dtype=np.int64), np.full(len(sent), NEVER, dtype=np.int64)
    rows[there] = seen[places[there]]
    times[there] = far.time[rows[there]]
    return rows, times, left


def _matched(near: View, far: View, sent: Ints, seen: Ints, key: tuple[str, ...]) -> tuple[Ints, Bools]:
    """Return the index in `seen` of each of `sent`, or NONE, and the indices in `seen` without a match."""
    both = np.concatenate([_digest(near, sent, key), _digest(far, seen, key)])
    _, group = np.unique(both, return_inverse=True)
    mine, theirs = group[: len(sent)], group[len(sent) :]
    count_mine = np.bincount(mine, minlength=group.max(initial=0) + 1)
    count_theirs = np.bincount(theirs, minlength=len(count_mine))
    found = np.full(len(sent), NONE, dtype=np.int64)
    left = np.ones(len(seen), dtype=bool)

    sure = (count_mine == 1) & (count_theirs == 1)
    place_of = np.full(len(count_mine), NONE, dtype=np.int64)
    place_of[theirs] = np.arange(len(seen))
    ours = np.flatnonzero(sure[mine])
    found[ours] = place_of[mine[ours]]
    left[found[ours]] = False

    unsure = np.flatnonzero((count_mine > 0) & (count_theirs > 0) & ~sure)
    if len(unsure):
        _tell_copies_apart(near.time[sent], far.time[seen], mine, theirs, unsure, found, left)
    return found, left


def _digest(view: View, rows: Ints, key: tuple[str, ...]) -> Ints:
    """Return a hash of the fields of each packet (multiplication by odd constants, as in Fibonacci hashing)."""
    digest = np.zeros(len(rows), dtype=np.uint64)
    for name in key:
        values = getattr(view, name)[rows].astype(np.uint64)
        digest = (digest ^ values) * np.uint64(0x9E3779B97F4A7C15)
        digest ^= digest >> np.uint64(29)
    return digest.astype(np.int64)


def _tell_copies_apart(
    sent_at: Ints, seen_at: Ints, mine: Ints, theirs: Ints, groups: Ints, found: Ints, left: Bools
) -> None:
    sure = np.flatnonzero(found != NONE)
    order = sure[np.argsort(sent_at[sure], kind="stable")]
    times = sent_at[order].astype(np.float64)
    delays = (seen_at[found[order]] - sent_at[order]).astype(np.float64)
    # No packet is faster than the fastest one, within a tolerance of the clocks.
    least = delays.min() - 2e6 if len(delays) else -np.inf
    ours = _members(mine, groups)
    others = _members(theirs, groups)
    for group in groups:
        free = ours[group]
        for row in others[group]:
            delay = (seen_at[row] - sent_at[free]).astype(np.float64)
            usual = np.interp(sent_at[free], times, delays) if len(times) else np.zeros(len(free))
            misfit = np.where(delay >= least, np.abs(delay - usual), np.inf)
            best = int(np.argmin(misfit)) if len(free) else NONE
            if best == NONE or not np.isfinite(misfit[best]):
                continue
            found[free[best]] = row
            left[row] = False
            free = np.delete(free, best)


def _members(group_of: Ints, groups: Ints) -> dict[int, Ints]:
    order = np.argsort(group_of, kind="stable")
    first = np.searchsorted(group_of[order], groups, side="left")
    end = np.searchsorted(group_of[order], groups, side="right")
    return {int(group): order[a:b] for group, a, b in zip(groups, first, end, strict=True)}
