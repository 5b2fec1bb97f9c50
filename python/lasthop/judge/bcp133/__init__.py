"""The items of RFC 9743 (BCP 133), answered by runs: a candidate held against Reno and CUBIC in its place.

`items.toml` is the versioned list of items and their cases (`items.py`). `answers.py` runs them and compares,
`page.py` and `picture.py` show the answers.
"""

from __future__ import annotations

from lasthop.judge.bcp133.answers import Answers, answer

__all__ = ["Answers", "answer"]
