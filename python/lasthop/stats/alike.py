"""Equality of replications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def are_alike(summaries: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the summaries of several runs are equal except for the seeds. False for a single run."""
    found = [{key: value for key, value in summary.items() if key != "seed"} for summary in summaries]
    return len(found) > 1 and all(other == found[0] for other in found[1:])
