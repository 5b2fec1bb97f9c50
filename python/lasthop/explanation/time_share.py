"""A share of a connection's elapsed time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TimeShare:
    """Seconds of a connection's elapsed time with one use.

    `confidence` is that of a capture: "certain", "likely" or "unsure"; None in a run, which knows its links.
    """

    kind: str
    seconds: float
    words: str
    confidence: str | None = None
