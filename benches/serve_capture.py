"""`make serve-bench`: a capture of more than 100 MB, dropped on the page of `lasthop serve`, until it is seen.

`python benches/serve_capture.py` makes the capture by a run, and drops it in headless Chromium. It writes
target/serve-capture.json.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from serve_view import ROOT, SCENARIO

from browser import chromium

LEAST_MB: Final = 120
TABLES: Final = 'tables = ["segments", "tcp", "packets", "queue"]'


def main() -> None:
    """Measure, print and write the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        capture = made(folder)
        megabytes = capture.stat().st_size / 1e6
        assert megabytes >= LEAST_MB, megabytes
        command = [sys.executable, "-m", "lasthop", "serve", str(folder), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                times = dropped(process.stdout.readline().strip(), capture, folder / "profile")
                peak_mb = peak(process.pid)
            finally:
                process.terminate()
    print(f"a capture of {megabytes:.0f} MB: {', '.join(f'{what} {value:.1f} s' for what, value in times.items())}")
    print(f"largest memory of the server: {peak_mb:.0f} MB")
    print(f"load of the last minute: {os.getloadavg()[0]:.2f}")
    target = ROOT / "target" / "serve-capture.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps({"mb": megabytes, **times, "peak_mb": peak_mb, "load": os.getloadavg()}) + "\n")


def made(folder: Path) -> Path:
    """Run a long transfer, and return its capture at the sender."""
    scenario = folder / "long.toml"
    longer = SCENARIO.replace('"145 MB"', '"1260 MB"').replace(TABLES, 'tables = []\ncaptures = ["server"]')
    scenario.write_text(longer)
    command = [sys.executable, "-m", "lasthop", "run", str(scenario), "--out", str(folder / "long")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "long" / "capture-server.pcapng"


def dropped(address: str, capture: Path, profile: Path) -> dict[str, float]:
    """Drop the capture on the page, and return the seconds until it was sent, analyzed and seen."""
    with chromium(profile) as page:
        page.look()
        page.open(address)
        page.wait("document.body?.dataset.ready")
        page.click("Captures")
        page.wait("document.querySelector('input[type=file]')")
        begun = time.monotonic()
        page.choose_file("input[type=file]", capture)
        page.wait("document.querySelector('.job')", 120.0)
        sent = time.monotonic()
        page.wait("location.hash.startsWith('#/run/')", 120.0)
        analyzed = time.monotonic()
        page.wait("document.querySelector('.viewer')?.dataset.ready", 120.0)
        seen = time.monotonic()
    return {"sent": sent - begun, "analyzed": analyzed - sent, "drawn": seen - analyzed}


def peak(process: int) -> float:
    """Return the largest resident memory of a process so far, in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    main()
