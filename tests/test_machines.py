"""`lasthop live` on several machines: three network namespaces, two of them with an sshd."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import lasthop as library
from command import Lasthop
from lasthop.doctor import checks
from several_machines import LASTHOP, Machines, address, obstacles, three_machines

MISSING = [
    *obstacles(),
    *(check["says"] for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]),
]
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(MISSING), reason=f"NOT TESTED: three machines with sshd need {MISSING}"),
]

SHORT = ("--set", 'flows.download.bytes="200 kB"')


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """The three machines."""
    with three_machines(tmp_path_factory.mktemp("machines")) as made:
        yield made


def placed(machines: Machines, **places: str) -> list[str]:
    """Return the options that place parts of a scenario."""
    return [word for key, name in places.items() for word in ("--set", f'{_path(key)}="{machines.at(name)}"')]


def _path(key: str) -> str:
    return "links.lasthop.at" if key == "links" else f"hosts.{key}.at"


def comes_true(holds: Callable[[], bool]) -> bool:
    """Try for some seconds: the kernel takes things down after a process ends."""
    for _ in range(300):
        if holds():
            return True
        time.sleep(0.05)
    return False


def test_a_transfer_between_two_machines_arrives_whole(machines: Machines, lasthop: Lasthop) -> None:
    ran = machines.lasthop("live", "quickstart", *SHORT, *placed(machines, server="b", mobile="c"), "--json")
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    flow = summary["flows"][0]
    assert (flow["bytes"], flow["completed"]) == (200_000, True)
    assert summary["kernel"]["flows"][0]["received"] == 200_000
    server, mobile = summary["machines"]
    assert (server["machine"], mobile["machine"]) == (machines.at("b"), machines.at("c"))
    assert [tunnel["host"] for tunnel in server["tunnels"]] == ["server"]
    down = {(link["link"], link["direction"]): link for link in summary["links"]}["lasthop", "down"]
    assert server["tunnels"][0]["from_host"]["packets"] == down["packets_in"]
    assert mobile["tunnels"][0]["to_host"]["packets"] == down["packets_out"]
    assert all(way["lost"] == 0 for one in (server, mobile) for way in _ways(one))
    # A clock is compared with itself, since these machines have one processor.
    assert abs(server["clock_ahead_ms"]) < 50
    here = lasthop("live", "quickstart", *SHORT, "--json")
    assert here.status == 0, here.err
    ratio = flow["elapsed_s"] / here.json["flows"][0]["elapsed_s"]
    assert 0.5 < ratio < 2, "generous: other tests run alongside this one"


def _ways(machine: dict[str, list[dict[str, dict[str, float]]]]) -> list[dict[str, float]]:
    return [way for tunnel in machine["tunnels"] for way in (tunnel["to_host"], tunnel["from_host"])]


def test_the_links_may_be_on_a_machine_of_their_own(machines: Machines, tmp_path: Path) -> None:
    out = tmp_path / "result"
    ran = machines.lasthop(
        *("live", "quickstart", *SHORT, *placed(machines, server="b", links="c"), "--out", str(out)),
        *("--set", 'record.captures=["server", "mobile"]', "--set", 'record.tables=["tcp"]'),
    )
    assert ran.returncode == 0, ran.stderr
    assert "server on ssh://b" in ran.stdout
    summary = json.loads((out / "run.json").read_text())["summary"]
    assert summary["flows"][0]["completed"]
    assert [one["machine"] for one in summary["machines"]] == [machines.at("b")], "mobile is with the links"
    captures = sorted(path.name for path in out.glob("capture-*"))
    assert captures == ["capture-mobile.pcapng", "capture-server-device.pcapng", "capture-server.pcapng"]
    result = library.open_run(out)
    assert result.table("packets").num_rows > 0
    windows = result.table("tcp").to_pydict()
    assert max(windows["cwnd"]) > min(windows["cwnd"]), "samples of the kernel there"
    assert 0 <= windows["time_ns"][0] < summary["stopped_s"] * 1e9, "by the clock of the run"


def test_the_capture_at_a_device_and_that_of_the_emulator_are_of_the_same_packets(
    machines: Machines, lasthop: Lasthop, tmp_path: Path
) -> None:
    out = tmp_path / "result"
    ran = machines.lasthop(
        *("live", "quickstart", *SHORT, *placed(machines, server="b"), "--out", str(out)),
        *("--set", 'record.captures=["server"]'),
    )
    assert ran.returncode == 0, ran.stderr
    device, emulator = (str(out / f"capture-server{where}.pcapng") for where in ("-device", ""))
    joined = lasthop("analyze", device, emulator, "--json")
    assert joined.status == 0, joined.err
    assert joined.json


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="NOT TESTED: setpriv is not installed")
def test_a_machine_needs_no_root(machines: Machines) -> None:
    wrapper = machines.folder / "as-nobody"
    wrapper.write_text(
        "#!/bin/sh\nexec unshare --mount sh -c '"
        f"mknod -m 0666 {machines.folder}/tun c 10 200 && mount --bind {machines.folder}/tun /dev/net/tun && "
        f'exec setpriv --reuid=65534 --regid=65534 --clear-groups {LASTHOP} "$@"\' lasthop "$@"\n'
    )
    wrapper.chmod(0o755)
    ran = machines.lasthop(
        "live", "quickstart", *SHORT, "--set", f'hosts.server.at="ssh://b?lasthop={wrapper}"', "--json"
    )
    refused = [word for word in ("mknod:", "mount:", "unshare:", "namespaces are refused") if word in ran.stderr]
    if refused:
        pytest.skip(f"NOT TESTED: this machine keeps users from it: {ran.stderr}")
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    assert summary["flows"][0]["completed"]
    assert (summary["right"], summary["machines"][0]["right"]) == ("privilege", "user_namespace")


def test_two_hosts_on_a_machine_by_another_address_and_port(machines: Machines) -> None:
    at = machines.at("b", f"&udp=[{address('b', 6)}]:4100")
    places = ("--set", f'hosts.server.at="{at}"', "--set", f'hosts.mobile.at="{at}"')
    ran = machines.lasthop("live", "quickstart", *SHORT, *places, "--json")
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    assert summary["flows"][0]["completed"]
    (both,) = summary["machines"]
    assert [tunnel["host"] for tunnel in both["tunnels"]] == ["server", "mobile"]


LOSSY = """
import selectors, socket, sys
inside, outside = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
inside.bind(("127.0.0.1", 4200))
print("up", flush=True)
both = selectors.DefaultSelector()
both.register(inside, selectors.EVENT_READ)
both.register(outside, selectors.EVENT_READ)
emulator, count = None, 0
while True:
    for key, _ in both.select():
        datagram, source = key.fileobj.recvfrom(65535)
        count += 1
        if key.fileobj is inside:
            emulator = source
            if len(datagram) < 1000 or count % 20:
                outside.sendto(datagram, (sys.argv[1], 4200))
        else:
            inside.sendto(datagram, emulator)
