"""Counts, times and causes in words."""

from __future__ import annotations

from typing import Final

DROP_WORDS: Final = {
    "queue_drop": "dropped by the queue",
    "error_drop": "lost to an error",
    "lost": "lost",
    "dropper_drop": "dropped after the link",
    "oversize_drop": "longer than the link's MTU",
}
"""The fates of a packet, in words."""

HOLD_WORDS: Final = {
    "error": "an error that the link repaired",
    "scripted": "a scripted delay",
    "arq": "retransmission on the link",
    "reordering": "reordering on the link",
    "allocation": "allocation of the channel",
    "spike": "a delay spike",
    "preemption": "pre-emption by other traffic",
    "handover": "a handover",
}
"""The causes of a link's delays, in words."""


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return "1 segment" or "3 segments"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def at(seconds: float) -> str:
    """Return a time of the run as text, to the millisecond."""
    return f"{seconds:.3f} s"


def lasting(seconds: float) -> str:
    """Return a duration as text, in milliseconds below a second."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


def in_segments(size: float, segment: int) -> str:
    """Return a window in segments, with one decimal if it is not whole."""
    segments = size / segment
    return f"{segments:.0f}" if abs(segments - round(segments)) < 0.05 else f"{segments:.1f}"


def listed(parts: list[str]) -> str:
    """Return "a", "a and b", or "a, b and c"."""
    return " and ".join(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])} and {parts[-1]}"
