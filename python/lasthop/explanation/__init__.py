"""Explanations of a run: the events of each connection, their causes, and the shares of its time.

The native module (crates/view) makes them. Read `explained` first, then `captured` (what a capture's analysis adds) and
`tables` (what the native module is given).
"""

from lasthop.explanation.event import Event
from lasthop.explanation.explained import Cause, Explanation, explain
from lasthop.explanation.time_share import TimeShare

__all__ = ["Cause", "Event", "Explanation", "TimeShare", "explain"]
