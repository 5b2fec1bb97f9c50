"""Searches for the paths on which a congestion control does worst.

`genome.py` describes a path in two to five steps, `goals.py` what is maximised, `trials.py` runs genomes, `search.py`
chooses them, at random and by CMA-ES. `hunt.py` is the whole search, `simplify.py` leaves out what does not matter,
`rule.py` says when it happens, and `record.py` writes the scenario file, its diagram and its story.
"""

from __future__ import annotations

from lasthop.judge.stress.hunt import Stress, hunt

__all__ = ["Stress", "hunt"]
