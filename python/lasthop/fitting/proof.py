"""Whether a rerun confirms the fitted link, and possible reasons if it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from lasthop.fitting.link import Fit
from lasthop.fitting.rerun import Rerun

CLOSE: Final = 0.25
"""Greatest relative error of goodput, and of the 95 % round trip, of a rerun that proves its link."""

NOTABLE: Final = 0.1
"""Least share of the transfer's time from which a limit other than the link is named."""

LIMITS: Final = {
    "application": "the application paused, or sent less than it might have, for {} of the time; the rerun does not",
    "receiver": "the receiver's window was full for {} of the time; the rerun's receiver has its profile's window",
    "timer": "the sender waited for retransmission timers for {} of the time",
    "handshake": "the handshake took {} of the time",
}
"""Limits on the captured sender that the fitted link does not have."""


@dataclass(frozen=True)
class Proof:
    """Whether the rerun was close to the capture, and if not, a possible reason."""

    holds: bool
    reasons: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the proof as a JSON object."""
        return {"holds": self.holds, "reasons": list(self.reasons)}


def proof_of(found: Fit, again: Rerun) -> Proof:
    """Judge the rerun of a fitted link."""
    errors = [again.error(pair) for pair in (again.goodput, again.rtt_high)]
    if all(isfinite(error) and abs(error) <= CLOSE for error in errors):
        return Proof(True, ())
    return Proof(False, tuple(_reasons(found, again)))


def _reasons(found: Fit, again: Rerun) -> Iterator[str]:
    report = found.view.report
    sender = report["senders"][report["bulk_sender"]]
    shares = sender["time_shares"]
    whole = sum(shares.values())
    for limit, words in LIMITS.items():
        share = shares.get(limit, 0.0) / whole if whole else 0.0
        if share >= NOTABLE:
            yield words.format(f"{100 * share:.0f} %")
    place = report["place"]["place"]
    if found.backward is None and place != "sender":
        yield f"the capture was taken {_PLACES[place]}, where what the sender had in flight is not seen"
    if found.forward.rate is None:
        yield "no packet queued, so that the rate of the link is not known"
    yield f"the sender's TCP may be another than {again.profile}, and other traffic may have shared the link"


_PLACES: Final = {
    "middle": "between the ends",
    "receiver": "at the receiver",
    "unknown": "at a place that nothing shows",
}
