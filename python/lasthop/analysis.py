"""Analysis of a capture: its TCP connections, and a result folder for `lasthop plot` and `explain`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from lasthop import _native, quic_connection
from lasthop.congestion_control import of_sender
from lasthop.errors import InputError
from lasthop.results import RunResult, open_run
from lasthop.results.folder import whole_folder
from lasthop.results.run import arrow_table, write_index
from lasthop.results.stored_table import StoredTable
from lasthop.selection import Selection, select

SEGMENTS_FILE = "segments.parquet"
QUIC_FILE = "quic.parquet"

Capture = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A capture: one file, or the files of a series in the order of time."""

Notable = tuple[float, int, str, str, str, str | None, int, int]
"""A notable packet: seconds, frame number, sender, receiver, kind, cause, relative sequence number, bytes."""


@dataclass(frozen=True)
class Analysis:
    """An analyzed capture. `report` is the object that `lasthop analyze --json` prints."""

    path: Path
    report: Mapping[str, Any]
    chosen: Selection

    @property
    def connections(self) -> list[Mapping[str, Any]]:
        """The TCP connections, in the order of their first packets."""
        return list(self.report["connections"])

    def summary(self) -> dict[str, Any]:
        """Return the report as the summary of a run: a flow for each connection, from the side that sent more data."""
        return {
            "scenario": self.path.stem,
            "seed": 0,
            "clock": "capture",
            "stopped_s": self.report["length_s"],
            "stopped_by": "end of the capture",
            "flows": [flow_of(connection) for connection in self.connections] + self._quic_flows(),
            "links": [],
        }

    def _quic_flows(self) -> list[dict[str, Any]]:
        return [
            quic_connection.flow_of(connection)
            for connection in self.report["quic"]
            if quic_connection.is_opened(connection)
        ]


def analyze(
    capture: Capture,
    *,
    start: float = 0.0,
    stop: float | None = None,
    filter: str | None = None,
    keylog: str | PathLike[str] | None = None,
) -> Analysis:
    """Analyze a capture (pcap or pcapng, perhaps in gzip or zstd), or a series of files; a damaged file is read up to
    its fault.

    Only frames from `start` to `stop` seconds after the first, that match a filter of libpcap's language, are read.
    `keylog` has the TLS secrets of QUIC connections (SSLKEYLOGFILE), with which their packets are opened.
    Raises InputError for other files, or a filter that cannot be compiled.

    >>> import lasthop
    >>> len(lasthop.analyze("results/quickstart/capture-server.pcapng").connections)
    1
    """
    return analyze_selection(select(_files(capture), start=start, stop=stop, filter=filter, key_log=keylog))


def analyze_selection(chosen: Selection) -> Analysis:
    """Analyze the chosen frames. Raises InputError as `analyze` does."""
    return Analysis(chosen.files[0], _report(_native.analyze(chosen)), chosen)


def analyze_as_it_comes(chosen: Selection, each: Callable[[Notable], None]) -> Analysis:
    """Analyze the chosen frames, of standard input without a file, and call `each` with every notable packet."""
    path = chosen.files[0] if chosen.files else Path("-")
    return Analysis(path, _report(_native.analyze_as_it_comes(chosen, each)), chosen)


def _report(text: str) -> dict[str, Any]:
    """Return a report with the congestion control of each sender."""
    report: dict[str, Any] = json.loads(text)
    for connection in report["connections"]:
        for side, sender in enumerate(connection["senders"]):
            seen = connection["place"]["place"] if side == connection["bulk_sender"] else "unknown"
            sender["congestion_control"] = of_sender(sender["window_shape"], seen).to_json()
    return report


def analyze_to_folder(capture: Capture | Selection, folder: Path) -> RunResult:
    """Read a capture and write it as a result folder: the table `segments`, of QUIC the table `quic`, and `run.json`.

    Raises InputError if it is no capture or has neither TCP nor QUIC, or if the folder exists and is not an earlier
    result.
    """
    chosen = capture if isinstance(capture, Selection) else select(_files(capture))
    path = chosen.files[0]
    with whole_folder(folder) as partial:
        found = Analysis(path, _report(_native.analyze(chosen, partial / SEGMENTS_FILE)), chosen)
        if found.report["quic"]:
            _native.write_table(arrow_table(_native.quic_packets(chosen)), partial / QUIC_FILE)
        elif not found.connections:
            raise InputError("has no TCP connection", file=str(path), help="see what `tshark -r` says is in it")
        write_index(
            partial,
            _summary(found, StoredTable(partial / SEGMENTS_FILE)),
            "",
            {"capture": str(path), "report": found.report},
        )
    return open_run(folder)


def _summary(found: Analysis, segments: StoredTable) -> dict[str, Any]:
    """Return the summary with what only the table `segments` has: the needless retransmissions of QUIC."""
    summary = found.summary()
    opened = [flow for flow in summary["flows"] if flow["unnecessary_retransmissions"] is None]
    needless = quic_connection.needless_packets(segments) if opened else {}
    for flow in opened:
        flow["unnecessary_retransmissions"] = needless.get(flow["flow"], 0)
    return summary


def annotate(capture: Capture | Selection, out: str | PathLike[str]) -> None:
    """Write the frames of a capture as a pcapng file with the verdict on each packet as its comment, for Wireshark.

    Raises InputError if it is no capture, or if the file exists.
    """
    target = Path(out)
    if target.exists():
        raise InputError("exists, and is not overwritten", file=str(target), help="choose another name")
    chosen = capture if isinstance(capture, Selection) else select(_files(capture))
    _native.analyze(chosen, None, target)


def _files(capture: Capture) -> Sequence[str | PathLike[str]]:
    return [capture] if isinstance(capture, str | PathLike) else list(capture)


def remarks(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield a remark for each kind of data in a capture that could not be read, or was skipped."""
    if report["error"]:
        yield f"read up to a fault: {report['error']}"
    for point in report["points"]:
        name = f"{point['name']}: " if point["name"] else ""
        for what, frames in point["not_ip"].items():
            yield f"{name}{frames} frames skipped: {what}"
        for key, words in (
            ("not_tcp", "packets that are no TCP"),
            ("unreadable", "IP packets that could not be read"),
        ):
            if point[key]:
                yield f"{name}{point[key]} {words}"


def flow_of(connection: Mapping[str, Any]) -> dict[str, Any]:
    """Return a connection of the report as a flow of a run's summary, from the side that sent more data."""
    place = connection["bulk_sender"]
    sender, receiver = connection["senders"][place], connection["senders"][1 - place]
    return {
        "flow": connection["flow"],
        "from": sender["host"],
        "to": receiver["host"],
        "bytes": sender["acknowledged_bytes"],
        "elapsed_s": sender["elapsed_s"],
        "throughput_Bps": sender["throughput_Bps"],
        "segments_sent": sender["data_segments"],
        "retransmissions": sender["retransmissions"],
        "unnecessary_retransmissions": sender["needless"],
        "timeouts": sender["timeouts"],
        "fast_retransmits": sender["fast_retransmits"],
        "completed": connection["completed"],
        "milestones": [],
        "causes": {},
        "acks": receiver["packets"],
        "connections": 1,
        "windows": [],
    }
