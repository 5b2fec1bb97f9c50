"""The interface for users: public names, the stub of the engine, the help of every command."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

import lasthop
from lasthop import _native
from lasthop.catalogue import LIBRARY, Entry, Kind, entries
from lasthop.cli import _EXTRAS, cli, main
from lasthop.scenario import RECORD_NOTHING

STUB = Path(lasthop.__file__).parent / "_native.pyi"
COMMANDS = [
    *("run", "study", "live", "shell", "fetch", "serve-file", "router", "set"),
    *("packetdrill", "plot", "report", "trace", "list", "doctor"),
]


@pytest.mark.parametrize("package", ["lasthop", "lasthop.plots"])
def test_every_public_name_is_there_and_at_home(package: str) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is not None, name
    assert sorted(module.__all__) == dir(module)


def test_explanations_and_pages_do_without_matplotlib() -> None:
    code = "import sys, lasthop.explanation, lasthop.report; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        _ = lasthop.runn


@pytest.mark.parametrize("package", ["lasthop.study", "lasthop.results", "lasthop.stats"])
def test_what_a_package_lists_is_what_it_has(package: str) -> None:
    module = importlib.import_module(package)
    listed = set(module.__all__)
    public = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "annotations"
    }
    assert listed == public


def stub_names() -> dict[str, ast.stmt]:
    names: dict[str, ast.stmt] = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names[node.target.id] = node
    return names


def test_the_stub_has_the_names_of_the_built_module() -> None:
    built = {name for name in vars(_native) if not name.startswith("_") or name == "__version__"}
    assert set(stub_names()) == built


@pytest.mark.parametrize("name", [n for n, node in stub_names().items() if isinstance(node, ast.FunctionDef)])
def test_the_stub_has_the_parameters_of_the_built_function(name: str) -> None:
    node = stub_names()[name]
    assert isinstance(node, ast.FunctionDef)
    built = inspect.signature(getattr(_native, name)).parameters
    assert [argument.arg for argument in node.args.args] == list(built)
    without_default = [p.name for p in built.values() if p.default is inspect.Parameter.empty]
    assert len(node.args.args) - len(node.args.defaults) == len(without_default)


@pytest.mark.parametrize("name", [n for n, node in stub_names().items() if isinstance(node, ast.ClassDef)])
def test_the_stub_has_the_members_of_the_built_class(name: str) -> None:
    node = stub_names()[name]
    assert isinstance(node, ast.ClassDef)
    listed = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
    fields = (member.target for member in node.body if isinstance(member, ast.AnnAssign))
    listed |= {target.id for target in fields if isinstance(target, ast.Name)}
    inherited = set(dir(object)) | {"__module__", "__doc__"}
    assert listed == set(vars(getattr(_native, name))) - inherited


@pytest.mark.parametrize("arguments", [[], *([command] for command in COMMANDS)])
def test_every_command_has_help_with_examples(arguments: list[str]) -> None:
    shown = CliRunner().invoke(cli, [*arguments, "--help"], prog_name="lasthop")
    assert shown.exit_code == 0
    assert "Examples:" in shown.output
    assert f"lasthop {' '.join(arguments)}".strip() in shown.output


def test_help_lists_every_command() -> None:
    shown = CliRunner().invoke(cli, ["--help"]).output
    assert [command for command in COMMANDS if f"\n  {command} " in shown] == COMMANDS


def test_an_unknown_command_names_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["fly"])
    assert left.value.code == 2
    commands = "new, list, show, convert, doctor, run, study, live, packetdrill, cc, league, stress, "
    assert f"The commands are {commands}" in capsys.readouterr().err


HEAVY = ("numpy", "pyarrow", "matplotlib", "rich", "importlib.metadata", "hashlib", "lasthop._native")


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["--help"], set()),
        (["fly"], set()),
        (["--version"], {"lasthop._native"}),
        (["run", "quickstart"], {"lasthop._native"}),
        (["run", "quickstart", "--json"], {"lasthop._native"}),
        (["show", "quickstart"], {"lasthop._native"}),
    ],
)
def test_a_command_loads_no_library_that_it_does_not_need(arguments: list[str], needed: set[str]) -> None:
    code = f"""
import sys
from lasthop.cli import cli
try:
    cli.main({arguments!r}, prog_name="lasthop", standalone_mode=False)
except Exception:
    pass
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert set(ast.literal_eval(ended.stdout.splitlines()[-1])) == needed


def test_importing_the_package_loads_nothing_but_itself() -> None:
    code = "import sys; import lasthop; print([name for name in sys.modules if name.startswith('lasthop.')])"
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ended.stdout.strip() == "[]"


def test_tables_of_a_run_are_read_without_pandas() -> None:
    code = "import sys, lasthop; print(lasthop.run('quickstart').tables['tcp'].num_rows > 0, 'pandas' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ended.stdout.strip() == "True False"


def test_the_live_child_loads_nothing_that_starts_threads() -> None:
    code = (
        "import lasthop.real_time.process, sys; print([m for m in ('numpy', 'pyarrow', 'click') if m in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ended.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", get_args(Kind))
