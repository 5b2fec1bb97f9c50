"""Whether replications differ at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def are_alike(summaries: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether several runs came to the same in everything but their seeds: nothing random made a difference.

    False for a single run, of which nothing is known.
    """
    found = [{key: value for key, value in summary.items() if key != "seed"} for summary in summaries]
    return len(found) > 1 and all(other == found[0] for other in found[1:])
