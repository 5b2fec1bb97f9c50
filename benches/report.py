"""`make bench`: measures speed and memory, prints a table, and writes target/bench.json.

A Rust bench is a program under some crate's `benches/`. Each line of its output that is a JSON object is a figure:
`name`, `value` and `unit`, the value being the median of at least five runs; other lines are for readers. This file
adds figures of the command `lasthop` as a user runs it, comparisons with ns-2 where `ns` is installed, and ratios of
figures. Times differ between machines and hours; ratios of runs that alternate, and instructions, do not.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from page import picture_times

ROOT = Path(__file__).parent.parent
RUNS = 5
"""The median of fewer runs depends on what else the machine does."""

TARGETS = {
    "sim_one_instructions_per_segment": "≤ 1,500",
    "sim_fifty_instructions_per_segment": "≤ 1,800",
    "sim_ns2_scenario_one_ratio_to_ns2": "≥ 3",
    "sim_ns2_scenario_fifty_ratio_to_ns2": "≥ 3",
    "sim_event_loop_share": "≥ 0.5",
    "sim_10gbit_100ms_ratio": "≤ 2",
    "sim_10000_flows_ratio": "≤ 2",
    "capture_rss_mib": "≤ 60",
    "capture_bytes_per_segment": "≤ 150",
    "tables_rss_mib": "≤ 60",
    "sarolahti_wall_s": "≤ 8",
    "sarolahti_speedup_2_workers": "≥ 1.8",
    "plot_100k_segments_cpu_s": "≤ 2",
    "plot_100k_segments_kb": "≤ 1000",
    "page_100k_segments_open_s": "≤ 2",
    "page_100k_segments_kb": "≤ 5000",
    "page_million_segments_zoom_ms": "≤ 33",
    "page_million_segments_pan_ms": "≤ 33",
    "analyze_mb_per_cpu_s": "≥ 300",
    "help_s": "≤ 0.15",
    "cell_plan_cpu_s": "≤ 5",
    "cell_alone_times_real_time": "≥ 100",
}
"""Targets of figures, on two processors."""


@dataclass(frozen=True)
class Figure:
    """A measured quantity."""

    value: float
    unit: str


Figures = dict[str, Figure]


@dataclass(frozen=True)
class Usage:
    """Resources that a process used, from its start to its end."""

    wall_s: float
    cpu_s: float
    rss_mib: float
    output: str


def main() -> None:
    """Measure, print, write."""
    figures = rust_figures()
    figures |= ratios(figures)
    figures |= ns2_figures(figures)
    figures |= event_loop_share()
    figures |= record_figures()
    figures |= study_figures()
    figures |= cell_figures()
    figures |= picture_figures()
    figures |= analysis_figures()
    figures |= {"help_s": Figure(median(lambda: measured(lasthop("--help")).wall_s), "s")}
    print_figures(figures)
    target = ROOT / "target" / "bench.json"
    values = {name: {"value": figure.value, "unit": figure.unit} for name, figure in figures.items()}
    target.write_text(json.dumps(values, indent=2) + "\n")
    print(f"\nwritten to {target.relative_to(ROOT)}")


# Benches in Rust


def rust_figures() -> Figures:
    """Run every bench in the workspace; print what they say to readers, and return their figures."""
    figures: Figures = {}
    for package, bench in rust_benches():
        print(f"\n{package}: {bench}", flush=True)
        for line in output_of([*cargo_bench(package, bench)]).splitlines():
            if line.startswith("{"):
                figure = json.loads(line)
                figures[figure["name"]] = Figure(figure["value"], figure["unit"])
            else:
                print(line)
    return figures


def rust_benches() -> list[tuple[str, str]]:
    """Return the package and name of every bench in the workspace."""
    metadata = json.loads(output_of(["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"]))
    return [
        (package["name"], target["name"])
        for package in metadata["packages"]
        for target in package["targets"]
        if "bench" in target["kind"]
    ]


def cargo_bench(package: str, bench: str) -> list[str]:
    """Return the command that builds and runs a bench."""
    return ["cargo", "bench", "--locked", "--quiet", "-p", package, "--bench", bench]


def bench_program(bench: str) -> str:
    """Build a bench of the World and return the path of its program."""
    build = [*cargo_bench("lasthop-sim", bench), "--no-run", "--message-format", "json"]
    messages = map(json.loads, output_of(build).splitlines())
    (program,) = (message["executable"] for message in messages if message.get("executable"))
    return str(program)


def ratios(figures: Figures) -> Figures:
    """Return how the cost of a segment grows with the window and with the number of flows."""
    pairs = {
        "sim_10gbit_100ms_ratio": ("sim_10gbit_100ms_ns_per_segment", "sim_one_ns_per_segment"),
        "sim_10000_flows_ratio": ("sim_10000_flows_ns_per_segment", "sim_10_flows_ns_per_segment"),
    }
    return {
        name: Figure(figures[large].value / figures[small].value, "times")
        for name, (large, small) in pairs.items()
        if large in figures and small in figures
    }


# Comparisons, of runs that alternate


def ns2_figures(figures: Figures) -> Figures:
    """Return the speed on ns-2's own scenario, and its ratio to that of ns-2 where that is installed."""
    named = {
        f"sim_ns2_scenario_{case}_{what}": figures[f"sim_ns2_{case}_{what}"]
        for case in NS2_CASES
        for what in ("segments_per_cpu_s", "instructions_per_segment")
        if f"sim_ns2_{case}_{what}" in figures
    }
    if shutil.which("ns") is None:
        print("\nns-2 is not installed (Debian: ns2): no comparison with it")
        return named
    print("\nns-2, for comparison", flush=True)
    program = bench_program("segment")
    for case, (flows, seconds) in NS2_CASES.items():
        ours = [program, f"ns2_{case}", str(seconds)]
        theirs = ["ns", str(ROOT / "benches" / "ns2_bulk.tcl"), str(flows), str(seconds)]
        speeds = [(segments_per_cpu_s(ours), segments_per_cpu_s(theirs)) for _ in range(RUNS)]
        ratio = statistics.median(our / their for our, their in speeds)
        named[f"sim_ns2_scenario_{case}_ratio_to_ns2"] = Figure(ratio, "times")
        their_median = statistics.median(their for _, their in speeds)
        named[f"ns2_{case}_segments_per_cpu_s"] = Figure(their_median, "segments/CPU s")
    return named


