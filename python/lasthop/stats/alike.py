"""Equality of replications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def are_alike(summaries: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the summaries of several runs are equal except for the seeds. False for a single run."""
    if len(summaries) < 2:
        return False
    first = _without_seed(summaries[0])
    # Ends at the first difference, which random runs have in their second summary.
    return all(_without_seed(other) == first for other in summaries[1:])


def _without_seed(summary: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in summary.items() if key != "seed"}
