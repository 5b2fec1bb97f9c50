"""The story of one connection: its events in order of time, each with its packets and its cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Final

import numpy as np

from lasthop.explanation.connection import Connection
from lasthop.explanation.copies import Copy
from lasthop.explanation.decisions import Decisions
from lasthop.explanation.words import DROP_WORDS, HOLD_WORDS, at, count, in_segments, lasting, listed

MANY_HOLDS: Final = 5
"""Largest number of delays of one kind that the story has; of more it has the longest, and their number."""


@dataclass(frozen=True)
class Event:
    """An event, from `start` to `end`, the end of its consequences, in seconds. `text` describes it."""

    start: float
    end: float
    kind: str
    text: str
    packets: tuple[int, ...] = ()

    @property
    def seconds(self) -> float:
        """Its duration in seconds."""
        return self.end - self.start


def story(connection: Connection) -> list[Event]:
    """Return the events of a connection, in order of time."""
    told = [
        *_opening(connection),
        *_recoveries(connection),
        *_timeouts(connection),
        *_without_decisions(connection),
        *_marks(connection),
        *_undone(connection),
        *_holds(connection),
        *_window_stalls(connection),
        *_ending(connection),
    ]
    return sorted(told, key=lambda event: (event.start, event.end))


def _opening(connection: Connection) -> Iterator[Event]:
    established = next(connection.decisions.all_of("established"), None)
    if established is None:
        return
    again = [copy for copy in connection.retransmissions() if copy.seq == 0]
    text = f"connected after {lasting(established.time - connection.first_seen)}"
    if again:
        text += f"; the SYN was sent {count(len(again), 'more time')}: {_fate_of_original(connection, again[0])}"
    yield Event(connection.first_seen, established.time, "opening", text, tuple(copy.packet for copy in again))


def _ending(connection: Connection) -> Iterator[Event]:
    data = np.flatnonzero(connection.copies.length > 0)
    if len(data):
        last, size = connection.copies[int(data[-1])], int(connection.copies.end[data].max()) - 1
        text = f"the last of {size:,} bytes was sent".replace(",", " ")
        yield Event(last.time, connection.last_seen, "ending", text, (last.packet,))


def _recoveries(connection: Connection) -> Iterator[Event]:
    """Yield fast retransmits, each with its recovery."""
    decisions = connection.decisions
    for place in decisions.of("fast_retransmit").tolist():
        yield _recovery(connection, place, decisions.end_of_phase(place, "fast_recovery"))


def _recovery(connection: Connection, place: int, end: float) -> Event:
    made = connection.decisions[place]
    resent = connection.retransmissions(made.time, end)
    first = next((copy for copy in resent if copy.cause == "fast_retransmit"), resent[0] if resent else None)
    before = connection.decisions.before(place)
    parts = [f"fast retransmit{_of(first, connection)} ({made.reason or 'loss found'})"]
    if first is not None:
        parts.append(_verdict(connection, first))
    kind = "fast_retransmit"
    lost = _queue_drops_before(connection, made.time)
    if before is not None and before.phase == "slow_start" and lost > 1:
        kind = "slow_start_overshoot"
        parts.append(f"slow start had overshot: the queue dropped {count(lost, 'packet')} of one round trip")
    parts.append(_repairs([copy for copy in resent if copy is not first]))
    parts.append(_window_change(connection, place))
    if end < connection.last_seen:
        parts.append(f"recovery ended after {lasting(end - made.time)}")
    text = "; ".join(part for part in parts if part)
    return Event(made.time, end, kind, text, tuple(copy.packet for copy in resent))


def _timeouts(connection: Connection) -> Iterator[Event]:
    """Yield timeouts with the retransmissions after them; consecutive ones for one segment are one event."""
    decisions = connection.decisions
    groups: list[list[int]] = []
    for place in decisions.of("timeout").tolist():
        if groups and decisions[place].reason == "again":
            groups[-1].append(place)
        else:
            groups.append([place])
    for places in groups:
        yield _timeout(connection, places, decisions.end_of_phase(places[-1], "after_timeout"))


def _timeout(connection: Connection, places: Sequence[int], end: float) -> Event:
    decisions = connection.decisions
    made = decisions[places[0]]
    resent = connection.retransmissions(made.time, end)
    first = next((copy for copy in resent if copy.cause == "timeout"), None)
    spurious = first is not None and first.needless is True
    times = f"{count(len(places), 'timeout')} in a row, " if len(places) > 1 else "timeout "
    parts = [
        f"{times}of{_of(first, connection) or ' a segment'}"
        if len(places) == 1
        else f"{times}{_waits(decisions, places)}"
    ]
    if first is not None:
        judged = "spurious: " if spurious else "genuine: " if first.needless is False else ""
        parts.append(judged + _fate_of_original(connection, first))
    behind = [copy for copy in resent if copy.cause != "timeout"]
    parts.append(_repairs(behind))
    parts.append(_window_change(connection, places[0]))
    kind = "spurious_timeout" if spurious else "timeout"
    text = "; ".join(part for part in parts if part)
    return Event(made.time, end, kind, text, tuple(copy.packet for copy in resent))


def _waits(decisions: Decisions, places: Sequence[int]) -> str:
    return "at " + listed([at(decisions[place].time) for place in places])


def _without_decisions(connection: Connection) -> Iterator[Event]:
    """Yield the retransmissions of a sender without recorded decisions (a kernel, a capture), grouped by cause."""
    if len(connection.decisions):
        return
    for copies in _episodes(connection):
        lead = copies[0]
        what = "timeout of" if lead.cause == "timeout" else "sent again:"
        parts = [f"{what}{_of(lead, connection)}", _verdict(connection, lead), _repairs(copies[1:])]
        kind = lead.cause or "retransmission"
        yield Event(
            lead.time,
            copies[-1].time,
            "spurious_timeout" if kind == "timeout" and lead.needless else kind,
            "; ".join(part for part in parts if part),
            tuple(copy.packet for copy in copies),
        )


def _episodes(connection: Connection) -> Iterator[list[Copy]]:
    """Yield the retransmissions by episode: of one kind, until all that was sent by then is acknowledged."""
    again = connection.retransmissions()
    if not again:
        return
    ended = [False, *(connection.repaired(before, copy) for before, copy in pairwise(again))]
    episodes = accumulate(ended)
    for _, run in groupby(zip(episodes, again, strict=True), key=lambda item: (item[0], _episode(item[1].cause))):
        yield [copy for _, copy in run]


def _episode(cause: str) -> str:
    return "timeout" if cause in ("timeout", "after_timeout") else "recovery"


def _marks(connection: Connection) -> Iterator[Event]:
    marks = list(connection.decisions.all_of("mark"))
    if marks:
        span = f"from {at(marks[0].time)} to {at(marks[-1].time)}"
        text = f"{count(len(marks), 'reduction')} on congestion marks (ECN), {span}"
        yield Event(marks[0].time, marks[-1].time, "marks", text)


def _undone(connection: Connection) -> Iterator[Event]:
    for place in connection.decisions.of("undo").tolist():
        text = "the sender found its loss signal spurious and took the reduction back"
        time = connection.decisions[place].time
        yield Event(time, time, "undo", f"{text}; {_window_change(connection, place)}")


def _holds(connection: Connection) -> Iterator[Event]:
    """Yield the periods in which a link delayed packets unusually."""
    merged: list[tuple[float, float, str, str, list[int]]] = []
    for hold in connection.copies.hops.holds(connection.copies.packet):
        last = merged[-1] if merged else None
        if last is not None and last[2:4] == (hold.link, hold.cause) and hold.start <= last[1]:
            last[4].append(hold.packet)
            merged[-1] = (last[0], max(last[1], hold.end), hold.link, hold.cause, last[4])
        else:
            merged.append((hold.start, hold.end, hold.link, hold.cause, [hold.packet]))
    longest = sorted(merged, key=lambda hold: hold[0] - hold[1])[:MANY_HOLDS]
    for start, end, link, cause, packets in merged if len(merged) <= 2 * MANY_HOLDS else sorted(longest):
        why = HOLD_WORDS.get(cause, cause)
        text = f"{link} held {count(len(packets), 'packet')} for up to {lasting(end - start)}: {why}"
        yield Event(start, end, "held", text, tuple(packets))
    if len(merged) > 2 * MANY_HOLDS:
        rest = merged[0][0]
        text = f"links held packets {count(len(merged), 'time')}; these are the {MANY_HOLDS} longest"
        yield Event(rest, merged[-1][1], "held", text)


def _window_stalls(connection: Connection) -> Iterator[Event]:
    """Yield the periods in which the peer's window was closed."""
    for begin, end in connection.decisions.stalls():
        after = connection.last_seen if end is None else end
        yield Event(begin, after, "window_stall", f"the peer's window was closed for {lasting(after - begin)}")


