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

from lasthop import _native
from lasthop.errors import InputError, LiveError
from lasthop.real_time.frames import LAUNCHER, frame, json_frame, read_frame
from lasthop.real_time.machines import Machine, Placement

Said = SimpleQueue[tuple["Channel", "Frame | None"]]
"""The queue of frames with their channels; None is the end of a channel."""
GRACE_S: Final = 5.0
"""Time that a process has to end after its input is closed, in seconds."""
NO_COMMAND: Final = 127
NO_CONNECTION: Final = 255
"""Exit statuses of ssh: the remote shell did not find the command; ssh itself failed."""


Frame = tuple[int, bytes]
"""The address and the message of a frame."""


class Channel:
    """One process at the other end of a pair of streams. Its frames go into a shared queue, and None at their end."""

    def __init__(self, output: IO[bytes], input: IO[bytes], said: Said) -> None:
        self._output = output
        self._input = input
        self._said = said
        self.has_ended = False
        """Whether it has announced its end, after which a closed stream is no lost connection."""
        Thread(target=self._listen, daemon=True).start()

    def say(self, data: bytes) -> None:
        """Write a frame. If the other end is gone, the end of its stream shows it."""
        with suppress(OSError, ValueError):
            self._output.write(data)
            self._output.flush()

    def close(self) -> None:
        """Close the stream to it."""
        with suppress(OSError):
            self._output.close()

    def _listen(self) -> None:
        with suppress(OSError, ValueError):
            self._greet()
            while got := read_frame(self._input.read):
                self._said.put((self, got))
        self._said.put((self, None))

    def _greet(self) -> None:
        """Read the output before the first frame: none from a child of this process."""


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
        """Whether its version was received; error output before that says why it could not be started."""
        super().__init__(self.process.stdin, self.process.stdout, said)
        self._complaints.start()

    def _greet(self) -> None:
        """Read lines up to the line with the version and the sources; a shell may write other lines before."""
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
        """End the process: close its input, wait, and kill it if it has not ended by then."""
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
        """Return the error that says why it could not be started, or was lost."""
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
                f"{machine}: lasthop was not found: {errors} — install it there, or give its path: {where}"
            )
        words = f"lasthop could not be started: {errors}"
        return LiveError(f"{machine}: {words} — this is lasthop {_native.__version__}; the same is needed there")


@contextmanager
def remotes(placement: Placement) -> Iterator[Remotes]:
    """Start `lasthop live-part` on every machine, and yield when all have reported the same sources; end them after."""
    said: Said = SimpleQueue()
    with ExitStack() as stack:
        started = []
        for machine in placement.machines:
            role = " --emulator" if machine is placement.emulator else ""
            started.append(Remote(machine, role, said))
            stack.callback(started[-1].end)
        # At the end all inputs are closed first, and then each process is waited for.
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
    """Raise InputError if a machine has another version, or the same version built from other sources."""
    if version != _native.__version__:
        what = f"{machine.text} has lasthop {version}, and this machine has {_native.__version__}"
        raise InputError(what, key=placement.key_of(machine), help="install the same version on both")
    if sources != _native.SOURCES:
        what = (
            f"{machine.text} has lasthop {version} built from other sources than this machine's "
            f"({sources} there, {_native.SOURCES} here)"
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
    """The processes of a run, all of the same version."""

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
        """Send a request to the emulator's machine, and write its result into `folder`.

        Return the error of that machine, if there was one. Raises LiveError if a connection is lost.
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
