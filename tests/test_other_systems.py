"""Virtual time, studies, captures and pages without what only Linux or only POSIX has.

Each test runs in a process in which the modules and functions of POSIX are hidden, and those of real time are missing
from the engine, as in the wheels of macOS and Windows.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from lasthop import _native
from lasthop.results.folder import STORE_FILE

HIDDEN_MODULES: Final = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog")
HIDDEN_FUNCTIONS: Final = {
    "os": ("sched_getaffinity", "nice", "fork", "geteuid", "getuid", "killpg", "setsid", "pidfd_open", "getloadavg"),
    "signal": ("SIGHUP", "SIGKILL", "SIGCHLD", "SIGUSR1", "pthread_sigmask", "sigwait"),
    "socket": ("AF_PACKET",),
}
REAL_TIME: Final = ("doctor", "fetch", "live", "live_part", "router", "serve", "shell", "SOURCES")
"""Functions of the engine that are compiled for Linux only."""

HIDE: Final = f"""
import asyncio, concurrent.futures, importlib, multiprocessing, os, signal, socket, sys, tempfile
from pathlib import Path
import click, matplotlib.pyplot, pandas, pyarrow.parquet, rich.progress
from lasthop import _native
sys.modules.update(dict.fromkeys({HIDDEN_MODULES!r}))
for module, names in {HIDDEN_FUNCTIONS!r}.items():
    for name in names:
        vars(sys.modules[module]).pop(name, None)
for name in {REAL_TIME!r}:
    delattr(_native, name)
sys.platform = "darwin"
"""
"""Packages of others are imported before: they find out themselves where they run."""

EVERY_MODULE: Final = """
import lasthop
root = Path(lasthop.__file__).parent
for path in sorted(root.rglob("*.py")):
    if "library" not in path.parts and path.name != "__main__.py":
        importlib.import_module(".".join(("lasthop", *path.relative_to(root).with_suffix("").parts)))
"""

WORK: Final = """
from lasthop.cli import main
def lasthop(*words, status=0):
    try:
        main(list(words))
    except SystemExit as ended:
        assert ended.code == status, (words, ended.code)
short = ("--set", "stop=5 s")
grid = ("--replications", "2", "--sweep", "hosts.server.profile=reno,cubic")
lasthop("run", "quickstart", *short, "--out", "result")
lasthop("explain", "result")
lasthop("plot", "result", "cwnd")
lasthop("report", "result")
lasthop("run", "quickstart", *short, *grid, "--out", "grid")
lasthop("analyze", "result/capture-lasthop.pcapng")
lasthop("study", "small", "--out", "study")
lasthop("doctor")
lasthop("live", "quickstart", status=2)
"""


def elsewhere(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code where POSIX is hidden."""
    return subprocess.run(
        [sys.executable, "-c", HIDE + code], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )


def test_what_is_hidden_is_what_the_engine_has_for_real_time() -> None:
    assert [name for name in REAL_TIME if not hasattr(_native, name)] == []


def test_every_module_is_imported_on_systems_other_than_linux(tmp_path: Path) -> None:
    ended = elsewhere(EVERY_MODULE, tmp_path)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.usefixtures("small_study")
def test_virtual_time_studies_captures_and_pages_work_on_systems_other_than_linux(tmp_path: Path) -> None:
    ended = elsewhere(WORK, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert json.loads((tmp_path / "result" / "run.json").read_text())["files"]
    assert (tmp_path / "result" / "report.html").is_file()
    assert (tmp_path / "study" / STORE_FILE).is_file()
    assert "runs in real time need Linux; this system is darwin" in ended.stdout
    assert "lasthop live runs in real time and needs Linux" in ended.stderr


def test_the_same_bytes_come_out_on_systems_other_than_linux(tmp_path: Path) -> None:
    run = 'import lasthop; lasthop.run_to_folder(lasthop.load_scenario("quickstart"), Path(sys.argv[1]))'
    here = [sys.executable, "-c", f"import sys; from pathlib import Path; {run}", "here"]
    subprocess.run(here, cwd=tmp_path, check=True, timeout=300)
    ended = elsewhere(run.replace("sys.argv[1]", "'there'"), tmp_path)
    assert ended.returncode == 0, ended.stderr
    found = [{path.name: path.read_bytes() for path in (tmp_path / each).iterdir()} for each in ("here", "there")]
    assert found[0].keys() == found[1].keys()
    assert all(found[0][name] == found[1][name] for name in found[0] if name != "run.json")


def test_in_python_a_run_in_real_time_says_what_it_needs(tmp_path: Path) -> None:
    ended = elsewhere('import lasthop; lasthop.live("quickstart")', tmp_path)
    assert "LiveError: runs in real time need Linux; this system is darwin" in ended.stderr


def test_a_job_of_the_page_runs_where_the_system_bounds_nothing(tmp_path: Path) -> None:
    job = {"kind": "run", "folder": "job", "text": "", "overrides": [], "seed": 1, "source": "quickstart"}
    code = f"""
import io, json
from lasthop import catalogue
from lasthop.serve import worker
job = {job!r}
job["text"] = (catalogue.LIBRARY / "scenarios" / "quickstart.toml").read_text("utf-8")
sys.stdin, sys.argv = io.StringIO(json.dumps(job)), ["worker", "1", "1"]
worker.main()
"""
    ended = elsewhere(code, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1])["event"] == "done"


MSVCRT: Final = f"""
import fcntl as posix, types
{HIDE}
def locking(descriptor, mode, length):
    assert mode == 2
    posix.lockf(descriptor, posix.LOCK_EX | posix.LOCK_NB, length)
sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=2)
"""
"""Windows' lock of bytes from the present position on, by POSIX's."""

HOLD: Final = """
from lasthop.study.store import Store
with Store(Path("s")) as store:
    store.put("a", {"case": "x"}, '{"seed":1}')
    store.flush()
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("first", [HOLD, f"{MSVCRT}{HOLD}"])
def test_two_processes_do_not_write_one_study_with_either_kind_of_lock(first: str, tmp_path: Path) -> None:
    code = f"import sys; from pathlib import Path\n{first}"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        second = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
        )
        assert "another study is writing here" in second.stderr
        holder.stdin.write("\n")
        holder.stdin.flush()
    assert holder.returncode == 0
    assert (tmp_path / "s" / STORE_FILE).read_text().count("\n") == 1
