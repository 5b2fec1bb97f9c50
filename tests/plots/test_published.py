"""Published and measured values: rows, groups, ratios, spans."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from lasthop.errors import InputError
from lasthop.plots import Tables, View, draw
from lasthop.plots.published import WIDEST_PERCENT


def row(buffer: int, delay: str, metric: str = "elapsed_s", **values: Any) -> dict[str, Any]:
    case = {
        "table": 14,
        "enhancement": "baseline",
        "buffer_pkts": buffer,
        "delay_spec": delay,
        "metric": metric,
    }
    known = {"published": 100.0, "measured": 101.0, "q25": 100.0, "q75": 103.0, "low": None, "high": None}
    return case | known | values


def study(*rows: dict[str, Any]) -> Tables:
    return Tables({"rows": pa.Table.from_pylist(list(rows))}, "study")


def labels(figure: Figure) -> list[str]:
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def points(axes: Axes, words: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    (line,) = [line for line in axes.lines if str(line.get_label()) == words]
    return np.asarray(line.get_xydata(), dtype=np.float64)


def bars(axes: Axes, words: str) -> list[Any]:
    return [
        segment
        for each in axes.collections
        if isinstance(each, LineCollection) and each.get_label() == words
        for segment in each.get_segments()
    ]


def test_rows_stand_in_groups_under_their_headings() -> None:
    rows = [row(3, "none"), row(7, "none"), row(3, "12@6s"), row(7, "20@6s"), row(7, "rand0.01@6s")]
    figure = draw("published", study(*rows))
    assert labels(figure) == ["buffer 3", "none", "12@6s", "buffer 7", "none", "20@6s", "rand0.01@6s"]


def test_a_metric_in_seconds_has_a_panel_of_values_and_one_of_ratios() -> None:
    figure = draw("published", study(row(3, "none"), row(7, "none", measured=110.0)))
    value, ratio = figure.axes
    assert points(value, "measured median")[:, 0].tolist() == [101.0, 110.0]
    assert points(value, "published")[:, 0].tolist() == [100.0, 100.0]
    assert points(ratio, "measured median")[:, 0] == pytest.approx([1.0, 10.0])


def test_a_count_has_no_panel_of_ratios() -> None:
    figure = draw("published", study(row(3, "none", "drops"), row(7, "none", "drops")))
    assert [axes.get_xlabel() for axes in figure.axes] == ["Dropped"]


def test_spans_and_quartiles_are_bars_from_end_to_end() -> None:
    figure = draw("published", study(row(3, "none"), row(3, "12@6s", low=95.0, high=112.0)))
    ((low, high),) = bars(figure.axes[0], "span of the runs")
    assert (low[0], high[0]) == (95.0, 112.0)
    assert len(bars(figure.axes[0], "measured quartiles")) == 2


def test_published_quartiles_are_drawn_where_they_are_known() -> None:
    known = row(3, "none", published_q25=99.0, published_q75=104.0)
    figure = draw("published", study(known, row(7, "none")))
    assert len(bars(figure.axes[0], "published quartiles")) == 1


def test_a_ratio_beyond_the_widest_axis_becomes_an_arrow_at_its_edge() -> None:
    figure = draw("published", study(row(3, "none"), row(7, "none", measured=200.0)))
    ratio = figure.axes[1]
    assert ratio.get_xlim() == (-WIDEST_PERCENT, WIDEST_PERCENT)
    (arrow,) = [line for line in ratio.lines if line.get_marker() == ">"]
    assert np.asarray(arrow.get_xdata()).tolist() == [WIDEST_PERCENT]


def test_rows_without_a_published_or_a_measured_value_keep_their_place() -> None:
    figure = draw("published", study(row(3, "none", published=None), row(7, "none", measured=None)))
    assert labels(figure) == ["buffer 3", "buffer 7"]
    assert np.isnan(points(figure.axes[0], "published")[0, 0])
    assert np.isnan(points(figure.axes[0], "measured median")[1, 0])


def test_a_picture_of_26_rows_gives_each_its_room() -> None:
    figure = draw("published", study(*(row(buffer, f"{n}@6s") for buffer in (3, 7) for n in range(13))))
    assert len(labels(figure)) == 28
    assert figure.get_figheight() / 28 > 0.15


def test_one_table_and_one_metric_can_be_asked_for() -> None:
    rows = [row(3, "none"), row(3, "none", "drops"), row(3, "none") | {"table": 15}]
    figure = draw("published", study(*rows), View(table="14", metric="drops"))
    assert figure.axes[0].get_xlabel() == "Dropped"
    with pytest.raises(InputError, match="choose one of 14, 15"):
        draw("published", study(*rows), View(table="3"))
    with pytest.raises(InputError, match="choose one of elapsed_s, drops"):
        draw("published", study(*rows), View(metric="rexmt"))


def test_no_rows_at_all_give_a_picture_that_says_so() -> None:
    empty = study(row(3, "none")).table("rows").slice(0, 0)
    figure = draw("published", Tables({"rows": empty}))
    assert [text.get_text() for text in figure.axes[0].texts] == ["no row to draw"]
