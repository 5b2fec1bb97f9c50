"""`make serve-bench`: does watching make a live run less precise? Its lateness with 50 clients, and without any.

`python benches/serve_live.py [RUNS]` makes pairs of runs in turn and writes target/serve-live.json. The figures mean
something on an idle machine only.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from websockets.asyncio.client import connect

ROOT: Final = Path(__file__).parent.parent
CLIENTS: Final = 50
TARGET_PERCENT: Final = 10.0
SECONDS: Final = 10
SCENARIO: Final = f"""
name = "watched"
stop = "{SECONDS} s"
hosts = {{ server = {{ profile = "linux-6" }}, mobile = {{ profile = "linux-6" }} }}
[[links]]
name = "lasthop"
between = ["server", "mobile"]
down = {{ rate = "10 Mbit/s", propagation = "20 ms", queue = {{ limit = "60 packets" }} }}
up = {{ rate = "10 Mbit/s", propagation = "20 ms" }}
[[flows]]
name = "download"
from = "server"
to = "mobile"
until = "{SECONDS} s"
"""


async def main() -> None:
    """Measure, print and write the figures."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    lateness: dict[int, list[dict[str, Any]]] = {0: [], CLIENTS: []}
    with tempfile.TemporaryDirectory() as folder:
        async with served(Path(folder)) as (address, token):
            for number in range(runs):
                for clients, of_clients in lateness.items():
                    of_clients.append(await run(address, token, Path(folder), f"run-{clients}-{number}", clients))
    p99 = {clients: statistics.median(each["p99_ms"] for each in found) for clients, found in lateness.items()}
    change = 100 * (p99[CLIENTS] / p99[0] - 1)
    verdict = "met" if change < TARGET_PERCENT else "MISSED"
    for clients, found in lateness.items():
        each = ", ".join(f"{one['p99_ms']:.3f}" for one in found)
        print(f"{clients:3} clients: lateness p99 {p99[clients]:.3f} ms (runs: {each})")
    print(f"50 clients change it by {change:+.1f} %; target below {TARGET_PERCENT:g} %: {verdict}")
    print(f"load of the last minute: {os.getloadavg()[0]:.2f}")
    target = ROOT / "target" / "serve-live.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps({"change_percent": change, "lateness": lateness, "load": os.getloadavg()}) + "\n")


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[str, str]]:
    """Run a server over a folder; yields host and port, and the token."""
    command = [sys.executable, "-m", "lasthop", "serve", str(folder), "--port", "0", "--live"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        printed = urlsplit(process.stdout.readline().strip())
        yield printed.netloc, printed.query.partition("=")[2]
        process.terminate()


async def run(address: str, token: str, folder: Path, out: str, clients: int) -> dict[str, Any]:
    """Run the scenario while a number of clients watch it, and return its lateness."""
    headers = {"authorization": f"Bearer {token}"}
    order = json.dumps({"text": SCENARIO, "name": "watched", "out": out, "clock": "live"}).encode()
    asked = Request(f"http://{address}/api/runs", order, {**headers, "content-type": "application/json"})
    with urlopen(asked) as answer:
        job = json.load(answer)
    states = f"ws://{address}/api/jobs/{job['id']}/states"
    watching = [asyncio.create_task(watch(states, headers)) for _ in range(clients)]
    while not (folder / out / "run.json").is_file():
        await asyncio.sleep(0.5)
    seen = await asyncio.gather(*watching)
    assert all(count > SECONDS * 8 for count in seen), f"clients missed states: {seen}"
    lateness: dict[str, Any] = json.loads((folder / out / "run.json").read_text())["summary"]["lateness"]
    return lateness


async def watch(address: str, headers: dict[str, str]) -> int:
    """Receive the states of a run until it ends, and return their number."""
    count = 0
    async with connect(address, additional_headers=headers, compression=None) as socket:
        async for _ in socket:
            count += 1
    return count


if __name__ == "__main__":
    asyncio.run(main())
