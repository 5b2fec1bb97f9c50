"""How evenly connections share."""

from __future__ import annotations

from collections.abc import Sequence


def jain_index(throughputs: Sequence[float]) -> float:
    """Return Jain's fairness index, (Σx)² / (n·Σx²): 1 is an even share, 1/n is one taking all.

    Jain, Chiu and Hawe, DEC-TR-301 (1984), equation 1. All zero counts as even.
    """
    if not throughputs:
        raise ValueError("fairness needs at least one throughput")
    if any(value < 0 for value in throughputs):
        raise ValueError("a throughput cannot be negative")
    largest = max(throughputs)
    if largest == 0:
        return 1.0
    # Scaled by the largest, so that squares of tiny or huge rates neither vanish nor overflow.
    shares = [value / largest for value in throughputs]
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))
