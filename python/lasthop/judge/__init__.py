"""The judge: leagues of congestion controls, gates that hold them against a baseline, and searches for their worst.

`paths.toml` is the versioned list of paths (`paths.py`), `entries.py` reads what competes. `duels.py` runs two entries
on a path, `league.py` compares all of them, `gate.py` holds them against a baseline, `page.py`, `columns.py`
and `pictures.py` show a league. `stress/` searches for the paths on which an entry does worst.
"""

from __future__ import annotations

from lasthop.judge.entries import Entry, parse_entry
from lasthop.judge.gate import Gate, check_against
from lasthop.judge.league import League, play
from lasthop.judge.paths import paths

__all__ = ["Entry", "Gate", "League", "check_against", "parse_entry", "paths", "play"]
