"""What one command writes, the next one reads: a fitted link in every command that takes a link, fetches in reports."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from command import Lasthop
from lasthop.doctor import checks

OBSTACLES = [check for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]]
POSSIBLE = pytest.mark.skipif(bool(OBSTACLES), reason=f"NOT TESTED: this machine does not allow it: {OBSTACLES}")


@pytest.fixture
def fitted(lasthop: Lasthop, tmp_path: Path) -> Path:
    """A link that `fit` estimated from a capture that `run` wrote, as a file."""
    captured = 'record = { captures = ["server"] }\n'
    (tmp_path / "made.toml").write_text(LINK + captured)
    assert lasthop("run", "made.toml", "--out", "made").status == 0
    found = lasthop("fit", "made/capture-server.pcapng", "--out", "mine.toml")
    assert found.status == 0, found.err
    return tmp_path / "mine.toml"


LINK = """hosts = { server = { profile = "linux-6" }, phone = { profile = "linux-6" } }
flows = [{ name = "download", from = "server", to = "phone", bytes = "3 MB" }]
links = [{ name = "l", between = ["server", "phone"], down = { rate = "8 Mbit/s", propagation = "15 ms",
    queue = { limit = "40 packets" } }, up = { rate = "8 Mbit/s", propagation = "15 ms" } }]
"""


def test_a_fitted_link_runs_and_is_a_preset(lasthop: Lasthop, fitted: Path) -> None:
    ran = lasthop("run", fitted)
    assert ran.status == 0, ran.err
    assert ran.err == "", "no key of it is without effect"
    other = fitted.with_name("other.toml")
    link = '[{ name = "again", between = ["server", "phone"], preset = "./mine.toml", down = {}, up = {} }]'
    other.write_text(LINK.split("links = ")[0] + f"links = {link}\n")
    again = lasthop("run", other)
    assert again.status == 0, again.err


@POSSIBLE
@pytest.mark.live
def test_a_program_runs_behind_a_fitted_link(lasthop: Lasthop, fitted: Path) -> None:
    shown = lasthop("shell", "--link", fitted, "--", "true")
    assert shown.status == 0, shown.err
    assert "behind mine" in shown.err


@POSSIBLE
@pytest.mark.live
def test_fetches_over_a_fitted_link_are_read_by_the_commands_on_results(lasthop: Lasthop, fitted: Path) -> None:
    (fitted.parent / "file.bin").write_bytes(bytes(40_000))
    server = shlex.join([sys.executable, "-m", "http.server", "8493", "--directory", str(fitted.parent)])
    url = "http://gateway:8493/file.bin"
    fetched = lasthop("fetch", url, "--link", fitted, "--outside", server, "--out", "fetched", "--profile", "linux-6")
    assert fetched.status == 0, fetched.err
    for command in (["report", "fetched"], ["explain", "fetched"], ["compare", "fetched"], ["plot", "fetched", "rtt"]):
        shown = lasthop(*command)
        assert shown.status == 0, (command, shown.err)


@pytest.mark.live
def test_a_router_reads_a_fitted_link(lasthop: Lasthop, fitted: Path) -> None:
    """It gets as far as the places, of which one does not exist."""
    shown = lasthop("router", fitted, "--between", "no-such-place", "nor-this")
    assert shown.status != 0
    assert "no-such-place" in shown.err
    assert str(fitted) not in shown.err
