"""`make serve-bench`: the first page of `lasthop serve`, and the player with 500 packets under way, in Chromium.

`python benches/serve_page.py` prints how long after the address was opened the first page can be used, in a browser
that has never seen it, and how long the player computes for each picture. It writes target/serve-page.json.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from serve_setup import open_page, order, serving, transfer, write

from browser import Page, chromium

OPENINGS: Final = 5
FIRST_PAGE_S: Final = 1.0
PICTURE_MS: Final = 16.0
PACKETS: Final = 500
BUSY: Final = transfer(
    "busy",
    'rate = "100 Mbit/s", propagation = "60 ms", queue = { limit = "400 packets" }',
    'rate = "100 Mbit/s", propagation = "60 ms"',
    "15 MB",
)
"""A transfer that has more than 500 packets under way: the path holds 1,000 segments."""

PLAYED: Final = """
new Promise((resolve) => {
  const [costs, gaps, packets] = [[], [], []];
  const figure = document.querySelector('.player');
  const real = window.requestAnimationFrame.bind(window);
  let before = 0;
  window.requestAnimationFrame = (act) => real((now) => {
    const begun = performance.now();
    act(now);
    costs.push(performance.now() - begun);
    packets.push(Number(figure.dataset.packets));
    if (before) gaps.push(now - before);
    before = now;
    if (costs.length === 300) {
      window.requestAnimationFrame = real;
      resolve({ costs, gaps, packets });
    }
  });
  const slider = figure.querySelector('input[type=range]');
  slider.value = slider.max * 0.8;
  slider.dispatchEvent(new Event('input'));
  figure.querySelector('select').value = 2;
  figure.querySelector('select').dispatchEvent(new Event('change'));
  figure.querySelector('button').click();
})
"""
"""Plays at a hundredth of the speed from four fifths of the run on. Gives for 300 pictures the milliseconds that the
program took and those since the picture before, and the number of packets in it."""


def main() -> None:
    """Measure, print and write the figures."""
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as (address, _):
        folder = Path(name)
        # The token of the address opens the page; the browser then has it in a cookie.
        opened = [first_page_s(address, folder / f"profile-{number}") for number in range(OPENINGS)]
        with chromium(folder / "profile-player") as page:
            played = play(page, address)
    least = min(played["packets"])
    p99 = statistics.quantiles(played["costs"], n=100)[-1]
    rows = [
        ("first page", statistics.median(opened), "s", FIRST_PAGE_S),
        ("player, worst picture", max(played["costs"]), "ms", PICTURE_MS),
    ]
    for what, value, unit, target in rows:
        print(f"{what}: {value:.2f} {unit}; target {target:g} {unit}: {'met' if value < target else 'MISSED'}")
    print(f"  {least} packets or more in each of {len(played['costs'])} pictures; p99 {p99:.2f} ms")
    print(f"  between pictures: median {statistics.median(played['gaps']):.1f} ms")
    assert least >= PACKETS, f"only {least} packets were under way"
    write("serve-page", {"first_page_s": opened, **played})


def first_page_s(address: str, profile: Path) -> float:
    """Return the seconds from the order to open the page until it can be used, in a browser of its own."""
    with chromium(profile) as page:
        return open_page(page, address)


def play(page: Page, address: str) -> dict[str, Any]:
    """Run the scenario, open it, and play it."""
    open_page(page, address)
    order(page, BUSY)
    page.wait("document.querySelector('.player')")
    page.value("document.querySelector('.player').scrollIntoView()")
    found: dict[str, Any] = page.value(PLAYED)
    return found


if __name__ == "__main__":
    main()
