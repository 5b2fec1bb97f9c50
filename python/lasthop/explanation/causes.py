"""Retransmissions by trigger, verdict and the fate of earlier copies."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from lasthop.explanation.connection import Connection
from lasthop.explanation.copies import Copy


@dataclass(frozen=True)
class Cause:
    """Retransmissions with the same trigger, verdict and origin. `needed` is None if it cannot be known."""

    trigger: str
    needed: bool | None
    why: str
    origin: str
    copies: int


def causes(connection: Connection) -> list[Cause]:
    """Return the causes of a connection's retransmissions, the most frequent first."""
    found = Counter(_cause_of(connection, copy) for copy in connection.retransmissions())
    return [
        Cause(trigger, needed, why, origin, number)
        for (trigger, needed, why, origin), number in sorted(found.items(), key=lambda item: (-item[1], str(item[0])))
    ]


def _cause_of(connection: Connection, copy: Copy) -> tuple[str, bool | None, str, str]:
    needed = None if copy.needless is None else not copy.needless
    return copy.cause, needed, copy.why, _origin(connection, copy)


def _origin(connection: Connection, copy: Copy) -> str:
    """Return the fate of the earlier copies: rule and link of the drop, or cause and link of the delay."""
    earlier = connection.copies.earlier(copy)
    dropped = [other.drop for other in earlier if other.drop is not None]
    if dropped and len(dropped) == len(earlier):
        return f"{dropped[-1].rule or dropped[-1].fate} at {dropped[-1].link}"
    held = [other.hold for other in earlier if other.hold is not None]
    if held:
        hop = max((hop for hop, _ in held), key=lambda hop: hop.delay)
        return f"{hop.delay_cause} at {hop.link}"
    return ""
