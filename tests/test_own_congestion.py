"""A congestion control that is a class of Python in a file of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

import lasthop
from command import Lasthop
from lasthop.congestion import watch
from lasthop.errors import InputError

CONGESTION: Final = "hosts.server.tcp.congestion"

WINDOWS: Final = {"tables": ["tcp"], "captures": []}
"""Records: the table with the windows alone."""

RENO: Final = '''\
class Reno:
    """RFC 5681 section 3.1, with the fractions of a byte that lasthop's own has: 2^-20."""

    def __init__(self, mss, window):
        self.mss, self.ssthresh = mss, float("inf")
        self.window = window

    @property
    def window(self):
        return self.units >> 20

    @window.setter
    def window(self, window):
        self.units = int(window) << 20

    def acknowledged(self, ack):
        if self.window < self.ssthresh:
            self.units += min(ack.acked, self.mss) << 20
        else:
            self.units += ((self.mss * self.mss << 20) + self.window // 2) // self.window

    def lost(self, event):
        self.halve(min(event.flight, event.window))
        self.window = min(self.window, self.ssthresh)

    def timeout(self, event):
        if not event.repeated:
            self.halve(event.flight)
        self.window = self.mss

    def halve(self, used):
        self.ssthresh = max(min(used // 2, self.window), 2 * self.mss)
'''

NAMED: Final = RENO.replace("class Reno:\n", 'class Reno:\n    named_state = ("ssthresh", "units")\n\n', 1)

MINE: Final = """\
class Mine:
    def __init__(self, mss, window):
        self.window = window
    def acknowledged(self, ack):
        pass
    def lost(self, event):
        pass
    def timeout(self, event):
        pass
"""


def named(file: Path, name: str = "Mine", **parameters: object) -> dict[str, Any]:
    """The override that runs a class of `file`."""
    return {CONGESTION: {"python": {"class": f"{file}:{name}", "parameters": parameters}}}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A class that does nothing."""
    return written(tmp_path, MINE)


def written(folder: Path, code: str) -> Path:
    file = folder / "mine.py"
    file.write_text(code)
    return file


@pytest.mark.parametrize("scenario", ["quickstart", "lossy-path", "outages"])
def test_reno_in_python_has_the_windows_of_lasthops_own(scenario: str, tmp_path: Path) -> None:
    file = written(tmp_path, RENO)
    given = lasthop.load_scenario(scenario).specification
    sender = given["flows"][0]["from"]
    key = f"hosts.{sender}.tcp.congestion"
    ours = lasthop.run(scenario, overrides={key: "reno"}, record=WINDOWS).tables["tcp"]
    python = lasthop.run(scenario, overrides={key: {"python": f"{file}:Reno"}}, record=WINDOWS).tables["tcp"]
    assert ours.num_rows > 100
    for column in ours.column_names:
        assert ours[column].equals(python[column]), column


@pytest.mark.parametrize(
    ("code", "line", "message"),
    [
        ("class Other: pass\n", None, "there is no class Mine"),
        ("x = 1\nclass Mine: pass\n", 2, "the class has no method acknowledged"),
        ("class Mine\n", 1, "this is no Python"),
        ("import nothing_of_this_name\n", 1, "ModuleNotFoundError"),
        (MINE.replace("window):\n", "window):\n        1 / 0\n"), 3, "ZeroDivisionError"),
        (MINE.replace("ack):\n        pass", "ack):\n        ack.nothing"), 5, "AttributeError"),
        (MINE.replace("ack):\n        pass", "ack):\n        self.window = float('nan')"), 4, "nan is no size"),
        (MINE.replace("ack):\n        pass", "ack):\n        self.window = 'wide'"), 4, "'wide' is no size"),
        (MINE.replace("ack):\n        pass", "ack):\n        self.window = -1"), 4, "-1 is no size"),
        (MINE.replace("ack):\n        pass", "ack):\n        self.ssthresh = 1e13"), 4, "is no size"),
        (MINE.replace("ack):\n        pass", "ack):\n        raise SystemExit"), 5, "SystemExit"),
    ],
)
def test_a_mistake_has_its_file_its_line_and_the_exit_status_2(
    lasthop: Lasthop, tmp_path: Path, code: str, line: int | None, message: str
) -> None:
    written(tmp_path, code)
    ended = lasthop("run", "quickstart", "--set", f'{CONGESTION}={{ python = "mine.py:Mine" }}')
    assert ended.status == 2
    where = "mine.py" if line is None else f"mine.py:{line}"
    assert f"{where}: " in ended.err
    assert message in ended.err
    assert " — " in ended.err


def test_the_attributes_that_a_class_names_are_recorded(tmp_path: Path) -> None:
    record = {"tables": ["segments", "tcp"], "captures": []}
    own = {CONGESTION: {"python": f"{written(tmp_path, NAMED)}:Reno"}}
    run = lasthop.run("lossy-path", overrides=own, record=record)
    rows = run.tables["variables"]
    assert rows["name"].to_pylist()[:2] == ["ssthresh", "units"]
    assert rows["value"][0].as_py() == float("inf")
    assert len(run.plot("variables").axes) > 0
    for wrong, words in (('("nothing",)', "nothing"), ('"units"', "no tuple of names"), ('("halve",)', "no number")):
        file = written(tmp_path, NAMED.replace('("ssthresh", "units")', wrong))
        with pytest.raises(InputError, match=words):
            lasthop.run("lossy-path", overrides={CONGESTION: {"python": f"{file}:Reno"}}, record=record)


def test_a_call_that_does_not_return_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LIMIT", 1.0)
    file = written(tmp_path, MINE.replace("ack):\n        pass", "ack):\n        while True: pass"))
    with pytest.raises(InputError, match="has not returned within 1 s") as raised:
        lasthop.run("quickstart", overrides=named(file))
    assert (raised.value.file, raised.value.line) == (str(file), 5)


def test_a_sweep_stops_at_a_mistake(lasthop: Lasthop, tmp_path: Path) -> None:
    written(tmp_path, MINE.replace("ack):\n        pass", "ack):\n        1 / 0"))
    own = f'{CONGESTION}={{ python = "mine.py:Mine" }}'
    ended = lasthop("run", "quickstart", "--set", own, "--sweep", "links.lasthop.down.queue.limit=7 packets,9 packets")
    assert ended.status == 2
    assert "mine.py:5" in ended.err


def test_the_text_of_the_class_is_part_of_the_hash(mine: Path) -> None:
    before = lasthop.load_scenario("quickstart", overrides=named(mine)).hash
    assert lasthop.load_scenario("quickstart", overrides=named(mine)).hash == before
    mine.write_text(MINE + "# another\n")
    assert lasthop.load_scenario("quickstart", overrides=named(mine)).hash != before


def test_arguments_of_the_class_are_keys(tmp_path: Path) -> None:
    code = MINE.replace("mss, window", "mss, window, gain=1").replace("= window", "= window * gain")
    file = written(tmp_path, code)
    one, ten = (lasthop.run("quickstart", overrides=named(file, gain=gain)) for gain in (1, 10))
    assert one.flows["throughput_Bps"][0].as_py() < ten.flows["throughput_Bps"][0].as_py()


def test_a_timer_of_its_own_calls_the_class(tmp_path: Path) -> None:
    timer = (
        "    deadline = None\n    def timer(self, now):\n        self.window += 1\n        self.deadline = now + 0.5\n"
    )
    code = MINE.replace("ack):\n        pass", "ack):\n        self.deadline = self.deadline or ack.now + 0.5") + timer
    run = lasthop.run("quickstart", overrides=named(written(tmp_path, code)), record=WINDOWS)
    windows = run.tables["tcp"]["cwnd"].to_pylist()
    first = next(window for window in windows if window)
    elapsed = run.flows["elapsed_s"][0].as_py()
    assert windows[-1] - first == pytest.approx(elapsed / 0.5, abs=2)


def test_a_class_without_a_threshold_keeps_its_window_after_a_loss(tmp_path: Path) -> None:
    file = written(tmp_path, MINE.replace("self.window = window", "self.window = 40 * mss"))
    run = lasthop.run("quickstart", overrides=named(file), record=WINDOWS)
    assert run.flows["fast_retransmits"][0].as_py() > 0
    assert run.tables["tcp"]["cwnd"].to_pylist()[-1] == 40 * 1448


def test_a_deadline_that_stays_in_the_past_does_not_stop_time(tmp_path: Path) -> None:
    code = MINE + "    deadline = 0.0\n    def timer(self, now):\n        pass\n"
    run = lasthop.run("quickstart", overrides=named(written(tmp_path, code)))
    assert run.flows["completed"][0].as_py()


def test_a_rate_spreads_the_segments(tmp_path: Path) -> None:
    paced = MINE.replace("self.window = window", "self.window, self.pacing_rate = 1e6, 10_000")
    paced = paced.replace("class Mine:\n", "class Mine:\n    pacing_rate = None\n")
    run = lasthop.run("quickstart", overrides=named(written(tmp_path, paced)))
    assert run.flows["throughput_Bps"][0].as_py() == pytest.approx(10_000, rel=0.1)


def brings(base: Path) -> Path:
    """A scenario that names the class in its file."""
    text = base.read_text()
    file = base.with_name("brings.toml")
    file.write_text(text.replace("[hosts.mobile]", 'tcp.congestion = { python = "mine.py:Mine" }\n[hosts.mobile]'))
    return file


@pytest.mark.usefixtures("mine")
def test_a_file_that_brings_a_program_runs_with_consent_only(lasthop: Lasthop, base: Path) -> None:
    file = brings(base)
    refused = lasthop("run", file)
    assert refused.status == 2
    assert "brings.toml:5: " in refused.err
    assert "--allow-code" in refused.err
    for more in ([], ["--replications", 2], ["--sweep", "seed=1,2"]):
        allowed = lasthop("run", file, "--allow-code", "--json", *more)
        assert allowed.status == 0, allowed.err


@pytest.mark.usefixtures("mine")
def test_a_result_does_not_run_the_program_of_its_case(lasthop: Lasthop, base: Path) -> None:
    file = brings(base)
    assert lasthop("run", file, "--allow-code", "--sweep", "seed=1,2", "--out", "swept").status == 0
    drawn = lasthop("plot", "swept", "cwnd")
    assert drawn.status == 2
    assert "is not executed" in drawn.err


def test_packetdrill_and_real_time_refuse_a_program(lasthop: Lasthop, mine: Path) -> None:
    profile = mine.with_name("own.toml")
    profile.write_text('summary = "own"\nsources = []\nextends = "cubic"\ncongestion = { python = "mine.py:Mine" }\n')
    refused = lasthop("packetdrill", "unread_data_resets", "--profile", profile)
    assert refused.status == 2
    assert "own.toml:4: " in refused.err
    assert "lasthop run only" in refused.err


AIOQUIC: Final = '''\
class Halving:
    """The interface of aioquic's congestion controls, and the least that one does."""

    def __init__(self, *, max_datagram_size):
        self.congestion_window, self.ssthresh = 10 * max_datagram_size, None
        self.bytes_in_flight, self.smallest, self.recovery = 0, 2 * max_datagram_size, 0.0

    def on_packet_sent(self, *, packet):
        self.bytes_in_flight += packet.sent_bytes

    def on_packet_acked(self, *, now, packet):
        self.bytes_in_flight -= packet.sent_bytes
        assert self.bytes_in_flight >= 0
        if packet.sent_time > self.recovery:
            self.congestion_window += packet.sent_bytes

    def on_packets_lost(self, *, now, packets):
        for packet in packets:
            self.bytes_in_flight -= packet.sent_bytes
        if packet.sent_time > self.recovery:
            self.recovery = now
            self.congestion_window = self.ssthresh = max(self.congestion_window // 2, self.smallest)

    def on_persistent_congestion(self):
        self.congestion_window = self.smallest

    def on_rtt_measurement(self, *, now, rtt):
        assert 0 < rtt < 60
'''


@pytest.mark.parametrize("scenario", ["quickstart", "lossy-path", "outages"])
def test_a_congestion_control_of_aioquic_runs_unchanged(scenario: str, tmp_path: Path) -> None:
    file = written(tmp_path, AIOQUIC)
    run = lasthop.run(scenario, overrides=named(file, "Halving"), record=WINDOWS)
    rows = run.tables["tcp"]
    assert rows["cwnd"].to_pylist()[0] == 10 * 1448
    assert run.flows["throughput_Bps"][0].as_py() > 1000
    assert len(set(rows["cwnd"].to_pylist())) > 10


def test_an_incomplete_class_of_aioquic_is_refused_with_its_line(tmp_path: Path) -> None:
    file = written(tmp_path, AIOQUIC.replace("def on_packets_lost", "def forgotten"))
    with pytest.raises(InputError, match="the class has no method on_packets_lost") as raised:
        lasthop.run("quickstart", overrides=named(file, "Halving"))
    assert raised.value.line == 1


@pytest.mark.parametrize("algorithm", ["reno.RenoCongestionControl", "cubic.CubicCongestionControl"])
def test_aioquics_own_congestion_controls_run(
    algorithm: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    if find_spec("aioquic") is None:
        record_property("not run", "congestion controls of aioquic: pip install aioquic")
        return
    module, _, name = algorithm.partition(".")
    file = written(tmp_path, f"from aioquic.quic.congestion.{module} import {name}\n")
    ours = lasthop.run("lossy-path")
    run = lasthop.run("lossy-path", overrides=named(file, name))
    assert run.flows["throughput_Bps"][0].as_py() > 0.3 * ours.flows["throughput_Bps"][0].as_py()


def test_a_pacing_rate_of_the_object_alone_is_refused(lasthop: Lasthop, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    def __init__(self, mss, window):\n        self.pacing_rate = None\n"
        + "".join(f"    def {name}(self, event):\n        pass\n" for name in ("acknowledged", "lost", "timeout"))
    )
    ended = lasthop("run", "quickstart", "--set", 'hosts.server.tcp.congestion={ python = "mine.py:Mine" }')
    assert ended.status == 2
    assert "mine.py:2: " in ended.err
    assert "would have no effect" in ended.err
