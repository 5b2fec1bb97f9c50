"""Pages of the registries: each algorithm, queue, error model and workload with its law, source, keys and picture.

Sphinx runs `write_pages` before it reads its sources (`conf.py`). The pages come from the installed package alone, so
that they name what it has, and from the recorded window curves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from lasthop import _native

ROOT: Final = Path(__file__).parent.parent.parent
FOLDER: Final = ROOT / "docs" / "site" / "generated"
CURVES: Final = ROOT / "crates" / "testkit" / "curves"

PHASES: Final = {"start": "#0072b2", "loss": "#d55e00", "timeout": "#009e73"}
"""What precedes each part of a recorded curve, and its colour."""

PICTURE_SAYS: Final = (
    "The congestion window at the end of each round trip of 100 ms, in segments: from the start, after a loss, and "
    "after a timeout. Every segment is acknowledged."
)

TITLES: Final = {
    "ack": "Acknowledgments",
    "capacities": "Varying rates",
    "compressions": "Header compression",
    "congestion": "Congestion control",
    "dupthresh": "Duplicate threshold",
    "errors": "Error models",
    "poll": "Polled acknowledgments",
    "recovery": "Loss recovery",
    "rto": "Retransmission timer",
    "schedulers": "Schedulers of a cell",
    "proxies": "Proxies at the end of a link",
    "spurious": "Spurious loss signals",
    "window": "Advertised window",
}
"""Titles of pages whose registry has a short name."""

Entry = Mapping[str, Any]


def write_pages(_application: object = None) -> None:
    """Write a page for each axis of TCP and each registry, and the pictures of congestion controls."""
    mpl.rcParams.update({"svg.hashsalt": "lasthop", "svg.fonttype": "none"})
    for registry in [*json.loads(_native.algorithms()), *json.loads(_native.registries())]:
        write(FOLDER / f"{registry['name']}.md", "\n".join(_page(registry)) + "\n")


def _page(registry: Entry) -> Iterator[str]:
    name = str(registry["name"])
    yield f"# {TITLES.get(name, name.replace('_', ' ').capitalize())}\n\n{_sentence(registry['summary'])}\n"
    for entry in registry["entries"]:
        yield f"## {entry['name']}\n\n{_sentence(entry['summary'])}\n"
        if entry.get("written"):
            yield f"- Written: `{entry['written']}`"
        yield f"- Source: {entry['source']}\n"
        curve = CURVES / f"{entry['name']}.txt"
        if name == "congestion" and curve.is_file():
            picture = FOLDER / f"{entry['name']}.svg"
            picture.parent.mkdir(parents=True, exist_ok=True)
            _draw(_windows(curve.read_text()), picture)
            yield f"![{entry['name']}: {PICTURE_SAYS}]({picture.name})\n"
        yield from _keys(json.loads(_native.parameters(entry["definition"])))
    if name == "congestion":
        yield f"{PICTURE_SAYS}\n"


def _keys(parameters: Sequence[Entry]) -> Iterator[str]:
    if not parameters:
        return
    yield "| key | value | default | meaning |\n|---|---|---|---|"
    for each in parameters:
        default = f"`{each['default']}`" if each.get("default") else "required" if each["required"] else ""
        yield f"| `{each['key']}` | {_cell(each['value'])} | {default} | {_cell(each['meaning'])} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def _windows(curve: str) -> dict[str, list[int]]:
    """Return the windows of each part of a recorded curve, in segments."""
    parts = (line.split(":") for line in curve.splitlines())
    return {phase.strip(): [int(window) for window in windows.split()] for phase, windows in parts}


def _draw(windows: Mapping[str, Sequence[int]], picture: Path) -> None:
    figure = Figure(figsize=(6, 2.2), layout="constrained")
    axes = figure.subplots()
    begin = 0
    for phase, values in windows.items():
        axes.step(range(begin, begin + len(values)), values, where="mid", color=PHASES[phase], label=f"after {phase}")
        begin += len(values)
    axes.set(xlabel="round trips", ylabel="segments", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=3, loc="upper right", fontsize="small")
    figure.savefig(picture, metadata={"Date": None})


def write(file: Path, text: str) -> None:
    """Write a file unless it has that text, so that Sphinx reads only what is new."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.is_file() or file.read_text() != text:
        file.write_text(text)