def _window_change(connection: Connection, place: int) -> str:
    """Return the change of the window by a decision, in words."""
    before, after = connection.decisions.before(place), connection.decisions[place]
    if before is None:
        return ""
    size = connection.segment_size
    text = f"cwnd {in_segments(before.cwnd, size)} to {in_segments(after.cwnd, size)} segments"
    if after.ssthresh == after.ssthresh:  # NaN if it is not set
        text += f", ssthresh {in_segments(after.ssthresh, size)}"
    return text


def _queue_drops_before(connection: Connection, time: float) -> int:
    """Return the number of copies that queues dropped in the two round trips before a time."""
    span = 2 * (connection.best_round_trip or 0.0)
    drops = connection.queue_drops
    return int(np.searchsorted(drops, time, side="right") - np.searchsorted(drops, time - span))


def _of(copy: Copy | None, connection: Connection) -> str:
    if copy is None:
        return ""
    if copy.len == 0:
        return f" the {'SYN' if copy.seq == 0 else 'FIN'}"
    segment = (copy.seq - 1) // connection.segment_size + 1
    return f" segment {segment} (byte {copy.seq}, packet {copy.packet})"


def _verdict(connection: Connection, copy: Copy) -> str:
    if copy.needless is None:
        return ""
    return ("needless: " if copy.needless else "") + _fate_of_original(connection, copy)


