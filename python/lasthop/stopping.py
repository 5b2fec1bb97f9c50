"""The end of a command by a signal: handlers of SIGINT and SIGTERM, and the exit status that reports the signal."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Final

INTERRUPTED: Final = 128 + signal.SIGINT
TERMINATED: Final = 128 + signal.SIGTERM
"""Exit statuses of a command that a signal stopped, as shells report them."""


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived. It is a KeyboardInterrupt so that the same code cleans up as after Ctrl-C."""


def handle_signals() -> None:
    """Let SIGINT and SIGTERM raise an exception from now on.

    A shell that runs a script starts commands in the background with SIGINT ignored, and Python leaves that as it is:
    without a handler of its own a command that runs until Ctrl-C would not end there.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _terminate)


def status_of(stop: BaseException) -> int:
    """Return the exit status of a command that ended by `stop`, or by an exception whose cause `stop` names."""
    return TERMINATED if isinstance(stop.__cause__ or stop, Terminated) else INTERRUPTED


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise Terminated
