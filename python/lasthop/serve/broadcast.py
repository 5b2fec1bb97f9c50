"""Messages that any number of clients follow: each is written as text once, and no client waits for another."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from itertools import islice


class Broadcast:
    """The latest messages of a source. A client that is slower than the source misses the oldest ones."""

    def __init__(self, kept: int) -> None:
        self._kept: deque[str] = deque(maxlen=kept)
        self._sent = 0
        self._closed = False
        self._changed = asyncio.Event()

    def send(self, message: str) -> None:
        """Add a message, for clients that follow and clients that come later."""
        self._kept.append(message)
        self._sent += 1
        self._wake()

    def close(self) -> None:
        """End the stream of every client after the last message."""
        self._closed = True
        self._wake()

    async def follow(self) -> AsyncIterator[str]:
        """Yield the messages that are kept, and then each message when it is sent."""
        place = 0
        while True:
            first = self._sent - len(self._kept)
            place = max(place, first)
            for message in list(islice(self._kept, place - first, None)):
                place += 1
                yield message
            if place < self._sent:
                continue
            if self._closed:
                return
            await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
