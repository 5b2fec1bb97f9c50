"""Transfers in real time, one after the other, in one process: what does each leave behind?

sudo python benches/long/live_row.py --transfers 10000 --out target/long
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Final

from samples import Samples

import lasthop

SCENARIO: Final = """
name = "row"
hosts = { server = { profile = "linux-6" }, mobile = { profile = "linux-6" } }
flows = [{ name = "download", from = "server", to = "mobile", bytes = "20 kB" }]
[[links]]
name = "lasthop"
between = ["server", "mobile"]
down = { rate = "50 Mbit/s", propagation = "2 ms" }
up = { rate = "50 Mbit/s", propagation = "2 ms" }
[record]
tables = []
captures = []
"""

KERNEL: Final = ("/run/lasthop", "/run/netns", "/sys/class/net")
"""Folders in which a run might leave a record, a namespace or a device."""


def left_behind() -> set[str]:
    """Return what is in these folders, as paths."""
    return {str(path) for folder in map(Path, KERNEL) if folder.is_dir() for path in folder.iterdir()}


def main() -> None:
    """Run the transfers, and look at what is left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transfers", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end earlier, after this number of minutes")
    parser.add_argument("--out", type=Path, default=Path("target/long"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    samples, before, began, done, whole = Samples(), left_behind(), time.monotonic(), 0, 0
    while done < given.transfers and time.monotonic() - began < 60 * given.minutes:
        run = lasthop.live(SCENARIO, seed=done + 1)
        done += 1
        whole += run.summary["flows"][0]["received"] == 20_000
        samples.take(os.getpid(), time.monotonic() - began)
    samples.draw(given.out / "live-row.svg", f"{done} transfers in real time")
    left = left_behind() - before
    print(f"{done} transfers, {whole} of them whole, in {time.monotonic() - began:.0f} s; {samples.words()}")
    print(f"left behind: {', '.join(sorted(left)) or 'nothing'}; processes at the end: {samples.processes[-1]}")
    if left or whole < done:
        sys.exit(1)


if __name__ == "__main__":
    main()
