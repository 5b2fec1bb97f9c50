"""The scenarios for lectures: short, with a summary and a picture, and each shows its effect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lasthop

SCENARIOS = sorted((Path(__file__).resolve().parents[1] / "scenarios").glob("teach-*.toml"))


def flows(name: str, *overrides: str) -> dict[str, Any]:
    """Return the flows of a run by name."""
    return {flow["name"]: flow for flow in lasthop.run(name, overrides=overrides).summary["flows"]}


def total(found: dict[str, Any], key: str) -> int:
    return int(sum(flow[key] for flow in found.values()))


def test_there_are_ten_of_at_most_twenty_five_lines_with_a_summary_and_a_picture() -> None:
    assert len(SCENARIOS) == 10
    for file in SCENARIOS:
        text = file.read_text()
        assert len(text.splitlines()) <= 25, file.name
        assert "\nsummary = " in text, file.name
        assert f"lasthop run {file.stem} --out " in text, file.name
        assert "&& lasthop plot results/" in text, file.name


def test_a_deep_queue_delays_a_call_and_a_short_one_or_fq_codel_does_not() -> None:
    deep = flows("teach-bufferbloat")["call"]["delay_p95_s"]
    short = flows("teach-bufferbloat", 'links.home.down.queue.limit="100 ms"')["call"]["delay_p95_s"]
    fair = flows("teach-fq-codel")["call"]["delay_p95_s"]
    assert deep > 0.5 > 0.2 > short > fair


def test_the_limit_of_the_queue_decides_between_cubic_and_bbr() -> None:
    short, long = (flows("teach-cubic-bbr", f"links.home.down.queue.limit={limit} packets") for limit in (20, 400))
    assert short["bbr"]["bytes"] > 2 * short["cubic"]["bytes"]
    assert long["cubic"]["bytes"] > 1.2 * long["bbr"]["bytes"]


def test_the_longer_round_trip_gets_less() -> None:
    near, far = flows("teach-rtt-unfairness").values()
    assert near["bytes"] > 3 * far["bytes"]


def test_slow_start_overshoots_and_hystart_does_less() -> None:
    without, with_hystart = flows("teach-slow-start"), flows("teach-slow-start", "hosts.server.profile=linux-6")
    assert total(without, "retransmissions") > 2 * total(with_hystart, "retransmissions") + 20


def test_incast_causes_timeouts() -> None:
    assert total(flows("teach-incast"), "timeouts") > 3
    assert total(flows("teach-incast", "links.port.down.queue.limit=2000 packets"), "timeouts") == 0


def test_lost_acks_cause_hardly_any_retransmission() -> None:
    lossy, clean = flows("teach-ack-loss"), flows("teach-ack-loss", "links.home.up.errors.probability=0")
    assert lossy["download"]["elapsed_s"] < 1.1 * clean["download"]["elapsed_s"]


def test_a_delay_spike_causes_a_timeout_of_nothing_and_eifel_sends_less_again() -> None:
    reno, eifel = (flows("teach-spurious-timeout", f"hosts.server.profile={name}") for name in ("reno", "eifel"))
    assert total(reno, "spurious_timeouts") > 0
    assert total(reno, "unnecessary_retransmissions") > total(eifel, "unnecessary_retransmissions")


def test_in_dualpi2_prague_and_cubic_share() -> None:
    found = flows("teach-l4s")
    assert 0.4 < found["prague"]["bytes"] / found["cubic"]["bytes"] < 2.5


@pytest.mark.parametrize("scheduler", ["round-robin", "max-rate"])
def test_the_scheduler_of_a_cell_decides_the_shares(scheduler: str) -> None:
    shares = [flow["bytes"] for flow in flows("teach-cell", f"links.radio.cell.scheduler={scheduler}").values()]
    even = flows("teach-cell", "links.radio.cell.scheduler=round-robin")
    assert scheduler == "round-robin" or max(shares) > 1.2 * max(flow["bytes"] for flow in even.values())
