"""Analysis of a capture: its TCP connections, and a result folder for `lasthop plot` and `explain`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from lasthop import _native
from lasthop.errors import InputError
from lasthop.results import RunResult, open_run
from lasthop.results.folder import whole_folder
from lasthop.results.run import write_index

SEGMENTS_FILE = "segments.parquet"


@dataclass(frozen=True)
class Analysis:
    """An analyzed capture. `report` is the object that `lasthop analyze --json` prints."""

    path: Path
    report: Mapping[str, Any]

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
            "flows": [flow_of(connection) for connection in self.connections],
            "links": [],
        }


def analyze(capture: str | PathLike[str]) -> Analysis:
    """Analyze a capture, pcap or pcapng. A damaged file is read up to its fault. Raises InputError for other files.

    >>> import lasthop
    >>> len(lasthop.analyze("results/quickstart/capture-server.pcapng").connections)
    1
    """
    path = _capture_path(capture)
    return Analysis(path, json.loads(_native.analyze(path)))


def analyze_to_folder(capture: str | PathLike[str], folder: Path) -> RunResult:
    """Read a capture and write it as a result folder: the table `segments`, and `run.json`.

    Raises InputError if it is no capture or has no TCP, or if the folder exists and is not an earlier result.
    """
    path = _capture_path(capture)
    with whole_folder(folder) as partial:
        found = Analysis(path, json.loads(_native.analyze(path, partial / SEGMENTS_FILE)))
        if not found.connections:
            raise InputError("has no TCP connection", file=str(path), help="see what `tshark -r` says is in it")
        write_index(partial, found.summary(), "", {"capture": str(path), "report": found.report})
    return open_run(folder)


def remarks(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield a remark for each kind of data in a capture that could not be read, or was skipped."""
    if report["error"]:
        yield f"read up to a fault: {report['error']}"
    for point in report["points"]:
        name = f"{point['name']}: " if point["name"] else ""
        for key, words in (
            ("not_ip", "frames without an IP packet, or of a link type that is not known"),
            ("not_tcp", "packets that are no TCP, or parts of fragmented ones"),
            ("unreadable", "IP packets that could not be read"),
        ):
            if point[key]:
                yield f"{name}{point[key]} {words}"


def _capture_path(capture: str | PathLike[str]) -> Path:
    path = Path(capture)
    if path.is_dir():
        raise InputError("is a folder, not a capture", file=str(path), help="name a pcap or pcapng file")
    if not path.exists():
        raise InputError("there is no such file", file=str(path), help="name a pcap or pcapng file")
    return path


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
