"""Linux' own congestion-control modules compared with ours: windows of two runs of one path, by round trips."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tarfile
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, Final

import pyarrow as pa

from lasthop import _native
from lasthop.errors import InputError
from lasthop.judge.paths import Path as Link
from lasthop.judge.paths import paths
from lasthop.parallel import processors
from lasthop.scenario import Scenario, parse_scenario

SECONDS: Final = 20
"""Length of a run."""

SEGMENT: Final = 1448
"""The bytes of a segment with timestamps; windows are equal within one."""

SOURCE: Final = "LASTHOP_LINUX_SOURCE"
"""The environment's name for a folder of Linux' source, where it is not Debian's package linux-source."""


def _in_linux(algorithm: Mapping[str, Any] | str) -> dict[str, Any]:
    """Return an algorithm of ours under the rules of Linux' TCP around it, as in the profile linux-6."""
    counted = {"byte-counting": {"limit": "unlimited", "after_timeout": "limit", "over": algorithm}}
    return {"window-usage": {"after_idle": True, "over": counted}}


CUBIC: Final = _in_linux({"hystart": {"over": {"cubic-linux": {"reduction_of": "cwnd"}}}})

WHOLE: Final = {"ssthresh_unit": "segments"}
"""Thresholds of whole segments, as Linux counts them; ours have bytes."""

COUNTED: Final = {**WHOLE, "increase": "per-window"}
"""Whole segments in growth too: one when as many as the window has are acknowledged (`tcp_cong_avoid_ai`)."""

WESTWOOD: Final = {"westwood-plus": {"filters": 2, "loss_resets_least_rtt": True, "increase": "per-byte"}}

OURS: Final[Mapping[str, Any]] = {
    "bbr": "bbr",
    "bic": _in_linux({"bic": COUNTED}),
    "cdg": _in_linux("cdg"),
    "cubic": CUBIC,
    "dctcp": _in_linux({"dctcp": WHOLE}),
    "highspeed": _in_linux("high-speed"),
    "htcp": _in_linux({"h-tcp": COUNTED}),
    "hybla": _in_linux("hybla"),
    "illinois": _in_linux({"illinois": COUNTED}),
    "lp": _in_linux({"lp": WHOLE}),
    "nv": _in_linux({"nv": WHOLE}),
    "scalable": _in_linux({"scalable": {"legacy_window": "0 segments", "standard_growth": True}}),
    "vegas": _in_linux({"vegas-linux": WHOLE}),
    "veno": _in_linux({"veno": COUNTED}),
    "westwood": _in_linux(WESTWOOD),
    "yeah": _in_linux("yeah"),
}
"""The modules of Linux 6.1 (net/ipv4/tcp_NAME.c), each with our algorithm of that name, in whole segments where it can
count so."""

MODULES: Final = tuple(OURS)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A module compared with ours on a path."""

    module: str
    path: str
    round_trips: int
    equal: float
    """Share of the round trips in which the two windows are equal within one segment."""
    first_s: float | None
    """Time of the first that are not, in seconds; None where all are."""
    goodput: float
    """Our goodput, as a multiple of the module's."""


