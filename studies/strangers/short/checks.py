"""Completion times of short flows."""

from __future__ import annotations

import numpy as np

from lasthop.results.run import Run

NS_PER_MS = 1e6


def mean_ms(run: Run) -> float:
    """Return the geometric mean, in milliseconds."""
    return float(np.exp(np.log(_times_ms(run)).mean()))


def median_ms(run: Run) -> float:
    """Return the median, in milliseconds."""
    return float(np.median(_times_ms(run)))


def p95_ms(run: Run) -> float:
    """Return the 95th percentile, in milliseconds."""
    return float(np.quantile(_times_ms(run), 0.95))


def _times_ms(run: Run) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the times from the SYN to the last byte, of every short flow that ended."""
    rows = run.table("transfers").to_pydict()
    times = [end - start for end, start in zip(rows["end_ns"], rows["start_ns"], strict=True)]
    return np.array(times) / NS_PER_MS
