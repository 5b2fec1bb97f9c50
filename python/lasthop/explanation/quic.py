"""The report on one QUIC connection of a capture: facts, events, and the use of its time.

Events are those of its packets in the table `quic`. What was sent again is in the table `segments`, from which the
native module writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from lasthop.explanation.event import Event
from lasthop.explanation.time_share import TimeShare
from lasthop.explanation.words import count, grouped, lasting, listed
from lasthop.quic_connection import Report, is_opened, lacking

if TYPE_CHECKING:
    import pyarrow as pa

SIDES: Final = ("client", "server")

RULES: Final = {
    "packet_threshold": "by the packet threshold (three later packets)",
    "time_threshold": "by the time threshold (9/8 of a round trip)",
}
"""The rules by which packets are declared lost (RFC 9002 §6.1), in words."""

LEAST_IDLE: Final = 1.0
"""Least time without packets in flight that is reported, in seconds: that of TCP's connections."""

NANOSECOND: Final = 1e-9


@dataclass(frozen=True)
class Packet:
    """A row of the table `quic`. Times are in seconds."""

    time: float
    side: int
    frame: int
    kind: str
    number: int | None
    frames: str
    generation: int | None
    eliciting: bool
    probe: bool
    acknowledged: float | None
    lost: float | None
    rule: str | None

    def has(self, frame: str) -> bool:
        """Whether a frame of that name is in it."""
        return any(each.partition(":")[0] == frame for each in self.frames.split())


def packets_by_connection(table: pa.Table) -> dict[int, list[Packet]]:
    """Return the packets of each connection, by its place in the report."""
    names = ["connection", "time_ns", "from_client", "packet", "kind", "number", "frames", "generation"]
    names += ["ack_eliciting", "probe", "acknowledged_ns", "lost_ns", "lost_by"]
    columns = [table.column(name).to_pylist() for name in names]
    found: dict[int, list[Packet]] = {}
    for row in zip(*columns, strict=True):
        connection, time, from_client, frame, kind, number, frames, generation, *fates = row
        eliciting, probe, acknowledged, lost, rule = fates
        found.setdefault(connection, []).append(
            Packet(
                time * NANOSECOND,
                0 if from_client else 1,
                frame,
                kind,
                number,
                frames,
                generation,
                bool(eliciting),
                bool(probe),
                _seconds(acknowledged),
                _seconds(lost),
                rule,
            )
        )
    return found


def facts(report: Report, packets: Sequence[Packet]) -> Iterator[str]:
    """Yield sentences on the whole connection."""
    contents = report["contents"]
    name = f" with {contents['server_name']}" if contents["server_name"] else ""
    cipher = f", {contents['cipher']}" if contents["cipher"] else ""
    yield f"QUIC version {report['version']}{name}{cipher}{', after a Retry' if contents['retry'] else ''}"
    if missing := lacking(report):
        yield missing
    if not is_opened(report):
        yield from _visible(report)
        return
    for side, sender in enumerate(contents["senders"]):
        yield from _sender(side, sender, report["length_s"], _in_flight(packets, side))


def _visible(report: Report) -> Iterator[str]:
    datagrams, sizes = report["datagrams"], report["bytes"]
    yield (
        f"not encrypted are: {count(datagrams[0], 'datagram')} of the client, {grouped(sizes[0])} bytes, and"
        f" {grouped(datagrams[1])} of the server, {grouped(sizes[1])} bytes, in {lasting(report['length_s'])}"
    )
    if report["spin_rtt_min_s"] is not None:
        yield f"round trip by the spin bit {lasting(report['spin_rtt_min_s'])} at least"


def _sender(side: int, sender: Mapping[str, Any], length: float, active: float) -> Iterator[str]:
    end, sent = SIDES[side], sum(sender["packets"].values())
    data = sender["stream_bytes"] - sender["retransmitted_bytes"]
    if data and length > 0 and active > 0:
        rate, busy = (8e-6 * data / seconds for seconds in (length, active))
        yield (
            f"the {end} sent {grouped(data)} bytes of streams in {lasting(length)}, {rate:.3g} Mbit/s;"
            f" {busy:.3g} Mbit/s in the {lasting(active)} with packets in flight,"
            f" {grouped(sender['largest_flight'])} bytes of them at most"
        )
    if sender["lost"]:
        by_time = sender["lost_by_time"]
        rules = [f"{sender['lost'] - by_time} by the packet threshold", f"{by_time} by the time threshold"]
        late = f"; {sender['spurious_losses']} of them had arrived (spurious)" if sender["spurious_losses"] else ""
        yield f"{sender['lost']} of {sent} packets of the {end} were declared lost, {listed(rules)}{late}"
    if sender["retransmitted_bytes"]:
        again = grouped(sender["retransmitted_bytes"])
        yield f"the {end} sent {again} bytes again; {grouped(sender['needless_bytes'])} bytes needlessly"
    trip = sender["rtt"]
    if trip["min_s"] is not None:
        times = [f"{1e3 * trip[key]:.1f} ms {word}" for key, word in _TRIPS.items()]
        yield f"round trip from the place of the capture to the {SIDES[1 - side]}: {', '.join(times)}"
    if sender["ecn"] and any(sender["ecn"]):
        yield f"ECN of the {end}, as the peer counts: {sender['ecn'][2]} packets marked of {sum(sender['ecn'])}"


