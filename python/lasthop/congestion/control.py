"""The class that a user's congestion control may extend: every event, and the attributes that the engine reads."""

from __future__ import annotations

import math
from typing import ClassVar

from lasthop._native import Ack, Congestion, Sent

__all__ = ["Ack", "Congestion", "CongestionControl", "Sent"]


class CongestionControl:
    """A congestion control of one connection; sizes are bytes, times seconds, rates bytes per second.

    A subclass defines `acknowledged`, `lost` and `timeout`. It may define `sent(event)`, `marked(event)` (default:
    as a loss) and `recovered(window)`, which sets the window at the end of fast recovery (default: the window that
    the profile's recovery says).

    `window` and `ssthresh` are read after each event. A class with a method `timer(now)` has a timer, which calls it at
    the time in the attribute `deadline` (None: not set). A class with an attribute `pacing_rate` sets a rate at which
    segments leave (None: no pacing), in bursts of `quantum` bytes. With `governs_recovery = True` its window counts
    in fast recovery too, and `acknowledged` is called for every ACK, with a rate sample (draft-cheng-iccrg-
    delivery-rate-estimation); otherwise only for ACKs of new data outside of fast recovery.
    """

    governs_recovery: ClassVar[bool] = False

    def __init__(self, mss: int, window: int) -> None:
        """Begin with segments of `mss` bytes and a first window of `window` bytes."""
        self.mss = mss
        self.window: float = window
        self.ssthresh: float = math.inf

    def acknowledged(self, ack: Ack) -> None:
        """New data was acknowledged."""
        raise NotImplementedError

    def lost(self, event: Congestion) -> None:
        """Duplicate or selective ACKs report a loss, once in a window of data."""
        raise NotImplementedError

    def timeout(self, event: Congestion) -> None:
        """The retransmission timer has expired."""
        raise NotImplementedError