def _fate_of_original(connection: Connection, copy: Copy) -> str:
    """Return the fate of the copies before this one, in words: evidence for whether it was needed."""
    earlier = connection.copies.earlier(copy)
    if not any(other.hops for other in earlier):
        # Without recorded packets the reason of the verdict says it; a verdict on a capture has its evidence.
        return copy.explanation
    dropped = [other for other in earlier if other.drop is not None]
    if len(dropped) == len(earlier) > 1:
        return f"all {len(earlier)} earlier copies were lost, the latest {_drop_of(dropped[-1])}"
    if len(dropped) == len(earlier):
        return f"the original was {_drop_of(earlier[0])}"
    alive = next(other for other in earlier if other.drop is None)
    parts = [f"{'the original' if alive is earlier[0] else 'an earlier copy'} was not lost"]
    if alive.hold is not None:
        hop, (start, end) = alive.hold
        parts.append(
            f"{hop.link} held it for {lasting(end - start)} ({HOLD_WORDS.get(hop.delay_cause, hop.delay_cause)})"
        )
    if alive.arrived is not None:
        parts.append(f"it arrived at {at(alive.arrived)}, {lasting(alive.arrived - alive.time)} after it was sent")
    return ", ".join(parts)


def _drop_of(copy: Copy) -> str:
    hop = copy.drop
    if hop is None:
        return "lost"
    where = f" at {hop.link}, {at(hop.end)}"
    length = f", behind {count(hop.behind, 'packet')}" if hop.fate == "queue_drop" else ""
    rule = f" ({hop.rule or hop.fate}{length})" if hop.rule or hop.fate != "lost" else ""
    return f"{DROP_WORDS.get(hop.fate, hop.fate)}{where}{rule}"


def _repairs(copies: Sequence[Copy]) -> str:
    """Return the number of further retransmissions by verdict and, if needless, by cause, in words."""
    if not copies:
        return ""
    needless = [copy for copy in copies if copy.needless]
    text = f"{count(len(copies), 'more segment')} sent again"
    if not any(copy.needless is not None for copy in copies):
        return text
    if not needless:
        return f"{text}, {'which was' if len(copies) == 1 else 'all of them'} lost before"
    reasons = Counter(copy.why.replace("_", " ") for copy in needless)
    told = listed([f"{number} {why}" for why, number in reasons.most_common()])
    return f"{text}, {len(needless)} of them needlessly ({told})"
