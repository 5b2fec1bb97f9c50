"""Each picture draws what its tables say: how many marks, where, and within which limits."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch

import lasthop as api
from lasthop.errors import InputError
from lasthop.plots import Tables, View, draw
from lasthop.plots.flow import DROPPED, HOLD_SINGLE_PACKETS, HOLD_THE_LINK, sack_blocks
from lasthop.plots.queue_lengths import mean_and_longest
from lasthop.plots.style import note_of
from plots.modem_run import QUEUE_LIMIT, SEGMENT, SEGMENTS, ModemRun

DELAYED_PACKET, DELAY_S = 20, 6.0

ENGINE = Path(__file__).parents[2] / "crates"


@pytest.fixture(scope="module")
def run() -> Tables:
    return Tables(ModemRun({DELAYED_PACKET: DELAY_S}).run(), "modem")


def only_axes(figure: Figure) -> Axes:
    (axes,) = figure.axes
    return axes


def lines(axes: Axes, words: str) -> list[Line2D]:
    return [line for line in axes.lines if str(line.get_label()).startswith(words)]


def line(axes: Axes, words: str) -> Line2D:
    (found,) = lines(axes, words)
    return found


def marks(axes: Axes, words: str) -> int:
    return len(np.asarray(line(axes, words).get_xdata()))


def strokes(axes: Axes, words: str) -> int:
    return sum(
        len(ends_of_strokes(each))
        for each in axes.patches
        if isinstance(each, PathPatch) and str(each.get_label()).startswith(words)
    )


def ends_of_strokes(patch: PathPatch) -> Any:
    """The lower and the upper end of each stroke of one path."""
    return np.asarray(patch.get_path().vertices).reshape(-1, 2, 2)


def rows(source: Tables, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = source.table(table).to_pylist()
    return found


def legend_words(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_every_segment_that_was_sent_has_its_stroke(run: Tables) -> None:
    axes = only_axes(draw("time-sequence", run))
    assert strokes(axes, "data segment") == SEGMENTS


def test_segments_sent_again_are_distinguished_by_need(run: Tables) -> None:
    axes = only_axes(draw("time-sequence", run))
    again = [row for row in rows(run, "segments") if row["retransmission"]]
    needless = sum(1 for row in again if row["needless"])
    assert 0 < needless < len(again)
    assert marks(axes, "sent again, needless") == needless
    assert marks(axes, "sent again, needed") == len(again) - needless


def test_segments_without_a_verdict_are_drawn_as_such(run: Tables) -> None:
    segments = run.table("segments")
    place = segments.column_names.index("needless")
    unjudged = segments.set_column(place, "needless", pa.nulls(len(segments), pa.bool_()))
    axes = only_axes(draw("time-sequence", Tables({"segments": unjudged})))
    again = sum(1 for row in rows(run, "segments") if row["retransmission"])
    assert f"sent again ({again})" in [handle.get_label() for handle in axes.lines]


def test_drops_are_crosses_at_the_time_of_the_drop(run: Tables) -> None:
    axes = only_axes(draw("time-sequence", run))
    dropped = [row for row in rows(run, "packets") if row["fate"] in DROPPED]
    expected = [(row["entered_ns"] / 1e9, (row["seq"] - 1 + SEGMENT / 2) / 1e3) for row in dropped]
    assert np.allclose(np.asarray(line(axes, "dropped").get_xydata()), expected)


@pytest.mark.parametrize("cause", HOLD_SINGLE_PACKETS)
def test_a_delayed_packet_has_a_bar_as_long_as_its_delay(cause: str) -> None:
    run = Tables(ModemRun({DELAYED_PACKET: DELAY_S}, delay_cause=cause).run(), "modem")
    axes = only_axes(draw("time-sequence", run))
    begin, end = np.asarray(line(axes, "held up on the link (1)").get_xdata())[:2]
    assert end - begin == pytest.approx(DELAY_S)


def test_a_delay_that_befalls_the_link_marks_no_packet() -> None:
    run = Tables(ModemRun({DELAYED_PACKET: DELAY_S}, delay_cause="allocation").run(), "modem")
    assert not lines(only_axes(draw("time-sequence", run)), "held up")


def test_every_cause_of_a_delay_that_the_engine_names_is_known_to_the_pictures() -> None:
    names = (ENGINE / "link" / "src" / "event.rs").read_text().split("impl DelayCause")[1].split("\n}")[0]
    # Those of the error stage have their names with those of errors.
    named = {"error", "scripted", *re.findall(r'=> "(\w+)"', names)}
    assert named == {*HOLD_SINGLE_PACKETS, *HOLD_THE_LINK}


def test_a_spurious_timeout_is_marked_as_spurious(run: Tables) -> None:
    axes = only_axes(draw("time-sequence", run))
    (timeout,) = [row for row in rows(run, "tcp") if row["event"] == "timeout"]
    assert np.asarray(line(axes, "timeout, spurious (1)").get_xdata())[0] == timeout["time_ns"] / 1e9
    assert [text.get_text() for text in axes.texts] == ["RTO"]


def test_timeouts_are_found_without_the_senders_own_record(run: Tables) -> None:
    axes = only_axes(draw("time-sequence", Tables({"segments": run.table("segments")})))
    assert lines(axes, "timeout, spurious (1)")


def test_the_line_of_acknowledgments_never_falls_and_ends_at_the_last_byte(run: Tables) -> None:
    acked = np.asarray(line(only_axes(draw("time-sequence", run)), "acknowledged").get_ydata())
    assert (np.diff(acked) >= 0).all()
    assert acked[-1] == pytest.approx(SEGMENT * SEGMENTS / 1e3)


def test_each_block_of_a_selective_acknowledgment_has_its_line(run: Tables) -> None:
    heard = [row for row in rows(run, "segments") if row["host"] == "server" and row["sack"]]
    assert heard
    assert strokes(only_axes(draw("time-sequence", run)), "SACK block") == len(heard)


def test_the_view_bounds_the_time_and_the_bytes_follow(run: Tables) -> None:
    axes = only_axes(draw("time-sequence", run, View(start_s=4, end_s=14)))
    assert axes.get_xlim() == (4, 14)
    low, high = axes.get_ylim()
    assert 3000 < low < high < 10_000


def test_a_window_beyond_the_picture_is_named_so(run: Tables) -> None:
    assert "window (off the scale)" in legend_words(draw("time-sequence", run, View(start_s=4, end_s=14)))
    assert "advertised window" in legend_words(draw("time-sequence", run))


def test_sequence_numbers_can_be_counted_in_segments(run: Tables) -> None:
    axes = only_axes(draw("time-sequence", run, View(unit="segments")))
    assert axes.get_ylabel() == "Sequence number (segments of 256 bytes)"
    assert np.asarray(line(axes, "acknowledged").get_ydata())[-1] == SEGMENTS


def test_datagrams_are_counted_and_not_measured_in_bytes() -> None:
    sent = 5
    segments = pa.table(
        {
            "time_ns": [n * 1_000_000 for n in range(sent)],
            "flow": ["voice"] * sent,
            "host": ["server"] * sent,
            "direction": ["sent"] * sent,
            "packet": list(range(sent)),
            "kind": ["datagram"] * sent,
            "seq": list(range(sent)),
            "len": [1472] * sent,
            "ack": [0] * sent,
            "window": [0] * sent,
            "flags": [""] * sent,
            "retransmission": [False] * sent,
            "cause": pa.nulls(sent, pa.string()),
            "needless": pa.nulls(sent, pa.bool_()),
        }
    )
    axes = only_axes(draw("time-sequence", Tables({"segments": segments}), View(unit="segments")))
    assert axes.get_ylabel() == "Sequence number (datagrams)"
    (drawn,) = [each for each in axes.patches if str(each.get_label()).startswith("datagram")]
    assert isinstance(drawn, PathPatch)
    assert ends_of_strokes(drawn)[:, :, 1].max() <= sent


def test_flows_of_datagrams_have_no_panel_among_the_decisions(run: Tables) -> None:
    segments = run.table("segments")
    voice = _with(_with(segments, "kind", "datagram"), "flow", "voice")
    download = _with(segments, "flow", "download")
    source = Tables({"segments": pa.concat_tables([voice, download]), "tcp": run.table("tcp")}, "both")
    for kind in ("cwnd", "rtt"):
        figure = draw(kind, source)
        assert only_axes(figure).get_title(loc="left") == "both: flow download, seen at server"
        assert note_of(figure) == "Left out: voice (datagrams)"
        with pytest.raises(InputError, match="nothing to draw of voice: datagrams have neither a window nor a timer"):
            draw(kind, source, View(flow="voice"))


def test_arrow_heads_appear_where_there_is_room_for_them(run: Tables) -> None:
    def heads(view: View) -> int:
        return len([each for each in only_axes(draw("time-sequence", run, view)).lines if each.get_marker() in (6, 7)])

    assert heads(View()) == 0
    assert heads(View(start_s=0, end_s=2)) == 2


def test_the_window_curves_are_the_senders_record(run: Tables) -> None:
    axes = only_axes(draw("cwnd", run))
    record = rows(run, "tcp")
    assert np.array_equal(np.asarray(line(axes, "cwnd").get_ydata()), [row["cwnd"] for row in record])
    ssthresh = np.asarray(line(axes, "ssthresh").get_ydata())
    assert np.isnan(ssthresh[0])
    assert ssthresh[-1] == record[-1]["ssthresh"]
    found = sum(1 for row in record if row["event"] == "fast_retransmit")
    assert len(np.asarray(line(axes, "fast retransmit").get_xdata())) == found


def test_what_an_ack_lets_go_is_in_flight_and_what_it_reports_is_not(run: Tables) -> None:
    drawn = line(only_axes(draw("cwnd", run, View(unit="segments"))), "in flight")
    steps = dict(zip(np.asarray(drawn.get_xdata()), np.asarray(drawn.get_ydata()), strict=True))
    in_flight: dict[float, float] = {}
    sent, reported = 0, set()
    for row in (row for row in rows(run, "segments") if row["host"] == "server"):
        if row["direction"] == "sent":
            sent = max(sent, row["seq"] - 1 + row["len"])
        else:
            blocks = [(1, row["ack"]), *sack_blocks(row["sack"] or "")]
            reported |= {byte for start, end in blocks for byte in range(int(start), int(end), SEGMENT)}
        in_flight[row["time_ns"] / 1e9] = sent / SEGMENT - len(reported)
    assert steps == in_flight


def test_each_phase_is_shaded_and_named_once(run: Tables) -> None:
    words = legend_words(draw("cwnd", run))
    for phase in ("slow start", "congestion avoidance", "fast recovery", "after timeout"):
        assert words.count(phase) == 1


def test_phases_cover_the_whole_run_without_gaps(run: Tables) -> None:
    axes = only_axes(draw("cwnd", run))
    edges = sorted((patch.get_extents().x0, patch.get_extents().x1) for patch in axes.patches)
    assert all(abs(end - begin) < 1e-6 for (_, end), (begin, _) in pairwise(edges))


def test_the_queue_is_drawn_with_its_drops_at_the_length_they_met(run: Tables) -> None:
    axes = only_axes(draw("queue", run))
    assert np.asarray(line(axes, "waiting").get_ydata()).max() == QUEUE_LIMIT
    crosses = np.asarray(line(axes, "dropped").get_ydata())
    assert set(crosses) == {QUEUE_LIMIT}
    assert len(crosses) == sum(1 for row in rows(run, "packets") if row["fate"] == "queue_drop")
    assert axes.get_ylim()[0] == 0


def test_the_average_of_red_has_its_line(run: Tables) -> None:
    queue = run.table("queue")
    average = pa.array(np.linspace(0, 5, len(queue)))
    place = queue.column_names.index("average")
    axes = only_axes(draw("queue", Tables({"queue": queue.set_column(place, "average", average)})))
    assert len(np.asarray(line(axes, "average (RED)").get_ydata())) == len(queue)


def test_an_average_in_bytes_has_an_axis_in_bytes() -> None:
    run = api.run("queue-red")
    axes = only_axes(draw("queue", run))
    assert axes.get_ylabel() == "Queue (kB)"
    average = np.asarray(line(axes, "average (RED)").get_ydata())
    assert average.max() == pytest.approx(pc.max(run.table("queue")["average"]).as_py() / 1000)


def test_a_packet_that_goes_straight_through_does_not_count_as_waiting(run: Tables) -> None:
    queue = run.table("queue").slice(0, 2)
    assert queue["packets"].to_pylist() == [1, 0]
    assert queue["time_ns"][0] == queue["time_ns"][1]
    axes = only_axes(draw("queue", Tables({"queue": queue})))
    assert [text.get_text() for text in axes.texts] == ["no packet waited in a queue"]


def test_the_mean_of_a_queue_is_weighted_by_time() -> None:
    time, packets = np.array([0.0, 1.0, 1.5, 3.0, 4.0]), np.array([0.0, 4.0, 1.0, 7.0, 0.0])
    mean, longest = mean_and_longest(time, packets, np.array([-2.0, 0.0, 2.0, 4.0]))
    assert mean.tolist() == [0, (0 * 1 + 4 * 0.5 + 1 * 0.5) / 2, (1 * 1 + 7 * 1) / 2]
    assert longest.tolist() == [0.0, 4.0, 7.0]


def test_a_long_history_of_a_queue_is_drawn_by_its_mean_and_its_longest(run: Tables) -> None:
    queue = run.table("queue")
    place = queue.column_names.index("time_ns")
    later = [
        queue.set_column(place, "time_ns", pc.add(queue["time_ns"], round * 120_000_000_000)) for round in range(3)
    ]
    figure = draw("queue", Tables({"queue": pa.concat_tables(later)}))
    assert [words.split(" ")[0] for words in legend_words(figure)] == ["longest", "mean"]


def test_each_direction_with_a_queue_has_a_panel(run: Tables) -> None:
    queue = run.table("queue")
    place = queue.column_names.index("direction")
    up = queue.set_column(place, "direction", pa.array(["up"] * len(queue)).dictionary_encode())
    assert len(draw("queue", Tables({"queue": pa.concat_tables([queue, up])})).axes) == 2


def queues(count: int, run: Tables) -> Tables:
    """A number of links, each with a drop more than the one before."""
    queue, packets = run.table("queue"), run.table("packets")
    dropped = packets.filter(pc.equal(packets["fate"], "queue_drop"))
    lengths = [_with(queue, "link", f"hop-{n}") for n in range(count)]
    drops = [_with(dropped.slice(0, n), "link", f"hop-{n}") for n in range(count)]
    return Tables({"queue": pa.concat_tables(lengths), "packets": pa.concat_tables(drops)})


def _with(table: pa.Table, column: str, text: str) -> pa.Table:
    return table.set_column(table.column_names.index(column), column, pa.array([text] * len(table), pa.string()))


def panel_titles(figure: Figure) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes]


def test_of_many_queues_those_with_most_drops_are_drawn_and_the_others_named(run: Tables) -> None:
    figure = draw("queue", queues(8, run))
    assert panel_titles(figure) == [f"queue of link hop-{n}, down" for n in range(2, 8)]
    assert note_of(figure) == (
        f"Left out: hop-1.down, hop-0.down (2 queues of at most {QUEUE_LIMIT} packets, 1 dropped; --link draws them)"
    )


def test_the_queues_of_links_can_be_asked_for(run: Tables) -> None:
    figure = draw("queue", queues(8, run), View(links=("hop-5.down", "hop-0")))
    assert panel_titles(figure) == ["queue of link hop-0, down", "queue of link hop-5, down"]
    assert note_of(figure) == ""
    with pytest.raises(InputError, match=r"no packet came to a queue of link 'hop-9' — choose from hop-0\.down, hop-1"):
        draw("queue", queues(3, run), View(links=("hop-1", "hop-9")))


def test_round_trips_are_only_of_segments_sent_once(run: Tables) -> None:
    axes = only_axes(draw("rtt", run))
    again = {row["seq"] for row in rows(run, "segments") if row["retransmission"]}
    assert line(axes, f"round trip, sent once ({SEGMENTS - len(again)})")


def test_the_timer_is_the_senders_record(run: Tables) -> None:
    timer = np.asarray(line(only_axes(draw("rtt", run)), "timer (RTO)").get_ydata())
    assert np.allclose(timer, [row["rto_ns"] / 1e6 for row in rows(run, "tcp")])


def several(count: int) -> Tables:
    runs = [ModemRun(flow=f"download-{n + 1}", start_s=n / 10).run() for n in range(count)]
    return Tables({name: pa.concat_tables([each[name] for each in runs]).unify_dictionaries() for name in runs[0]})


def test_flows_stand_in_the_order_of_their_table() -> None:
    listed = pa.table({"flow": ["download-2", "download-1"]})
    both = several(2)
    source = Tables({"segments": both.table("segments"), "flows": listed})
    assert [str(each.get_label()) for each in only_axes(draw("progress", source)).lines] == [
        "download-2",
        "download-1",
    ]
    titles = [axes.get_title(loc="left") for axes in draw("time-sequence", source).axes]
    assert titles == ["flow download-2, seen at server", "flow download-1, seen at server"]


@pytest.mark.parametrize("kind", ["time-sequence", "cwnd", "rtt"])
def test_several_flows_have_a_panel_each_over_the_same_time(kind: str) -> None:
    figure = draw(kind, several(3), View(title="three of them"))
    assert len(figure.axes) == 3
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    assert figure.get_suptitle() == "three of them"
    six = draw(kind, several(6))
    assert len(six.axes) == 4
    assert note_of(six) == "Left out: download-5, download-6 (2 flows that --flow shows)"


def test_the_legend_sums_what_the_panels_count() -> None:
    both = several(2)
    dropped = sum(1 for row in rows(both, "packets") if row["fate"] == "queue_drop")
    assert f"dropped ({dropped})" in legend_words(draw("time-sequence", both))


def test_a_number_is_not_parted_from_its_unit_in_a_title(run: Tables) -> None:
    title = "x" * 100 + " delayed 6 s"
    assert (
        only_axes(draw("queue", run, View(title=title))).get_title(loc="left").splitlines()[1] == "6\N{NO-BREAK SPACE}s"
    )


def test_each_flow_has_its_own_line_of_progress() -> None:
    axes = only_axes(draw("progress", several(4)))
    assert [str(each.get_label()) for each in axes.lines] == [f"download-{n}" for n in (1, 2, 3, 4)]


def test_up_to_fourteen_flows_can_be_distinguished() -> None:
    figure = draw("progress", several(14))
    assert legend_words(figure) == [f"download-{n}" for n in range(1, 15)]
    looks = {(line.get_color(), str(line.get_linestyle())) for line in only_axes(figure).lines}
    assert len(looks) == 14


def test_of_more_flows_those_furthest_ahead_and_behind_are_named_and_the_others_counted() -> None:
    words = legend_words(draw("progress", several(15)))
    assert words == ["download-1, furthest ahead", "download-15, furthest behind", "the 13 others"]


@pytest.mark.parametrize("count", [1, 15])
def test_each_timeout_of_every_flow_has_its_ring(run: Tables, count: int) -> None:
    tables = {name: _many(run.table(name), count) for name in ("segments", "tcp")}
    rings = [line for line in only_axes(draw("progress", Tables(tables))).lines if line.get_marker() == "o"]
    assert sum(len(np.asarray(line.get_xdata())) for line in rings) == count * sum(
        1 for row in rows(run, "tcp") if row["event"] == "timeout"
    )


def _many(table: pa.Table, count: int) -> pa.Table:
    return pa.concat_tables([_with(table, "flow", f"flow-{n}") for n in range(count)])


def test_progress_is_drawn_from_samples_where_packets_were_not_recorded() -> None:
    sampled = pa.table(
        {
            "time_ns": [1_000_000_000, 1_000_000_000, 2_000_000_000, 2_000_000_000],
            "flow": ["download", "voice"] * 2,
            "acked": [1000, 60, 3000, 120],
            "received": [1000, 60, 3000, 120],
            "acks": [1, 0, 2, 0],
        }
    )
    figure = draw("progress", Tables({"progress": sampled}))
    assert np.asarray(line(only_axes(figure), "download").get_xydata()).tolist() == [[1, 1000], [2, 3000]]
    assert legend_words(figure) == ["download"]
    assert note_of(figure) == "Left out: voice (datagrams, which are not acknowledged)"
    with pytest.raises(InputError, match="nothing to draw of voice"):
        draw("progress", Tables({"progress": sampled}), View(flow="voice"))


def test_the_connections_of_a_flow_add_up_in_its_progress(run: Tables) -> None:
    segments = run.table("segments")
    connections = [segments.append_column("connection", pa.array([n] * len(segments))) for n in (1, 2)]
    drawn = line(only_axes(draw("progress", Tables({"segments": pa.concat_tables(connections)}))), "download")
    assert np.asarray(drawn.get_ydata())[-1] == pytest.approx(2 * SEGMENT * SEGMENTS / 1e3)


def test_one_flow_of_several_can_be_asked_for() -> None:
    figure = draw("time-sequence", several(2), View(flow="download-2"))
    assert "download-2" in only_axes(figure).get_title(loc="left")
