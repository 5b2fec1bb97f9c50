"""Pictures of long runs, of several runs, and of what a distribution is; options that a picture does not have."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import lasthop as api
from command import Lasthop
from lasthop.cli.showing import blocks, kitty, way_of
from lasthop.errors import InputError
from lasthop.plots import View, draw, render
from lasthop.plots.delay import distribution
from lasthop.plots.span import Span, round_edges
from lasthop.plots.thinning import FEW, ROWS, STEP_COLUMNS, Sheet, spots, steps, strokes

SHEET = Sheet(Span(0.0, 100.0), 0.0, 1e6)


@pytest.fixture(scope="module")
def long() -> api.Run:
    """A transfer of 40,000 segments with many drops."""
    overrides = [
        "flows.download.bytes='58 MB'",
        "links.lasthop.down.rate='50 Mbit/s'",
        "links.lasthop.up.rate='50 Mbit/s'",
        "links.lasthop.down.queue.limit='400 packets'",
        "record.captures=[]",
    ]
    return api.run("quickstart", overrides=overrides)


def test_strokes_of_one_column_that_touch_become_one_and_cover_the_same() -> None:
    random = np.random.default_rng(1)
    time = np.sort(random.uniform(0, 100, 20_000))
    start = random.uniform(0, 9e5, 20_000)
    end = start + random.uniform(1e3, 1e5, 20_000)
    drawn_time, low, high = strokes(SHEET, time, start, end)
    assert len(drawn_time) < len(time)
    column, drawn_column = SHEET.column(time), SHEET.column(drawn_time)
    for at in random.integers(0, 20_000, 300):
        same = drawn_column == column[at]
        inside = (low[same] <= start[at]) & (high[same] >= end[at])
        assert inside.any()
    apart = np.diff(drawn_column) > 0
    assert (apart | (low[1:] > high[:-1] + 1e6 / ROWS)).all()


def test_few_strokes_are_left_as_they_are() -> None:
    time = np.linspace(0, 100, FEW)
    assert strokes(SHEET, time, time, time + 1)[0] is time


def test_steps_keep_the_extremes_of_each_column() -> None:
    random = np.random.default_rng(2)
    time = np.linspace(0, 100, 50_000)
    value = random.uniform(0, 1e6, 50_000)
    kept_time, kept = steps(SHEET, time, value)
    assert len(kept) <= 4 * (STEP_COLUMNS + 2)
    assert (kept.min(), kept.max()) == (value.min(), value.max())
    for column in random.integers(0, STEP_COLUMNS, 100):
        mine, theirs = (
            value[SHEET.column(time, STEP_COLUMNS) == column],
            kept[SHEET.column(kept_time, STEP_COLUMNS) == column],
        )
        assert (mine.min(), mine.max(), mine[-1]) == (theirs.min(), theirs.max(), theirs[-1])


def test_every_mark_is_counted_where_one_stands_for_many() -> None:
    time, value = np.repeat([10.0, 50.0, 90.0], 400), np.repeat([1e5, 5e5, 9e5], 400)
    drawn, stands_for = spots(SHEET, time, value)
    assert int(drawn.sum()) == 3
    assert list(stands_for) == [400, 400, 400]


def test_a_long_picture_is_small_and_counts_every_drop(long: api.Run) -> None:
    figure = draw("time-sequence", long)
    svg = render(figure, "svg")
    assert len(svg) < 500_000
    text = svg.decode()
    assert "<image" not in text
    drops = sum(row["queue_drops"] for row in long.summary["links"])
    assert drops > 300
    assert f">dropped ({drops})</text>" in text
    assert re.search(r">×\d\d+</text>", text)


def words(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


@pytest.mark.parametrize("kind", ["throughput", "cdf", "delay"])
def test_several_runs_are_drawn_in_one_picture(lasthop: Lasthop, tmp_path: Path, kind: str) -> None:
    for profile in ("newreno", "tahoe"):
        ended = lasthop("run", "quickstart", "--set", f"hosts.server.profile={profile}", "--out", profile)
        assert ended.status == 0, ended.err
    assert lasthop("plot", "newreno", kind, "--with", "tahoe", "--out", "both.svg").status == 0
    svg = (tmp_path / "both.svg").read_text()
    assert re.search(r">newreno\b", svg)
    assert re.search(r">tahoe\b", svg)


def test_the_throughput_adds_up_to_the_bytes(long: api.Run) -> None:
    (axes,) = draw("throughput", long).axes
    (stairs,) = axes.patches
    values, edges, _ = stairs.get_data()  # type: ignore[attr-defined]  # it is a StepPatch
    megabytes = float((values * np.diff(edges)).sum()) / 8
    assert megabytes == pytest.approx(58, rel=1e-6)


def test_the_edges_of_short_times_are_round_and_cover_the_span() -> None:
    edges = round_edges(Span(3.3, 61.0), 120)
    assert edges[1] - edges[0] == pytest.approx(0.5)
    assert edges[0] <= 3.3
    assert edges[-1] >= 61.0


def test_a_distribution_begins_at_zero_and_ends_at_one() -> None:
    value, share = distribution(np.arange(5000.0))
    assert (value[0], share[0]) == (0.0, 0.0)
    assert (value[-1], share[-1]) == (4999.0, 1.0)
    assert len(value) <= 1001


def test_delays_are_at_least_the_propagation(long: api.Run) -> None:
    (axes,) = draw("cdf", long).axes
    (line,) = axes.lines
    assert np.asarray(line.get_xdata()).min() >= 50.0


@pytest.mark.parametrize(
    ("kind", "view"),
    [
        ("queue", View(flow="download")),
        ("rtt", View(unit="segments")),
        ("time-sequence", View(links=("lasthop",))),
        ("cwnd", View(table="14")),
        ("time-sequence", View(beside=(("other", None),))),  # type: ignore[arg-type]  # refused unread
    ],
)
def test_options_that_a_picture_does_not_have_are_refused(long: api.Run, kind: str, view: View) -> None:
    with pytest.raises(InputError, match=f"the picture '{kind}' has no option --"):
        draw(kind, long, view)


def test_a_terminal_shows_pictures_in_its_own_way() -> None:
    assert way_of({"KITTY_WINDOW_ID": "1", "DISPLAY": ":0"}, is_terminal=True) == "kitty"
    assert way_of({"TERM_PROGRAM": "iTerm.app"}, is_terminal=True) == "iterm"
    assert way_of({}, is_terminal=True) == "blocks"
    with pytest.raises(InputError, match="neither a terminal nor a display"):
        way_of({}, is_terminal=False)
    chunks = list(kitty(b"x" * 9000))
    assert [chunk[:3] for chunk in chunks] == ["\x1b_G"] * 3
    assert ["m=1" in chunk[:20] for chunk in chunks] == [True, True, False]
    red_over_blue = np.array([[[255, 0, 0]], [[0, 0, 255]]], dtype=np.uint8)
    assert blocks(red_over_blue) == "\x1b[38;2;255;0;0;48;2;0;0;255m▀\x1b[0m\n"
