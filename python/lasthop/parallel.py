"""How much may go on at a time."""

from __future__ import annotations

import os


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))
