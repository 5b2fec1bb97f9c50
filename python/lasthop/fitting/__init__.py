"""From captures to a link: `lasthop fit`.

Read `passage` (what crossed one direction, and when), `sender_alone` (the same from one capture), `direction` (the
estimates), `link` (both directions), `text` (the link as a scenario) and `rerun` (its check against the capture).
"""

from lasthop.fitting.link import Fit, fit
from lasthop.fitting.rerun import Rerun, rerun
from lasthop.fitting.text import scenario_text

__all__ = ["Fit", "Rerun", "fit", "rerun", "scenario_text"]
