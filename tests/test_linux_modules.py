"""Congestion-control modules of Linux, in C."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import lasthop
from command import Lasthop
from lasthop.congestion import program
from lasthop.congestion.modules import build_module
from lasthop.errors import InputError
from lasthop.judge.modules import MODULES, source_folder

CONGESTION: Final = "hosts.server.tcp.congestion"

RECORDED: Final = {"tables": ["segments", "tcp"], "captures": []}

STATES: Final = {
    "bic": "bictcp",
    "cubic": "bictcp",
    "nv": "tcpnv",
    "highspeed": "hstcp",
    "scalable": None,
}
"""Structs of states whose names are not the modules', and modules without a state."""

VARIABLES: Final = {
    "cubic": ("cnt", "last_max_cwnd", "epoch_start", "delay_min", "found", "curr_rtt"),
    "bbr": ("min_rtt_us", "mode", "full_bw_reached", "pacing_gain", "cwnd_gain", "cycle_idx", "bw.s[0].v"),
}
"""Some of the variables of a state."""

AIMD: Final = (Path(__file__).parents[1] / "crates/modules/tests/tcp_aimd.c").read_text("utf-8")


@pytest.fixture
def aimd(tmp_path: Path) -> Path:
    """The module of the tests of `crates/modules`."""
    file = tmp_path / "tcp_aimd.c"
    file.write_text(AIMD)
    return file


def named(file: Path, **parameters: object) -> dict[str, Any]:
    """The override that runs a module with its parameters."""
    return {CONGESTION: {"linux": {"file": str(file), **parameters}}}


@pytest.mark.usefixtures("aimd")
def test_cc_build_shows_the_name_and_the_parameters(lasthop: Lasthop, tmp_path: Path) -> None:
    built = lasthop("cc", "build", "tcp_aimd.c", "--out", "aimd.so", "--json")
    assert built.status == 0, built.err
    assert (built.json["name"], built.json["cong_control"], built.json["plugin"]) == ("aimd", False, "aimd.so")
    assert [known["name"] for known in built.json["parameters"]] == ["kept", "fast"]
    assert built.json["state"] == {"struct": "aimd", "variables": ["acks"]}
    from_text = lasthop("run", "quickstart", "--json", "--set", f'{CONGESTION}={{ linux = "tcp_aimd.c" }}')
    (tmp_path / "tcp_aimd.c").unlink()
    from_plugin = lasthop("run", "quickstart", "--json", "--set", f'{CONGESTION}={{ linux = "aimd.so" }}')
    assert from_text.status == from_plugin.status == 0, from_plugin.err
    assert from_text.json["flows"] == from_plugin.json["flows"]


@pytest.mark.usefixtures("aimd")
def test_a_plug_in_has_the_ending_that_scenarios_expect(lasthop: Lasthop) -> None:
    refused = lasthop("cc", "build", "tcp_aimd.c", "--out", "aimd.o")
    assert refused.status == 2
    assert ".so" in refused.err


@pytest.mark.parametrize(
    ("wrong", "right", "line", "message"),
    [
        ("u32 acks;", "u23 acks;", 8, "the compiler refuses it"),
        ("#include <net/tcp.h>", "#include <net/none.h>", 5, "net/none.h"),
        ("return tcp_register_congestion_control(&aimd);", "return 0;", None, "registered no congestion control"),
        ("ca->acks = 0;\n}", "ca->acks = 10 / READ_ONCE(ca->acks);\n}", None, "divides by zero"),
        ("ca->acks = 0;\n}", "*(volatile u32 *)0 = ca->acks;\n}", None, "null pointer"),
    ],
)
def test_a_mistake_has_its_file_and_the_exit_status_2(
    lasthop: Lasthop, aimd: Path, wrong: str, right: str, line: int | None, message: str
) -> None:
    assert wrong in AIMD
    aimd.write_text(AIMD.replace(wrong, right, 1))
    ended = lasthop("run", "quickstart", "--set", f'{CONGESTION}={{ linux = "tcp_aimd.c" }}')
    assert ended.status == 2
    assert ("tcp_aimd.c: " if line is None else f"tcp_aimd.c:{line}: ") in ended.err
    assert message in ended.err


def test_a_parameter_is_a_key_and_an_unknown_one_is_answered_with_the_list(aimd: Path) -> None:
    slow, fast = (lasthop.run("quickstart", overrides=named(aimd, kept=kept)) for kept in (200, 900))
    assert slow.flows["elapsed_s"][0].as_py() != fast.flows["elapsed_s"][0].as_py()
    with pytest.raises(InputError, match="no parameter gain") as raised:
        lasthop.run("quickstart", overrides=named(aimd, gain=2))
    assert raised.value.help == "it has kept, fast"


