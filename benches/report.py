"""`make bench`: runs every bench, prints a table, and writes target/bench.json.

A Rust bench is a program under some crate's `benches/`. Each line of its output that is a JSON object is a figure:
`name`, `value` and `unit`, the value being the median of at least five runs of its own; other lines are for readers.
What Python adds is measured here, through the command that a user types.
"""

from __future__ import annotations

import json
import re
import shutil
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
    figures: Figures = {}
    for package, bench in rust_benches():
        figures |= rust_figures(package, bench)
    figures |= instruction_figures()
    figures["table14_cpu_s"] = {"value": table14_cpu_s(), "unit": "s"}
    print_figures(figures)
    target = ROOT / "target" / "bench.json"
    target.write_text(json.dumps(figures, indent=2) + "\n")
    print(f"\nwritten to {target.relative_to(ROOT)}")


def rust_benches() -> list[tuple[str, str]]:
    """Return the package and name of every bench in the workspace."""
    metadata = json.loads(output_of(["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"]))
    return [
        (package["name"], target["name"])
        for package in metadata["packages"]
        for target in package["targets"]
        if "bench" in target["kind"]
    ]


def rust_figures(package: str, bench: str) -> Figures:
    """Run one bench; print what it says to readers, and return its figures."""
    print(f"\n{package}: {bench}", flush=True)
    figures: Figures = {}
    for line in output_of(["cargo", "bench", "--locked", "--quiet", "-p", package, "--bench", bench]).splitlines():
        if line.startswith("{"):
            figure = json.loads(line)
            figures[figure["name"]] = {"value": figure["value"], "unit": figure["unit"]}
        else:
            print(line)
    return figures


def instruction_figures() -> Figures:
    """Return how many instructions a delivered segment costs, where valgrind is there to count them.

    Seconds differ between machines, and between one hour and the next where a machine is shared; these do not.
    """
    if shutil.which("valgrind") is None:
        print("\nvalgrind is not installed: instructions per segment are not counted")
        return {}
    print("\ncallgrind: bulk", flush=True)
    build = ["cargo", "bench", "--locked", "--quiet", "-p", "lasthop-sim", "--bench", "bulk", "--no-run"]
    messages = map(json.loads, output_of([*build, "--message-format", "json"]).splitlines())
    (program,) = (message["executable"] for message in messages if message.get("executable"))
    return {
        f"sim_{name}_instructions_per_segment": {
            "value": instructions_per_segment(program, case),
            "unit": "instructions",
        }
        for name, case in (("bulk", "one"), ("50flows", "fifty"))
    }


def instructions_per_segment(program: str, case: str) -> float:
    """Run one case of the bulk bench under callgrind, building and all."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, case]
    ended = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    counted = re.search(r"Collected : (\d+)", ended.stderr)
    if counted is None:
        raise RuntimeError(f"callgrind did not say what it collected: {ended.stderr}")
    return int(counted[1]) / float(ended.stdout)


def table14_cpu_s() -> float:
    """Return the CPU seconds of all of Table 14 with its replications, process start to end, each time from nothing."""
    return statistics.median(study_cpu_s() for _ in range(RUNS))


def study_cpu_s() -> float:
    """Run the study once in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "lasthop", "study", "sarolahti2000", "--only", "14", "--out", folder, "--json"]
        return float(json.loads(output_of(command))["cpu_s"])


def output_of(command: list[str]) -> str:
    """Run a command in the checkout and return its standard output; what it says on standard error is shown."""
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def print_figures(figures: Figures) -> None:
    """Print the table."""
    width = max(len(name) for name in figures)
    print(f"\n{'figure':{width}}  {'median':>14}  unit")
    for name, figure in figures.items():
        print(f"{name:{width}}  {figure['value']:>14,.6g}  {figure['unit']}")


if __name__ == "__main__":
    main()
