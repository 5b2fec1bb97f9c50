"""The processes of a real-time run on several machines, and the frames between them."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any, Final

from lasthop._native import SOURCES, __version__
from lasthop.errors import InputError, LiveError
from lasthop.real_time.frames import LAUNCHER, frame, json_frame, read_frame
from lasthop.real_time.machines import Machine, Placement

Said = SimpleQueue[tuple["Channel", "Frame | None"]]
"""The queue of frames with their channels; None is the end of a channel."""
GRACE_S: Final = 5.0
"""How long a process may take to end once nobody speaks to it."""
NO_COMMAND: Final = 127
NO_CONNECTION: Final = 255
"""Exit statuses of ssh: that of a shell that does not find the command, and its own."""


Frame = tuple[int, bytes]
"""The address and the message of a frame."""


class Channel:
    """One process at the other end of a pair of streams. Its frames go into a shared queue, and None at their end."""

    def __init__(self, output: IO[bytes], input: IO[bytes], said: Said) -> None:
        self._output = output
        self._input = input
        self._said = said
        self.has_ended = False
        """Whether it has announced its end: the end of its stream is then no loss."""
        Thread(target=self._listen, daemon=True).start()

    def say(self, data: bytes) -> None:
        """Write a frame. If the other end is gone, the end of its stream shows it."""
        with suppress(OSError, ValueError):
            self._output.write(data)
            self._output.flush()

    def close(self) -> None:
        """End the stream to it."""
        with suppress(OSError):
            self._output.close()

    def _listen(self) -> None:
        with suppress(OSError, ValueError):
            self._greet()
            while got := read_frame(self._input.read):
                self._said.put((self, got))
        self._said.put((self, None))

    def _greet(self) -> None:
        """Read what comes before the first frame: nothing from a child of this process."""


class Remote(Channel):
    """`lasthop live-part` on a machine."""

    def __init__(self, machine: Machine, words: str, said: Said) -> None:
        self.machine = machine
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [*machine.ssh, f"{machine.program} live-part{words}"], stdin=pipe, stdout=pipe, stderr=pipe
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._errors: deque[str] = deque(maxlen=20)
        self._complaints = Thread(target=self._pass_errors_on, daemon=True)
        self.is_known = False
        """Whether it has said its version: what it writes until then is why it could not be started."""
        super().__init__(self.process.stdin, self.process.stdout, said)
        self._complaints.start()

    def _greet(self) -> None:
        """Read lines up to the one with the version and the sources; a shell may write others before."""
        for line in self._input:
            if _build(line):
                self._said.put((self, (LAUNCHER, line)))
                return

    def _pass_errors_on(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._errors.append(line.decode(errors="replace").strip())
            if self.is_known:
                sys.stderr.buffer.write(line)
                sys.stderr.flush()

    def end(self) -> None:
        """End the process: it ends by itself when nobody speaks to it any more."""
        self.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE_S)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._complaints.join(GRACE_S)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def failure(self) -> LiveError:
        """Say why it could not be started, or was lost."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE_S)
        self._complaints.join(GRACE_S)
        status, machine = self.process.poll(), self.machine.text
        errors = "; ".join(line for line in self._errors if line) or f"ssh ended with status {status}"
        if self.is_known:
            how = f"by signal {-status}" if status is not None and status < 0 else f"with status {status}"
            return LiveError(f"{machine}: the control connection was lost: ssh ended {how}")
        if status == NO_CONNECTION:
            return LiveError(f"{machine}: ssh has no connection: {errors}")
        if status == NO_COMMAND:
            where = 'at = "ssh://…?lasthop=/opt/venv/bin/lasthop"'
            return LiveError(
                f"{machine}: there is no lasthop: {errors} — install it there, or say where it is: {where}"
            )
        words = f"lasthop could not be started: {errors}"
        return LiveError(f"{machine}: {words} — this is lasthop {__version__}; the same is needed there")