def test_keys_beside_the_file_are_parameters_too(aimd: Path) -> None:
    beside = {CONGESTION: {"linux": str(aimd), "kept": 200}}
    hashes = {lasthop.load_scenario("quickstart", overrides=each).hash for each in (beside, named(aimd, kept=200))}
    assert len(hashes) == 1


def test_the_text_of_the_module_is_part_of_the_hash(aimd: Path) -> None:
    before = lasthop.load_scenario("quickstart", overrides=named(aimd)).hash
    aimd.write_text(AIMD + "/* another */\n")
    assert lasthop.load_scenario("quickstart", overrides=named(aimd)).hash != before


def test_a_sweep_and_replications_run_modules_in_several_threads(lasthop: Lasthop, aimd: Path) -> None:
    own = f'cubic,{{ linux = "{aimd.name}" }}'
    swept = lasthop("run", "quickstart", "--sweep", f"{CONGESTION}={own}", "--replications", 3, "--json")
    assert swept.status == 0, swept.err


def test_the_state_of_linux_is_recorded(aimd: Path) -> None:
    run = lasthop.run("quickstart", overrides=named(aimd), record={"tables": ["tcp"], "captures": []})
    assert {"Open", "Disorder", "Recovery"} <= set(run.tables["tcp"]["state"].to_pylist())


@pytest.mark.usefixtures("aimd")
def test_a_file_that_brings_a_module_runs_with_consent_only(lasthop: Lasthop, base: Path) -> None:
    file = base.with_name("brings.toml")
    key = 'tcp.congestion = { linux = "tcp_aimd.c" }\n[hosts.mobile]'
    file.write_text(base.read_text().replace("[hosts.mobile]", key))
    refused = lasthop("run", file)
    assert refused.status == 2
    assert "brings.toml:5: " in refused.err
    assert "--allow-code" in refused.err
    assert lasthop("run", file, "--allow-code").status == 0
    assert lasthop("run", file, "--allow-code", "--sweep", "seed=1,2", "--out", "swept").status == 0
    drawn = lasthop("plot", "swept", "cwnd")
    assert drawn.status == 2
    assert "tcp_aimd.c, and a result's program is not executed" in drawn.err


def test_the_laboratory_runs_no_module(aimd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_refusing", "lasthop serve")
    with pytest.raises(InputError, match="lasthop serve executes no program"):
        lasthop.run("quickstart", overrides=named(aimd))


def test_packetdrill_refuses_a_module(lasthop: Lasthop, aimd: Path) -> None:
    profile = aimd.with_name("own.toml")
    profile.write_text('summary = "own"\nsources = []\nextends = "cubic"\ncongestion = { linux = "tcp_aimd.c" }\n')
    refused = lasthop("packetdrill", "unread_data_resets", "--profile", profile)
    assert refused.status == 2
    assert "own.toml:4: " in refused.err


@pytest.mark.parametrize("module", MODULES)
def test_a_module_of_linux_source_runs_unmodified(module: str, record_property: Callable[[str, object], None]) -> None:
    folder = source_folder()
    if folder is None:
        record_property("not run", "the modules of Linux: apt-get install linux-source")
        return
    built = build_module(folder / f"tcp_{module}.c")
    assert built.name == module
    state = None if built.state is None else built.state.struct
    assert state == STATES.get(module, module)
    assert built.state is None or set(VARIABLES.get(module, ())) <= set(built.state.variables)
    keys = {} if state is None else {"state": state}
    overrides = named(folder / f"tcp_{module}.c", **keys) | {"hosts.server.profile": "linux-6"}
    run = lasthop.run("lossy-path", overrides=overrides, record=RECORDED)
    assert run.flows["completed"][0].as_py()
    recorded = set() if state is None else set(run.tables["variables"]["name"].to_pylist())
    assert recorded == (set() if built.state is None else set(built.state.variables))


def test_changes_of_a_modules_variables_are_recorded_and_drawn(aimd: Path) -> None:
    assert "variables" not in lasthop.run("lossy-path", overrides=named(aimd), record=RECORDED).tables
    run = lasthop.run("lossy-path", overrides=named(aimd, state="aimd"), record=RECORDED)
    rows = run.tables["variables"]
    assert set(rows["name"].to_pylist()) == {"acks"}
    assert rows["value"][0].as_py() == 0
    assert any("acks" in axes.get_title(loc="left") for axes in run.plot("variables").axes)
    wrong = named(aimd, state="bictcp")
    with pytest.raises(InputError, match="no struct bictcp for its state — it has aimd"):
        lasthop.run("lossy-path", overrides=wrong)
