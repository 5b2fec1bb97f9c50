"""Fairness between connections."""

from __future__ import annotations

from collections.abc import Sequence


def jain_index(throughputs: Sequence[float]) -> float:
    """Return Jain's fairness index, (Σx)² / (n·Σx²): 1 for equal throughputs, 1/n if one connection has all.

    Jain, Chiu and Hawe, DEC-TR-301 (1984), equation 1. All zero counts as equal. Raises ValueError if there is no
    throughput, or a negative one.
    """
    if not throughputs:
        raise ValueError("fairness needs at least one throughput")
    if any(value < 0 for value in throughputs):
        raise ValueError("a throughput cannot be negative")
    largest = max(throughputs)
    if largest == 0:
        return 1.0
    # Scaled by the largest, so that squares of rates neither underflow nor overflow.
    shares = [value / largest for value in throughputs]
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))
