"""The pure parts of a study: the store, measures, expressions, published values, rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasthop import catalogue
from lasthop.errors import InputError, RunError
from lasthop.results.folder import STORE_FILE
from lasthop.stats import quantile, two_medians_interval
from lasthop.study.agreement import Agreement, counted, judged, kind_of
from lasthop.study.checks import checks_key
from lasthop.study.execute import unmatched
from lasthop.study.expression import evaluate, parse
from lasthop.study.measures import measure
from lasthop.study.plan import Case, Metric, PublishedFile, Row, Smallest, Study, Table, Variant, load_study
from lasthop.study.precision import Precision, widened
from lasthop.study.published import Published, read_published
from lasthop.study.rows import report
from lasthop.study.store import Store, run_key

NUMBERS = st.floats(-1e6, 1e6)


# ---- the store

SUMMARY = '{"seed":1}'


def test_a_store_remembers_what_was_put(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        store.put("a", {"case": "x"}, SUMMARY)
    with Store(tmp_path / "s") as store:
        assert store.get("a") == {"case": "x", "seed": 1}
        assert store.get("b") is None


@given(cut=st.integers(1, 30))
def test_a_line_that_was_cut_short_is_dropped_and_the_rest_kept(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("store")
    with Store(folder) as store:
        store.put("a", {"case": "x"}, SUMMARY)
        store.put("b", {"case": "a case with a name that is longer than any cut"}, SUMMARY)
    path = folder / STORE_FILE
    path.write_bytes(path.read_bytes()[:-cut])
    with Store(folder) as store:
        assert store.get("a") == {"case": "x", "seed": 1}
        assert store.get("b") is None
        store.put("c", {"case": "z"}, SUMMARY)
    with Store(folder) as store:
        assert store.get("c") == {"case": "z", "seed": 1}
        assert len(store) == 2


def test_a_damaged_line_is_named_and_what_follows_it_is_kept(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        for key in "abc":
            store.put(key, {"case": key}, SUMMARY)
    path = tmp_path / "s" / STORE_FILE
    damaged = path.read_bytes().replace(b'"b"', b'"b', 1)
    path.write_bytes(damaged)
    with Store(tmp_path / "s") as store:
        assert (store.damaged, store.get("b"), store.get("c")) == ([2], None, {"case": "c", "seed": 1})
        store.put("b", {"case": "b"}, SUMMARY)
    assert path.read_bytes().startswith(damaged)
    with Store(tmp_path / "s") as store:
        assert (store.damaged, store.get("b"), len(store)) == ([2], {"case": "b", "seed": 1}, 3)


def test_two_studies_do_not_write_into_one_store(tmp_path: Path) -> None:
    with Store(tmp_path / "s"), pytest.raises(InputError, match="another study"), Store(tmp_path / "s"):
        pass


def test_a_store_leaves_other_folders_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="left alone"):
        Store(tmp_path)


def test_a_key_depends_on_all_that_decides_a_run() -> None:
    keys = {
        run_key("h", 1, (), "e"),
        run_key("i", 1, (), "e"),
        run_key("h", 2, (), "e"),
        run_key("h", 1, ("packets",), "e"),
        run_key("h", 1, (), "f"),
        run_key("h", 1, (), "e", "a check"),
    }
    assert len(keys) == 6


def test_a_check_that_is_new_or_edited_measures_runs_anew(tmp_path: Path) -> None:
    (tmp_path / "checks.py").write_text("def one(run): return 1")
    before = checks_key({"one"}, tmp_path)
    assert checks_key({"one", "two"}, tmp_path) != before
    (tmp_path / "checks.py").write_text("def one(run): return 2")
    assert checks_key({"one"}, tmp_path) != before
    assert checks_key((), tmp_path) == ""


# ---- measures


def flow(name: str, elapsed_s: float | None, retransmissions: int = 0) -> dict[str, Any]:
    milestones = [{"bytes": 10240, "elapsed_s": 5.0, "retransmissions": 1}]
    return {"flow": name, "bytes": 102400, "elapsed_s": elapsed_s, "retransmissions": retransmissions,
            "throughput_Bps": None if elapsed_s is None else 102400 / elapsed_s, "milestones": milestones}  # fmt: skip


OUTCOME: dict[str, Any] = {
    "flows": [flow("a", 100.0, 3), flow("b", 80.0, 5)],
    "links": [{"link": "hop", "direction": "down", "queue_drops": 7}],
    "checked": {"own": 4},
}


@pytest.mark.parametrize(
    ("metric", "scope", "expected"),
    [
        (Metric("", flow="elapsed_s", fold="min"), None, 80.0),
        (Metric("", flow="elapsed_s", fold="max"), None, 100.0),
        (Metric("", flow="retransmissions"), None, 8.0),
        (Metric("", flow="retransmissions", fold="mean"), None, 4.0),
        (Metric("", flow="elapsed_s", fold="max"), 10240, 5.0),
        (Metric("", flow="throughput_Bps", fold="min"), 10240, 2048.0),
        (Metric("", flow="throughput_Bps", fold="jain"), 10240, 100.0),
        (Metric("", flow="throughput_Bps", fold="min", less_s=1.0), 10240, 2560.0),
        (Metric("", link="hop.down.queue_drops"), None, 7.0),
        (Metric("", check="own"), None, 4.0),
    ],
)
def test_a_metric_is_read_from_an_outcome(metric: Metric, scope: int | None, expected: float) -> None:
    assert measure(metric, OUTCOME, scope) == expected


def test_a_flow_that_did_not_finish_has_no_elapsed_time() -> None:
    with pytest.raises(RunError, match="flow a"):
        measure(Metric("", flow="elapsed_s"), {"flows": [flow("a", None)]}, None)


def test_a_flow_that_took_no_longer_than_is_taken_off_has_no_throughput() -> None:
    with pytest.raises(RunError, match=r"flow a took no longer than the 100\.0 s"):
        measure(Metric("", flow="throughput_Bps", less_s=100.0), OUTCOME, None)


@pytest.mark.parametrize(
    "metric", [Metric("", flow="elapsed"), Metric("", link="hop.down.queue"), Metric("", link="hop.up.queue_drops")]
)
def test_a_metric_of_nothing_is_wrong_input(metric: Metric) -> None:
    with pytest.raises(InputError):
        measure(metric, OUTCOME, None)


# ---- expressions


@given(NUMBERS, NUMBERS, NUMBERS)
def test_an_expression_means_what_it_means_in_python(a: float, b: float, c: float) -> None:
    values = {"a": a, "b": b, "c": c}
    assert evaluate("a < b < c or not a + 2 * b >= -c", values) == (a < b < c or not a + 2 * b >= -c)
    assert evaluate("max(a, b, c) - min(a, b) == abs(c) and round(a) != b / 4", values) == (
        max(a, b, c) - min(a, b) == abs(c) and round(a) != b / 4
    )


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "a.b",
        "a if b else c",
        "[a]",
        "lambda: a",
        "open",
        "'x'",
        "a in b",
        "f'{a}'",
        "a ** b",
        "a <",
        "a >> b",
        "a < unknown",
        "a < 1 or b.real",
        "abs(a, b)",
        "max(a)",
        "",
    ],
)
def test_an_expression_reaches_nothing_else(text: str) -> None:
    with pytest.raises(InputError, match="expression"):
        evaluate(text, {"a": 1.0, "b": 2.0, "c": 3.0})


@pytest.mark.parametrize("text", ["a / 0 > b", "a < 1 or a / (2 - 2) > b", "a / -0.0"])
def test_what_always_divides_by_zero_is_refused_unjudged(text: str) -> None:
    with pytest.raises(InputError, match="divides by zero"):
        parse(text, {"a", "b"})


def test_what_divides_by_a_value_is_known_when_that_is() -> None:
    parse("a / (b - b) > 1", {"a", "b"})
    with pytest.raises(ArithmeticError):
        evaluate("a / (b - 2) > 1", {"a": 1.0, "b": 2.0})


# ---- published values and rows


def write(path: Path, text: str) -> PublishedFile:
    path.write_text(text)
    return PublishedFile(path, "value", "stat", "uncertain")


COLUMNS = ("table", "buffer_pkts", "metric")
HEAD = "table,buffer_pkts,stat,metric,value,uncertain\n"


def test_published_statistics_of_one_row_are_joined(tmp_path: Path) -> None:
    source = write(tmp_path / "p.csv", HEAD + "14,3,q25,elapsed_s,1.5,0\n14,3,median,elapsed_s,2,1\n")
    found = read_published(source, COLUMNS)
    assert found == {("14", "3", "elapsed_s"): Published({"q25": 1.5, "median": 2.0}, 1)}


def test_a_published_value_that_is_no_number_is_said_with_its_line(tmp_path: Path) -> None:
    source = write(tmp_path / "p.csv", HEAD + "14,3,median,elapsed_s,2,0\n14,3,q25,elapsed_s,two,0\n")
    with pytest.raises(InputError, match=r"p\.csv:3: value: 'two' is no number"):
        read_published(source, COLUMNS)


def a_study(spans: tuple[int, ...]) -> tuple[Study, Row]:
    variants = tuple(Variant(span, f"h{span}", '{"seed": 1}') for span in spans)
    case = Case("c", {"buffer_pkts": 3}, ("14",), (), (1, 2, 3), variants)
    row = Row("14", "c", None, "elapsed_s", "slowest", {"table": "14", "buffer_pkts": "3", "metric": "elapsed_s"})
    metrics = {"slowest": Metric("", flow="elapsed_s", fold="max")}
    tables = {"14": Table("14", "", ["c"])}
    study = Study("s", "", Path(), COLUMNS, None, {}, metrics, tables, {"c": case}, [row], [], [], ["14"])
    return study, row


def outcomes(*elapsed: float | None) -> list[dict[str, Any]]:
    return [{"flows": [flow("a", seconds)]} for seconds in elapsed]


PUBLISHED: dict[tuple[str, ...], Published] = {("14", "3", "elapsed_s"): Published({"median": 100.0, "q25": 99.0}, 0)}


def test_a_row_sets_measured_beside_published() -> None:
    study, row = a_study((0,))
    found = report(study, row, {("c", 0): outcomes(90.0, 110.0, 102.0)}, PUBLISHED)
    assert found["table"] == 14
    assert found["buffer_pkts"] == 3
    assert (found["published"], found["measured"], found["ratio"], found["n"]) == (100.0, 102.0, 1.02, 3)
    assert (found["q25"], found["q75"], found["ci95"]) == (96.0, 106.0, [90.0, 110.0])
    assert "low" not in found


def test_a_quotient_is_taken_seed_by_seed() -> None:
    study, row = a_study((0,))
    other = replace(row, measure="fastest", columns={**row.columns, "metric": "fastest"})
    quotient = replace(row, columns={**row.columns, "metric": "share"}, quotient=(0, 1))
    metrics = {**study.metrics, "fastest": Metric("", flow="elapsed_s", fold="min", divided_by=10)}
    study = replace(study, rows=[row, other, quotient], metrics=metrics)
    runs = [{"flows": [flow("a", slow), flow("b", 10.0)]} for slow in (20.0, 30.0, 50.0)]
    found = report(study, quotient, {("c", 0): runs}, {})
    assert (found["measured"], found["q25"], found["n"]) == (30.0, 25.0, 3)


def seeds_after(numerator: list[float], denominator: list[float]) -> dict[str, int] | None:
    """Return the number of runs of each of two cases when their quotient is narrow enough, or should be."""
    study, row = a_study((0,))
    seeds = tuple(range(len(numerator)))
    cases = {name: replace(study.cases["c"], id=name, seeds=seeds) for name in ("over", "under")}
    rows = [*(replace(row, case=name) for name in cases), replace(row, case="over", quotient=(0, 1))]
    runs = {("over", 0): outcomes(*numerator), ("under", 0): outcomes(*denominator)}
    wider = widened(replace(study, cases=cases, rows=rows), runs, Precision(within=0.05))
    return None if wider is None else {name: len(case.seeds) for name, case in wider.cases.items()}


def test_what_is_reported_closely_enough_is_the_quotient_itself() -> None:
    steady, rising, falling = (
        [100.0] * 6,
        [96.0, 97.0, 99.0, 101.0, 103.0, 104.0],
        [104.0, 103.0, 101.0, 99.0, 97.0, 96.0],
    )
    assert seeds_after(steady, steady) is None
    assert seeds_after(rising, steady) is None, "the interval reaches 4 % to either side"
    assert seeds_after(rising, rising) is None
    assert seeds_after(rising, falling) == {"over": 9, "under": 9}, "either is narrow, their quotient is not"


def test_a_row_has_the_mean_and_its_interval() -> None:
    study, row = a_study((0,))
    found = report(study, row, {("c", 0): outcomes(90.0, 110.0, 103.0)}, {})
    # Student's t of two degrees of freedom is 4.3027; the deviation of the three is 10.149.
    assert found["mean"] == 101.0
    assert (found["mean_low"], found["mean_high"]) == (pytest.approx(75.79, abs=0.01), pytest.approx(126.21, abs=0.01))


def smallest_of(reached: dict[float, tuple[float, float, float]], reaches: float) -> dict[str, Any]:
    """The row of the smallest buffer, given for each the number of three seeds."""
    study, row = a_study((0,))
    cases = {f"c{buffer}": replace(study.cases["c"], id=f"c{buffer}") for buffer in reached}
    rows = [replace(row, case=case) for case in cases]
    tried = [(buffer, place) for place, buffer in enumerate(reached)]
    need = replace(row, columns={**row.columns, "metric": "need"}, smallest=Smallest(tried, reaches))
    study = replace(study, cases=cases, rows=[*rows, need])
    runs = {(f"c{buffer}", 0): outcomes(*numbers) for buffer, numbers in reached.items()}
    return report(study, replace(need, case="c3"), runs, {})


def test_the_smallest_that_is_enough_is_sought_seed_by_seed() -> None:
    found = smallest_of({3: (70.0, 90.0, 80.0), 5: (90.0, 91.0, 89.0), 9: (95.0, 95.0, 95.0)}, 90.0)
    assert (found["measured"], found["mean"], found["n"]) == (5, pytest.approx(17 / 3), 3)


def test_what_is_enough_only_by_chance_is_not_the_smallest() -> None:
    island = smallest_of({3: (95.0, 95.0, 95.0), 5: (80.0, 80.0, 80.0), 9: (95.0, 95.0, 95.0)}, 90.0)
    assert (island["measured"], island["n"]) == (9, 3)
    last = smallest_of({3: (95.0, 95.0, 95.0), 5: (80.0, 80.0, 80.0)}, 90.0)
    assert (last["measured"], last["n"]) == (None, 0)


def test_where_one_seed_never_reaches_the_level_there_is_no_smallest() -> None:
    found = smallest_of({3: (95.0, 95.0, 80.0), 5: (96.0, 96.0, 89.0)}, 90.0)
    assert (found["measured"], found["n"]) == (None, 0)


def test_a_row_over_a_span_reports_its_lowest_and_highest_median() -> None:
    study, row = a_study((-1, 0, 1))
    runs = {
        ("c", -1): outcomes(80.0, 80.0, 81.0),
        ("c", 0): outcomes(90.0, 90.0, 90.0),
        ("c", 1): outcomes(99.0, 1, 99),
    }
    found = report(study, row, runs, PUBLISHED)
    assert (found["low"], found["measured"], found["high"]) == (80.0, 90.0, 99.0)


def test_a_row_that_was_not_run_to_its_end_has_no_number() -> None:
    study, row = a_study((-1, 0))
    found = report(study, row, {("c", 0): outcomes(90.0, 90.0)}, PUBLISHED)
    assert (found["measured"], found["ci95"], found["low"], found["high"], found["n"]) == (None, None, None, None, 0)


def test_a_row_with_a_flow_that_did_not_finish_has_no_number() -> None:
    study, row = a_study((0,))
    assert report(study, row, {("c", 0): outcomes(90.0, None, 90.0)}, PUBLISHED)["measured"] is None


def test_a_row_that_nobody_published_has_no_published_value() -> None:
    study, row = a_study((0,))
    found = report(study, row, {("c", 0): outcomes(90.0, 90.0, 90.0)}, {})
    assert (found["published"], found["ratio"], found["measured"]) == (None, None, 90.0)


# ---- agreement


def a_kind(**more: Any) -> Agreement:
    return Agreement(**{"kind": "k", "only": {}, "within": 0.0, "or_": 0.0, "deviations": 0.0, "runs": None, **more})


def test_the_first_kind_that_fits_judges_a_row() -> None:
    random, rest = a_kind(kind="random", only={"delay": ["rand*"]}, runs=20), a_kind(kind="rest", within=0.1)
    assert kind_of([random, rest], {"delay": "rand0.01@6s"}) is random
    assert kind_of([random, rest], {"delay": "none"}) is rest
    assert kind_of([random], {"delay": "none"}) is None


@pytest.mark.parametrize(("published", "agrees"), [(97.6, True), (102.4, True), (97.4, False), (102.6, False)])
def test_a_row_agrees_within_a_share_of_what_was_measured(published: float, agrees: bool) -> None:
    row = {"published": published, "uncertain": 0, "measured": 100.0}
    assert judged(a_kind(within=0.025), row, [100.0])["agrees"] is agrees


def test_a_span_is_widened_and_a_small_count_may_differ_by_a_number() -> None:
    spanned = {"published": 81.0, "uncertain": 0, "measured": 100.0, "low": 90.0, "high": 110.0}
    assert judged(a_kind(within=0.1), spanned, [100.0])["agrees"] is True
    assert judged(a_kind(within=0.05), spanned, [100.0])["agrees"] is False
    count = {"published": 3, "uncertain": 0, "measured": 1.0}
    assert judged(a_kind(within=0.1, or_=2), count, [1.0])["agrees"] is True
    assert judged(a_kind(within=0.1, or_=1), count, [1.0])["agrees"] is False


def test_a_row_may_differ_by_a_number_of_published_deviations() -> None:
    row = {"published": 53.0, "published_deviation": 2.0, "uncertain": 0, "measured": 56.5}
    assert judged(a_kind(within=0.01, deviations=2), row, [56.5])["agrees"] is True
    assert judged(a_kind(within=0.01, deviations=1), row, [56.5])["agrees"] is False
    assert judged(a_kind(deviations=2), row | {"published_deviation": None}, [56.5])["agrees"] is False


def test_what_is_unsure_or_not_published_is_not_judged_and_what_was_not_measured_does_not_agree() -> None:
    row = {"published": 5.0, "uncertain": 0, "measured": 5.0}
    assert judged(a_kind(within=0.1), row | {"uncertain": 1}, [5.0])["agrees"] is None
    assert judged(a_kind(within=0.1), row | {"published": None}, [5.0])["agrees"] is None
    assert judged(a_kind(within=0.1), row | {"measured": None}, None)["agrees"] is False
    assert judged(None, row, [5.0]) == {"kind": None, "agrees": None}


def test_a_random_row_is_judged_by_the_median_of_as_many_runs_as_the_document_has() -> None:
    numbers = [float(number) for number in range(1, 202)]
    row = {"published": 130.0, "uncertain": 0, "measured": 101.0}
    # Half of 1.96 · √(1/201 + 1/20) is 23 % of the order statistics to each side: 55 to 147; with 400 runs, 12 %.
    assert judged(a_kind(runs=20), row, numbers)["agrees"] is True
    assert judged(a_kind(runs=400), row, numbers)["agrees"] is False


@given(st.lists(NUMBERS, min_size=1), st.integers(1, 1000))
def test_the_interval_of_two_medians_holds_ours(numbers: list[float], runs: int) -> None:
    low, high = two_medians_interval(sorted(numbers), runs)
    assert low <= quantile(sorted(numbers), 0.5) <= high


def test_agreement_is_counted_by_kind_and_scope_and_by_table() -> None:
    rows = [
        {"table": 1, "scope": "full", "kind": "a", "agrees": True},
        {"table": 1, "scope": "first10k", "kind": "a", "agrees": False},
        {"table": 2, "scope": "full", "kind": "a", "agrees": True},
        {"table": 2, "scope": "full", "kind": None, "agrees": None},
    ]
    assert counted(rows) == {
        "kinds": [
            {"kind": "a", "scope": "full", "agree": 2, "rows": 2},
            {"kind": "a", "scope": "first10k", "agree": 0, "rows": 1},
        ],
        "tables": [{"table": 1, "agree": 1, "rows": 2}, {"table": 2, "agree": 1, "rows": 1}],
    }


def test_published_rows_without_an_experiment_are_named() -> None:
    study, _ = a_study((0,))
    found = unmatched(study, PUBLISHED | {("14", "20", "elapsed_s"): Published({"median": 1.0})})
    assert found == [{"table": 14, "buffer_pkts": 20, "metric": "elapsed_s"}]


@pytest.mark.parametrize("name", [entry.name for entry in catalogue.entries("studies")])
def test_every_published_value_of_the_library_has_an_experiment(name: str) -> None:
    study = load_study(name)
    if isinstance(study.published, PublishedFile):
        assert unmatched(study, read_published(study.published, study.columns)) == []
