"""Explanations of a run: the events of each connection, their causes, and the shares of its time.

Read `connection` first (one connection's rows of the tables), then `story` (events in order, in words), `causes` (of
retransmissions and timeouts) and `time_shares` (the elapsed time, divided by its use).
"""

from lasthop.explanation.causes import Cause, causes
from lasthop.explanation.connection import Connection, connections
from lasthop.explanation.explained import Explanation, explain
from lasthop.explanation.story import Event, story
from lasthop.explanation.time_shares import TimeShare, time_shares

__all__ = [
    "Cause",
    "Connection",
    "Event",
    "Explanation",
    "TimeShare",
    "causes",
    "connections",
    "explain",
    "story",
    "time_shares",
]
