"""`lasthop packetdrill`: what it prints, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lasthop.catalogue import entries
from lasthop.errors import InputError
from lasthop.packetdrill import run_script

SCRIPTS = Path(__file__).parent.parent / "scripts" / "packetdrill"


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lasthop", "packetdrill", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_script_that_passes_ends_with_0_and_says_so() -> None:
    done = run(SCRIPTS / "passes" / "fast_retransmit.pkt", "--profile", "sack-6675")
    assert done.returncode == 0, done.stderr
    assert "1 of 1 passed" in done.stdout


def test_every_script_of_the_library_passes_by_its_name_alone() -> None:
    names = [entry.name for entry in entries("scripts")]
    assert len(names) > 10
    results = [run_script(name) for name in names]
    assert [result.file for result in results if not result.passed] == []


def test_a_script_may_name_the_profile_for_which_it_is_written(tmp_path: Path) -> None:
    script = tmp_path / "mine.pkt"
    script.write_text("// A socket.\n// profile: freebsd-14\n 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n")
    assert run_script(script).profile == "freebsd-14"
    assert run_script(script, "reno").profile == "reno"
    assert "mine.pkt  (freebsd-14)" in run(script).stdout


def test_scripts_that_set_buffers_and_fast_open_pass_against_a_profile_of_linux() -> None:
    names = ["receive_and_send_buffers", "settings_of_the_kernel", "fast_open_client", "fast_open_server"]
    done = run(*(SCRIPTS / "passes" / f"{name}.pkt" for name in names), "--profile", "linux-6", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [script["passed"] for script in json.loads(done.stdout)["scripts"]] == [True] * len(names)


def test_a_failure_reports_line_expected_got_and_what_happened_before() -> None:
    done = run(SCRIPTS / "fails" / "an_assertion.pkt", "--profile", "sack-6675", "--json")
    assert done.returncode == 1
    script = json.loads(done.stdout)["scripts"][0]
    assert (script["passed"], script["line"]) == (False, 8)
    assert (script["expected"], script["got"]) == ("tcpi_snd_cwnd == 4", "10")
    assert script["timeline"][-1]["line"] == 7


def test_a_call_that_is_not_supported_ends_with_2_and_names_file_line_and_remedy() -> None:
    done = run(SCRIPTS / "refused" / "a_call.pkt")
    assert done.returncode == 2
    assert "a_call.pkt:3: the system call getpeername is not supported — use one of socket" in done.stderr


def test_a_script_that_cannot_be_run_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "bytes.pkt").write_bytes(b"\xff\xfe")
    refused = (SCRIPTS / "refused" / "a_call.pkt", tmp_path / "bytes.pkt", tmp_path / "nowhere.pkt")
    done = run(refused[0], SCRIPTS / "passes" / "fast_retransmit.pkt", *refused[1:], "--profile", "sack-6675")
    assert done.returncode == 2
    assert "1 of 4 passed, 3 could not be run" in done.stdout
    assert all(path.name in done.stderr for path in refused)
    as_json = run(*refused, SCRIPTS / "fails" / "an_assertion.pkt", "--profile", "sack-6675", "--json")
    report = json.loads(as_json.stdout)
    assert as_json.returncode == 2
    assert [one["line"] for one in report["refused"]] == [3, None, None]
    assert [one["passed"] for one in report["scripts"]] == [False]


def test_a_profile_that_is_not_there_and_a_file_that_is_not_there_are_refused() -> None:
    assert run(SCRIPTS / "passes" / "fast_retransmit.pkt", "--profile", "linux-99").returncode == 2
    assert run(SCRIPTS / "nowhere.pkt").returncode != 0


def test_settings_of_the_machine_are_said_and_those_of_tcp_without_a_key_are_refused(tmp_path: Path) -> None:
    script = tmp_path / "settings.pkt"
    event = " 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
    script.write_text(f"`sysctl -q net.ipv4.ip_forward=1`\n{event}")
    assert run_script(script).notes == ["ip_forward = 1 has no key in a profile and is left out"]
    script.write_text(f"`sysctl -q net.ipv4.tcp_abc=1`\n{event}")
    with pytest.raises(InputError, match="the setting tcp_abc = 1 has no key in a profile"):
        run_script(script)


def test_linux_6_does_as_linux_does() -> None:
    done = run(SCRIPTS / "linux", "--profile", "linux-6", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 0, report
    assert len(report["scripts"]) == len(list((SCRIPTS / "linux").iterdir()))


def test_the_scripts_of_folders_are_run_and_counted_by_folder() -> None:
    done = run(SCRIPTS, "--profile", "sack-6675")
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.startswith(str(SCRIPTS))}
    count = {folder: len(list((SCRIPTS / folder).glob("*.pkt"))) for folder in ("fails", "refused")}
    assert rows[str(SCRIPTS / "fails")] == ["0", str(count["fails"]), "0"]
    assert rows[str(SCRIPTS / "refused")] == ["0", "0", str(count["refused"])]
    assert done.returncode == 2


def test_a_folder_without_a_script_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 2
    assert "has no script" in done.stderr


def test_names_that_a_script_leaves_open_are_defined_by_the_command(tmp_path: Path) -> None:
    script = tmp_path / "open.pkt"
    script.write_text(" 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = FIRST\n")
    assert run(script, "-D", "FIRST=3").returncode == 0
    assert run(script).returncode == 2
    wrong = run(script, "-D", "FIRST")
    assert wrong.returncode == 2
    assert "-D FIRST defines no name" in wrong.stderr


def test_a_bare_file_name_finds_commands_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "defaults.sh").write_text("sysctl -q net.ipv4.ip_forward=1\n")
    (tmp_path / "bare.pkt").write_text("`./defaults.sh`\n 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n")
    monkeypatch.chdir(tmp_path)
    assert run_script("bare.pkt").notes == ["ip_forward = 1 has no key in a profile and is left out"]
