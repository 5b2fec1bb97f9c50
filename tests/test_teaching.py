"""Scenarios for lectures: short, with a summary and a picture, and each shows its effect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lasthop

SCENARIOS = sorted((Path(__file__).resolve().parents[1] / "scenarios").glob("teach-*.toml"))


def flows(name: str, *overrides: str) -> dict[str, Any]:
    """Return the flows of a run by name."""
    return {flow["flow"]: flow for flow in lasthop.run(name, overrides=overrides).summary["flows"]}


def total(found: dict[str, Any], key: str) -> int:
    return int(sum(flow[key] for flow in found.values()))


def test_they_are_of_at_most_twenty_five_lines_with_a_summary_and_a_picture() -> None:
    assert SCENARIOS
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


def test_the_longer_round_trip_gets_less() -> None:
    near, far = flows("teach-rtt-unfairness").values()
    assert near["bytes"] > 3 * far["bytes"]


def test_slow_start_loses_a_good_part_of_what_the_path_holds() -> None:
    held = 10e6 / 8 * 0.1 / 1460 + 80
    assert 0.2 * held < total(flows("teach-slow-start"), "retransmissions") < held


def test_the_limit_of_the_queue_decides_between_cubic_and_bbr() -> None:
    short, long = flows("teach-cubic-bbr"), flows("teach-cubic-bbr", 'links.home.down.queue.limit="400 packets"')
    assert short["bbr"]["bytes"] > 3 * short["cubic"]["bytes"]
    assert long["cubic"]["bytes"] > long["bbr"]["bytes"]


def test_in_dualpi2_prague_and_cubic_share_and_only_cubic_loses() -> None:
    found = flows("teach-l4s")
    assert 0.5 < found["cubic"]["bytes"] / found["prague"]["bytes"] < 2
    assert found["prague"]["retransmissions"] == 0 < found["cubic"]["retransmissions"]


def test_incast_over_a_short_queue_causes_timeouts_and_a_long_one_none() -> None:
    assert total(flows("teach-incast"), "timeouts") > 0
    assert total(flows("teach-incast", 'links.port.down.queue.limit="2000 packets"'), "timeouts") == 0


def test_acks_that_are_lost_cost_little_and_data_that_are_lost_much() -> None:
    without = "links.home.up.errors.probability=0"
    whole = flows("teach-ack-loss", without)["download"]["elapsed_s"]
    acks_lost = flows("teach-ack-loss")["download"]["elapsed_s"]
    data_lost = flows("teach-ack-loss", without, "links.home.down.errors.probability=0.01")["download"]["elapsed_s"]
    assert acks_lost < 1.1 * whole
    assert data_lost > 5 * whole


def test_f_rto_and_eifel_take_a_spurious_timeout_back() -> None:
    reno = flows("teach-spurious-timeout")
    assert total(reno, "unnecessary_retransmissions") == total(reno, "retransmissions") > 50
    for profile in ("frto", "eifel"):
        found = flows("teach-spurious-timeout", *(f"hosts.{host}.profile={profile}" for host in ("server", "phone")))
        assert 1 <= total(found, "retransmissions") <= 3
        assert total(found, "spurious_timeouts") >= 1


def test_the_schedulers_of_a_cell_trade_the_sum_for_fairness() -> None:
    def received(scheduler: str) -> list[int]:
        found = flows("teach-cell", f"links.radio.cell.scheduler={scheduler}")
        return [int(flow["bytes"]) for flow in found.values()]

    fair, greedy = received("proportional-fair"), received("max-rate")
    assert sum(greedy) > sum(fair)
    assert min(greedy) < 0.5 * min(fair)