NS2_CASES = {"one": (1, 200), "fifty": (50, 60)}
"""Flows and simulated seconds."""


def event_loop_share() -> Figures:
    """Return the speed of a whole simulation as a share of that of a bare event loop with a toy TCP."""
    ours, bare = bench_program("segment"), bench_program("event_loop")
    pairs = [(segments_per_cpu_s([ours, "one", "200"]), segments_per_cpu_s([bare, "one", "200"])) for _ in range(RUNS)]
    return {"sim_event_loop_share": Figure(statistics.median(our / their for our, their in pairs), "")}


def segments_per_cpu_s(command: list[str]) -> float:
    """Run a simulation that prints how many segments it delivered."""
    usage = measured(command)
    return float(usage.output) / usage.cpu_s


# The command, as a user runs it


def record_figures() -> Figures:
    """Return the memory of a run of 60 s at 100 Mbit/s with one capture, and with three tables."""
    capture = [record_run("captures=['lasthop']") for _ in range(RUNS)]
    tables = [record_run("tables=['packets','tcp','queue']") for _ in range(RUNS)]
    return {
        "capture_rss_mib": Figure(statistics.median(rss for rss, _ in capture), "MiB"),
        "capture_bytes_per_segment": Figure(statistics.median(size for _, size in capture), "B"),
        "tables_rss_mib": Figure(statistics.median(rss for rss, _ in tables), "MiB"),
    }


