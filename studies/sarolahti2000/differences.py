"""Significance of the document's differences from the baseline, and of ours: Tables 5, 7 and 9.

    python differences.py RESULT        where `lasthop study sarolahti2000 --out RESULT` has kept its rows

A median of n runs has a standard error of about 0.93 of their quartiles' width over the root of n (as for a normal
distribution), a difference of two the root of the sum of squares. The document has quartiles in Tables 14 to 43.
"""

from __future__ import annotations

import csv
import sys
from math import hypot, sqrt
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lasthop.stats import spread

ENHANCEMENTS = {"sack": "19", "iw4": "43", "srwnd2k": "23", "srwnd3k": "28", "srwnd5k": "33"}
"""With the table that has their quartiles; the baseline's are in Table 14."""
RUNS = {"none": 20, "rand0.01@6s": 50}
"""Number of runs of each row in the document: section 4.4 and appendix A."""
NORMAL = 1.2533 / 1.349
"""Factor of a median's standard error: the root of pi/2, over the quartiles' width of a normal distribution."""
SURE = 2
"""Standard errors from which on a difference counts as sure."""

Value = tuple[float, float]
"""A median and its standard error, in seconds."""
Key = tuple[str, str, str]
"""Enhancement, buffer and delays."""


def published(file: Path) -> dict[Key, Value]:
    """Return the document's elapsed times of one connection."""
    by_key: dict[Key, dict[str, float]] = {}
    for row in csv.DictReader(file.open(encoding="utf-8")):
        key = (row["enhancement"], row["buffer_pkts"], row["delay_spec"])
        whole = row["connections"] == "1" and row["scope"] == "full" and row["metric"] == "elapsed_s"
        if whole and row["table"] == (ENHANCEMENTS | {"baseline": "14"}).get(row["enhancement"]):
            by_key.setdefault(key, {})[row["stat"]] = float(row["value"])
    return {
        key: (stats["median"], _error(stats["q25"], stats["q75"], RUNS[key[2]]))
        for key, stats in by_key.items()
        if key[2] in RUNS
    }


def measured(folder: Path) -> dict[Key, Value]:
    """Return ours. Where nothing is random there is one run, and no error."""
    rows: list[dict[str, Any]] = pq.read_table(folder / "study.parquet").to_pylist()
    times: dict[Key, list[float]] = {}
    for row in rows:
        key = (row["enhancement"], row["buffer_pkts"], row["delay_spec"])
        if row["case"] == f"{key[0]},1,{key[1]},{key[2]}":
            times.setdefault(key, []).append(row["elapsed_s"])
    spreads = {key: spread(runs) for key, runs in times.items()}
    return {key: (each.median, _error(each.q25, each.q75, each.n)) for key, each in spreads.items()}


def _error(low: float, high: float, runs: int) -> float:
    """Return the standard error of a median, from the quartiles around it."""
    return NORMAL * (high - low) / sqrt(runs)


def main(folder: Path) -> None:
    """Print the table, and the counts below it."""
    theirs, ours = published(Path(__file__).with_name("published.csv")), measured(folder)
    print(
        "| delays | enhancement | buffer | published, s | ± | measured, s | ± | sure | agrees |\n" + 10 * "|---" + "|"
    )
    counts = {(delays, sure): [0, 0] for delays in RUNS for sure in (True, False)}
    for delays in RUNS:
        for enhancement in ENHANCEMENTS:
            for buffer in ("3", "7", "20"):
                key, base = (enhancement, buffer, delays), ("baseline", buffer, delays)
                if key not in theirs:
                    continue
                (published_s, published_error), (found, found_error) = (
                    _difference(times[key], times[base]) for times in (theirs, ours)
                )
                sure, agrees = abs(published_s) > SURE * published_error, published_s * found > 0
                counts[delays, sure][0] += agrees
                counts[delays, sure][1] += 1
                figures = f"{published_s:+.2f} | {published_error:.2f} | {found:+.2f} | {found_error:.2f}"
                print(f"| {delays} | {enhancement} | {buffer} | {figures} | {_word(sure)} | {_word(agrees)} |")
    for (delays, sure), (agree, rows) in counts.items():
        print(f"{delays}, {'sure' if sure else 'not sure'}: {agree} of {rows} agree")


def _difference(of: Value, base: Value) -> Value:
    return of[0] - base[0], hypot(of[1], base[1])


def _word(yes: bool) -> str:
    return "yes" if yes else "no"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
