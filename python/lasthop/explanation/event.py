"""An event of a connection's story."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """An event, from `start` to `end`, the end of its consequences, in seconds. `text` describes it."""

    start: float
    end: float
    kind: str
    text: str
    packets: tuple[int, ...] = ()

    @property
    def seconds(self) -> float:
        """Its duration in seconds."""
        return self.end - self.start
