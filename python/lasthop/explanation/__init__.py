"""What happened in a run, and why: the story of each connection, its causes, and where its time went.

Read `connection` first (one connection's rows of the tables), then `story` (events in order, in words), `causes` (what
each retransmission and timeout was for) and `time_shares` (the elapsed time, divided among what it was spent on).
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
