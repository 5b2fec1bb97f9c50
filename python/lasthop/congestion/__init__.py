"""Congestion controls in Python: how a class is written, and what happens to its mistakes.

`program.py` compiles a class from the text that a scenario brings, and describes its mistakes. `watch.py` ends a call
that does not return. `aioquic.py` adapts the classes of aioquic. The engine (`crates/python/src/congestion`) calls the
class.
"""

from __future__ import annotations

from lasthop.congestion.control import Ack, Congestion, CongestionControl, Sent

__all__ = ["Ack", "Congestion", "CongestionControl", "Sent"]
