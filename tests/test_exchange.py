"""Files for other tools, read back as these tools read them."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import lasthop as api
from command import Lasthop
from lasthop.analysis import analyze_to_folder
from lasthop.errors import InputError
from lasthop.exchange import read_log, trace_of_log

RECORD = "record.tables=['segments','tcp','packets','queue']"


@pytest.fixture(scope="module")
def run() -> api.Run:
    return api.run("quickstart", overrides=[RECORD, "record.captures=[]"])


def of_sender(run: api.Run, table: str = "segments") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = run.table(table).to_pylist()
    return [row for row in rows if row["host"] == "server"]


def test_csv_has_the_rows_of_every_table(run: api.Run, tmp_path: Path) -> None:
    written = api.export(run, "csv", tmp_path)
    assert [path.stem for path in written] == list(run.table_names)
    for path in written:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        expected = run.table(path.stem)
        assert list(rows[0]) == expected.column_names
        assert len(rows) == expected.num_rows
    with (tmp_path / "tcp.csv").open(newline="") as file:
        assert [int(row["cwnd"]) for row in csv.DictReader(file)] == run.table("tcp")["cwnd"].to_pylist()


XPLOT = re.compile(
    r"timeval unsigned|go|white|red|green|yellow|purple|orange"
    r"|(?:darrow|uarrow|utick|x|atext|rtext) \d+\.\d{6} \d+"
    r"|line \d+\.\d{6} \d+ \d+\.\d{6} \d+"
)


def test_xplot_gets_a_line_for_each_segment_and_only_its_own_commands(run: api.Run, tmp_path: Path) -> None:
    (path,) = api.export(run, "xpl", tmp_path)
    lines = path.read_text().splitlines()
    assert lines[0] == "timeval unsigned"
    assert lines[1] == "title"
    assert lines[-1] == "go"
    body = lines[7:]
    words = {at + 1 for at, line in enumerate(body) if line.split()[0] in ("atext", "rtext")}
    assert [line for at, line in enumerate(body) if at not in words and not XPLOT.fullmatch(line)] == []
    sent = [row for row in of_sender(run) if row["direction"] == "sent" and row["len"] > 0]
    arrows = [line.split() for line in body if line.startswith("darrow")]
    assert sorted((f"{row['time_ns'] / 1e9:.6f}", str(row["seq"] - 1)) for row in sent) == sorted(
        (time, seq) for _, time, seq in arrows
    )
    assert body.count("R") == sum(row["retransmission"] for row in sent)


def test_xpl2gpl_of_tcptrace_reads_the_diagram(run: api.Run, tmp_path: Path) -> None:
    if shutil.which("xpl2gpl") is None or shutil.which("gawk") is None:
        pytest.skip("NOT TESTED: xpl2gpl is not installed (Debian: apt-get install tcptrace gawk)")
    (path,) = api.export(run, "xpl", tmp_path)
    ended = subprocess.run(["xpl2gpl", path.name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert len(list(tmp_path.glob("*.gpl"))) == 1


def test_flents_file_has_its_keys_and_the_flows_bytes(run: api.Run, tmp_path: Path) -> None:
    (path,) = api.export(run, "flent", tmp_path)
    assert path.name == "quickstart.flent.gz"
    data = json.loads(gzip.decompress(path.read_bytes()))
    assert data["version"] == 4
    assert set(data) == {"version", "metadata", "x_values", "results", "raw_values"}
    assert {"NAME", "TITLE", "TIME", "T0", "STEP_SIZE", "SERIES_META"} <= set(data["metadata"])
    assert all(len(series) == len(data["x_values"]) for series in data["results"].values())
    step = data["metadata"]["STEP_SIZE"]
    megabits = sum(data["results"]["TCP download"]) * step
    assert megabits * 1e6 / 8 == pytest.approx(run.summary["flows"][0]["bytes"], abs=4)  # the FIN, and rounding
    assert min(sample["val"] for sample in data["raw_values"]["TCP download::tcp_rtt"]) >= 100
    path.unlink()
    (again,) = api.export(run, "flent", tmp_path)
    assert json.loads(gzip.decompress(again.read_bytes())) == data


def test_qlog_reports_windows_and_losses_in_the_order_of_time(run: api.Run, tmp_path: Path) -> None:
    (path,) = api.export(run, "qlog", tmp_path)
    log = json.loads(path.read_text())
    assert (log["qlog_version"], log["qlog_format"]) == ("0.3", "JSON")
    (trace,) = log["traces"]
    events = trace["events"]
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)
    windows = [
        event["data"]["congestion_window"]
        for event in events
        if event["name"] == "recovery:metrics_updated" and "congestion_window" in event["data"]
    ]
    recorded = [row["cwnd"] for row in of_sender(run, "tcp")]
    changes = [cwnd for at, cwnd in enumerate(recorded) if at == 0 or cwnd != recorded[at - 1]]
    assert windows == changes
    sent = {event["data"]["header"]["packet_number"] for event in events if event["name"] == "transport:packet_sent"}
    lost = [event["data"]["header"]["packet_number"] for event in events if event["name"] == "recovery:packet_lost"]
    assert set(lost) <= sent
    assert len(lost) == run.summary["flows"][0]["retransmissions"]
    states = [event["data"]["new"] for event in events if event["name"] == "recovery:congestion_state_updated"]
    assert states[:2] == ["slow_start", "recovery"]


def test_qlog_has_what_qvis_draws_of_each_packet(run: api.Run, tmp_path: Path) -> None:
    """The congestion diagram of qvis passes over packets without `raw.length`, and takes ACK ranges by number."""
    (path,) = api.export(run, "qlog", tmp_path)
    (trace,) = json.loads(path.read_text())["traces"]
    sent: set[int] = set()
    carrying: set[int] = set()
    acknowledged: set[int] = set()
    for event in trace["events"]:
        if event["name"] == "transport:packet_sent":
            number = event["data"]["header"]["packet_number"]
            assert number not in sent
            sent.add(number)
            if event["data"]["frames"][0]["frame_type"] == "stream":
                carrying.add(number)
        if event["name"] in ("transport:packet_sent", "transport:packet_received"):
            assert event["data"]["raw"]["length"] > event["data"]["raw"]["payload_length"]
            assert event["data"]["frames"]
        if event["name"] == "transport:packet_received":
            for frame in event["data"]["frames"]:
                for low, high in frame.get("acked_ranges", []):
                    assert set(range(low, high + 1)) <= sent
                    acknowledged.update(range(low, high + 1))
    lost = {event["data"]["header"]["packet_number"] for event in trace["events"] if "lost" in event["name"]}
    assert lost
    assert lost < sent
    assert carrying - acknowledged <= lost


def test_qlog_of_a_capture_begins_with_a_syn_without_an_acknowledgment(tmp_path: Path) -> None:
    capture = tmp_path / "sender.pcapng"
    capture.write_bytes(api.run("quickstart", overrides=["record.captures=['server']"]).captures["server"])
    (path,) = api.export(analyze_to_folder(capture, tmp_path / "analysed"), "qlog", tmp_path / "out")
    (trace,) = json.loads(path.read_text())["traces"]
    assert trace["events"][0]["data"]["frames"] == [{"frame_type": "ping"}]


def documented(name: str) -> set[str]:
    """Return the members that docs/qlog-tcp.md defines for a group."""
    page = (Path(__file__).parents[1] / "docs" / "qlog-tcp.md").read_text()
    (body,) = re.findall(rf"^{name} = \{{\n(.*?)^\}}", page, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"^    (?:\? )?(\w+):", body, re.MULTILINE))


GROUPS = {
    "tcp:segment_sent": "TCPSegment",
    "tcp:segment_received": "TCPSegment",
    "tcp:timer_expired": "TCPTimerExpired",
    "tcp:metrics_updated": "TCPMetricsUpdated",
    "tcp:congestion_state_updated": "TCPCongestionStateUpdated",
}


def test_qlog_of_tcp_has_the_events_of_its_published_schema(run: api.Run, tmp_path: Path) -> None:
    (path,) = api.export(run, "qlog-tcp", tmp_path)
    log = json.loads(path.read_text())
    assert log["file_schema"] == "urn:ietf:params:qlog:file:contained"
    (trace,) = log["traces"]
    assert trace["event_schemas"] == ["urn:x-lasthop:qlog:events:tcp"]
    assert trace["common_fields"]["time_format"] == "relative_to_epoch"
    events = trace["events"]
    assert {event["name"] for event in events} <= GROUPS.keys()
    for event in events:
        assert event["data"].keys() <= documented(GROUPS[event["name"]]), event
    times = [event["time"] for event in events]
    assert times == sorted(times)
    again = [event["data"]["retransmission"] for event in events if "retransmission" in event["data"]]
    assert len(again) == run.summary["flows"][0]["retransmissions"]
    assert set().union(*again) <= documented("TCPRetransmission")
    assert all(isinstance(one["replaces"], int) for one in again)


def test_qlog_of_tcp_of_a_capture_has_its_date_and_verdicts(tmp_path: Path) -> None:
    capture = Path(__file__).parents[1] / "crates/trace/tests/kernels/outage-sack.pcap"
    (path,) = api.export(analyze_to_folder(capture, tmp_path / "analysed"), "qlog-tcp", tmp_path / "out")
    (trace,) = json.loads(path.read_text())["traces"]
    reference = trace["common_fields"]["reference_time"]
    assert reference["clock_type"] == "system"
    assert reference["epoch"].endswith("Z")
    again = [event["data"]["retransmission"] for event in trace["events"] if "retransmission" in event["data"]]
    assert again
    assert all({"cause", "confidence", "why"} <= one.keys() for one in again)


def test_a_capture_is_refused_as_mahimahis_log_with_the_formats_that_it_has(tmp_path: Path) -> None:
    capture = Path(__file__).parents[1] / "crates/trace/tests/kernels/outage-sack.pcap"
    with pytest.raises(InputError) as refused:
        api.export(analyze_to_folder(capture, tmp_path / "analysed"), "mahimahi", tmp_path / "out")
    assert "the format 'mahimahi' needs the table 'packets'" in str(refused.value)
    assert "a capture has no 'packets'; choose one of csv, xpl, flent, qlog, qlog-tcp" in str(refused.value)


def test_mahimahis_log_has_every_packet_and_is_read_back(run: api.Run, tmp_path: Path) -> None:
    paths = api.export(run, "mahimahi", tmp_path)
    assert sorted(path.name for path in paths) == ["lasthop.down.log", "lasthop.up.log"]
    packets = [row for row in run.table("packets").to_pylist() if row["direction"] == "down"]
    log = read_log(tmp_path / "lasthop.down.log")
    assert len(log.packets) == len(packets)
    assert sum(packet.dropped for packet in log.packets) == sum(row["fate"] == "queue_drop" for row in packets)
    assert sorted(packet.entered_ms for packet in log.packets) == sorted(row["entered_ns"] // 10**6 for row in packets)
    assert all(packet.left_ms is not None for packet in log.packets)


def test_a_trace_comes_out_of_a_log_and_a_link_replays_it(lasthop: Lasthop, tmp_path: Path) -> None:
    times = [1000 + 5 * number for number in range(1, 2001)]
    head = "# mahimahi mm-link (downlink) [x] > log\n# base timestamp: 1000\n"
    (tmp_path / "down.log").write_text(head + "".join(f"{time} # 1504\n" for time in times))
    ended = lasthop("import", "down.log", "--out", "my.trace")
    assert ended.status == 0, ended.err
    assert (tmp_path / "my.trace").read_text().split() == [str(time - 1000) for time in times]
    assert trace_of_log(read_log(tmp_path / "down.log")) == (tmp_path / "my.trace").read_text()
    scenario = """
