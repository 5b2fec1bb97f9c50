"""Runs in real time held against one in virtual time."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lasthop.experiments.real_against_virtual import compare_runs, differing, measures_of


def summary(*rates: float, queue: float | None = None) -> dict[str, object]:
    flows = [{"throughput_Bps": rate, "retransmissions": 3, "timeouts": 1} for rate in rates]
    return {"flows": flows, "links": [{"queue_mean": queue}, {"queue_mean": None}]}


def test_measures_are_of_all_flows_together() -> None:
    found = measures_of(summary(100, 300, queue=7))
    assert (found["goodput_Bps"], found["retransmissions"], found["timeouts"]) == (400, 6, 2)
    assert found["fairness"] == pytest.approx(0.8)
    assert found["queue_mean"] == 7


def test_one_flow_has_no_fairness_and_links_without_meters_no_queue() -> None:
    assert {"fairness", "queue_mean"}.isdisjoint(measures_of(summary(100)))


def test_a_round_trip_is_the_way_of_a_data_packet_and_the_mean_way_of_the_acks() -> None:
    columns = {
        "fate": ["delivered", "delivered", "dropped", "delivered", "delivered"],
        "entered_ns": [0, 0, 0, 0, 0],
        "delivered_ns": [30_000_000, 50_000_000, None, 10_000_000, 20_000_000],
        "len": [1000, 1000, 1000, 0, 0],
    }
    found = measures_of(summary(100), pa.table(columns))
    assert found["round_trip_mean_s"] == pytest.approx(0.055)
    assert found["round_trip_p95_s"] == pytest.approx(0.064)


def test_within_the_kernels_own_runs_nothing_differs() -> None:
    runs = [{"goodput_Bps": 100.0, "retransmissions": 2.0}, {"goodput_Bps": 140.0, "retransmissions": 40.0}]
    compared = compare_runs(runs, {"goodput_Bps": 139.0, "retransmissions": 39.0})
    assert differing(compared) == []


@pytest.mark.parametrize(("virtual", "expected"), [(104.0, []), (106.0, ["goodput, byte/s"])])
def test_outside_of_them_a_tolerance_is_allowed(virtual: float, expected: list[str]) -> None:
    compared = compare_runs([{"goodput_Bps": 100.0}, {"goodput_Bps": 100.0}], {"goodput_Bps": virtual})
    assert differing(compared) == expected
