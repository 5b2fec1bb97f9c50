"""Learns the shapes of congestion controls' windows from runs of lasthop, and judges the classifier by other runs.

    controls.py fit [--seeds 1 2 3 4 5 6]   # writes python/lasthop/congestion_signatures.csv
    controls.py judge [--seeds 11 12 13]    # prints a table of what was right, over the same paths and over others

Each of the congestion controls transfers for 60 s over each path; a seed moves the path's rate, delay and queue by up
to a fifth. The capture of the sender's host is analyzed as anybody's. Runs are deterministic.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lasthop import _native
from lasthop.congestion_control import FEATURES, SIGNATURES, UNKNOWN, features, of_sender
from lasthop.selection import select

WRITTEN: Final = Path(__file__).parent.parent / "python/lasthop" / SIGNATURES.name

CONTROLS: Final[Mapping[str, str]] = {
    "bbr": 'profile = "linux-6-bbr"',
    "bic": 'profile = "bic"',
    "cubic": 'profile = "linux-6"',
    "h-tcp": 'profile = "h-tcp"',
    "high-speed": 'profile = "sack-6675", tcp = { congestion = "high-speed" }',
    "hybla": 'profile = "hybla"',
    "illinois": 'profile = "illinois"',
    "lp": 'profile = "sack-6675", tcp = { congestion = "lp" }',
    "nv": 'profile = "nv"',
    "reno": 'profile = "linux-6-reno"',
    "scalable": 'profile = "scalable"',
    "vegas": 'profile = "vegas-linux"',
    "veno": 'profile = "veno"',
    "westwood": 'profile = "westwood-linux"',
    "yeah": 'profile = "yeah"',
}
"""The congestion controls, and the keys of their hosts."""


@dataclass(frozen=True)
class Way:
    """A path: Mbit/s, round trip in ms, queue in parts of what the path holds, and probability of random loss."""

    rate: float
    round_trip: float
    queue: float
    loss: float = 0.0

    def moved(self, numbers: random.Random) -> Way:
        """Return a path that differs by up to a fifth in everything but the loss."""
        rate, round_trip, queue = (
            value * numbers.uniform(0.8, 1.2) for value in (self.rate, self.round_trip, self.queue)
        )
        return Way(rate, round_trip, queue, self.loss)


PATHS: Final = {
    "access": Way(10, 40, 1.0),
    "long": Way(20, 100, 0.5),
    "fast": Way(40, 50, 1.0),
    "mobile": Way(5, 80, 2.0),
    "lossy": Way(20, 60, 1.0, 0.0003),
}
OTHER_PATHS: Final = {"between": Way(25, 70, 0.8), "slow": Way(8, 60, 1.3)}
"""Paths over which nothing is learnt."""

SCENARIO: Final = """
name = "control"
seed = {seed}
stop = "60 s"
hosts = {{ server = {{ {host} }}, client = {{ profile = "linux-6" }} }}
flows = [{{ name = "bulk", from = "server", to = "client", until = "60 s" }}]
[[links]]
name = "path"
between = ["server", "client"]
down = {{ rate = "{rate:.3f} Mbit/s", propagation = "{delay:.3f} ms", queue = {{ limit = "{queue} packets" }}{error} }}
up = {{ rate = "100 Mbit/s", propagation = "{delay:.3f} ms" }}
[record]
captures = ["server"]
"""


def scenario(control: str, path: Way, seed: int) -> str:
    """Return the file of a run."""
    moved = path.moved(random.Random(f"{control} {path} {seed}"))
    held = moved.rate * moved.round_trip * 1e3 / 8 / 1500
    error = f', errors = {{ effect = "drop", probability = {path.loss} }}' if path.loss else ""
    return SCENARIO.format(
        seed=seed,
        host=CONTROLS[control],
        rate=moved.rate,
        delay=moved.round_trip / 2,
        queue=max(8, round(moved.queue * held)),
        error=error,
    )


def shape_of(text: str) -> Mapping[str, Any] | None:
    """Run a scenario and return the shape of the sender's window in its capture."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "control.toml", Path(folder) / "out"
        file.write_text(text)
        command = [sys.executable, "-m", "lasthop", "run", str(file), "--out", str(out), "--json"]
        subprocess.run(command, check=True, capture_output=True)
        capture = out / "capture-server.pcapng"
        connection = json.loads(_native.analyze(select([capture])))["connections"][0]
        shape: Mapping[str, Any] | None = connection["senders"][connection["bulk_sender"]]["window_shape"]
        return shape


def shapes(paths: Mapping[str, Way], seeds: Iterable[int]) -> Iterator[tuple[str, str, int, Mapping[str, Any] | None]]:
    """Yield control, path, seed and shape of every run."""
    runs = [(control, path, seed) for control in CONTROLS for path in paths for seed in seeds]
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda run: shape_of(scenario(run[0], paths[run[1]], run[2])), runs)
        for run, shape in zip(runs, found, strict=True):
            yield (*run, shape)


def fit(seeds: Iterable[int]) -> None:
    """Write the signatures: the features of each run."""
    with WRITTEN.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["control", "path", *FEATURES])
        for control, path, _, shape in shapes(PATHS, seeds):
            if shape is not None:
                writer.writerow(
                    [control, path, *("" if value is None else f"{value:.4g}" for value in features(shape))]
                )
    print(f"wrote {WRITTEN}")


def judge(seeds: Iterable[int]) -> None:
    """Print how many of other runs are named correctly, unknown and wrong."""
    seeds = list(seeds)
    for name, paths in (("the same paths", PATHS), ("other paths", OTHER_PATHS)):
        named: dict[str, Counter[str]] = defaultdict(Counter)
        for control, _, _, shape in shapes(paths, seeds):
            named[control][of_sender(shape, "sender").control] += 1
        print(f"\n{name}")
        for control, counts in named.items():
            others = ", ".join(f"{other} {count}" for other, count in counts.most_common() if other != control)
            print(f"{control:12}{counts[control]:4} of {counts.total()}{'; ' if others else ''}{others}")
        right = sum(counts[control] for control, counts in named.items())
        unknown = sum(counts[UNKNOWN] for counts in named.values())
        total = sum(counts.total() for counts in named.values())
        share = f"{right} of {total}, {100 * right / total:.1f} %"
        print(f"right: {share}; unknown: {unknown}; wrong: {total - right - unknown}")


def main() -> None:
    """Fit, or judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["fit", "judge"])
    parser.add_argument("--seeds", type=int, nargs="+")
    options = parser.parse_args()
    if options.what == "fit":
        fit(options.seeds or range(1, 7))
    else:
        judge(options.seeds or range(11, 14))


if __name__ == "__main__":
    main()
