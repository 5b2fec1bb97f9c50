"""Statistics, as properties."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasthop.stats import (
    are_alike,
    convergence_time,
    is_narrow,
    jain_index,
    max_min_index,
    mean_interval,
    median_interval,
    product_index,
    quantile,
    rate_variation,
    spread,
    student_t,
    time_to_recover,
)

VALUES = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)
SHARES = st.lists(st.floats(0, 1e12), min_size=1, max_size=30)


@given(VALUES, st.floats(0, 1))
def test_a_quantile_is_numpys_default(values: list[float], p: float) -> None:
    ordered = sorted(values)
    assert quantile(ordered, p) == pytest.approx(float(np.quantile(ordered, p)), rel=1e-9, abs=1e-6)


@given(VALUES)
def test_a_spread_is_in_order(values: list[float]) -> None:
    found = spread(values)
    assert found.minimum <= found.q25 <= found.median <= found.q75 <= found.maximum
    assert (found.ci95 is None) == (found.minimum == found.maximum)
    low, high = found.ci95 or (found.median, found.median)
    assert found.minimum <= low <= found.median <= high <= found.maximum
    assert found.n == len(values)


@given(VALUES, st.randoms())
def test_the_order_of_replications_does_not_matter(values: list[float], shuffler: random.Random) -> None:
    shuffled = list(values)
    shuffler.shuffle(shuffled)
    assert spread(shuffled) == spread(values)


@given(st.floats(-1e9, 1e9), st.integers(1, 60))
def test_equal_replications_have_no_spread_and_no_interval(value: float, n: int) -> None:
    found = spread([value] * n)
    assert found.q25 == found.median == found.q75 == value
    assert found.ci95 is None
    assert found.mean_ci95 is None
    assert is_narrow(found, 0.0) == (n >= 6)


def test_runs_are_alike_where_only_their_seeds_differ() -> None:
    assert are_alike([{"seed": 1, "flows": [{"bytes": 3}]}, {"seed": 2, "flows": [{"bytes": 3}]}])
    assert not are_alike([{"seed": 1, "flows": [{"bytes": 3}]}, {"seed": 2, "flows": [{"bytes": 4}]}])
    assert not are_alike([{"seed": 1}])


def test_students_t_is_that_of_the_tables() -> None:
    known = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262, 29: 2.045, 30: 2.042, 120: 1.980}
    assert {freedom: round(student_t(freedom, 0.95), 3) for freedom in known} == known
    assert student_t(10, 0.99) == pytest.approx(3.169, abs=5e-4)


def test_the_interval_of_the_mean_holds_it_as_often_as_it_says() -> None:
    source = random.Random(1)
    samples = [[source.gauss(5.0, 2.0) for _ in range(5)] for _ in range(4000)]
    intervals = [mean_interval(sample) for sample in samples]
    held = sum(found is not None and found[0] <= 5.0 <= found[1] for found in intervals)
    assert held / len(samples) == pytest.approx(0.95, abs=0.012)


def test_a_single_value_has_no_interval_of_the_mean() -> None:
    assert mean_interval([3.0]) is None
    assert spread([3.0]).mean_ci95 is None


def test_the_median_of_an_even_number_is_between_the_middle_two() -> None:
    assert spread([24.0, 25.0]).median == 24.5


def test_a_replication_without_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        spread([1.0, math.nan])


@pytest.mark.parametrize(
    ("n", "ranks"),
    # Order statistics of the 95 % interval, as tabled (Conover, Practical Nonparametric Statistics, table A3 halved).
    [(5, (1, 5)), (6, (1, 6)), (9, (2, 8)), (20, (6, 15)), (50, (18, 33))],
)
def test_the_interval_takes_the_tabled_order_statistics(n: int, ranks: tuple[int, int]) -> None:
    assert median_interval(list(range(1, n + 1))) == ranks


def test_the_interval_holds_the_true_median_as_often_as_it_says() -> None:
    draws = random.Random(1)
    hits = 0
    for _ in range(2000):
        low, high = median_interval(sorted(draws.expovariate(1.0) for _ in range(20)))
        hits += low <= math.log(2) <= high
    assert hits / 2000 >= 0.94


@given(SHARES)
def test_jains_index_is_between_one_taking_all_and_an_even_share(shares: list[float]) -> None:
    assert 1 / len(shares) - 1e-9 <= jain_index(shares) <= 1 + 1e-9


@given(st.floats(1e-3, 1e9), st.integers(1, 30))
def test_an_even_share_is_one(value: float, n: int) -> None:
    assert jain_index([value] * n) == pytest.approx(1)


@given(SHARES, st.floats(1e-3, 1e3))
def test_jains_index_has_no_unit(shares: list[float], factor: float) -> None:
    assert jain_index([share * factor for share in shares]) == pytest.approx(jain_index(shares))


@pytest.mark.parametrize("index", [max_min_index, product_index])
def test_indices_of_fairness_are_one_for_an_even_share_and_zero_for_a_starved_connection(
    index: Callable[[Sequence[float]], float],
) -> None:
    assert index([3.0] * 5) == pytest.approx(1)
    assert index([0.0, 4.0, 4.0]) == 0
    assert index([0.0, 0.0]) == 1
    assert index([1e-300, 2e-300]) == pytest.approx(index([1.0, 2.0]))
    with pytest.raises(ValueError, match="negative"):
        index([1.0, -1.0])


def test_the_max_min_index_looks_at_the_smallest_and_the_product_at_all() -> None:
    assert max_min_index([1.0, 2.0, 3.0]) == pytest.approx(0.5)
    assert product_index([1.0, 4.0]) == pytest.approx(2 / 2.5)


def test_jains_index_of_one_taking_all_is_one_over_n() -> None:
    assert jain_index([5.0, 0.0, 0.0, 0.0]) == 0.25


def test_a_negative_throughput_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        jain_index([1.0, -1.0])


def test_a_steady_rate_varies_by_nothing_and_one_that_stops_and_goes_by_one() -> None:
    assert rate_variation([0.0, 10.0, 20.0, 30.0]) == 0
    stop_and_go = [0.0, 10.0, 10.0, 20.0, 20.0]
    assert rate_variation(stop_and_go) == pytest.approx(1.0)
    assert rate_variation(stop_and_go, per_interval=2) == 0, "at twice the scale it is steady"


@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=40), st.floats(0.001, 1e3))
def test_the_unit_of_a_rate_does_not_change_its_variation(added: list[float], unit: float) -> None:
    totals = np.cumsum([0.0, *added])
    scaled = [float(total) * unit for total in totals]
    assert rate_variation(scaled) == pytest.approx(rate_variation([float(t) for t in totals]), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("totals", [[0.0, 1.0], [5.0, 5.0, 5.0]])
def test_a_variation_needs_intervals_with_something_in_them(totals: list[float]) -> None:
    with pytest.raises(ValueError, match="variation"):
        rate_variation(totals)


def test_flows_have_converged_from_where_they_stay_even() -> None:
    times = [0.0, 1.0, 2.0, 3.0, 4.0]
    first, second = [0.0, 10.0, 20.0, 25.0, 30.0], [0.0, 0.0, 1.0, 6.0, 11.0]
    assert convergence_time(times, [first, second]) == 2.0
    assert convergence_time(times, [first, [0.0, 5.0, 5.0, 5.0, 5.0]]) is None


def test_an_interval_is_narrow_only_with_enough_replications() -> None:
    assert not is_narrow(spread([10.0] * 5), 0.1)
    assert is_narrow(spread([10.0] * 6), 0.0)
    assert not is_narrow(spread([8.0, 9.0, 10.0, 10.0, 11.0, 12.0]), 0.1)
    assert is_narrow(spread([8.0, 9.0, 10.0, 10.0, 11.0, 12.0]), 0.2)


def arrivals(*parts: tuple[float, float, float]) -> list[float]:
    """Times of arrival: of each part from, to and the time between two."""
    return [start + place * gap for start, end, gap in parts for place in range(round((end - start) / gap))]


def test_a_sender_that_goes_on_at_its_rate_recovers_at_once() -> None:
    times = arrivals((0.0, 2.0, 0.01), (5.0, 9.0, 0.01))
    assert time_to_recover(times, [1000.0] * len(times), 0.2) == 0.0


def test_a_sender_that_starts_slowly_recovers_where_its_rate_is_back() -> None:
    times = arrivals((0.0, 2.0, 0.01), (5.0, 6.0, 0.1), (6.0, 10.0, 0.01))
    found = time_to_recover(times, [1000.0] * len(times), 0.2)
    assert found == pytest.approx(1.0, abs=0.11)


def test_copies_are_no_recovery_and_what_had_queued_up_is_none_for_good() -> None:
    times = arrivals((0.0, 2.0, 0.01), (5.0, 10.0, 0.01))
    # Half a second of what had queued up, as long again of copies, and then new data.
    amounts = [0.0 if 5.5 <= time < 6.0 else 1000.0 for time in times]
    assert time_to_recover(times, amounts, 0.2) == pytest.approx(1.0, abs=0.05)


def test_who_stays_slow_does_not_recover_and_too_little_before_says_nothing() -> None:
    slow = arrivals((0.0, 2.0, 0.01), (5.0, 10.0, 0.02))
    assert time_to_recover(slow, [1000.0] * len(slow), 0.2) is None
    short = arrivals((0.0, 0.1, 0.01), (5.0, 10.0, 0.01))
    assert time_to_recover(short, [1000.0] * len(short), 0.2) is None
    assert time_to_recover([], [], 0.2) is None


@given(st.floats(0.1, 100.0), st.integers(0, 60))
def test_the_time_to_recover_scales_with_time_and_not_with_amounts(scale: float, slow: int) -> None:
    times = arrivals((0.0, 2.0, 0.01), (5.0, 5.0 + slow * 0.1, 0.1), (5.0 + slow * 0.1, 20.0, 0.01))
    found = time_to_recover(times, [1000.0] * len(times), 0.2)
    scaled = time_to_recover([time * scale for time in times], [7.0] * len(times), 0.2 * scale)
    assert found is not None
    assert scaled == pytest.approx(found * scale, rel=1e-6, abs=1e-6)