_TRIPS: Final = {"min_s": "at least", "mean_s": "on average", "max_s": "at most"}


def incidents(report: Report, packets: Sequence[Packet]) -> list[Event]:
    """Return the events of a connection, in the order of time."""
    found = [*_opening(report, packets), *_losses(report, packets), *_probes(packets), *_key_updates(packets)]
    found += [*_migrations(report, packets), *_blocked(packets), *_idle(packets), *_closing(report, packets)]
    return sorted(found, key=lambda event: (event.start, event.end))


def shares(packets: Sequence[Packet]) -> list[TimeShare]:
    """Return the use of the connection's time: the handshake, and the time with and without packets in flight."""
    if not packets:
        return []
    first, last = packets[0].time, packets[-1].time
    done = _confirmed(packets)
    opened = done.time if done else first
    busy = sum(min(end, last) - max(start, opened) for start, end in _spans(packets) if end > opened)
    found = [
        TimeShare("handshake", opened - first, "until the handshake was confirmed", "certain"),
        TimeShare("in_flight", busy, "packets of either end were in flight", "likely"),
        TimeShare("idle", max(last - opened - busy, 0.0), "nothing was in flight", "likely"),
    ]
    return sorted((share for share in found if share.seconds > 0), key=lambda share: -share.seconds)


def _confirmed(packets: Sequence[Packet]) -> Packet | None:
    """Return the packet with HANDSHAKE_DONE (RFC 9001 §4.1.2), or else the client's first 1-RTT packet."""
    done = next((packet for packet in packets if packet.side == 1 and packet.has("handshake_done")), None)
    return done or next((packet for packet in packets if packet.side == 0 and packet.kind == "one_rtt"), None)


def _opening(report: Report, packets: Sequence[Packet]) -> Iterator[Event]:
    done = _confirmed(packets)
    if done is None or packets[0].kind not in ("initial", "retry", "zero_rtt"):
        return
    early = sum(packet.kind == "zero_rtt" for packet in packets)
    lost = [packet for packet in packets if packet.lost is not None and packet.kind in ("initial", "handshake")]
    parts = [f"connected after {lasting(done.time - packets[0].time)} (frame {packets[0].frame} to {done.frame})"]
    parts += ["after a Retry, by which the server had the client's address confirmed"] * report["contents"]["retry"]
    parts += [f"{count(early, 'packet')} of 0-RTT"] if early else []
    parts += [f"{count(len(lost), 'packet')} of the handshake lost"] if lost else []
    yield Event(packets[0].time, done.time, "opening", "; ".join(parts), (packets[0].frame, done.frame))


def _losses(report: Report, packets: Sequence[Packet]) -> Iterator[Event]:
    for side in (0, 1):
        trip = report["contents"]["senders"][side]["rtt"]["mean_s"] or 0.0
        lost = [packet for packet in packets if packet.side == side and packet.lost is not None]
        lost.sort(key=lambda packet: (packet.lost, packet.frame))
        for group in _groups(lost, trip):
            yield _loss(side, group)


def _groups(lost: Sequence[Packet], trip: float) -> Iterator[list[Packet]]:
    """Yield packets that were declared lost by one rule, each within a round trip of the one before."""
    group: list[Packet] = []
    for packet in lost:
        if group and (packet.rule != group[-1].rule or (packet.lost or 0.0) - (group[-1].lost or 0.0) > trip):
            yield group
            group = []
        group.append(packet)
    if group:
        yield group


def _loss(side: int, group: Sequence[Packet]) -> Event:
    start, end = group[0].lost or 0.0, group[-1].lost or 0.0
    numbers = _ranges(sorted(packet.number for packet in group if packet.number is not None))
    waits = [(packet.lost or 0.0) - packet.time for packet in group]
    late = [packet for packet in group if packet.acknowledged is not None]
    text = (
        f"{count(len(group), 'packet')} of the {SIDES[side]} declared lost {RULES[group[0].rule or '']}:"
        f" number{'s' if len(group) > 1 else ''} {numbers} (first frame {group[0].frame}),"
        f" {lasting(max(waits))} after {'they were' if len(group) > 1 else 'it was'} sent"
    )
    if late:
        text += f"; spurious: {_ranges(sorted(packet.number or 0 for packet in late))} had arrived"
    kind = "spurious_loss" if len(late) == len(group) else "loss"
    return Event(start, end, kind, text, tuple(packet.frame for packet in group))


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers in words, neighbours as ranges: "3, 5 to 9". Of many ranges the first ones, and their number."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    words = [str(low) if low == high else f"{low} to {high}" for low, high in ranges]
    more = len(words) - MOST_RANGES
    return listed(words if more <= 0 else [*words[:MOST_RANGES], f"{more} other ranges"])


