"""Each picture measures what its axis says: sums are the bytes delivered, no rate is above the link's, and so on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

import lasthop as api
from lasthop.plots import Tables, View, draw
from lasthop.plots.columns import Floats
from lasthop.plots.coverage import Block, Coverage, covered, first_bytes
from lasthop.plots.delivery import arrivals, flight, round_trips
from lasthop.plots.flow import FlowTables, some_of
from lasthop.plots.overlay import draw_overlay

RATE = 2e6
"""Rate of quickstart's link, in bits per second."""

LIMIT = 20
RECORD = 'record.tables=["segments", "tcp", "packets", "queue"]'
QUICK = [RECORD, "record.captures=[]"]

PROFILES = ("sack-6675", "linux-6", "newreno", "linux-6-bbr", "bbr3")


@pytest.fixture(scope="module", params=PROFILES)
def run(request: pytest.FixtureRequest) -> api.Run:
    """The quickstart of a sender with and without SACK, with and without a model of the path."""
    return api.run("quickstart", overrides=[*QUICK, f"hosts.server.profile={request.param}"])


@pytest.fixture(scope="module")
def duel() -> api.Run:
    """Two downloads and a call over one link."""
    scenario = """
        name = "duel"
        hosts = { server = { profile = "linux-6" }, phone = { profile = "linux-6" } }
        flows = [
            { name = "first", from = "server", to = "phone", until = "8 s" },
            { name = "second", from = "server", to = "phone", start = "2 s", until = "8 s" },
            { name = "call", from = "server", to = "phone", until = "8 s", workload = { voip = {} } },
        ]
        [[links]]
        name = "lasthop"
        between = ["server", "phone"]
        down = { rate = "5 Mbit/s", propagation = "20 ms", queue = { limit = "60 kB" } }
        up = { rate = "500 kbit/s", propagation = "20 ms" }
        [record]
        tables = ["segments", "tcp", "packets", "queue"]
    """
    return api.run(scenario)


def steps(axes: Axes) -> dict[str, StepPatch]:
    return {str(patch.get_label()): patch for patch in axes.patches if isinstance(patch, StepPatch)}


def amounts(axes: Axes, unit: float) -> dict[str, float]:
    """The area under each curve of rates, in bytes."""
    found = {}
    for words, patch in steps(axes).items():
        rate, edges, _ = patch.get_data()
        found[words] = float((np.asarray(rate) * np.diff(edges)).sum() * unit / 8)
    return found


