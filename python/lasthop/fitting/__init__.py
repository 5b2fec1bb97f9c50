"""Estimation of a link from captures: `lasthop fit`.

Read `passage` (what crossed one direction, and when), `sender_alone` (the same from one capture), `direction` (the
estimates), `link` (both directions), `text` (the link as a scenario), `rerun` (its check against the capture) and
`proof` (whether the check holds).
"""

from lasthop.fitting.link import Fit, fit
from lasthop.fitting.proof import Proof, proof_of
from lasthop.fitting.rerun import Rerun, rerun
from lasthop.fitting.text import scenario_text

__all__ = ["Fit", "Proof", "Rerun", "fit", "proof_of", "rerun", "scenario_text"]
