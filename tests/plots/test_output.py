"""Every kind in every format: the same bytes each time; and what is said where a picture cannot be drawn."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pyarrow as pa
import pytest

import lasthop
from lasthop.errors import InputError
from lasthop.plots import FORMATS, KINDS, Kind, Tables, View, draw, render, save
from plots.modem_run import SCHEMAS, ModemRun

ROWS = [
    {
        "table": 3,
        "buffer_pkts": buffer,
        "metric": "drops",
        "published": 18.0,
        "measured": 18.0,
        "q25": 17.0,
        "q75": 19.0,
    }
    for buffer in (3, 7)
]

VARIABLES = [
    {"time_ns": at * 10**9, "flow": "download", "host": "server", "connection": 0, "name": name, "value": value}
    for at, name, value in [(0, "count", 1.0), (0, "beta", 717.0), (1, "count", 4.0), (2, "count", 2.0)]
]

RUN_KINDS = [kind for kind in KINDS if kind.id != "published"]
TIMED_KINDS = [kind for kind in RUN_KINDS if kind.id != "cell"]
"""Pictures with a time axis: the plan of a cell has none."""


@pytest.fixture(scope="module")
def source() -> Tables:
    cell = lasthop.run("hsdpa-cell", overrides=['stop="2 s"', "record.tables=[]"])
    pages = [{"flow": "download", "start_ns": 0, "end_ns": at * 10**9, "bytes": 10_000} for at in (1, 2, 4)]
    tables = {
        "rows": pa.Table.from_pylist(ROWS),
        "cell_users": cell.table("cell_users"),
        "transfers": pa.Table.from_pylist(pages),
        "variables": pa.Table.from_pylist(VARIABLES),
    }
    return Tables(ModemRun({20: 6.0}).run() | tables, "modem")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
@pytest.mark.parametrize("format", FORMATS)
def test_the_same_tables_give_the_same_bytes(source: Tables, kind: Kind, format: str) -> None:
    first = render(draw(kind.id, source), format)
    assert first == render(draw(kind.id, source), format)
    assert first.startswith({"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[format])


def test_a_picture_carries_no_date_and_no_version(source: Tables) -> None:
    for format in FORMATS:
        content = render(draw("queue", source), format)
        assert b"<dc:date>" not in content
        assert b"CreationDate" not in content
        assert mpl.__version__.encode() not in content


def test_the_users_own_settings_neither_show_nor_change(source: Tables) -> None:
    plain = render(draw("cwnd", source), "svg")
    with mpl.rc_context({"lines.linewidth": 9.0, "font.size": 30.0}):
        assert render(draw("cwnd", source), "svg") == plain
        assert mpl.rcParams["lines.linewidth"] == 9.0


@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize("kind", RUN_KINDS, ids=lambda kind: kind.id)
def test_the_legend_stays_within_the_picture(source: Tables, kind: Kind, width: str) -> None:
    figure = draw(kind.id, source, View(width="column" if width == "column" else "page"))
    render(figure, "png")
    frame = figure.bbox
    for artist in (*figure.legends, *figure.axes):
        box = artist.get_tightbbox()
        assert box is not None
        assert box.x0 >= frame.x0
        assert box.x1 <= frame.x1 + 1
        assert box.y0 >= frame.y0
        assert box.y1 <= frame.y1 + 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
def test_a_missing_table_is_named_with_the_way_to_get_it(kind: Kind) -> None:
    with pytest.raises(InputError) as caught:
        draw(kind.id, Tables({}))
    assert repr(kind.needs[0]) in caught.value.message
    assert caught.value.help is not None
    remedies = {"published": "lasthop study", "cell": "hsdpa-cell"}
    assert remedies.get(kind.id, "[record]") in caught.value.help
    assert caught.value.exit_status == 2


def test_a_picture_of_one_run_cannot_be_drawn_from_a_study() -> None:
    with pytest.raises(InputError, match="from the result of one run"):
        draw("cwnd", Tables({"rows": pa.Table.from_pylist(ROWS)}))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
def test_what_a_kind_does_not_need_may_be_missing(source: Tables, kind: Kind) -> None:
    bare = Tables({name: source.table(name) for name in kind.needs})
    assert render(draw(kind.id, bare), "svg")


@pytest.mark.parametrize("kind", TIMED_KINDS, ids=lambda kind: kind.id)
def test_a_time_outside_the_run_is_answered_with_the_time_there_is(source: Tables, kind: Kind) -> None:
    with pytest.raises(InputError, match="start at 500 s, after the end — the data are between 0") as caught:
        draw(kind.id, source, View(start_s=500, end_s=600))
    assert caught.value.exit_status == 2
    with pytest.raises(InputError, match="end at -1 s, before the beginning"):
        draw(kind.id, source, View(end_s=-1))


@pytest.mark.parametrize("kind", ["time-sequence", "cwnd", "rtt"])
def test_an_unknown_flow_is_answered_with_the_flows_there_are(source: Tables, kind: str) -> None:
    with pytest.raises(InputError, match="choose one of download"):
        draw(kind, source, View(flow="upload"))


@pytest.mark.parametrize("kind", ["time-sequence", "cwnd", "rtt"])
def test_a_result_without_any_flow_says_so(kind: str) -> None:
    empty = Tables({name: schema.empty_table() for name, schema in SCHEMAS.items()})
    with pytest.raises(InputError, match="no flow"):
        draw(kind, empty)


@pytest.mark.parametrize("kind", ["queue", "progress"])
def test_empty_tables_give_a_picture_that_says_so(kind: str) -> None:
    empty = Tables({name: schema.empty_table() for name, schema in SCHEMAS.items()})
    (axes,) = draw(kind, empty).axes
    assert len(axes.texts) == 1


def test_a_flow_that_sent_no_data_gives_a_picture_that_says_so(source: Tables) -> None:
    segments = source.table("segments")
    acks = segments.filter(pa.compute.equal(segments["len"], 0))
    (axes,) = draw("time-sequence", Tables({"segments": acks})).axes
    assert "no data" in axes.texts[0].get_text()


def test_an_unknown_kind_or_format_is_answered_with_those_there_are(source: Tables, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose one of time-sequence, cwnd"):
        draw("pie", source)
    with pytest.raises(InputError, match="choose one of svg, pdf, png"):
        save(draw("queue", source), tmp_path / "queue.gif")
    assert not list(tmp_path.iterdir())


def test_a_picture_that_would_end_before_it_starts_is_refused() -> None:
    with pytest.raises(InputError, match="--to a later time than --from"):
        View(start_s=5, end_s=5)


def test_a_picture_is_written_in_the_format_of_its_name(source: Tables, tmp_path: Path) -> None:
    path = save(draw("queue", source), tmp_path / "pictures" / "queue.pdf")
    assert path.read_bytes().startswith(b"%PDF")


def test_tables_may_come_as_arrow_capsules(source: Tables) -> None:
    class Capsule:
        def __init__(self, table: pa.Table) -> None:
            self.table = table

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            return self.table.__arrow_c_stream__(requested_schema)

    assert draw("queue", Tables({"queue": Capsule(source.table("queue"))})).axes[0].lines


def test_a_table_of_another_form_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="'queue' has no column 'link'"):
        draw("queue", Tables({"queue": pa.table({"time_ns": [1], "packets": [1]})}))


@pytest.mark.parametrize("kind", ["cwnd", "rtt"])
def test_what_a_kernel_decided_is_not_drawn_as_an_empty_picture(kind: str) -> None:
    tables = ModemRun({20: 6.0}).run()
    with pytest.raises(InputError, match="a kernel's TCP has packets only"):
        draw(kind, Tables(tables | {"tcp": tables["tcp"].slice(0, 0)}))