def picture_figures() -> Figures:
    """Return what the diagram and the page of 100,000 segments take, and how large they are."""
    with tempfile.TemporaryDirectory() as folder:
        out, page = Path(folder) / "out", Path(folder) / "page.html"
        output_of([*lasthop("run", "quickstart", "--out", str(out)), *LONG])
        plot = median(lambda: measured(lasthop("plot", str(out), "time-sequence")).cpu_s)
        figures = {
            "plot_100k_segments_cpu_s": Figure(plot, "s"),
            "plot_100k_segments_kb": Figure((out / "time-sequence.svg").stat().st_size / 1e3, "kB"),
        }
        output_of(lasthop("report", str(out), "--out", str(page)))
        figures["page_100k_segments_kb"] = Figure(page.stat().st_size / 1e3, "kB")
        if chromium := shutil.which("chromium"):
            empty = median(lambda: measured([*browser(chromium), "about:blank"]).cpu_s)
            full = median(lambda: measured([*browser(chromium), page.as_uri()]).cpu_s)
            figures["page_100k_segments_open_s"] = Figure(full - empty, "s")
            figures |= view_figures(Path(folder))
        return figures


def view_figures(folder: Path) -> Figures:
    """Return the milliseconds of a picture of the page of a million segments, zoomed and moved."""
    out, page = folder / "million", folder / "million.html"
    more = ["--set=flows.download.bytes='1450 MB'", "--set=record.tables=['segments','tcp','queue']"]
    output_of(lasthop("run", "quickstart", *LONG, *more, "--out", str(out)))
    output_of(lasthop("report", str(out), "--out", str(page)))
    times = picture_times(page)
    return {f"page_million_segments_{name}": Figure(times[name], "ms") for name in ("zoom_ms", "pan_ms")}


def browser(program: str) -> list[str]:
    """Return the command that opens a page without a screen until its program has run."""
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom")
    return [program, *options]


LONG = [
    f"--set={override}"
    for override in (
        "flows.download.bytes='146 MB'",
        "links.lasthop.down.rate='50 Mbit/s'",
        "links.lasthop.up.rate='50 Mbit/s'",
        "links.lasthop.down.queue.limit='400 packets'",
        "record.captures=[]",
    )
]
"""Overrides that make a transfer of 101,000 segments of the quickstart."""


def record_run(record: str) -> tuple[float, float]:
    """Run once; return the peak of memory, and the bytes written for each delivered segment."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bulk.toml"
        name, _, wanted = record.partition("=")
        file.write_text(RECORDED.format(record=f"{name} = {wanted}"))
        out = Path(folder) / "out"
        usage = measured(lasthop("run", str(file), "--out", str(out), "--json"))
        written = sum(file.stat().st_size for file in out.iterdir() if file.name != "run.json")
        segments = json.loads(usage.output)["flows"][0]["bytes"] / MSS
        return usage.rss_mib, written / segments


MSS = 1448
"""Payload of a full segment with timestamps."""

RECORDED = """
name = "recorded"
stop = "60 s"
hosts = {{ a = {{ profile = "sack-6675" }}, b = {{ profile = "sack-6675" }} }}
flows = [{{ name = "bulk", from = "a", to = "b", until = "60 s" }}]
[[links]]
name = "lasthop"
between = ["a", "b"]
down = {{ rate = "100 Mbit/s", propagation = "25 ms", queue = {{ limit = "420 packets" }} }}
up = {{ rate = "100 Mbit/s", propagation = "25 ms", queue = {{ limit = "420 packets" }} }}
[record]
{record}
"""


def analysis_figures() -> Figures:
    """Return how fast a capture of 1.4 GB of 1,000 connections is read, and in what memory; for comparison, what
    tcptrace and tshark take for the same, where they are installed."""
    print("\nanyone's capture", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "many.toml", Path(folder) / "out"
        file.write_text(MANY_CONNECTIONS)
        output_of(lasthop("run", str(file), "--out", str(out), "--json"))
        capture = out / "capture-lasthop.pcapng"
        size = capture.stat().st_size / 1e6
        runs = [measured(lasthop("analyze", str(capture), "--json")) for _ in range(RUNS)]
        figures = {
            "analyze_mb_per_cpu_s": Figure(size / statistics.median(usage.cpu_s for usage in runs), "MB/s"),
            "analyze_rss_mib": Figure(statistics.median(usage.rss_mib for usage in runs), "MiB"),
        }
        others = {"tcptrace": ["-n", "-l"], "tshark": ["-q", "-z", "conv,tcp", "-r"]}
        for program, options in others.items():
            if shutil.which(program):
                cpu_s = measured([program, *options, str(capture)]).cpu_s
                figures[f"analyze_by_{program}_mb_per_cpu_s"] = Figure(size / cpu_s, "MB/s")
        return figures


MANY_CONNECTIONS = """
name = "many"
stop = "600 s"
hosts = { server = { profile = "linux-6" }, mobile = { profile = "linux-6" } }
flows = [{ name = "download", from = "server", to = "mobile", bytes = "1 MB", count = 1000 }]
record = { captures = ["lasthop"], payload = true }
[[links]]
name = "lasthop"
between = ["server", "mobile"]
down = { rate = "100 Mbit/s", propagation = "20 ms", queue = { limit = "1000 packets" } }
up = { rate = "100 Mbit/s", propagation = "20 ms" }
"""


def study_figures() -> Figures:
    """Return the time of all tables of Sarolahti's study, from nothing, and what a second worker gains."""
    print("\nstudies", flush=True)
    both = [(study("--jobs", "1")["wall_s"], study("--jobs", "2")["wall_s"]) for _ in range(RUNS)]
    return {
        "table14_cpu_s": Figure(median(lambda: study("--only", "14")["cpu_s"]), "s"),
        "sarolahti_wall_s": Figure(statistics.median(two for _, two in both), "s"),
        "sarolahti_speedup_2_workers": Figure(statistics.median(one / two for one, two in both), "times"),
    }


