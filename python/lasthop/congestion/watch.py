"""A watch over the calls of a run's programs: a call that takes for ever is ended by an exception."""

from __future__ import annotations

import ctypes
import threading
from typing import Final

LIMIT: Final = 10.0
"""How long a call may take, in seconds of the wall clock: ten thousand times what one should."""

LOOK: Final = 0.5
"""Seconds between two looks."""


class EndlessCallError(Exception):
    """A call has not returned within the limit."""

    def __str__(self) -> str:
        return f"the method has not returned within {LIMIT:g} s"


class Watch:
    """Watches the calls in the thread that makes it.

    The engine counts in `calls[0]` the beginnings and ends of calls, so that the number is odd during a call.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.calls = [0]
        self._limit = LIMIT if limit is None else limit
        self._watched = threading.get_ident()
        self._stopped = threading.Event()
        threading.Thread(target=self._look, name="watch", daemon=True).start()

    def stop(self) -> None:
        """End the watch."""
        self._stopped.set()

    def _look(self) -> None:
        seen, looks = 0, 0
        while not self._stopped.wait(LOOK):
            now = self.calls[0]
            looks = looks + 1 if now == seen and now % 2 else 0
            seen = now
            if looks * LOOK >= self._limit:
                self._end()
                return

    def _end(self) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._watched), ctypes.py_object(EndlessCallError))
