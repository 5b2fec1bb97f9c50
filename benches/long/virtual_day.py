"""A link under load for a day of virtual time: does the memory of the run grow?

python benches/long/virtual_day.py --hours 24 --out target/long
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from samples import sampled

SCENARIO: Final = """
name = "day"
stop = "{seconds} s"
hosts = {{ server = {{ profile = "linux-6" }}, mobile = {{ profile = "linux-6" }} }}
flows = [
    {{ name = "download", from = "server", to = "mobile", until = "{seconds} s" }},
    {{ name = "upload", from = "mobile", to = "server", until = "{seconds} s" }},
    {{ name = "call", from = "server", to = "mobile", until = "{seconds} s", workload = {{ voip = {{}} }} }},
]
[[links]]
name = "lasthop"
between = ["server", "mobile"]
up = {{ rate = "500 kbit/s", propagation = "30 ms", queue = {{ limit = "50 packets" }} }}
[links.down]
rate = "2 Mbit/s"
propagation = "30 ms"
queue = {{ limit = "100 packets", discipline = "fq-codel" }}
errors = {{ per = "packet", probability = 0.001, effect = "drop" }}
"""

PROGRAM: Final = """
import json, sys
import lasthop
run = lasthop.run(sys.stdin.read(), record={"tables": [], "captures": []})
print(json.dumps({row["flow"]: row["received"] for row in run.summary["flows"]}))
"""


def main() -> None:
    """Run the day, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--out", type=Path, default=Path("target/long"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    text, began = SCENARIO.format(seconds=round(3600 * given.hours)), time.monotonic()
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=pipe, stdout=pipe, text=True) as process:
        with sampled(process.pid, every_s=0.25) as samples:
            received, _ = process.communicate(text)
        if process.returncode:
            sys.exit(f"the run ended with status {process.returncode}")
    elapsed = time.monotonic() - began
    samples.draw(given.out / "virtual-day.svg", f"{given.hours:g} hours of virtual time")
    print(f"{given.hours:g} h of virtual time in {elapsed:.0f} s; received {received.strip()}; {samples.words()}")


if __name__ == "__main__":
    main()
