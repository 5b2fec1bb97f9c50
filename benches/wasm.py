"""The speed of the core in WebAssembly against the native one: `wasm.py CORE.wasm NATIVE [SCENARIO…]`.

NATIVE is the bench `speed` of crates/wasm, built with the profile of CORE.wasm: the same program, which runs a scenario
and makes the files of its result. Each runs a scenario several times in one process. The first run in a browser has the
time of the compiler in it; the least CPU time of the later ones is compared. CPU time depends less on other processes
than the clock does.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
REPETITIONS = 15
SCENARIOS = ("quickstart", "lossy-path", "voice-and-download", "teach-cubic-bbr", "three-cubic")
"""Short runs, and two long ones."""


def native_s(program: Path, scenario: Path) -> list[float]:
    """Return the CPU time of each native run, in seconds."""
    ended = subprocess.run([program, scenario, str(REPETITIONS)], check=True, capture_output=True, text=True)
    return [float(line) for line in ended.stdout.split()]


def browser_s(core: Path, scenario: Path) -> list[float]:
    """Return the CPU time of each run in WebAssembly, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        command: list[str | Path] = ["node", ROOT / "web/wasm/run.mjs", core, scenario, "-1", folder, str(REPETITIONS)]
        subprocess.run(command, check=True)
        times: list[float] = json.loads((Path(folder) / "answer.json").read_text())["cpu_s"]
        return times


def main() -> None:
    """Print a row for each scenario."""
    if len(sys.argv) < 3 or shutil.which("node") is None:
        sys.exit(f"{__doc__}\nIt needs Node.js.")
    core, program = (Path(argument) for argument in sys.argv[1:3])
    print(f"{'scenario':<20} {'native':>11} {'browser':>11} {'speed':>6} {'first run':>11}")
    for name in sys.argv[3:] or SCENARIOS:
        scenario = ROOT / f"scenarios/{name}.toml"
        native, browser = min(native_s(program, scenario)), browser_s(core, scenario)
        least = min(browser[1:])
        times = f"{1000 * native:>8.1f} ms {1000 * least:>8.1f} ms {native / least:>6.0%} {1000 * browser[0]:>8.1f} ms"
        print(f"{name:<20} {times}")
    print(f"load of the last minute: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