name = "replayed"
hosts = { server = { profile = "newreno" }, mobile = { profile = "newreno" } }
flows = [{ name = "download", from = "server", to = "mobile", bytes = "100 kB" }]
[[links]]
name = "lasthop"
between = ["server", "mobile"]
down = { capacity = { trace = { path = "my.trace" } }, propagation = "20 ms", queue = { limit = "100 packets" } }
up = { rate = "2 Mbit/s", propagation = "20 ms", queue = { limit = "100 packets" } }
"""
    (tmp_path / "replayed.toml").write_text(scenario)
    replayed = lasthop("run", "replayed.toml", "--json")
    assert replayed.status == 0, replayed.err
    assert replayed.json["flows"][0]["completed"]


@pytest.mark.parametrize("line", ["5 ? 1504", "later # 1504", "5 - 1504", "5 d 1 1504"])
def test_a_line_that_is_not_mahimahis_is_named(lasthop: Lasthop, tmp_path: Path, line: str) -> None:
    (tmp_path / "bad.log").write_text(f"# base timestamp: 0\n3 # 1504\n{line}\n")
    ended = lasthop("import", "bad.log")
    assert ended.status == 2
    assert "line 3" in ended.err


def test_an_export_without_its_table_is_refused_with_the_remedy(lasthop: Lasthop, tmp_path: Path) -> None:
    lasthop("run", "quickstart", "--out", tmp_path / "bare", "--set", "record.tables=['segments']")
    refused = lasthop("export", tmp_path / "bare", "--format", "mahimahi")
    assert refused.status == 2
    assert "packets" in refused.err
    assert lasthop("export", tmp_path / "bare", "--format", "xpl").status == 0
    assert (tmp_path / "bare" / "xpl" / "download_tsg.xpl").is_file()


def test_a_result_with_exports_in_it_is_replaced_and_keeps_them(lasthop: Lasthop, tmp_path: Path) -> None:
    lasthop("run", "quickstart", "--out", tmp_path / "r")
    lasthop("export", tmp_path / "r", "--format", "csv")
    ended = lasthop("run", "quickstart", "--out", tmp_path / "r")
    assert ended.status == 0, ended.err
    assert (tmp_path / "r" / "csv" / "tcp.csv").is_file()


def test_our_log_of_mahimahi_is_made_a_trace_that_a_link_replays(lasthop: Lasthop, tmp_path: Path) -> None:
    """The opportunities of a link of constant rate are one each 1500 bytes, whoever used them."""
    run = api.run("quickstart")
    (log,) = [path for path in api.export(run, "mahimahi", tmp_path / "logs") if "down" in path.name]
    imported = lasthop("import", log, "--out", "link.trace")
    assert imported.status == 0, imported.err
    times = [int(line) for line in (tmp_path / "link.trace").read_text().split()]
    seconds = run.summary["stopped_s"]
    assert len(times) == pytest.approx(2e6 / 8 / 1500 * seconds, rel=0.02)
    overrides = {"links.lasthop.down.capacity": {"trace": {"path": str(tmp_path / "link.trace")}}}
    replayed = api.run(QUICKSTART_WITHOUT_RATE, overrides=overrides)
    assert replayed.summary["flows"][0]["completed"]


QUICKSTART_WITHOUT_RATE = """
name = "replayed"
flows = [{ name = "download", from = "server", to = "mobile", bytes = "200 kB" }]
hosts = { server = { profile = "sack-6675" }, mobile = { profile = "sack-6675" } }
[[links]]
name = "lasthop"
between = ["server", "mobile"]
down = { propagation = "50 ms" }
up = { rate = "2 Mbit/s", propagation = "50 ms" }
"""


def test_qlog_of_quinn_has_its_datagrams_and_windows(tmp_path: Path) -> None:
    run = api.run("quic-gprs", overrides={"record.tables": ["segments", "tcp"]})
    (path,) = api.export(run, "qlog", tmp_path)
    (trace,) = json.loads(path.read_text())["traces"]
    assert trace["common_fields"]["protocol_type"] == ["QUIC"]
    names = [event["name"] for event in trace["events"]]
    sent = [row for row in of_sender(run) if row["direction"] == "sent"]
    assert names.count("transport:packet_sent") == len(sent)
    windows = [event["data"].get("congestion_window") for event in trace["events"] if "metrics" in event["name"]]
    assert len({window for window in windows if window}) > 5
    assert all("frames" not in event["data"] for event in trace["events"])
