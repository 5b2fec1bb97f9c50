"""`make serve-bench`: a capture of more than 100 MB, dropped on the page of `lasthop serve`, until it is seen.

`python benches/serve_capture.py` makes the capture by a run, and drops it in headless Chromium. It writes
target/serve-capture.json.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from serve_setup import open_page, run, segments, serving, write

from browser import chromium

LEAST_MB: Final = 120
CAPTURED: Final = 'tables = []\ncaptures = ["server"]'


def main() -> None:
    """Measure, print and write the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # A long transfer, captured at its sender.
        capture = run(segments("1260 MB", record=CAPTURED), folder, "long") / "capture-server.pcapng"
        megabytes = capture.stat().st_size / 1e6
        assert megabytes >= LEAST_MB, megabytes
        with serving(folder) as (address, process):
            times = dropped(address, capture, folder / "profile")
            peak_mb = peak(process)
    print(f"a capture of {megabytes:.0f} MB: {', '.join(f'{what} {value:.1f} s' for what, value in times.items())}")
    print(f"largest memory of the server: {peak_mb:.0f} MB")
    write("serve-capture", {"mb": megabytes, **times, "peak_mb": peak_mb})


def dropped(address: str, capture: Path, profile: Path) -> dict[str, float]:
    """Drop the capture on the page, and return the seconds until it was sent, analyzed and seen."""
    with chromium(profile) as page:
        open_page(page, address)
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
