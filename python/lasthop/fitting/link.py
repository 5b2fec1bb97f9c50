"""Both directions of a link, estimated from captures of one end or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from lasthop.errors import InputError
from lasthop.fitting.direction import Direction, Figure, fit_direction
from lasthop.fitting.passage import Passage, of_crossing
from lasthop.fitting.sender_alone import RoundTrips, passage
from lasthop.joining import Clocks, View, join, views_of
from lasthop.joining.clocks import Choice

LEAST_PACKETS: Final = 50
"""Least number of data packets for a fit."""


SEEN_FROM: Final = {"sender": "the sender", "middle": "a point between the ends", "unknown": "one point"}
"""Places of a capture, in words."""


@dataclass(frozen=True)
class Fit:
    """A link fitted to the captures of one connection; `forward` leads from the sender of the data to the receiver.

    With one capture only, `backward` is None, and the forward delay is that of both directions.
    """

    view: View
    forward: Direction
    backward: Direction | None
    clocks: Clocks | None
    trips: RoundTrips
    seconds: float

    @property
    def round_trip(self) -> float:
        """The base delay of both directions together, in seconds."""
        return self.forward.delay.value + (self.backward.delay.value if self.backward else 0.0)

    @property
    def seen_from(self) -> str:
        """Place of the captures, in words."""
        return "both ends" if self.backward else SEEN_FROM[self.view.report["place"]["place"]]

    def to_json(self) -> dict[str, Any]:
        """Return all estimates, with intervals and confidence, as a JSON object."""
        return {
            "flow": "-".join(self.view.ends),
            "seen_from": self.seen_from,
            "clock_assumption": self.clocks.assumption if self.clocks else None,
            "round_trip_s": self.round_trip,
            "forward": asdict(self.forward),
            "backward": asdict(self.backward) if self.backward else None,
            "goodput_bps": self.trips.goodput,
            "rtt_p95_s": self.trips.high,
        }


def fit(captures: Sequence[str | Path], *, flow: str | None = None, clocks: Choice = "auto") -> Fit:
    """Fit a link to the bulk transfer in one capture (of the sender's end) or two (of both ends).

    `flow` names the connection (default: the one with most data). `clocks` says whether both captures have one clock.
    Raises InputError if a capture cannot be read, has no such connection, has too few data packets, or was taken at the
    receiver without another at the sender.
    """
    views = [view for capture in captures for view in views_of(capture)]
    joined = [one for one in join(views, clocks) if flow in (None, one.flow)]
    if joined:
        one = max(joined, key=lambda one: len(one.forward.sent))
        forward, backward = of_crossing(one.forward), of_crossing(one.backward)
        _check(forward, one.near)
        _, trips = passage(one.near)
        back = fit_direction(backward, is_bulk=False) if len(backward.timed) else None
        return Fit(one.near, fit_direction(forward), back, one.clocks, trips, _length(forward))
    chosen = [view for view in views if flow in (None, "-".join(view.ends))]
    if not chosen:
        what = f"has no connection {flow!r}" if flow else "has no TCP connection"
        raise InputError(what, file=str(captures[0]), help="`lasthop analyze` lists them")
    view = max(chosen, key=lambda view: int(view.length[view.sent_by(view.bulk_sender)].sum()))
    _check_place(view)
    forward, trips = passage(view)
    _check(forward, view)
    return Fit(view, _from_end_to_end(fit_direction(forward), view), None, None, trips, _length(forward))


def _from_end_to_end(forward: Direction, view: View) -> Direction:
    """Add to the base delay what a point between the ends does not see: the round trip from there to the sender."""
    place = view.report["place"]
    if place["place"] != "middle":
        return forward
    delay, more = forward.delay, float(place["to_sender_s"])
    basis = f"{delay.basis}, and the handshake on the sender's side"
    whole = Figure(delay.value + more, delay.low + more, delay.high + more, delay.confidence, basis)
    return replace(forward, delay=whole)


def _check_place(view: View) -> None:
    place = view.report["place"]
    if place["place"] == "receiver":
        raise InputError(
            f"was taken at the receiver of the data ({place['confidence']}), where what the sender had in flight, and"
            " what was lost before, are not seen",
            file=str(view.capture),
            help="capture at the sender's end, or at both",
        )


def _length(passage: Passage) -> float:
    return float(passage.sent[-1] - passage.sent[0])


def _check(passage: Passage, view: View) -> None:
    if len(passage.timed) < LEAST_PACKETS:
        raise InputError(
            f"{len(passage.timed)} packets of the transfer have a known arrival; at least {LEAST_PACKETS} are needed",
            file=str(view.capture),
            help="capture a bulk transfer, at the sender's end or at both",
        )
