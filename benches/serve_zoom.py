"""`make serve-bench`: pictures per second of a run of a million segments in `lasthop serve`, zoomed and moved.

`python benches/serve_zoom.py` runs the transfer, opens it in headless Chromium, and turns the wheel over the
time-sequence diagram once for each picture. It writes target/serve-zoom.json.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from page import TURNS
from serve_setup import open_page, run, segments, serving, write

from browser import Page, chromium

SEGMENTS: Final = 1_000_000
PICTURES: Final = 120
"""Pictures of one measurement."""
RATE: Final = 30.0
"""Pictures per second that are wanted."""
WHOLE: Final = "document.querySelector('figure.panel').focus()"


def main() -> None:
    """Measure, print and write the figures."""
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as (address, _):
        folder = Path(name)
        run(segments("1450 MB"), folder, "million")
        with chromium(folder / "profile") as page:
            open_page(page, address)
            begun = time.monotonic()
            page.value("location.hash = '#/run/million'")
            page.wait("document.querySelector('.viewer')?.dataset.ready", 120.0)
            opened = time.monotonic() - begun
            shown = int(page.value("document.body.dataset.segments"))
            page.wait("document.querySelector('.player')", 120.0)
            page.value("document.querySelector('figure.panel').scrollIntoView()")
            times = {"zoom": turned(page, moves=False), "move": turned(page, moves=True)}
    print(f"{shown} segments; the view opens in {opened:.2f} s")
    for what, gaps in times.items():
        rate, worst = 1000 / statistics.mean(gaps), max(gaps)
        verdict = "met" if rate >= RATE else "MISSED"
        print(f"{what}: {rate:.1f} pictures per second, longest {worst:.1f} ms; target {RATE:g}: {verdict}")
    assert shown >= SEGMENTS, shown
    write("serve-zoom", {"open_s": opened, "segments": shown, **times})


def turned(page: Page, *, moves: bool) -> list[float]:
    """Return the milliseconds between pictures while the wheel turns, zooming at the whole run or moving a part."""
    page.value(WHOLE)
    page.press("0")
    if moves:
        page.value(TURNS % (9, "-120", "-120", "false"))
    gaps: list[Any] = page.value(TURNS % (PICTURES, "120", "120", "true" if moves else "false"))
    return [float(gap) for gap in gaps]


if __name__ == "__main__":
    main()
