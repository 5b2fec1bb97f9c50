"""`make bench`: runs every bench, prints a table, and writes target/bench.json.

A Rust bench is a program under some crate's `benches/` that prints one JSON object per line: `name`, `value`, `unit`,
and `runs` (how often it measured; `value` is the median). One that measured fewer than five times is started again
until there are five. What Python adds is measured here, through the command that a user types.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
RUNS = 5
"""Medians of fewer say little on a machine that does something else as well."""

Figures = dict[str, dict[str, object]]


def main() -> None:
    """Measure, print, write."""
    figures = rust_figures() | {"table14_cpu_s": {"value": table14_cpu_s(), "unit": "s"}}
    width = max(len(name) for name in figures)
    for name, figure in figures.items():
        print(f"{name:{width}}  {figure['value']:>16,.6g}  {figure['unit']}")
    target = ROOT / "target" / "bench.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(figures, indent=2) + "\n")
    print(f"written to {target.relative_to(ROOT)}")


def rust_figures() -> Figures:
    """Run the Rust benches until each figure rests on RUNS measurements."""
    values: dict[str, list[float]] = {}
    units: dict[str, str] = {}
    settled: set[str] = set()
    while not units or any(len(values[name]) < RUNS and name not in settled for name in values):
        for line in bench_lines():
            values.setdefault(line["name"], []).append(float(line["value"]))
            units[line["name"]] = line["unit"]
            if line.get("runs", 1) >= RUNS:
                settled.add(line["name"])
        if not units:
            sys.exit("no bench printed a figure")
    return {name: {"value": statistics.median(values[name]), "unit": units[name]} for name in units}


def bench_lines() -> list[dict[str, str]]:
    """Run `cargo bench` once and return the objects it printed; other lines are for readers."""
    command = ["cargo", "bench", "--workspace", "--locked", "--quiet"]
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def table14_cpu_s() -> float:
    """Return the CPU seconds of all of Table 14, process start to end, each time from nothing."""
    return statistics.median(study_cpu_s() for _ in range(RUNS))


def study_cpu_s() -> float:
    """Run the study once in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "lasthop", "study", "sarolahti2000", "--only", "14", "--out", folder, "--json"]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return float(json.loads(output)["cpu_s"])


if __name__ == "__main__":
    main()
