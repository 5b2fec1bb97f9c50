"""Segments as they were on the wire, where offloads made one captured packet of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from lasthop.joining.views import FIN, NONE, RST, SYN, Bools, Ints, View

_TIMESTAMPS: Final = 12
"""Bytes of the timestamps option with its padding (RFC 7323 appendix A)."""


@dataclass(frozen=True)
class Pieces:
    """Segments of some packets of a view, as arrays of equal length in the order of sending.

    `place` is the place of each one's packet among these packets, and `offset` that of its data in the packet's.
    """

    place: Ints
    offset: Ints
    time: Ints
    seq: Ints
    length: Ints
    ack: Ints
    flags: Ints
    timestamp: Ints
    identification: Ints

    def whole(self, found: Bools) -> Bools:
        """Return for each packet whether all of its segments are among the found ones."""
        all_found = np.ones(int(self.place.max(initial=NONE)) + 1, dtype=bool)
        np.logical_and.at(all_found, self.place, found)
        return all_found


def cut(near: View, sent: Ints, far: View, seen: Ints) -> tuple[Pieces, Pieces]:
    """Return packets at two points as segments on the wire. Where no packet is longer, they are the packets."""
    longest = [int(view.length[rows].max(initial=0)) for view, rows in ((near, sent), (far, seen))]
    largest = max(_largest(near) or min(longest), 1)
    if max(longest) <= largest:
        largest = max(*longest, 1)
        return _pieces(near, sent, largest, ~0), _pieces(far, seen, largest, ~0)
    # Only these flags belong to the same segment on both sides of a card that cuts or merges.
    kept = SYN | FIN | RST
    return _pieces(near, sent, largest, kept), _pieces(far, seen, largest, kept)


def _largest(view: View) -> int | None:
    """Return the bytes of data in the largest segment, by the MSS of the handshake; None if the capture lacks it."""
    announced = [sender["mss"] for sender in view.report["senders"] if sender.get("mss")]
    if not announced:
        return None
    stamped = bool((view.timestamp[view.length > 0] != NONE).any())
    return int(min(announced)) - _TIMESTAMPS * stamped


def _pieces(view: View, rows: Ints, largest: int, kept: int) -> Pieces:
    lengths = view.length[rows]
    count = np.maximum(-(-lengths // largest), 1)
    place = np.repeat(np.arange(len(rows)), count)
    number = np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count)
    is_last = number == count[place] - 1
    own = rows[place]
    named = view.identification[own]
    return Pieces(
        place=place,
        offset=number * largest,
        time=view.time[own],
        seq=(view.seq[own] + number * largest) % (1 << 32),
        length=np.minimum(lengths[place] - number * largest, largest),
        ack=view.ack[own],
        flags=view.flags[own] & np.where(is_last, kept, kept & ~FIN),
        timestamp=view.timestamp[own],
        # A card that cuts counts up, and one that merges keeps the first (Linux tcp_gso_segment, inet_gro_receive).
        identification=np.where(named == NONE, NONE, (named + number) % (1 << 16)),
    )
