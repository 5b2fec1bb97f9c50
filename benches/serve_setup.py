"""`lasthop serve` over a folder, its page in headless Chromium, and a transfer to show: for `make serve-bench`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from browser import Page

ROOT: Final = Path(__file__).parent.parent
TABLES: Final = 'tables = ["segments", "tcp", "packets", "queue"]'

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


def transfer(name: str, down: str, up: str, amount: str, *, record: str = TABLES) -> str:
    """Return a scenario of one transfer of this amount over a link with these directions, with records to show."""
    return f"""
name = "{name}"
hosts = {{ server = {{ profile = "linux-6" }}, mobile = {{ profile = "linux-6" }} }}
[[links]]
name = "lasthop"
between = ["server", "mobile"]
down = {{ {down} }}
up = {{ {up} }}
[[flows]]
name = "download"
from = "server"
to = "mobile"
bytes = "{amount}"
[record]
{record}
"""


def segments(amount: str, *, record: str = TABLES) -> str:
    """Return a transfer that fills a buffer at 50 Mbit/s; 145 MB are 100,000 segments."""
    down = 'rate = "50 Mbit/s", propagation = "20 ms", queue = { limit = "200 packets" }'
    return transfer("seen", down, 'rate = "10 Mbit/s", propagation = "20 ms"', amount, record=record)


def run(scenario: str, folder: Path, name: str) -> Path:
    """Run a scenario from the shell, and return the folder of its result."""
    file = folder / f"{name}.toml"
    file.write_text(scenario)
    command = [sys.executable, "-m", "lasthop", "run", str(file), "--out", str(folder / name)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / name


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, int]]:
    """Run a server over a folder; yields the address that it prints, and its process."""
    command = [sys.executable, "-m", "lasthop", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.terminate()


def open_page(page: Page, address: str) -> float:
    """Open the first page, and return the seconds until it can be used."""
    page.look()
    began = time.monotonic()
    page.open(address)
    page.wait("document.body?.dataset.ready")
    return time.monotonic() - began


def order(page: Page, scenario: str) -> None:
    """Order the run of a scenario, and wait for its end with more patience than for an answer."""
    page.value(f"void ({ORDER % json.dumps(scenario)}).then((result) => (window.opened = result))")
    until = time.monotonic() + 300
    while not page.value("window.opened ?? ''"):
        assert time.monotonic() < until, "the run did not end"
        time.sleep(0.005)


def write(name: str, figures: dict[str, Any]) -> None:
    """Print the load of the machine, and write the figures with it to target/NAME.json."""
    print(f"load of the last minute: {os.getloadavg()[0]:.2f}")
    target = ROOT / "target" / f"{name}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps({**figures, "load": os.getloadavg()}, indent=1) + "\n")