MOST_RANGES: Final = 6


def _probes(packets: Sequence[Packet]) -> Iterator[Event]:
    for side in (0, 1):
        run: list[Packet] = []
        heard = None
        for packet in packets:
            if packet.side != side:
                heard = packet
            elif packet.probe:
                if run and heard is not None and heard.time > run[-1].time:
                    yield _probe(side, run)
                    run = []
                run.append(packet)
        if run:
            yield _probe(side, run)


def _probe(side: int, run: Sequence[Packet]) -> Event:
    times = listed([f"{packet.time:.3f} s" for packet in run[:MOST_RANGES]])
    text = f"{count(len(run), 'probe')} of the {SIDES[side]}, to get an acknowledgment, at {times}"
    if len(run) > MOST_RANGES:
        text += f" and {len(run) - MOST_RANGES} times later"
    return Event(run[0].time, run[-1].time, "probe", f"{text} (frame {run[0].frame})", tuple(p.frame for p in run))


def _key_updates(packets: Sequence[Packet]) -> Iterator[Event]:
    known = [0, 0]
    for packet in packets:
        if packet.kind == "one_rtt" and packet.generation is not None and packet.generation > known[packet.side]:
            known[packet.side] = packet.generation
            first = known[1 - packet.side] < packet.generation
            what = "updates the keys" if first else "answers the key update"
            text = f"the {SIDES[packet.side]} {what}, generation {packet.generation} (frame {packet.frame})"
            yield Event(packet.time, packet.time, "key_update", text, (packet.frame,))


def _migrations(report: Report, packets: Sequence[Packet]) -> Iterator[Event]:
    for moved in report["migrations"]:
        later = [packet for packet in packets if packet.time >= moved["time_s"]]
        asked = next((packet for packet in later if packet.has("path_challenge")), None)
        answered = next((packet for packet in later if packet.has("path_response")), None)
        text = f"the client's address is now {moved['client']} (frame {moved['frame']})"
        end = moved["time_s"]
        if asked and answered:
            end = max(answered.time, asked.time)
            text += f"; the path was validated in {lasting(end - moved['time_s'])} (frame {answered.frame})"
        elif asked:
            text += f"; PATH_CHALLENGE in frame {asked.frame} was not answered"
        yield Event(moved["time_s"], end, "migration", text, (moved["frame"],))


def _blocked(packets: Sequence[Packet]) -> Iterator[Event]:
    for packet in packets:
        kinds = [name for name in _LIMITS if packet.has(name)]
        if kinds:
            what = listed([_LIMITS[name] for name in kinds])
            text = f"the {SIDES[packet.side]} was blocked by {what} of its peer (frame {packet.frame})"
            yield Event(packet.time, packet.time, "blocked", text, (packet.frame,))


_LIMITS: Final = {
    "data_blocked": "the connection's limit of data",
    "stream_data_blocked": "a stream's limit of data",
    "streams_blocked": "the limit of streams",
}


def _idle(packets: Sequence[Packet]) -> Iterator[Event]:
    spans = _spans(packets)
    for (_, before), (after, _) in pairwise(spans):
        if after - before < LEAST_IDLE:
            continue
        following = next(packet for packet in packets if packet.time >= after)
        text = f"idle for {lasting(after - before)}, with nothing in flight; the {SIDES[following.side]} sent next"
        yield Event(before, after, "idle", f"{text} (frame {following.frame})", (following.frame,))


def _closing(report: Report, packets: Sequence[Packet]) -> Iterator[Event]:
    closed = report["contents"]["closed"]
    last = packets[-1]
    by = next((packet for packet in packets if packet.has("connection_close")), None)
    if closed and by:
        yield Event(by.time, last.time, "closed", f"closed by the {closed} (frame {by.frame})", (by.frame,))
    else:
        text = f"the last packet of the capture (frame {last.frame}); no end closed the connection"
        yield Event(last.time, last.time, "ending", text, (last.frame,))


def _in_flight(packets: Sequence[Packet], side: int) -> float:
    """Return the seconds in which packets of a side were in flight."""
    return sum(end - start for start, end in _spans([packet for packet in packets if packet.side == side]))


def _spans(packets: Sequence[Packet]) -> list[tuple[float, float]]:
    """Return the times in which packets that ask for an acknowledgment were in flight, joined."""
    flights = [(packet.time, _until(packet)) for packet in packets if packet.eliciting]
    joined: list[tuple[float, float]] = []
    for start, end in sorted(flights):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _until(packet: Packet) -> float:
    """Return when a packet left the flight: a packet of unknown fate at once."""
    fates = [time for time in (packet.acknowledged, packet.lost) if time is not None]
    return min(fates, default=packet.time)


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds * NANOSECOND
