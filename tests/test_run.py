"""`lasthop run`: the object it prints, the folder it writes, the same bytes twice."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import lasthop as package
from command import Lasthop
from lasthop.errors import InputError
from lasthop.scenario import RECORD_NOTHING, load_scenario, run
from small_study import BASE

FLOW_KEYS = [
    "flow",
    "from",
    "to",
    "bytes",
    "elapsed_s",
    "throughput_Bps",
    "segments_sent",
    "retransmissions",
    "unnecessary_retransmissions",
    "timeouts",
    "spurious_timeouts",
    "fast_retransmits",
]
LINK_KEYS = ["link", "direction", "packets_in", "packets_out", "queue_drops", "error_drops", "queue_max"]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_json_is_one_object_of_the_promised_keys(lasthop: Lasthop) -> None:
    ended = lasthop("run", "quickstart", "--json")
    assert (ended.status, ended.err) == (0, "")
    assert {"scenario", "seed", "clock", "stopped_s", "flows", "links"} <= ended.json.keys()
    (flow,) = ended.json["flows"]
    assert set(FLOW_KEYS) <= flow.keys()
    assert flow["throughput_Bps"] == pytest.approx(flow["bytes"] / flow["elapsed_s"])
    assert ended.json["clock"] == "virtual"
    assert all(set(LINK_KEYS) <= link.keys() for link in ended.json["links"])


def test_the_same_run_twice_gives_the_same_bytes(lasthop: Lasthop, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert lasthop("run", "quickstart", "--out", name).status == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert {"run.json", "packets.parquet", "tcp.parquet", "capture-lasthop.pcapng"} <= contents(tmp_path / "one").keys()


def test_recording_changes_nothing(base: Path) -> None:
    scenario = load_scenario(base)
    everything = {"tables": ["packets", "tcp", "queue", "segments"], "captures": ["lasthop", "server"]}
    assert run(scenario, record=everything).summary == run(scenario, record=RECORD_NOTHING).summary


def test_being_watched_changes_nothing(base: Path) -> None:
    scenario = load_scenario(base, overrides=["flows.download.bytes='600 kB'"])
    seen: list[float] = []
    assert run(scenario, progress=seen.append).summary == run(scenario).summary
    assert seen == sorted(seen)
    assert len(seen) > 10


def test_what_a_progress_callback_raises_ends_the_run(base: Path) -> None:
    def enough(_seconds: float) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        run(load_scenario(base), progress=enough)


@pytest.mark.parametrize("inherited", ["-", "''"], ids=["handled", "ignored, as in the background of a script"])
def test_ctrl_c_ends_a_run_and_leaves_nothing(inherited: str, tmp_path: Path) -> None:
    long = ["--set", 'flows.download.bytes="100 GB"', "--set", "record.tables=[]", "--set", "record.captures=[]"]
    command = [sys.executable, "-m", "lasthop", "run", "quickstart", *long, "--out", "r"]
    command = ["sh", "-c", f'trap {inherited} INT; exec "$@"', "sh", *command]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    time.sleep(2)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=30)
    assert (running.returncode, said.strip()) == (130, "error: stopped")
    assert list(tmp_path.iterdir()) == []


def test_another_seed_is_another_run_of_the_same_scenario(lasthop: Lasthop) -> None:
    one, two = (lasthop("run", "lossy-path", "--seed", seed, "--json").json for seed in (1, 2))
    assert (one["seed"], two["seed"]) == (1, 2)
    assert one["flows"][0]["segments_sent"] != two["flows"][0]["segments_sent"]


BYSTANDER = """
[hosts.bystander]
profile = "tahoe"
[[links]]
name = "side"
between = ["server", "bystander"]
preset = "gsm-9600"
"""


def test_an_unrelated_host_changes_no_packet_of_the_others(tmp_path: Path) -> None:
    more = BASE + BYSTANDER
    tables = []
    for name, text in {"plain": BASE, "crowded": more}.items():
        path = tmp_path / f"{name}.toml"
        path.write_text(text)
        done = run(load_scenario(path), record={"tables": ["packets"], "captures": []})
        tables.append(done.tables["packets"])
    assert tables[0].equals(tables[1])


def test_an_override_reaches_the_run(lasthop: Lasthop) -> None:
    ended = lasthop("run", "quickstart", "--set", 'flows.download.bytes="200 kB"', "--json")
    assert ended.json["flows"][0]["bytes"] == 200_000


def test_the_folder_says_what_made_it(lasthop: Lasthop, tmp_path: Path) -> None:
    printed = lasthop("run", "quickstart", "--seed", "3", "--out", "r", "--json")
    index = json.loads((tmp_path / "r" / "run.json").read_text())
    assert index["summary"] == printed.json
    assert index["seed"] == 3
    assert index["specification"]["links"][0]["down"]["rate"] == "2 Mbit/s"
    assert index["versions"]["lasthop"] == package.__version__


def test_a_written_table_has_a_row_for_each_packet(lasthop: Lasthop, tmp_path: Path) -> None:
    printed = lasthop("run", "quickstart", "--out", "r", "--json").json
    packets = pq.read_table(tmp_path / "r" / "packets.parquet")
    assert packets.num_rows == sum(link["packets_in"] for link in printed["links"])
    fates = packets["fate"].to_pylist()
    assert fates.count("queue_drop") == sum(link["queue_drops"] for link in printed["links"])
    assert packets["retransmission"].to_pylist().count(True) == printed["flows"][0]["retransmissions"]


def test_a_run_survives_its_own_json(base: Path) -> None:
    scenario = load_scenario(base)
    assert load_scenario(base).hash == scenario.hash
    assert json.loads(scenario.json) == scenario.specification


def test_a_table_for_people_says_the_same(lasthop: Lasthop) -> None:
    shown = lasthop("run", "quickstart").out
    assert "retransmitted" in shown
    assert "longest queue" in shown


def test_a_table_for_people_reports_what_was_measured(lasthop: Lasthop) -> None:
    shown = lasthop("run", "voice-and-download").out
    (beside,) = lasthop("run", "voice-and-download", "--json").json["flows"][0]["windows"][1:]
    assert "Datagrams:" in shown
    assert "Window beside, 20 s to 40 s:" in shown
    assert f"{100 * beside['frame_loss']:.2f}" in shown.partition("Window beside")[2]


def test_of_many_links_a_table_for_people_reports_those_that_lost_something(lasthop: Lasthop) -> None:
    shown = lasthop("run", "topology-dumbbell", "--set", "flows.download.until='5 s'", "--set", "measure={}").out
    assert "bottleneck" in shown
    assert "access-" not in shown
    assert "41 more directions of links; --json has them" in shown


def test_of_a_crowd_a_table_for_people_reports_no_more_than_people_read(lasthop: Lasthop) -> None:
    crowd = ["--set", "hosts.user.count=70", "--set", "flows.download.until='2 s'", "--set", "measure={}"]
    shown = lasthop("run", "hosts-alike", *crowd).out
    assert "download-60 " in shown
    assert "download-61 " not in shown
    assert "10 more flows; --json has them" in shown
    assert len(lasthop("run", "hosts-alike", *crowd, "--json").json["flows"]) == 70


def test_a_table_for_people_reports_every_way_in_which_packets_were_lost(lasthop: Lasthop) -> None:
    dropper = ["--set", "links.lasthop.down.dropper.probability=0.1"]
    head, down, _ = _lines_of_links(lasthop("run", "datagrams", *dropper).out)
    assert head.split("  ")[-2:] == ["dropper drops", "still inside"]
    came, went, *lost = map(int, re.findall(r"\d+", down))
    assert came == went + sum(lost[:2]) + sum(lost[3:])
    assert "dropper drops" in lasthop("run", "datagrams", *dropper, "--replications", "2").out
    assert "dropper drops" not in lasthop("run", "datagrams").out
    mtu = ["--set", 'links.lasthop.mtu="600 bytes"']
    assert "oversize drops" in lasthop("run", "datagrams", *mtu).out


def _lines_of_links(shown: str) -> list[str]:
    """The lines of the table of links."""
    return shown.partition("\nlink ")[2].partition("\n\n")[0].splitlines()


def test_a_table_for_people_says_what_never_began(lasthop: Lasthop) -> None:
    late = ["--set", 'flows.download.start="10 s"', "--set", 'stop="5 s"']
    assert "No data sent before the run stopped: download\n" in lasthop("run", "quickstart", *late).out
    windows = ["--set", 'measure.warm_up="500 s"', "--set", 'measure.windows.first=["0 s", "1 s"]']
    shown = lasthop("run", "quickstart", *windows).out
    assert "Window first, 0 s to 1 s:" in shown
    assert "Windows that had not opened when the run stopped: steady\n" in shown


def test_a_wrong_override_is_an_input_error_in_python_too(base: Path) -> None:
    with pytest.raises(InputError) as raised:
        load_scenario(base, overrides=["links.lasthop.down.rate=-1"])
    assert raised.value.exit_status == 2


def test_a_run_that_was_cut_off_says_why_and_which_flows_are_not_finished(lasthop: Lasthop) -> None:
    ended = lasthop("run", "quickstart", "--set", 'links.lasthop.down.queue={limit="20 packets",overflow="stop"}')
    assert ended.status == 0
    assert "found the queue full" in ended.out
    assert "Not finished when the run stopped: download" in ended.out


def test_replications_report_each_measure_with_its_interval(lasthop: Lasthop) -> None:
    ended = lasthop("run", "gilbert-elliott", "--replications", "4", "--json")
    assert ended.status == 0
    assert ended.json["seeds"] == [1, 2, 3, 4]
    alone = lasthop("run", "gilbert-elliott", "--seed", "3", "--json")
    assert ended.json["runs"][2] == alone.json, "each run equals a single run with its seed"
    (flow,) = ended.json["flows"]
    elapsed = flow["measures"]["elapsed_s"]
    times = [run["flows"][0]["elapsed_s"] for run in ended.json["runs"]]
    assert elapsed["n"] == 4
    assert elapsed["mean"] == pytest.approx(sum(times) / 4)
    assert elapsed["mean_ci95"][0] < elapsed["mean"] < elapsed["mean_ci95"][1]
    assert [link["link"] for link in ended.json["links"]] == ["lasthop.down", "lasthop.up"]


def test_replications_are_means_for_a_reader(lasthop: Lasthop) -> None:
    ended = lasthop("run", "gilbert-elliott", "--replications", "2")
    assert ended.status == 0
    assert "2 runs, seeds 1 to 2" in ended.out
    assert "±" in ended.out


def test_a_folder_holds_one_run(lasthop: Lasthop, tmp_path: Path) -> None:
    ended = lasthop("run", "quickstart", "--replications", "2", "--out", "twice")
    assert ended.status == 2
    assert "one run" in ended.err
    assert not (tmp_path / "twice").exists()
