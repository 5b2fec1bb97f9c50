"""Settings of a server, and its bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """Bounds on what clients can ask for; sizes in bytes, times in seconds of the wall clock."""

    body: int = 4 * MIB
    """Largest request, uploads of captures apart."""
    upload: int = 1024 * MIB
    """Largest capture."""
    silence_s: float = 20.0
    """Longest wait for the next part of a request."""
    upload_s: float = 600.0
    """Longest time of one request's body."""
    job_s: float = 900.0
    """Longest time of a run, a sweep or an analysis."""
    job_memory: int = 8 * 1024 * MIB
    """Address space of a job's process."""
    job_file: int = 4 * 1024 * MIB
    """Largest file that a job writes."""
    running: int = 2
    """Jobs at one time; others wait."""
    waiting: int = 32
    """Jobs that wait."""
    sweep_runs: int = 2000
    """Runs of one sweep."""
    sockets: int = 100
    """WebSockets at one time."""
    connections: int = 400
    """Connections at one time."""


@dataclass(frozen=True)
class Settings:
    """A server's folder, the names that it is reached by, its token, and its bounds."""

    folder: Path
    token: str = field(repr=False)
    hosts: frozenset[str]
    """Values of the header Host that are answered: `name:port`, in lower case."""
    port: int
    shown_host: str
    """`name:port` in the address that is printed."""
    live: bool = False
    """Whether scenarios may be run in real time, which uses this machine's kernel."""
    cluster: str | None = None
    """The Dask cluster whose workers run studies; None for this machine."""
    limits: Limits = Limits()

    @property
    def cookie(self) -> str:
        """The name of the cookie with the token. Browsers send cookies to every port of a host."""
        return f"lasthop-{self.port}"
