"""The transfer of a capture, run again over the fitted link: the measure of how well the link fits."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lasthop.errors import InputError
from lasthop.fitting.link import Fit
from lasthop.fitting.sender_alone import passage
from lasthop.fitting.text import scenario_text
from lasthop.joining import views_of
from lasthop.scenario import parse_scenario, run


@dataclass(frozen=True)
class Rerun:
    """The same transfer over the fitted link: pairs of the capture's and the rerun's goodput (bit/s) and RTT (s)."""

    profile: str
    goodput: tuple[float, float]
    rtt_high: tuple[float, float]

    def error(self, pair: tuple[float, float]) -> float:
        """Return the relative error of the rerun's value in a pair; NaN if the capture's is 0."""
        captured, rerun = pair
        return rerun / captured - 1.0 if captured else float("nan")

    def to_json(self) -> dict[str, Any]:
        """Return both pairs with their errors as a JSON object."""
        return {
            "profile": self.profile,
            "goodput_bps": {"capture": self.goodput[0], "rerun": self.goodput[1], "error": self.error(self.goodput)},
            "rtt_p95_s": {"capture": self.rtt_high[0], "rerun": self.rtt_high[1], "error": self.error(self.rtt_high)},
        }


def rerun(found: Fit, profile: str) -> Rerun:
    """Run the capture's transfer over the fitted link with the TCP of `profile`, and measure it as the capture was.

    Raises InputError if no packet crossed the fitted link.
    """
    again = run(parse_scenario(scenario_text(found, profile), source="the fitted link"))
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "server.pcapng"
        capture.write_bytes(again.captures["server"])
        views = views_of(capture)
    if not views:
        raise InputError("nothing crossed the fitted link", help="see the scenario that --out writes")
    _, trips = passage(views[0])
    return Rerun(profile, (found.trips.goodput, trips.goodput), (found.trips.high, trips.high))
