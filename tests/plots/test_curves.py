"""Curves through a study's rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from lasthop.chart import Chart
from lasthop.errors import InputError
from lasthop.plots import Tables, draw_curves


def row(acks: str, flows: int, metric: str, mean: float, rate: int = 1) -> dict[str, Any]:
    names = {"table": "6.7", "acks": acks, "flows": flows, "rate": rate, "metric": metric}
    values = {"published": None, "measured": mean, "mean": mean, "mean_low": mean - 1, "mean_high": mean + 1, "n": 5}
    return names | values


ROWS = [
    row("2w", 4, "utilisation", 97.0),
    row("2w", 1, "utilisation", 73.0),
    row("ae", 1, "utilisation", 99.0),
    row("ae", 4, "utilisation", 99.5),
    row("2w", 1, "drops", 2.0),
    row("2w", 4, "drops", 9.0),
    row("2w", 1, "utilisation", 60.0, rate=100),
]
CHART = Chart("c", "", "6.7", ["utilisation"], "flows", by="acks", only={"rate": ["1"]})


def study(rows: list[dict[str, Any]] = ROWS) -> Tables:
    return Tables({"rows": pa.Table.from_pylist(rows)}, "study")


def curves(axes: Axes) -> dict[str, list[list[float]]]:
    return {str(line.get_label()): np.asarray(line.get_xydata()).tolist() for line in axes.lines}


def test_each_text_of_a_column_is_a_curve_in_ascending_order() -> None:
    (axes,) = draw_curves(study(), CHART, "title").axes
    assert curves(axes) == {"2w": [[1, 73], [4, 97]], "ae": [[1, 99], [4, 99.5]]}


def test_intervals_are_bars() -> None:
    (axes,) = draw_curves(study(), CHART, "title").axes
    bars = [each for each in axes.collections if isinstance(each, LineCollection)]
    assert [segment.tolist() for segment in bars[0].get_segments()] == [[[1, 72], [1, 74]], [[4, 96], [4, 98]]]


def test_two_runs_have_no_bar() -> None:
    rows = [each | {"n": 2} if each["flows"] == 4 else each for each in ROWS]
    (axes,) = draw_curves(study(rows), CHART, "title").axes
    bars = [each for each in axes.collections if isinstance(each, LineCollection)]
    assert [segment.tolist() for segment in bars[0].get_segments()] == [[[1, 72], [1, 74]]]


def test_a_curve_looks_the_same_in_every_panel_also_where_others_are_lacking() -> None:
    rows = [*ROWS, row("ae", 1, "utilisation", 90.0, rate=9)]
    first, _, last = draw_curves(
        study(rows), Chart("c", "", "6.7", ["utilisation"], "flows", by="acks", panels="rate"), ""
    ).axes
    looks = [{str(line.get_label()): line.get_color() for line in axes.lines} for axes in (first, last)]
    assert looks[0]["ae"] == looks[1]["ae"] != looks[0]["2w"]


def test_a_metric_may_stand_along_the_bottom() -> None:
    chart = Chart("c", "", "6.7", ["utilisation"], "drops", only={"rate": ["1"], "acks": ["2w"]})
    (axes,) = draw_curves(study(), chart, "title").axes
    assert list(curves(axes).values()) == [[[2, 73], [9, 97]]]


def test_a_metric_along_the_bottom_may_be_judged_as_another_kind() -> None:
    judged = [each | {"kind": each["metric"], "agrees": each["metric"] == "drops"} for each in ROWS]
    chart = Chart("c", "", "6.7", ["utilisation"], "drops", by="acks", only={"rate": ["1"], "acks": ["2w"]})
    (axes,) = draw_curves(study(judged), chart, "title").axes
    assert curves(axes) == {"2w": [[2, 73], [9, 97]]}


def test_a_column_may_make_panels_and_each_metric_a_row_of_them() -> None:
    chart = Chart("c", "", "6.7", ["utilisation", "drops"], "flows", by="acks", panels="rate", log=True)
    figure = draw_curves(study(), chart, "title")
    assert len(figure.axes) == 4
    assert curves(figure.axes[1]) == {"2w": [[1, 60]]}


def test_rows_without_a_number_leave_a_gap_and_no_rows_are_an_error() -> None:
    gap = row("2w", 2, "utilisation", 0.0) | {"mean": None, "mean_low": None, "mean_high": None}
    (axes,) = draw_curves(study([*ROWS, gap]), CHART, "title").axes
    assert np.isnan(curves(axes)["2w"][1][1])
    with pytest.raises(InputError, match="no row"):
        draw_curves(study(), Chart("c", "", "6.8", ["utilisation"], "flows"), "title")


def test_a_column_of_texts_needs_numbers_in_the_rows_that_are_drawn_alone() -> None:
    other = row("none", 0, "utilisation", 1.0, rate=100) | {"flows": "none"}
    rows = [each | {"flows": str(each["flows"])} for each in ROWS] + [other]
    (axes,) = draw_curves(study(rows), CHART, "title").axes
    assert curves(axes)["2w"] == [[1, 73], [4, 97]]
    with pytest.raises(InputError, match="'none', which is no number"):
        draw_curves(study([*rows, other | {"rate": 1}]), CHART, "title")


def test_the_studys_words_name_axes_and_panels() -> None:
    words = {"flows": "Flows at once", "rate 100": "100 Mbit/s"}
    chart = Chart("c", "", "6.7", ["utilisation"], "flows", by="acks", panels="rate", words=words)
    first, second = draw_curves(study(), chart, "title").axes
    assert first.get_xlabel() == "Flows at once"
    assert (first.get_title(loc="left"), second.get_title(loc="left")) == ("rate 1", "100 Mbit/s")


@pytest.mark.parametrize("own", [False, True])
def test_panels_share_a_scale_unless_each_has_its_own(own: bool) -> None:
    chart = Chart("c", "", "6.7", ["utilisation"], "flows", by="acks", panels="rate", own_scales=own)
    first, second = draw_curves(study(), chart, "title").axes
    assert (first.get_ylim() != second.get_ylim()) == own