def test_the_library_ships_with_the_package_and_says_what_is_in_it(kind: Kind) -> None:
    found = entries(kind)
    assert found
    assert all(entry.summary for entry in found)
    folder, suffix = {"scripts": ("scripts/packetdrill/passes", "pkt"), "documents": ("docs", "md")}.get(
        kind, (kind, "toml")
    )
    checkout = Path(__file__).parent.parent / folder
    made = Path("site", "generated")  # the pages of `make site`, which no wheel has
    files = {path.relative_to(checkout) for path in checkout.rglob(f"*.{suffix}")}
    files = {file for file in files if not file.is_relative_to(made)}
    shipped = {path.relative_to(LIBRARY / kind) for path in (LIBRARY / kind).rglob(f"*.{suffix}")}
    assert shipped == files


@pytest.mark.parametrize("entry", entries("scenarios"), ids=lambda entry: entry.name)
def test_every_scenario_of_the_library_runs(entry: Entry) -> None:
    scenario = lasthop.load_scenario(entry.name)
    done = lasthop.run(scenario, record=RECORD_NOTHING)
    # A scenario that says when it stops need not finish anything, but something must have arrived.
    stops = json.loads(scenario.json).get("stop") is not None
    assert all(flow["completed"] or stops for flow in done.summary["flows"])
    assert any(flow["received"] for flow in done.summary["flows"])


@pytest.mark.parametrize("entry", entries("scenarios"), ids=lambda entry: entry.name)
def test_every_scenario_of_the_library_is_short_and_says_what_to_look_at(entry: Entry) -> None:
    lines = entry.path.read_text().splitlines()
    comment = " ".join(line for line in lines[:4] if line.startswith("#"))
    assert len(lines) < 25
    assert "look at" in comment.lower()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("workloads", "bulk"),
        ("workloads", "background"),
        ("topologies", "dumbbell"),
        ("queues", "codel"),
        ("errors", "gilbert-elliott"),
        ("capacities", "trace"),
        ("compressions", "vj"),
        ("distributions", "uniform"),
    ],
)
def test_list_says_what_can_be_written_in_a_file_and_whence_it_is(
    capsys: pytest.CaptureFixture[str], kind: str, name: str
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["list", kind, "--json"])
    assert left.value.code == 0
    (row,) = [row for row in json.loads(capsys.readouterr().out)[kind] if row["name"] == name]
    assert all(row[key] for key in ("summary", "written", "source"))


def test_list_without_a_kind_lists_the_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["list", "--json"])
    assert left.value.code == 0
    kinds = [row["kind"] for row in json.loads(capsys.readouterr().out)["kinds"]]
    assert set(kinds) >= {"links", "profiles", "algorithms", "queues", "errors", "workloads", "topologies", "studies"}


def test_list_shows_names_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["list", "algorithms", "--json"])
    assert left.value.code == 0
    rows = json.loads(capsys.readouterr().out)["algorithms"]
    assert {"axis": "recovery", "id": "sack-6675"}.items() <= next(r for r in rows if r["id"] == "sack-6675").items()


def test_doctor_gives_a_remedy_for_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["doctor", "--json"])
    assert left.value.code == 0
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert {"tun", "namespaces", "tshark", "tcptrace", "fonts"} <= {check["check"] for check in checks}
    assert all(check["remedy"] for check in checks if not check["ok"])


LEAN = """
import sys
for name in ("matplotlib", "numpy", "pyarrow"):
    sys.modules[name] = None
from importlib import metadata
def absent(name):
    raise metadata.PackageNotFoundError(name)
metadata.version = absent
from lasthop.cli import main
main(sys.argv[1:])
"""


def without_heavy_packages(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", LEAN, *words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "words",
    [
        "run quickstart --json",
        "run quickstart --out out",
        "doctor",
        "list queues",
        "show lte",
        "new mine --link lte",
        "packetdrill unread_data_resets",
        "trace rate-schedule lasthop.down --for 2",
    ],
)
def test_what_only_runs_needs_no_heavy_package(tmp_path: Path, words: str) -> None:
    ended = without_heavy_packages(tmp_path, *words.split())
    assert ended.returncode == 0, ended.stderr


def test_a_command_that_needs_a_missing_package_names_it(tmp_path: Path) -> None:
    assert without_heavy_packages(tmp_path, "run", "quickstart", "--out", "out").returncode == 0
    for words in ("plot out cwnd", "explain out", "report out", "run quickstart --replications 2"):
        ended = without_heavy_packages(tmp_path, *words.split())
        assert ended.returncode == 1
        assert "not installed — install the wheel of lasthop with its extra: " in ended.stderr
        assert ".whl[results]'" in ended.stderr


def test_the_wheel_alone_needs_what_runs_need_and_extras_have_the_rest() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    assert [re.split("[<>=]", need)[0] for need in project["dependencies"]] == ["click", "rich"]
    extras = project["optional-dependencies"]
    assert set(_EXTRAS.values()) | {"cluster", "stress"} == set(extras)
    assert all("lasthop[results]" in needs for extra, needs in extras.items() if extra != "results")


@pytest.mark.parametrize("command", ["live", "live-part", "shell", "fetch", "serve-file", "router", "set"])
def test_elsewhere_than_on_linux_commands_of_real_time_say_so(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    ended = CliRunner().invoke(cli, [command, "--help"])
    assert ended.exit_code == 2
    assert f"lasthop {command} runs in real time and needs Linux; this system is darwin" in ended.output
    assert "lasthop run" in ended.output


def test_virtual_time_is_offered_on_every_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert CliRunner().invoke(cli, ["run", "--help"]).exit_code == 0
