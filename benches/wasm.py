"""The speed of the core in WebAssembly against the native one: `wasm.py CORE.wasm [SCENARIO…]`.

Each scenario runs REPETITIONS times in one process of Node.js and in one of Python; the least CPU time counts, without
the start of either. Both builds should have one profile. CPU time depends less on other processes than the clock does.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lasthop

ROOT = Path(__file__).parent.parent
REPETITIONS = 5
SCENARIOS = ("quickstart", "lossy-path")


def native_s(scenario: Path) -> float:
    """Return the least CPU time of a native run that keeps its result in memory, in seconds."""
    times = []
    for _ in range(REPETITIONS):
        begun = time.process_time()
        lasthop.run(scenario)
        times.append(time.process_time() - begun)
    return min(times)


def browser_s(core: Path, scenario: Path) -> float:
    """Return the least CPU time of a run in WebAssembly, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        command: list[str | Path] = ["node", ROOT / "web/wasm/run.mjs", core, scenario, "-1", folder, str(REPETITIONS)]
        subprocess.run(command, check=True)
        return float(json.loads((Path(folder) / "answer.json").read_text())["cpu_s"])


def main() -> None:
    """Print a row for each scenario."""
    if len(sys.argv) < 2 or shutil.which("node") is None:
        sys.exit(f"{__doc__}\nIt needs Node.js.")
    print(f"{'scenario':<20} {'native':>10} {'browser':>10} {'speed':>7}")
    for name in sys.argv[2:] or SCENARIOS:
        scenario = ROOT / f"scenarios/{name}.toml"
        native, browser = native_s(scenario), browser_s(Path(sys.argv[1]), scenario)
        print(f"{name:<20} {1000 * native:>7.1f} ms {1000 * browser:>7.1f} ms {native / browser:>6.0%}")


if __name__ == "__main__":
    main()
