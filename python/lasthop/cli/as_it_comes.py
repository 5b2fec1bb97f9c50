"""The notable packets of standard input, printed as they arrive."""

from __future__ import annotations

import signal
import sys

from lasthop.analysis import Analysis, Notable, analyze_as_it_comes
from lasthop.cli.console import print_line
from lasthop.selection import Selection

KINDS = {"out_of_order": "out of order", "probe": "keep-alive or window probe", "rst": "reset"}
"""Kinds of packets in words; of a retransmission its cause is printed."""


def watch(chosen: Selection, quiet: bool) -> Analysis:
    """Analyze standard input up to its end, and print each notable packet, unless `quiet`.

    Ctrl-C ends the program that writes the capture, which is in the same pipeline, and so the reading.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return analyze_as_it_comes(chosen, _ignore if quiet else _print)
    finally:
        signal.signal(signal.SIGINT, before)


def _ignore(_packet: Notable) -> None:
    pass


def _print(packet: Notable) -> None:
    seconds, frame, sender, receiver, kind, cause, seq, length = packet
    what = f"retransmission ({cause.replace('_', ' ')})" if cause else KINDS.get(kind, kind)
    print_line(f"{seconds:12.6f} s  frame {frame:<8} {sender} to {receiver}  byte {seq}, {length} bytes: {what}")
    sys.stdout.flush()
