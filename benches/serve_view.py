"""`make serve-bench`: how long after its end a run is seen in `lasthop serve`, in headless Chromium.

`python benches/serve_view.py` runs a transfer of 100,000 segments in a server, opens it in the browser when it has
ended, and prints the parts of the wait. It writes target/serve-view.json.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from serve_setup import open_page, order, segments, serving, write

from browser import chromium

TARGET_S: Final = 1.0
RUNS: Final = 3

SEEN: Final = """
new Promise((resolve) => {
  const look = () => {
    const viewer = document.querySelector(".viewer");
    if (!viewer?.dataset.ready) return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => {
      const view = performance.getEntriesByType("resource").filter((one) => one.name.includes("/api/view")).at(-1);
      resolve({
        seen_s: (performance.now() - window.ended) / 1000,
        server_s: (view.responseStart - view.requestStart) / 1000,
        transfer_s: (view.responseEnd - view.responseStart) / 1000,
        segments: Number(document.body.dataset.segments),
      });
    }));
  };
  look();
})
"""
"""Waits until the diagrams are drawn: seconds from the end of the run, of which the server's and the transfer's."""


def main() -> None:
    """Measure, print and write the figures."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (address, _):
        measured = [seen(address, Path(folder) / f"profile-{number}") for number in range(RUNS)]
    middle = {key: statistics.median(one[key] for one in measured) for key in measured[0]}
    browser = middle["seen_s"] - middle["server_s"] - middle["transfer_s"]
    verdict = "met" if middle["seen_s"] < TARGET_S else "MISSED"
    print(f"a run of {middle['segments']:.0f} segments is seen {middle['seen_s']:.2f} s after its end")
    print(f"  server {middle['server_s']:.2f} s, transfer {middle['transfer_s']:.2f} s, browser {browser:.2f} s")
    print(f"  medians of {RUNS}; target {TARGET_S:g} s: {verdict}")
    write("serve-view", {**middle, "browser_s": browser, "runs": measured})


def seen(address: str, profile: Path) -> dict[str, Any]:
    """Run the scenario once and return the parts of the wait, in seconds."""
    with chromium(profile) as page:
        open_page(page, address)
        order(page, segments("145 MB"))
        found: dict[str, Any] = page.value(SEEN)
        return found


if __name__ == "__main__":
    main()
