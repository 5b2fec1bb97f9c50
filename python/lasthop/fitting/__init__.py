"""From captures to a link: `lasthop fit`.

Read `passage` (what crossed one direction, and when), `sender_alone` (the same from one capture), `direction` (the
estimates) and `link` (both directions as a scenario, and its rerun against the capture).
"""

from lasthop.fitting.link import Fit, fit

__all__ = ["Fit", "fit"]
