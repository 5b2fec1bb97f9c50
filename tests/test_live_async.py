"""`lasthop.live_async`: a run between kernels alongside other tasks of an event loop."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import lasthop
from lasthop import _native

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        any(not check["ok"] for check in json.loads(_native.doctor()) if check["check"] in ("tun", "namespaces")),
        reason="no network namespaces here: see lasthop doctor",
    ),
]


def test_other_tasks_go_on_during_a_run() -> None:
    async def both() -> tuple[lasthop.Run | lasthop.RunResult, int]:
        running = asyncio.create_task(lasthop.live_async("quickstart", overrides={"flows.download.bytes": "200 kB"}))
        turns = 0
        while not running.done():
            await asyncio.sleep(0.01)
            turns += 1
        return running.result(), turns

    run, turns = asyncio.run(both())
    assert run.summary["clock"] == "real"
    assert turns > 10


def test_a_cancelled_run_ends_and_leaves_nothing(tmp_path: Path) -> None:
    async def cancelled() -> None:
        forever = {"flows": [{"name": "long", "from": "server", "to": "mobile", "until": "600 s"}]}
        running = asyncio.create_task(lasthop.live_async("quickstart", tmp_path / "out", overrides=forever))
        await asyncio.sleep(2)
        assert not running.done()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_scenario_is_the_same_error() -> None:
    with pytest.raises(lasthop.InputError, match="nope"):
        asyncio.run(lasthop.live_async("quickstart", overrides={"hosts.server.profile": "nope"}))
