"""Runs in real time that are watched, and whose links are changed meanwhile.

The process of the run writes its state as a line of JSON ten times a second; `lasthop set` and `set_links` send changes
to its socket.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from lasthop.catalogue import LIBRARY
from lasthop.errors import InputError, RunError

LONGEST_ANSWER_S: Final = 10.0
MOST_UNWRITTEN: Final = 2**20
"""Bytes of states that wait for a reader; further states are left out."""

State = Mapping[str, Any]
"""The state of a run: `elapsed_s`; `links` with counters and the queue; `connections` with cwnd and round trip; the
lateness; and the `changes` so far."""


@dataclass(frozen=True)
class Watched:
    """The name of a run for `lasthop set`, its scenario as it was given, and what is called with its state."""

    name: str
    source: str
    """The file of the scenario."""
    text: str | None = None
    """Its text, if that is not in the file."""
    overrides: Sequence[str] = ()
    seed: int | None = None
    show: Callable[[State], None] = lambda _state: None

    def to_json(self, stream: int) -> dict[str, Any]:
        """Return the request to the process of the run, which writes its states to the descriptor `stream`."""
        return {
            "name": self.name,
            "text": self.text,
            "source": self.source,
            "overrides": list(self.overrides),
            "seed": self.seed,
            "stream": stream,
        }

    def follow(self, stream: int) -> None:
        """Call `show` with each state that the process of the run writes, until it has ended."""
        with os.fdopen(stream, encoding="utf-8") as lines:
            for line in lines:
                self.show(json.loads(line))


def watched_run(
    request: Mapping[str, Any] | None,
) -> tuple[str, str | None, str, str, Sequence[str], int | None, Callable[[str], None]] | None:
    """Return the engine's argument from a request, in the process of the run."""
    if request is None:
        return None
    states = _States(request["stream"])
    name, text, source = request["name"], request["text"], request["source"]
    return name, text, source, str(LIBRARY), request["overrides"], request["seed"], states.write


class _States:
    """Writes states to a pipe without ever waiting for its reader: the driver of the run would wait with it."""

    def __init__(self, stream: int) -> None:
        os.set_blocking(stream, False)
        self._stream = stream
        self._unwritten = b""

    def write(self, state: str) -> None:
        if len(self._unwritten) < MOST_UNWRITTEN:
            self._unwritten += f"{state}\n".encode()
        with suppress(BlockingIOError, BrokenPipeError):
            written = os.write(self._stream, self._unwritten)
            self._unwritten = self._unwritten[written:]


def set_links(name: str, overrides: Sequence[str]) -> dict[str, Any]:
    """Change keys of links of the router or live run `name`, and return its answer, with all overrides so far.

    Raises InputError if there is none in this network namespace, or it refuses the change, which then changes nothing;
    RunError if it does not answer.
    """
    answer = _asked(name, json.dumps({"set": list(overrides)}))
    if not answer["ok"]:
        raise InputError(f"{name} refused: {answer['error']}", help="its links are as they were")
    return answer


def _asked(name: str, request: str) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(LONGEST_ANSWER_S)
        try:
            connection.connect(f"\0lasthop/router/{name}")
            connection.sendall(f"{request}\n".encode())
            text = connection.makefile().readline()
        except ConnectionRefusedError as error:
            help = f"start it with: lasthop router FILE --name {name}, or lasthop live FILE --name {name}"
            what = f"no router or live run called {name!r} runs in this network namespace"
            raise InputError(what, help=help) from error
        except OSError as error:
            raise RunError(f"{name} did not answer: {error}") from error
    if not text:
        raise RunError(f"{name} did not answer")
    return dict(json.loads(text))
