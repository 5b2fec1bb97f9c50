"""The Rust engine, through a shell of PyO3 (crates/python). A test holds this stub equal to the built module."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from ipaddress import IPv4Address
from os import PathLike
from pathlib import Path
from typing import Literal

from lasthop.analysis import Notable
from lasthop.errors import InputError
from lasthop.selection import Selection

SOURCES: str
"""A fingerprint of the sources that the processes of one real-time run must have in common."""
__version__: str

class Scenario:
    """A scenario file, read, checked and resolved: every default written out."""

    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def hash(self) -> str: ...
    @property
    def json(self) -> str: ...

class Table:
    """One recorded table; `pyarrow.table(it)` takes it over without copying."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Run:
    """What came out of one run."""

    @property
    def summary_json(self) -> str: ...
    @property
    def table_names(self) -> list[str]: ...
    @property
    def captures(self) -> dict[str, bytes]: ...
    def table(self, name: str) -> Table: ...

def load_scenario(
    source: str, library: str, overrides: Sequence[str] = ..., seed: int | None = None, allow_code: bool = False
) -> Scenario: ...
def parse_scenario(
    text: str,
    source: str,
    library: str,
    overrides: Sequence[str] = ...,
    seed: int | None = None,
    allow_code: bool = False,
) -> Scenario: ...
def check_real_time(source: str, text: str | None, library: str, overrides: Sequence[str] = ...) -> None: ...
def check_virtual_time(source: str, text: str | None, library: str, overrides: Sequence[str] = ...) -> None: ...
def unread(
    source: str, text: str | None, library: str, overrides: Sequence[str], of_file: bool
) -> list[InputError]: ...
def kernel_keys(
    source: str, text: str | None, library: str, overrides: Sequence[str]
) -> tuple[list[tuple[str, str, str, str]], list[InputError]]: ...
def upgrade(text: str, source: str) -> str | None: ...
def run(
    resolved_json: str,
    record: Mapping[str, Sequence[str]] | None = None,
    progress: Callable[[float], None] | None = None,
    folder: str | PathLike[str] | None = None,
) -> Run: ...
def summary(resolved_json: str, progress: Callable[[float], None] | None = None) -> str: ...
def run_batch(
    scenarios: Sequence[tuple[str, Mapping[str, Sequence[str]]]],
    runs: Sequence[tuple[int, int]],
    workers: int,
    finished: Callable[[list[tuple[int, Run | Exception | None]]], Iterable[int]],
) -> None: ...
def write_table(table: object, path: str | PathLike[str]) -> None: ...
def viewed_columns() -> dict[str, list[str]]: ...
def run_view(tables: Mapping[str, object], known: str, offset: int) -> tuple[str, bytes]: ...
def explanations(tables: Mapping[str, object], flow: str | None, known: str) -> str: ...
def analyze(
    chosen: Selection, segments: str | PathLike[str] | None = None, annotated: str | PathLike[str] | None = None
) -> str: ...
def analyze_as_it_comes(chosen: Selection, each: Callable[[Notable], None]) -> str: ...
def capture_packets(chosen: Selection) -> Table: ...
def quic_packets(chosen: Selection) -> Table: ...
def link_trace(resolved_json: str, link: str, seconds: float) -> str: ...
def load_study(source: str, library: str, wanted: Sequence[str] = ()) -> str: ...
def study_parts(source: str, library: str) -> list[tuple[Path, list[str]]]: ...
def live(
    resolved_json: str,
    command: tuple[Sequence[str], str] = ...,
    programs: Sequence[tuple[str, Sequence[str], str]] = ...,
    progress: Callable[[float], None] | None = None,
    machines: Sequence[tuple[str, str, int | None, Sequence[str]]] = ...,
    streams: tuple[int, int] = ...,
    watched: tuple[str, str | None, str, str, Sequence[str], int | None, Callable[[str], None]] | None = None,
) -> Run: ...
def live_part(streams: tuple[int, int]) -> None: ...
def fetch(
    resolved_json: str,
    server: str | IPv4Address | None,
    port: int,
    outside: Sequence[str],
    name: str,
    talk: Callable[[int], None],
    announce: Callable[[str], None],
    progress: Callable[[float], None],
) -> tuple[Run, str]: ...
def router(
    source: str,
    library: str,
    overrides: Sequence[str],
    seed: int | None,
    between: tuple[str, str],
    name: str,
    announce: Callable[[str], None],
    show: Callable[[str], None],
) -> str: ...
def serve(
    resolved_jsons: Sequence[str],
    port: int,
    bind: bytes,
    path: str,
    command: Sequence[str],
    name: str,
    answer: Callable[[int], None],
    announce: Callable[[str], None],
    report: Callable[[str], None],
) -> tuple[Run, int | None]: ...
def shell(
    resolved_json: str,
    command: Sequence[str],
    outside: Sequence[str],
    name: str,
    announce: Callable[[str], None],
) -> int: ...
def packetdrill(text: str, source: str, profile: str, library: str, definitions: Mapping[str, str]) -> str: ...
def fingerprint(path: str | PathLike[str]) -> str: ...
def schema(kind: Literal["scenario", "study", "profile", "link"]) -> str: ...
def build_module(file: str) -> tuple[bytes, str]: ...
def algorithms() -> str: ...
def registries() -> str: ...
def parameters(definition: str) -> str: ...
def doctor() -> str: ...

class Ack:
    now: float
    acked: int
    segments: int
    flight: int
    rtt: float | None
    marked: int
    rate: float | None
    delivered: int | None
    lost: int
    in_flight: int | None
    application_limited: bool

class Congestion:
    now: float
    window: int
    flight: int
    pipe: int
    repeated: bool

class Sent:
    now: float
    size: int
    flight: int
    retransmission: bool
    application_limited: bool