def cell_figures() -> Figures:
    """Return the CPU time of 735 users in 21 cells for 50 s, with everything around the channel, and how much faster
    than the wall clock one cell with 35 users is."""
    print("\nshared channels", flush=True)
    plan = [cell_run(7, 735) for _ in range(RUNS)]
    # One site is the smallest plan: three cells.
    alone = [cell_run(1, 105).cpu_s / 3 for _ in range(RUNS)]
    return {
        "cell_plan_cpu_s": Figure(statistics.median(usage.cpu_s for usage in plan), "s"),
        "cell_plan_mib": Figure(statistics.median(usage.rss_mib for usage in plan), "MiB"),
        "cell_alone_times_real_time": Figure(CELL_S / statistics.median(alone), "times"),
    }


CELL_S = 50.0
"""Length of a run of chapter 7 of Landström's thesis."""


def cell_run(sites: int, users: int) -> Usage:
    """Run the cells of that chapter once, half of the users with calls and half with pages."""
    sets = {
        "hosts.voice.count": users // 2,
        "hosts.web.count": users - users // 2,
        "links.voice-radio.cell.layout.sites": sites,
    }
    overrides = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    return measured(lasthop("run", "studies/landstrom2008/hsdpa/cell.toml", "--json", *overrides))


def study(*arguments: str) -> dict[str, float]:
    """Run Sarolahti's study in a folder of its own and return what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        command = lasthop("study", "sarolahti2000", *arguments, "--out", folder, "--json")
        printed: dict[str, float] = json.loads(measured(command).output)
        return printed


def lasthop(*arguments: str) -> list[str]:
    """Return a command line of lasthop."""
    return [str(Path(sys.executable).with_name("lasthop")), *arguments]


# Processes and numbers


def measured(command: list[str]) -> Usage:
    """Run a command to its end; its standard error is shown."""
    with tempfile.TemporaryFile("w+") as out:
        began = time.monotonic()
        process = subprocess.Popen(command, cwd=ROOT, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, command)
        out.seek(0)
        # Linux counts memory in KiB.
        return Usage(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out.read())


def output_of(command: list[str]) -> str:
    """Run a command in the checkout and return its standard output; its standard error is shown."""
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def median(measure: Callable[[], float], runs: Iterable[int] = range(RUNS)) -> float:
    """Return the median of several measurements."""
    return statistics.median(measure() for _ in runs)


def print_figures(figures: Figures) -> None:
    """Print the table."""
    width = max(len(name) for name in figures)
    print(f"\n{'figure':{width}}  {'median':>14}  {'unit':14}  target")
    for name, figure in figures.items():
        print(f"{name:{width}}  {figure.value:>14,.6g}  {figure.unit:14}  {TARGETS.get(name, '')}".rstrip())


if __name__ == "__main__":
    main()
