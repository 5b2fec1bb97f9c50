"""The degree of parallelism."""

from __future__ import annotations

import os


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))