"""
"""Passes datagrams on between the emulator and a machine, and loses some of the large ones."""


def test_what_a_tunnel_loses_is_counted_and_taints_the_run(machines: Machines) -> None:
    lossy = machines.start(sys.executable, "-c", LOSSY, address("c"))
    try:
        assert lossy.stdout is not None
        assert lossy.stdout.readline() == "up\n"
        at = machines.at("c", "&udp=127.0.0.1:4200")
        place = ("--set", f'hosts.mobile.at="{at}"')
        ran = machines.lasthop("live", "quickstart", *SHORT, *place, "--json")
    finally:
        lossy.kill()
        lossy.communicate()
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    assert summary["flows"][0]["completed"], "TCP repairs what the tunnel loses"
    (machine,) = summary["machines"]
    assert machine["tunnels"][0]["to_host"]["lost"] > 0
    assert machine["tunnels"][0]["from_host"]["lost"] == 0
    assert machine["tainted"]


def test_datagrams_that_do_not_come_through_are_reported(machines: Machines) -> None:
    at = machines.at("b", "&udp=192.0.2.99")
    ran = machines.lasthop("live", "quickstart", "--set", f'hosts.server.at="{at}"')
    assert ran.returncode == 1
    assert f"{at}: no answer to datagrams that were sent to 192.0.2.99 for 5 s" in ran.stderr
    assert "does a firewall drop UDP?" in ran.stderr


def test_what_a_machine_lacks_is_reported_with_its_name_and_the_remedy(machines: Machines) -> None:
    no_tun = 'unshare --mount sh -c \'mount -t tmpfs none /dev/net; exec "$0" "$@"\''
    wrapper = machines.folder / "without-tun"
    wrapper.write_text(f'#!/bin/sh\nexec {no_tun} {LASTHOP} "$@"\n')
    wrapper.chmod(0o755)
    ran = machines.lasthop("live", "quickstart", "--set", f'hosts.server.at="ssh://b?lasthop={wrapper}"')
    assert ran.returncode == 1
    assert f"ssh://b?lasthop={wrapper}: a live run is not possible here: /dev/net/tun does not exist" in ran.stderr
    assert "modprobe tun" in ran.stderr


def test_programs_run_in_hosts_on_other_machines(machines: Machines, tmp_path: Path) -> None:
    out = tmp_path / "result"
    server = "sh -c 'echo at $LASTHOP_ADDRESS; exec python3 -m http.server 80'"
    client = "import os, urllib.request as r; r.urlopen('http://' + os.environ['LASTHOP_PEER']).read(); print('got it')"
    ran = machines.lasthop(
        *("live", "quickstart", *placed(machines, server="b", mobile="c"), "--out", str(out)),
        *("--in", "server", server, "--", "python3", "-c", client),
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    written = (out / "output-server-1.txt").read_text()
    assert written.startswith("at 10."), written
    assert '"GET / HTTP/1.1" 200' in written
    assert (out / "output-command.txt").read_text() == "got it\n"


ECHO_STACK = Path(__file__).parent.parent / "docs/recipes/echo_stack.py"

WITH_A_PROGRAM = """name = "echo"
hosts = {{ client = {{ profile = "linux-6" }}, server = {{ stack = "program", at = "{at}" }} }}
[[links]]
name = "lasthop"
between = ["client", "server"]
down = {{ rate = "1 Mbit/s", propagation = "30 ms" }}
up = {{ rate = "1 Mbit/s", propagation = "30 ms" }}
"""

ASKS = """
import os, socket, sys
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(30)
client.sendto(b"there and back", (os.environ["LASTHOP_ADDRESS_SERVER"], 7))
print(client.recvfrom(100)[0].decode(), file=sys.stderr)
"""


def test_a_program_elsewhere_may_be_a_hosts_stack(machines: Machines, tmp_path: Path) -> None:
    (tmp_path / "echo.toml").write_text(WITH_A_PROGRAM.format(at=machines.at("b")))
    stack = shlex.join([sys.executable, str(ECHO_STACK)])
    out = tmp_path / "out"
    ran = machines.lasthop(
        *("live", str(tmp_path / "echo.toml"), "--json", "--out", str(out), "--in", "server", stack),
        *("--", sys.executable, "-c", ASKS),
    )
    assert ran.returncode == 0, ran.stderr
    assert "there and back" in ran.stderr
    summary = json.loads(ran.stdout)
    assert {link["packets_out"] for link in summary["links"]} == {1}
    assert summary["outside"]["device_drops"] == 0
    assert "this host is 10." in (out / "output-server-1.txt").read_text()


def test_other_sources_of_the_same_version_are_refused(machines: Machines, tmp_path: Path) -> None:
    other = tmp_path / "lasthop"
    said = json.dumps({"lasthop": library.__version__, "sources": "0123456789abcdef"})
    other.write_text(f"#!/bin/sh\necho '{said}'\ncat > /dev/null\n")
    other.chmod(0o755)
    ran = machines.lasthop("live", "quickstart", "--set", f'hosts.server.at="ssh://b?lasthop={other}"')
    assert ran.returncode == 2
    assert "built from other sources than this machine's (0123456789abcdef there, " in ran.stderr
    assert "build and install the same sources on both" in ran.stderr


def test_a_program_that_fails_elsewhere_fails_the_run(machines: Machines) -> None:
    ran = machines.lasthop("live", "quickstart", *placed(machines, server="b"), "--", "sh", "-c", "echo so; exit 3")
    assert ran.returncode == 1
    assert "so" in ran.stderr
    assert "the program in the first host ended with status 3" in ran.stderr


def test_another_version_is_refused_with_both_named(machines: Machines, tmp_path: Path) -> None:
    other = tmp_path / "lasthop"
    other.write_text('#!/bin/sh\necho welcome\necho \'{"lasthop": "9.8.7"}\'\ncat > /dev/null\n')
    other.chmod(0o755)
    ran = machines.lasthop("live", "quickstart", "--set", f'hosts.server.at="ssh://b?lasthop={other}"')
    assert ran.returncode == 2
    assert "hosts.server.at: " in ran.stderr
    assert "has lasthop 9.8.7, and this machine has 0." in ran.stderr
    assert "install the same version on both" in ran.stderr


def test_a_machine_that_ssh_does_not_reach_is_reported_in_its_words(machines: Machines) -> None:
    ran = machines.lasthop("live", "quickstart", "--set", 'hosts.server.at="ssh://192.0.2.2:9"')
    assert ran.returncode == 1
    assert "ssh://192.0.2.2:9: ssh has no connection: " in ran.stderr
    assert "Connection refused" in ran.stderr


def test_a_machine_without_lasthop_is_reported_with_the_remedy(machines: Machines) -> None:
    ran = machines.lasthop("live", "quickstart", "--set", 'hosts.server.at="ssh://b?lasthop=no-such-lasthop"')
    assert ran.returncode == 1
    assert "ssh://b?lasthop=no-such-lasthop: lasthop was not found: " in ran.stderr
    assert "install it there" in ran.stderr


@pytest.mark.parametrize("links", ["here", "c"])
@pytest.mark.parametrize("victim", ["the first ssh", "lasthop", "nobody: Ctrl-C"])
def test_a_lost_connection_ends_the_run_on_every_machine(machines: Machines, victim: str, links: str) -> None:
    """Whether a connection or the command is killed: no process of the run is left, and so none of its namespaces."""
    places = {"server": "b", **({"links": links} if links != "here" else {"mobile": "c"})}
    mark = f"31{os.getpid()}"
    run = machines.start(
        *(str(LASTHOP), "live", "quickstart", *placed(machines, **places)),
        *("--", "sh", "-c", f"echo up >&2; sleep {mark} & exec sleep {mark}"),
    )
    try:
        assert comes_true(lambda: _runs("sleep", mark) or run.poll() is not None)
        assert run.poll() is None, run.communicate()
        if victim == "lasthop":
            run.kill()
        elif victim == "nobody: Ctrl-C":
            run.send_signal(signal.SIGINT)
            assert run.wait(60) == 130
        else:
            os.kill(_ssh_of(run), signal.SIGKILL)
            _, err = run.communicate(timeout=60)
            assert run.returncode == 1
            assert f"{machines.at('b')}: the control connection was lost: ssh ended by signal 9" in err
        assert comes_true(lambda: not _runs("sleep", mark)), "its program lives on"
        assert comes_true(lambda: not _runs("live-part")), "a part lives on"
        assert comes_true(lambda: not _runs("lasthop.real_time.process")), "the emulator lives on"
    finally:
        run.kill()
        run.wait()
        for stream in (run.stdout, run.stderr):
            if stream is not None:
                stream.close()


def test_a_lost_connection_ends_workloads_on_every_machine(machines: Machines) -> None:
    places = placed(machines, server="b", mobile="c")
    run = machines.start(str(LASTHOP), "live", "live-workloads", *places)
    try:
        # The namespaces of both hosts are there, and the programs have had a second or so.
        assert comes_true(lambda: _runs("live-part") or run.poll() is not None)
        time.sleep(3)
        assert run.poll() is None, run.communicate()
        os.kill(_ssh_of(run), signal.SIGKILL)
        _, err = run.communicate(timeout=60)
        assert run.returncode == 1
        assert "the control connection was lost" in err
        assert comes_true(lambda: not _runs("live-part")), "a part lives on"
    finally:
        run.kill()
        run.communicate()


def _runs(*words: str) -> bool:
    """Whether a process has these words in a row in its command line."""
    wanted = "\0".join(words)
    return any(wanted in line for line in map(_line, Path("/proc").glob("[0-9]*")))


def _line(process: Path) -> str:
    try:
        return (process / "cmdline").read_text()
    except OSError:
        return ""


def _ssh_of(run: subprocess.Popen[str]) -> int:
    """The first ssh that lasthop has started: that of the first machine."""
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    return min(int(child) for child in children if _line(Path("/proc", child)).startswith("ssh"))
