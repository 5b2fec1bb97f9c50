"""The same packet at two points of its path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from lasthop.joining.pieces import Pieces, cut
from lasthop.joining.views import NONE, Bools, Ints, View

NEVER: Final = np.iinfo(np.int64).min
"""Arrival time of a packet that was not seen at the other point."""

_HEADER: Final = ("seq", "length", "ack", "flags")
_KEYS: Final = ((*_HEADER, "timestamp", "identification"), (*_HEADER, "timestamp"), ("seq", "length", "flags"))
"""Fields that identify a packet, and the fewer ones to try if a middlebox has rewritten some."""


@dataclass(frozen=True)
class Arrivals:
    """Arrivals of packets at another point: for each its index there, or NONE, and its time there, or NEVER.

    `parts` has, by the place of a packet of which some segments are missing there, the data that are not: first byte
    and end, from the packet's first. `left` marks the packets there without a match: those that the first point did not
    see, and duplicates.
    """

    rows: Ints
    times: Ints
    left: Bools
    parts: Mapping[int, list[tuple[int, int]]]


def arrivals(near: View, far: View, side: int) -> Arrivals:
    """Match the packets that `side` sent at `near` with those at `far`, segment by segment of the wire.

    A segment is identified by its numbers, flags, timestamp and IP identification. Copies that are equal in all of
    these are matched by their delay, which must fit those of the segments around them.
    """
    sent, seen = near.sent_by(side), far.sent_by(side)
    ours, theirs = cut(near, sent, far, seen)
    places = np.full(len(ours.place), NONE, dtype=np.int64)
    left = np.ones(len(theirs.place), dtype=bool)
    for key in _KEYS:
        places, left = _matched(ours, theirs, key)
        if not len(left) or np.count_nonzero(left) <= len(left) // 2:
            break
    return _by_packet(ours, places, seen[theirs.place], far, theirs.whole(left))


def _by_packet(ours: Pieces, places: Ints, seen: Ints, far: View, left: Bools) -> Arrivals:
    """Return the arrivals of packets, of which a whole one arrives with the last of its segments."""
    found = places != NONE
    whole = ours.whole(found)
    rows = np.full(len(whole), NONE, dtype=np.int64)
    times = np.full(len(whole), NEVER, dtype=np.int64)
    complete = np.flatnonzero(whole[ours.place])
    there = seen[places[complete]]
    np.maximum.at(times, ours.place[complete], far.time[there])
    # Of several assignments numpy keeps the last: here that of the first segment.
    rows[ours.place[complete][::-1]] = there[::-1]
    parts: dict[int, list[tuple[int, int]]] = {}
    for piece in np.flatnonzero(found & ~whole[ours.place]):
        start = int(ours.offset[piece])
        parts.setdefault(int(ours.place[piece]), []).append((start, start + int(ours.length[piece])))
    return Arrivals(rows, times, left, parts)


def _matched(sent: Pieces, seen: Pieces, key: tuple[str, ...]) -> tuple[Ints, Bools]:
    """Return the index in `seen` of each of `sent`, or NONE, and which of `seen` have no match."""
    both = np.concatenate([_digest(sent, key), _digest(seen, key)])
    _, group = np.unique(both, return_inverse=True)
    mine, theirs = group[: len(sent.place)], group[len(sent.place) :]
    count_mine = np.bincount(mine, minlength=group.max(initial=0) + 1)
    count_theirs = np.bincount(theirs, minlength=len(count_mine))
    found = np.full(len(sent.place), NONE, dtype=np.int64)
    left = np.ones(len(seen.place), dtype=bool)

    sure = (count_mine == 1) & (count_theirs == 1)
    place_of = np.full(len(count_mine), NONE, dtype=np.int64)
    place_of[theirs] = np.arange(len(seen.place))
    ours = np.flatnonzero(sure[mine])
    found[ours] = place_of[mine[ours]]
    left[found[ours]] = False

    unsure = np.flatnonzero((count_mine > 0) & (count_theirs > 0) & ~sure)
    if len(unsure):
        _separate_copies(sent.time, seen.time, mine, theirs, unsure, found, left)
    return found, left


def _digest(pieces: Pieces, key: tuple[str, ...]) -> Ints:
    """Return a hash of the fields of each segment (multiplication by odd constants, as in Fibonacci hashing)."""
    digest = np.zeros(len(pieces.place), dtype=np.uint64)
    for name in key:
        values = getattr(pieces, name).astype(np.uint64)
        digest = (digest ^ values) * np.uint64(0x9E3779B97F4A7C15)
        digest ^= digest >> np.uint64(29)
    return digest.astype(np.int64)


def _separate_copies(
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