@dataclass(frozen=True)
class Compared:
    """All comparisons of a study."""

    comparisons: tuple[Comparison, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the comparisons, and a row for each module, as a JSON object."""
        return {"comparisons": [asdict(each) for each in self.comparisons], "modules": self.rows()}

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each module: shares and goodputs over its paths."""
        return [self._row(name) for name in dict.fromkeys(each.module for each in self.comparisons)]

    def _row(self, module: str) -> dict[str, Any]:
        own = [each for each in self.comparisons if each.module == module]
        worst = min(own, key=lambda each: each.equal)
        ratios = sorted(each.goodput for each in own)
        return {
            "module": module,
            "paths": len(own),
            "equal_median": median(each.equal for each in own),
            "equal_everywhere": sum(each.equal >= 0.95 for each in own),
            "worst": worst.path,
            "equal_worst": worst.equal,
            "goodput_low": ratios[0],
            "goodput_median": median(ratios),
            "goodput_high": ratios[-1],
        }


def source_folder() -> Path | None:
    """Return the folder with the files of Linux' modules; None where there is no source of Linux.

    It is that of `LASTHOP_LINUX_SOURCE`, or is taken out of Debian's package linux-source.
    """
    if named := os.environ.get(SOURCE):
        folder = Path(named)
        return next((each for each in (folder, folder / "net/ipv4") if (each / "tcp_cubic.c").is_file()), None)
    archives = sorted(Path("/usr/src").glob("linux-source-*.tar.xz"))
    return _taken_out(archives[-1]) if archives else None


@cache
def _taken_out(archive: Path) -> Path | None:
    """Take the files of net/ipv4 out of an archive, into a folder that ends with the process."""
    folder = Path(tempfile.mkdtemp(prefix="lasthop-linux-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with tarfile.open(archive, "r|xz") as members:
        for member in members:
            place = Path(member.name)
            if place.parent.parts[1:] == ("net", "ipv4") and place.name.startswith("tcp_") and member.isfile():
                member.name = place.name
                members.extract(member, folder, filter="data")
    return folder if (folder / "tcp_cubic.c").is_file() else None


def compare(
    modules: Sequence[str] = MODULES, only: Sequence[str] = (), tick: Callable[[int], None] | None = None
) -> Compared:
    """Run each module and ours on each path, and compare their windows.

    Raises InputError for an unknown path or module, where there is no source of Linux, and for a module that does not
    compile.
    """
    if unknown := next((name for name in modules if name not in OURS), None):
        raise InputError(f"there is no module {unknown!r}", key="--only", help=f"one of {', '.join(MODULES)}")
    folder = source_folder()
    if folder is None:
        help = f"Debian: apt-get install linux-source; elsewhere name the source's folder in {SOURCE}"
        raise InputError("the study needs the source of Linux", key="modules", help=help)
    pairs = [(module, link) for module in modules for link in paths(only)]
    scenarios = [
        _scenario(link, module, congestion)
        for module, link in pairs
        for congestion in ({"linux": str(folder / f"tcp_{module}.c")}, OURS[module])
    ]
    runs = _runs(scenarios, tick)
    sides = zip(pairs, runs[::2], runs[1::2], strict=True)
    return Compared(tuple(_comparison(module, link.name, theirs, ours) for (module, link), theirs, ours in sides))


def _scenario(link: Link, module: str, congestion: object) -> Scenario:
    """Return a download by one sender of Linux 6 over a path; the user has asked for the module."""
    host: dict[str, Any] = {"profile": "linux-6-bbr" if module == "bbr" else "linux-6"}
    if module == "dctcp":
        host["tcp"] = {"ecn": "dctcp"}
    document = {
        "name": "modules",
        "seed": 1,
        "stop": f"{SECONDS} s",
        "hosts": {"server": host, "client": host},
        "links": [dict(link.link)],
        "flows": [{"name": "download", "from": "server", "to": "client", "until": f"{SECONDS} s"}],
    }
    overrides = {"hosts.server.tcp.congestion": congestion}
    return parse_scenario(document, source=f"modules: {module} on {link.name}", overrides=overrides)


@dataclass(frozen=True, slots=True)
class _Windows:
    """The window of a run as a function of time: seconds, bytes, and the round trip at that time in seconds."""

    times: Sequence[float]
    windows: Sequence[int]
    round_trips: Sequence[float | None]
    throughput: float

    def place(self, time: float) -> int:
        """Return the index of the last row until `time`."""
        return max(bisect_right(self.times, time) - 1, 0)


def _runs(scenarios: Sequence[Scenario], tick: Callable[[int], None] | None) -> list[_Windows]:
    """Run the scenarios in parallel, and keep their windows."""
    found: dict[int, _Windows] = {}

    def finished(ended: Sequence[tuple[int, _native.Run | Exception | None]]) -> list[int]:
        for place, result in ended:
            if isinstance(result, Exception):
                raise result
            if result is not None:
                found[place] = _windows(result)
        if tick is not None:
            tick(len(found))
        return []

    record = {"tables": ["tcp"], "captures": []}
    wanted = [(place, 1) for place in range(len(scenarios))]
    _native.run_batch([(each.json, record) for each in scenarios], wanted, processors(), finished)
    return [found[place] for place in range(len(scenarios))]


def _windows(run: _native.Run) -> _Windows:
    table = pa.table(run.table("tcp"))
    table = table.filter(pa.compute.equal(table["host"], "server"))
    times = [time / 1e9 for time in table["time_ns"].cast(pa.int64()).to_pylist()]
    trips = [None if trip is None else trip / 1e9 for trip in table["srtt_ns"].cast(pa.int64()).to_pylist()]
    (flow,) = json.loads(run.summary_json)["flows"]
    return _Windows(times, table["cwnd"].to_pylist(), trips, flow["throughput_Bps"])


def _comparison(module: str, path: str, theirs: _Windows, ours: _Windows) -> Comparison:
    time, number, equal, first = theirs.times[0], 0, 0, None
    while time < SECONDS:
        there, here = theirs.place(time), ours.place(time)
        number += 1
        if abs(theirs.windows[there] - ours.windows[here]) <= SEGMENT:
            equal += 1
        elif first is None:
            first = time
        time += max(theirs.round_trips[there] or 0.1, 0.001)
    return Comparison(module, path, number, equal / number, first, ours.throughput / max(theirs.throughput, 1))
