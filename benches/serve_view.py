"""`make serve-bench`: how long after its end a run is seen in `lasthop serve`, in headless Chromium.

`python benches/serve_view.py` runs a transfer of 100,000 segments in a server, opens it in the browser when it has
ended, and prints the parts of the wait. It writes target/serve-view.json.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from browser import Page, chromium

ROOT: Final = Path(__file__).parent.parent
TARGET_S: Final = 1.0
RUNS: Final = 3
SCENARIO: Final = """
name = "seen"
hosts = { server = { profile = "linux-6" }, mobile = { profile = "linux-6" } }
[[links]]
name = "lasthop"
between = ["server", "mobile"]
down = { rate = "50 Mbit/s", propagation = "20 ms", queue = { limit = "200 packets" } }
up = { rate = "10 Mbit/s", propagation = "20 ms" }
[[flows]]
name = "download"
from = "server"
to = "mobile"
bytes = "145 MB"
[record]
tables = ["segments", "tcp", "packets", "queue"]
"""
"""A transfer of 100,000 segments."""

ORDER: Final = """
(async () => {
  const body = JSON.stringify({ text: %s, name: "seen", out: "seen" });
  const headers = { "content-type": "application/json" };
  const job = await (await fetch("/api/runs", { method: "POST", body, headers })).json();
  if (job.error) throw new Error(job.error.message);
  const socket = new WebSocket(`ws://${location.host}/api/jobs/${job.id}/progress`);
  const result = await new Promise((resolve) => {
    socket.onmessage = (message) => {
      const now = JSON.parse(message.data);
      if (!["waiting", "running"].includes(now.state)) resolve(now.result);
    };
  });
  window.ended = performance.now();
  location.hash = `#/run/${result}`;
  return result;
})()
"""
"""Runs the scenario, and opens its page when the server reports the end."""

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
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as address:
        measured = [seen(address, Path(folder) / f"profile-{number}") for number in range(RUNS)]
    middle = {key: statistics.median(one[key] for one in measured) for key in measured[0]}
    browser = middle["seen_s"] - middle["server_s"] - middle["transfer_s"]
    verdict = "met" if middle["seen_s"] < TARGET_S else "MISSED"
    print(f"a run of {middle['segments']:.0f} segments is seen {middle['seen_s']:.2f} s after its end")
    print(f"  server {middle['server_s']:.2f} s, transfer {middle['transfer_s']:.2f} s, browser {browser:.2f} s")
    print(f"  medians of {RUNS}; target {TARGET_S:g} s: {verdict}")
    print(f"load of the last minute: {os.getloadavg()[0]:.2f}")
    target = ROOT / "target" / "serve-view.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps({**middle, "browser_s": browser, "runs": measured}, indent=1) + "\n")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run a server over a folder; yields the address that it prints."""
    command = [sys.executable, "-m", "lasthop", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def seen(address: str, profile: Path) -> dict[str, Any]:
    """Run the scenario once and return the parts of the wait, in seconds."""
    with chromium(profile) as page:
        page.look()
        page.open(address)
        page.wait("document.body?.dataset.ready")
        order(page, SCENARIO)
        found: dict[str, Any] = page.value(SEEN)
        return found


def order(page: Page, scenario: str) -> None:
    """Order the run of a scenario, and wait for its end with more patience than for an answer."""
    page.value(f"void ({ORDER % json.dumps(scenario)}).then((result) => (window.opened = result))")
    until = time.monotonic() + 300
    while not page.value("window.opened ?? ''"):
        assert time.monotonic() < until, "the run did not end"
        time.sleep(0.005)


if __name__ == "__main__":
    main()
