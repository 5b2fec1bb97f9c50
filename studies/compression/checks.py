"""Measures of header compression and octet stuffing, from the links' counters and the table `packets`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import fmean
from typing import Any

from lasthop.results.run import Run

FRAMING = 8
"""Bytes of PPP's frame in `link.toml`."""

Row = Mapping[str, Any]


def discarded(run: Run) -> float:
    """Packets that decompressors discarded."""
    return float(sum(_wire(link)["decompressor_drops"] for link in run.summary["links"]))


def lost(run: Run) -> float:
    """Packets that were lost to errors."""
    return float(sum(link["error_drops"] for link in run.summary["links"])) - discarded(run)


def data_header(run: Run) -> float:
    """Headers of the download's data."""
    return _mean_header(run, lambda row: bool(row["flow"] == "download" and row["direction"] == "down" and row["len"]))


def ack_header(run: Run) -> float:
    """Headers of the download's ACKs."""
    return _mean_header(run, lambda row: bool(row["flow"] == "download" and row["direction"] == "up"))


def keystroke_header(run: Run) -> float:
    """Headers of what the user types."""
    return _mean_header(run, lambda row: bool(row["flow"] == "shell" and row["direction"] == "up" and row["len"]))


def stuffed_percent(run: Run) -> float:
    """Octets that are sent as two."""
    (down,) = (link for link in run.summary["links"] if link["direction"] == "down")
    wire = _wire(down)
    added = wire["escaped_bytes"]
    return 100 * added / (wire["wire_bytes"] - added) if added else 0.0


def _mean_header(run: Run, is_meant: Callable[[Row], bool]) -> float:
    rows = [row for row in run.tables["packets"].to_pylist() if is_meant(row)]
    return fmean(_on_wire(row) - row["len"] for row in rows)


def _on_wire(row: Row) -> int:
    """Bytes of a packet without its frame; a packet that was never sent counts as it came."""
    sent = row.get("wire_bytes")
    return int(row["bytes"] if sent is None else sent - FRAMING)


def _wire(link: Row) -> Row:
    nothing = {"decompressor_drops": 0, "escaped_bytes": 0, "wire_bytes": 0}
    wire: Row = link.get("wire") or nothing
    return wire
