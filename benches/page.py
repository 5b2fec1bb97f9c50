"""Speed of the page of `lasthop report`, and so of the view in `lasthop serve`, in headless Chromium.

`python benches/page.py PAGE` prints the figures of one page.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from browser import Page, chromium

PICTURES: Final = 60
"""Pictures of one measurement."""

TURNS: Final = """
new Promise((resolve) => {
  const over = document.querySelector('.u-over');
  const box = over.getBoundingClientRect();
  const turn = (deltaY, shiftKey) => over.dispatchEvent(new WheelEvent('wheel',
    { deltaY, shiftKey, clientX: box.x + box.width / 2, clientY: box.y + 9, cancelable: true, bubbles: true }));
  const times = [];
  let before = 0;
  const next = (now) => {
    if (before) times.push(now - before);
    before = now;
    if (times.length === %d) return resolve(times);
    const even = times.length %% 2 === 0;
    turn(even ? %s : -(%s), %s);
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})
"""
"""Turns the wheel once for each picture, to and fro; gives the milliseconds between pictures."""


def picture_times(file: Path) -> dict[str, float]:
    """Return the median milliseconds of a picture while zooming and while moving, and until the page is complete."""
    with tempfile.TemporaryDirectory() as profile, chromium(Path(profile)) as page:
        page.look()
        began = time.monotonic()
        page.open(file.as_uri())
        page.wait("document.body?.dataset.ready", 120.0)
        opened = time.monotonic() - began
        return {"open_s": opened, "zoom_ms": _median_time(page, moves=False), "pan_ms": _median_time(page, moves=True)}


def _median_time(page: Page, *, moves: bool) -> float:
    if moves:
        page.value(TURNS % (9, "-120", "-120", "false"))
    turns = TURNS % (PICTURES, "120", "120", "true" if moves else "false")
    times: list[float] = page.value(turns)
    return statistics.median(times)


if __name__ == "__main__":
    print(picture_times(Path(sys.argv[1]).resolve()))