def unit_of(axes: Axes) -> float:
    return {"kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}[axes.get_ylabel().split("(")[1].rstrip(")")]


def delivered(run: api.Run, flow: str) -> int:
    return next(int(each["received"]) for each in run.summary["flows"] if each["flow"] == flow)


def curve(figure: Figure, words: str, panel: int = 0) -> tuple[Floats, Floats]:
    found = next(line for line in figure.axes[panel].lines if str(line.get_label()).startswith(words))
    return np.asarray(found.get_xdata()), np.asarray(found.get_ydata())


def test_throughput_sums_to_the_bytes_delivered_and_never_exceeds_the_link(run: api.Run) -> None:
    (axes,) = draw("throughput", run).axes
    assert amounts(axes, unit_of(axes))["download"] == pytest.approx(delivered(run, "download"), rel=1e-9)
    rate, _, _ = steps(axes)["download"].get_data()
    assert np.max(rate) * unit_of(axes) <= RATE


def test_the_throughput_of_all_flows_sums_to_what_arrived_and_stays_below_the_link(duel: api.Run) -> None:
    (axes,) = draw("throughput", duel).axes
    found = amounts(axes, unit_of(axes))
    for flow in ("first", "second"):
        assert found[flow] == pytest.approx(delivered(duel, flow), rel=1e-9)
    together = sum(np.asarray(patch.get_data()[0]) for patch in steps(axes).values())
    assert np.max(together) * unit_of(axes) <= 5e6


@pytest.fixture(scope="module")
def crowd() -> api.Run:
    """Sixteen downloads of unlike sizes, the last ones the largest, over one link."""
    flows = "".join(
        f'{{ name = "f{n}", from = "a", to = "b", start = "{n / 10} s", bytes = "{20 * (n + 1)} kB" }},'
        for n in range(16)
    )
    link = '{ rate = "5 Mbit/s", propagation = "20 ms", queue = { limit = "60 kB" } }'
    return api.run(
        f'name = "crowd"\nhosts = {{ a = {{ profile = "linux-6" }}, b = {{ profile = "linux-6" }} }}\n'
        f'flows = [{flows}]\nlinks = [{{ name = "l", between = ["a", "b"], down = {link}, up = {link} }}]\n'
        'record = { tables = ["segments"] }\n'
    )


def test_of_many_flows_each_group_is_one_curve() -> None:
    link = '{ rate = "5 Mbit/s", propagation = "20 ms" }'
    entries = "".join(
        f'{{ name = "{name}", from = "a", to = "b", count = {count}, bytes = "{size} kB" }},'
        for name, count, size in (("large", 9, 80), ("small", 7, 20))
    )
    run = api.run(
        f'name = "groups"\nhosts = {{ a = {{ profile = "linux-6" }}, b = {{ profile = "linux-6" }} }}\n'
        f'flows = [{entries}]\nlinks = [{{ name = "l", between = ["a", "b"], down = {link}, up = {link} }}]\n'
        'record = { tables = ["segments"] }\n'
    )
    (axes,) = draw("throughput", run).axes
    found = amounts(axes, unit_of(axes))
    assert found == pytest.approx({"large, 9 flows": 720e3, "small, 7 flows": 140e3}, rel=1e-9)


def test_delays_far_apart_have_a_logarithmic_axis_where_several_are_short() -> None:
    link = '{ rate = "1 Mbit/s", propagation = "5 ms", queue = { limit = "200 packets" } }'
    run = api.run(
        'name = "apart"\nstop = "6 s"\nhosts = { a = { profile = "linux-6" }, b = { profile = "linux-6" } }\n'
        'flows = [{ name = "long", from = "a", to = "b", until = "5 s" },\n'
        '{ name = "short", from = "b", to = "a", count = 2, workload = { voip = {} } }]\n'
        f'links = [{{ name = "l", between = ["a", "b"], down = {link}, up = {link} }}]\n'
        'record = { tables = ["segments"] }\n'
    )
    assert draw("cdf", run).axes[0].get_xscale() == draw("box", run).axes[0].get_xscale() == "log"
    assert draw("delay", run).axes[0].get_yscale() == "log"
    assert draw("cdf", run, View(flow="long")).axes[0].get_xscale() == "linear"


def test_of_many_flows_the_first_ones_of_each_group_are_shown() -> None:
    groups = ["call"] * 5 + ["web"] * 2 + ["stream"]
    assert some_of(groups, 4) == [0, 1, 5, 7]
    assert some_of(groups, 20) == list(range(8))
    assert some_of(list(range(9)), 4) == [0, 1, 2, 3]


def test_of_many_flows_the_largest_are_drawn_and_the_others_together_so_that_nothing_is_missing(crowd: api.Run) -> None:
    (axes,) = draw("throughput", crowd).axes
    found = amounts(axes, unit_of(axes))
    assert len(found) == 14
    assert "f15" in found
    assert "f0" not in found
    assert found["3 others"] == pytest.approx(sum(delivered(crowd, f"f{n}") for n in range(3)), rel=1e-9)
    assert sum(found.values()) == pytest.approx(sum(delivered(crowd, f"f{n}") for n in range(16)), rel=1e-9)
    together = sum(np.asarray(patch.get_data()[0]) for patch in steps(axes).values())
    # The parts of single packets that arrive at an edge add up to less than a packet.
    _, edges, _ = next(iter(steps(axes).values())).get_data()
    assert np.max(together) * unit_of(axes) <= 5e6 + 1500 * 8 / (edges[1] - edges[0])


def test_the_shares_in_the_legend_are_of_all_that_arrived(crowd: api.Run) -> None:
    figure = draw("share", crowd)
    words = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    total = sum(delivered(crowd, f"f{n}") for n in range(16))
    assert f"f15 ({100 * delivered(crowd, 'f15') / total:.1f} %)" in words
    assert any(each.startswith("3 others (") for each in words)


def test_a_flow_has_no_share_of_the_time_before_it_began() -> None:
    later = api.run("quickstart", overrides=[*QUICK, 'flows.download.start="2 s"'])
    for kind in ("share", "throughput"):
        (axes,) = draw(kind, later).axes
        height, edges, _ = next(iter(steps(axes).values())).get_data()
        assert not np.asarray(height)[edges[1:] <= 2.0].any()


def test_shares_add_up_to_one_while_data_arrive(duel: api.Run) -> None:
    (axes,) = draw("share", duel).axes
    *_, last = (patch for patch in axes.patches if isinstance(patch, StepPatch))
    top = np.asarray(last.get_data()[0])
    assert np.allclose(top[top > 0], 1.0)


def test_a_recovery_leaves_no_gap_in_the_throughput() -> None:
    (axes,) = draw("throughput", api.run("quickstart", overrides=[*QUICK, "hosts.server.profile=sack-6675"])).axes
    rate, edges, _ = steps(axes)["download"].get_data()
    busy = (edges[:-1] > 1.5) & (edges[1:] < 4.0)
    assert np.min(np.asarray(rate)[busy]) > 0


def test_of_a_senders_capture_the_acks_and_sack_blocks_report_what_arrived(run: api.Run) -> None:
    whole = run.table("segments")
    alone = Tables({"segments": whole.filter(pc.equal(whole["host"].cast(pa.string()), "server"))})
    flow = FlowTables(alone, "download")
    found = arrivals(flow)
    assert found.at_sender
    assert found.bytes.sum() == delivered(run, "download")
    there = arrivals(FlowTables(Tables({"segments": whole}), "download"))
    # The report of a byte comes a way back later than the byte, never before it.
    edges = np.arange(0.0, 6.0, 0.01)
    reported = np.searchsorted(found.time, edges)
    reported_bytes = np.concatenate([[0.0], np.cumsum(found.bytes)])[reported]
    true_bytes = np.concatenate([[0.0], np.cumsum(there.bytes)])[np.searchsorted(there.time, edges)]
    assert (reported_bytes <= true_bytes).all()


def test_what_is_in_flight_never_exceeds_the_window(run: api.Run) -> None:
    figure = draw("cwnd", run)
    at, window = curve(figure, "cwnd")
    time, in_flight = curve(figure, "in flight")
    # The largest window since the round trip before, as a window that shrinks does not call data back; to the next row,
    # as BBR sets its window when the row of the ACK is written.
    following = np.append(at[1:], np.inf)[np.searchsorted(at, time, side="right") - 1]
    recent = np.array(
        [
            window[(at > moment - 0.4) & (at <= end)].max(initial=0.0)
            for moment, end in zip(time, following, strict=True)
        ]
    )
    segment = 1448 / (1e3 if "(kB)" in figure.axes[0].get_ylabel() else 1.0)
    assert (in_flight <= recent + segment).all()
    assert in_flight[-1] == 0


def test_data_in_flight_ends_at_nothing_and_stays_below_the_offered_window(run: api.Run) -> None:
    figure = draw("flight", run)
    (axes,) = figure.axes
    unit = {"kB": 1e3, "MB": 1e6}[axes.get_ylabel().split("(")[1].rstrip(")")]
    _, drawn = curve(figure, "data in flight")
    known = flight(FlowTables(run, "download"))
    assert drawn.max() * unit == pytest.approx(known.bytes.max())
    assert drawn[-1] == 0
    offered = next(line for line in axes.lines if str(line.get_label()).startswith("window that the peer offers"))
    assert np.max(drawn) <= np.max(np.asarray(offered.get_ydata()))


def test_what_a_burst_of_acks_lets_go_is_in_flight_once() -> None:
    """After a delay spike many ACKs arrive at one time, and the record has a pipe at each."""
    spiked = api.run("delay-spike", overrides=["links.lasthop.preset=gprs"])
    flow = FlowTables(spiked, "download")
    found, decisions = flight(flow), flow.decisions()
    at, window = decisions.seconds("time_ns"), decisions.numbers("cwnd")
    assert (np.diff(at) == 0).sum() > 100
    for moment, amount in zip(found.time, found.bytes, strict=True):
        # A window that shrinks does not call data back: the largest of the round trips before counts.
        assert amount <= window[(at > moment - 3.0) & (at <= moment)].max(initial=512.0)
    assert found.bytes[-1] == 0


def test_of_a_call_no_flight_is_drawn(duel: api.Run) -> None:
    figure = draw("flight", duel)
    assert len(figure.axes) == 2
    (legend,) = figure.legends
    assert legend.get_title().get_text() == "Left out: call (datagrams)"


def test_each_delay_that_is_drawn_is_that_of_a_packet(duel: api.Run) -> None:
    figure = draw("delay", duel, View(flow="first"))
    sent = {row["packet"]: row["time_ns"] for row in duel.table("segments").to_pylist() if row["direction"] == "sent"}
    took = {
        (round(row["time_ns"] / 1e9, 9), round((row["time_ns"] - sent[row["packet"]]) / 1e6, 6))
        for row in duel.table("segments").to_pylist()
        if row["direction"] == "received" and row["host"] == "phone" and row["len"] and row["flow"] == "first"
    }
    at, delay = max((np.asarray(line.get_data()) for line in figure.axes[0].lines), key=np.size)
    drawn = {(round(time, 9), round(each, 6)) for time, each in zip(at, delay, strict=True)}
    assert drawn <= took
    assert delay.max() == pytest.approx(max(each for _, each in took))
    # Propagation, and the packet's own 1500 bytes at 5 Mbit/s.
    assert delay.min() >= 20 + 1500 * 8 / 5e3


def test_goodputs_of_transfers_are_their_bytes_over_their_time_and_below_the_link() -> None:
    record = 'record.tables=["transfers"]'
    run = api.run("web-users", overrides=[record])
    rows = [row for row in run.table("transfers").to_pylist() if row["end_ns"] is not None]
    expected = sorted(8e6 * row["bytes"] / (row["end_ns"] - row["start_ns"]) for row in rows)
    goodput, share = curve(draw("transfers", run), "web-users")
    assert (goodput.min(), goodput.max()) == pytest.approx((expected[0], expected[-1]))
    assert share[-1] == 1.0
    rate = next(link["down"]["rate"] for link in run.specification["links"])
    assert rate.endswith("Mbit/s")
    assert goodput.max() <= 1e3 * float(rate.split()[0])


def test_the_mean_rates_of_a_cells_plan_are_what_its_users_got() -> None:
    run = api.run("hsdpa-cell", overrides={"stop": "6 s", "record.tables": []})
    axes = draw("cell", run).axes[0]
    drawn = np.sort(np.concatenate([np.asarray(dots.get_array()) for dots in axes.collections]))
    users = run.table("cell_users").to_pylist()
    assert drawn == pytest.approx(sorted(user["bit_rate"] / 1e3 for user in users))
    got = sum(
        8 * link["bytes_out"]
        for link in run.summary["links"]
        if link["direction"] == "down" and "radio" in link["link"]
    )
    assert 6e3 * drawn.sum() == pytest.approx(got, rel=0.02)


def test_each_connection_of_a_flow_has_a_line_of_its_own_that_ends_at_its_last_byte() -> None:
    run = api.run("web-users", overrides={"record.tables": ["segments"], "stop": "20 s"})
    axes = draw("time-sequence", run, View(flow="user-1", unit="bytes")).axes[0]
    unit = {"kB": 1e3, "MB": 1e6}[axes.get_ylabel().split("(")[1].rstrip(")")]
    lines = [np.asarray(line.get_ydata()) * unit for line in axes.lines if line.get_label() == "acknowledged"]
    heard: dict[int, int] = {}
    for row in run.table("segments").to_pylist():
        if row["flow"] == "user-1" and row["host"] == "server" and row["direction"] == "received" and row["ack"]:
            heard[row["connection"]] = max(heard.get(row["connection"], 0), row["ack"] - 1)
    assert len(heard) > 2
    assert sorted(line[-1] for line in lines) == pytest.approx(sorted(heard.values()))


def test_what_is_in_flight_is_the_pipe_of_the_senders_record(run: api.Run) -> None:
    flow = FlowTables(run, "download")
    found, decisions = flight(flow), flow.decisions()
    acks = decisions.where(decisions.among("event", ("ack", "duplicate_ack")))
    pipe = acks.numbers("pipe")
    at = np.searchsorted(found.time, acks.seconds("time_ns"), side="right") - 1
    assert (found.bytes[at] >= pipe).all()
    # Nothing was sent on the last ACKs.
    assert found.bytes[at][-1] == pipe[-1]


@pytest.mark.parametrize("profile", ["linux-6-bbr", "bbr3"])
def test_a_sender_with_a_model_shows_its_states_and_rates_in_place_of_a_threshold(profile: str) -> None:
    figure = draw("cwnd", api.run("quickstart", overrides=[*QUICK, f"hosts.server.profile={profile}"]))
    words = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert {"Startup", "Drain", "pacing rate (right)", "bandwidth estimate (right)"} <= set(words)
    assert any(each.startswith("ProbeBW") for each in words)
    assert not {"ssthresh", "slow start", "congestion avoidance"} & set(words)
    _, bandwidth = curve(figure, "bandwidth estimate", panel=1)
    unit = {"Rate (Mbit/s)": 1e6, "Rate (kbit/s)": 1e3}[figure.axes[1].get_ylabel()]
    assert np.median(bandwidth[len(bandwidth) // 2 :]) * unit == pytest.approx(RATE, rel=0.1)


def test_no_round_trip_is_drawn_that_no_packet_had(run: api.Run) -> None:
    at, trip = curve(draw("rtt", run), "round trip")
    segments = run.table("segments").to_pylist()
    sent = {row["packet"]: row["time_ns"] / 1e6 for row in segments if row["direction"] == "sent"}
    there = [row for row in segments if row["direction"] == "received" and row["packet"] in sent]
    took = {host: [row["time_ns"] / 1e6 - sent[row["packet"]] for row in there if row["host"] == host]
            for host in ("server", "mobile")}  # fmt: skip
    # 40 ms and more is what a receiver may delay an ACK; 200 ms at the most.
    assert trip.max() <= max(took["server"]) + max(took["mobile"]) + 200
    assert trip.min() >= 100
    assert len(at) > 100


def test_round_trips_of_data_behind_a_gap_are_those_of_their_sack_blocks() -> None:
    run = api.run("quickstart", overrides=[*QUICK, "hosts.server.profile=sack-6675"])
    _, trip = round_trips(FlowTables(run, "download"))
    # 100 ms of propagation, and 20 packets of 1500 bytes in a queue of 2 Mbit/s.
    assert trip.max() <= 0.1 + 22 * 1500 * 8 / RATE


def test_a_queue_stays_within_its_limit_and_the_limit_is_drawn(run: api.Run) -> None:
    axes = draw("queue", run).axes[0]
    heights = [
        np.asarray(line.get_ydata()) for line in axes.lines if str(line.get_label()).startswith(("wait", "drop"))
    ]
    assert max(float(height.max()) for height in heights) <= LIMIT
    limit = next(line for line in axes.lines if line.get_label() == "limit")
    assert set(np.asarray(limit.get_ydata())) == {LIMIT}


def test_a_limit_in_bytes_is_drawn_over_a_queue_in_bytes(duel: api.Run) -> None:
    axes = draw("queue", duel).axes[0]
    assert axes.get_ylabel() == "Queue (kB)"
    limit = next(line for line in axes.lines if line.get_label() == "limit")
    assert set(np.asarray(limit.get_ydata())) == {60.0}
    longest = next(patch for words, patch in steps(axes).items() if words.startswith("longest"))
    mean = next(patch for words, patch in steps(axes).items() if words.startswith("mean"))
    assert np.max(longest.get_data()[0]) <= 60.0
    assert (np.asarray(mean.get_data()[0]) <= np.asarray(longest.get_data()[0]) + 1e-9).all()


def test_queues_that_were_hardly_used_are_named_in_the_note_and_not_drawn(duel: api.Run) -> None:
    figure = draw("queue", duel)
    assert len(figure.axes) == 1
    (legend,) = figure.legends
    assert "Left out: lasthop.up" in legend.get_title().get_text()


def test_delays_are_those_of_the_packets_and_the_box_has_their_quartiles(duel: api.Run) -> None:
    segments = duel.table("segments").to_pylist()
    sent = {row["packet"]: row["time_ns"] for row in segments if row["direction"] == "sent" and row["flow"] == "first"}
    took = [
        (row["time_ns"] - sent[row["packet"]]) / 1e6
        for row in segments
        if row["direction"] == "received" and row["host"] == "phone" and row["len"] and row["packet"] in sent
    ]
    value, share = curve(draw("cdf", duel, View(flow="first")), "first")
    assert (value.min(), value.max()) == pytest.approx((min(took), max(took)))
    assert share[-1] == 1.0
    (axes,) = draw("box", duel, View(flow="first")).axes
    medians = [np.asarray(line.get_xdata()) for line in axes.lines if line.get_color() == "#222222"]
    assert np.median(took) == pytest.approx(medians[0][0])
    # The delay of a full queue of 60 kB at 5 Mbit/s, with propagation and the packet itself.
    assert max(took) <= 20 + (60_000 + 2 * 1500) * 8 / 5e3


def test_progress_ends_at_the_bytes_acknowledged(run: api.Run) -> None:
    _, acked = curve(draw("progress", run), "download")
    assert acked[-1] == pytest.approx(run.summary["flows"][0]["bytes"] / 1e6)


def test_the_time_sequence_ends_at_the_last_byte_and_marks_each_drop_once(run: api.Run) -> None:
    figure = draw("time-sequence", run)
    _, acked = curve(figure, "acknowledged")
    assert acked[-1] == pytest.approx(1.0)
    words = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    drops = run.summary["links"][0]["queue_drops"]
    assert (f"dropped ({drops})" in words) is (drops > 0)


def test_short_delays_on_the_link_are_ticks_at_the_foot_and_long_ones_are_bars() -> None:
    legends = {}
    for name, trip in (("8 ms", "short"), ("300 ms", "long")):
        down = f"links.lasthop.down.arq={{ probability = 0.1, round_trip = '{name}', limit = 8 }}"
        figure = draw("time-sequence", api.run("quickstart", overrides=[*QUICK, down]))
        legends[trip] = " ".join(text.get_text() for legend in figure.legends for text in legend.get_texts())
    assert "held up for less than a round trip" in legends["short"]
    assert "held up on the link" not in legends["short"]
    assert "held up on the link" in legends["long"]


def test_a_flow_has_the_hue_of_its_place_in_every_run_of_a_comparison(duel: api.Run) -> None:
    beside = (("other", duel),)
    (axes,) = draw("throughput", duel, View(beside=beside)).axes
    (boxes,) = draw("box", duel, View(beside=beside)).axes
    drawn = {words: patch.get_edgecolor()[:3] for words, patch in steps(axes).items()}
    assert len(drawn) == 6
    for place, flow in enumerate(("first", "second", "call")):
        own, other = (next(drawn[words] for words in drawn if words == f"{run}: {flow}") for run in ("duel", "other"))
        assert np.argmax(own) == np.argmax(other)
        box = boxes.patches[place].get_facecolor()[:3]
        assert box == pytest.approx(own)


def test_a_comparison_draws_every_flow_of_every_run(duel: api.Run) -> None:
    figure = draw_overlay([("one", duel), ("two", duel)])
    words = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    for run in ("one", "two"):
        assert {f"{run}: {flow}" for flow in ("first", "second", "call")} <= set(words)
    _, arrived = curve(figure, "one: first")
    assert arrived[-1] == pytest.approx(delivered(duel, "first") / 1e6)


def test_bytes_count_once_however_their_copies_are_cut() -> None:
    random = np.random.default_rng(3)
    start = random.integers(0, 500, 300).astype(float)
    end = start + random.integers(1, 80, 300).astype(float)
    seen: set[int] = set()
    expected = []
    for low, high in zip(start, end, strict=True):
        new = set(range(int(low), int(high))) - seen
        expected.append(len(new))
        seen |= new
    assert first_bytes(start, end).tolist() == expected
    coverage = Coverage()
    found: list[Any] = [sum(b - a for a, b in coverage.add(low, high)) for low, high in zip(start, end, strict=True)]
    assert found == expected


def test_each_byte_is_reported_by_the_first_ack_or_block_that_has_it() -> None:
    random = np.random.default_rng(5)
    acks = np.sort(random.integers(0, 400, 120)).astype(float)
    blocks: list[list[Block]] = [
        [(ack + 20.0, ack + 20.0 + length) for length in random.integers(1, 30, random.integers(0, 2))]
        if 40 < row < 70
        else []
        for row, ack in enumerate(acks.tolist())
    ]
    owners = np.full(500, -1)
    for row, (ack, with_ack) in enumerate(zip(acks.tolist(), blocks, strict=True)):
        for low, high in [(0.0, ack), *with_ack]:
            mine = slice(int(low), int(high))
            owners[mine] = np.where(owners[mine] < 0, row, owners[mine])
    found = covered(acks, blocks)
    covering = np.full(500, -1)
    for row, low, high in zip(found.row, found.start, found.end, strict=True):
        assert (covering[int(low) : int(high)] < 0).all()
        covering[int(low) : int(high)] = row
    assert covering.tolist() == owners.tolist()
    assert any(blocks)