@contextmanager
def remotes(placement: Placement) -> Iterator[Remotes]:
    """Start `lasthop live-part` on every machine and yield them when all have these sources; end them afterwards."""
    said: Said = SimpleQueue()
    with ExitStack() as stack:
        started = []
        for machine in placement.machines:
            role = " --emulator" if machine is placement.emulator else ""
            started.append(Remote(machine, role, said))
            stack.callback(started[-1].end)
        # First nobody is spoken to, then each is waited for.
        for remote in started:
            stack.callback(remote.close)
        _compare_versions(placement, started, said)
        parts = started[: len(placement.hosts)]
        yield Remotes(parts, started[-1] if placement.emulator else None, said)


def _compare_versions(placement: Placement, started: Sequence[Remote], said: Said) -> None:
    """Wait until every machine has said its version and sources, and compare them."""
    while not all(remote.is_known for remote in started):
        remote, got = said.get()
        assert isinstance(remote, Remote)
        build = _build(got[1]) if got else None
        if build is None:
            raise remote.failure()
        _compare(placement, remote.machine, *build)
        remote.is_known = True


def _compare(placement: Placement, machine: Machine, version: str, sources: str) -> None:
    """Raise InputError where a machine has another version, or the same of other sources."""
    if version != __version__:
        what = f"{machine.text} has lasthop {version}, and this machine has {__version__}"
        raise InputError(what, key=placement.key_of(machine), help="install the same version on both")
    if sources != SOURCES:
        what = (
            f"{machine.text} has lasthop {version} built from other sources than this machine's "
            f"({sources} there, {SOURCES} here)"
        )
        raise InputError(what, key=placement.key_of(machine), help="build and install the same sources on both")


def _build(line: bytes) -> tuple[str, str] | None:
    """Return the version and the sources that a first line says."""
    try:
        said = json.loads(line)
        return str(said["lasthop"]), str(said.get("sources", "unknown"))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


class Remotes:
    """The processes of a run, whose versions are equal."""

    def __init__(self, parts: Sequence[Remote], emulator: Remote | None, said: Said) -> None:
        self._parts = parts
        self.emulator = emulator
        self._said = said

    def run_here(self, output: IO[bytes], input: IO[bytes]) -> None:
        """Pass frames on between the parts and an emulator on this machine, until its stream ends.

        Raises LiveError where a connection is lost.
        """
        self._pass_on(Channel(output, input, self._said))

    def run_there(self, request: dict[str, Any], folder: Path) -> dict[str, Any] | None:
        """Let the emulator's machine carry out a request, and write its result into `folder`.

        Return what went wrong there, if anything did. Raises LiveError where a connection is lost.
        """
        assert self.emulator is not None
        self.emulator.say(json_frame(request))
        return self._pass_on(self.emulator, folder)

    def _pass_on(self, emulator: Channel, folder: Path | None = None) -> dict[str, Any] | None:
        while True:
            channel, got = self._said.get()
            if channel is not emulator:
                self._from_part(channel, got, emulator)
            elif got is None:
                if isinstance(channel, Remote):
                    raise channel.failure()
                return None
            elif got[0] != LAUNCHER:
                self._parts[got[0]].say(frame(*got))
            else:
                message = json.loads(got[1])
                if "file" in message and folder is not None:
                    _append(folder, message)
                elif "end" in message:
                    return dict(message["end"]) if message["end"] else None

    def _from_part(self, channel: Channel, got: Frame | None, emulator: Channel) -> None:
        """Pass a part's message on to the emulator. The end of its stream before it has announced that is a loss."""
        assert isinstance(channel, Remote)
        if got is None:
            if not channel.has_ended:
                emulator.close()
                raise channel.failure()
        elif got[0] == LAUNCHER:
            channel.has_ended = True
        else:
            emulator.say(frame(self._parts.index(channel), got[1]))


def _append(folder: Path, message: dict[str, Any]) -> None:
    """Write a piece of a file of the result. Its name is that of a file, and of no other folder."""
    name = Path(str(message["file"])).name
    with (folder / name).open("ab") as file:
        file.write(base64.b64decode(message["data"]))
