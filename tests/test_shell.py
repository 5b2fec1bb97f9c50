"""`lasthop shell`: a program behind an emulated link, where this machine allows it."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from command import Lasthop
from lasthop.doctor import checks

OBSTACLES = [check for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]]
pytestmark = pytest.mark.live
POSSIBLE = pytest.mark.skipif(bool(OBSTACLES), reason=f"NOT TESTED: this machine does not allow it: {OBSTACLES}")
PYTHON_OF_ALL = shutil.which("python3", path="/usr/bin:/bin")
"""Not that of the tests, which may lie in root's own folder."""

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: needs root")

DEVICES = Path("/sys/class/net")
RECORDS = Path("/run/lasthop")

SERVER = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"from outside")
    def log_message(self, *_):
        pass
print("it listens", flush=True)
http.server.HTTPServer(("", int(sys.argv[1])), Handler).serve_forever()
"""
CLIENT = """
import os, time, urllib.request, sys
began = time.monotonic()
text = urllib.request.urlopen(f"http://{os.environ[sys.argv[1]]}:{sys.argv[2]}/", timeout=60).read().decode()
print(text, "after", time.monotonic() - began)
"""


def outside(port: int, python: str = sys.executable) -> str:
    """Return the command line of a server."""
    return shlex.join([python, "-c", SERVER, str(port)])


def client(variable: str, port: int, python: str = sys.executable) -> list[str]:
    """Return the command line of a client of the server at the address in a variable."""
    return [python, "-c", CLIENT, variable, str(port)]


def settings() -> dict[str, str]:
    """Return the forwarding of every interface."""
    return {path.parent.name: path.read_text() for path in Path("/proc/sys/net/ipv4/conf").glob("*/forwarding")}


@POSSIBLE
def test_a_client_reaches_a_server_outside_across_the_link(lasthop: Lasthop) -> None:
    before, records = settings(), set(RECORDS.glob("*"))
    got = lasthop("shell", "--link", "gsm-9600", "--outside", outside(8471), "--", *client("LASTHOP_GATEWAY", 8471))
    assert got.status == 0, got.err
    text, seconds = got.out.split(" after ")
    assert text == "from outside", "standard output is the command's alone"
    assert "it listens" in got.err
    # Two round trips of at least 400 ms: the handshake, and the request with its answer.
    assert float(seconds) > 0.8
    assert settings() == before
    assert set(RECORDS.glob("*")) == records


@POSSIBLE
def test_links_in_a_row_and_shells_in_shells_add_up(lasthop: Lasthop) -> None:
    chain = lasthop("shell", "--link", "geo-satellite", "--link", "geo-satellite", "--outside", outside(8472), "--",
                    *client("LASTHOP_GATEWAY", 8472))  # fmt: skip
    assert chain.status == 0, chain.err
    inner = [
        sys.executable,
        "-m",
        "lasthop",
        "shell",
        "--link",
        "geo-satellite",
        "--",
        *client("LASTHOP_OUTSIDE", 8473),
    ]
    nested = lasthop("shell", "--link", "geo-satellite", "--outside", outside(8473), "--", *inner)
    assert nested.status == 0, nested.err
    for got in (chain, nested):
        # Two round trips over two links of at least 500 ms each.
        assert float(got.out.split(" after ")[1]) > 2.0


@POSSIBLE
def test_the_exit_status_is_the_programs(lasthop: Lasthop) -> None:
    assert lasthop("shell", "--link", "wifi", "--", "sh", "-c", "exit 7").status == 7
    assert lasthop("shell", "--link", "wifi", "--", "sh", "-c", "kill -TERM $$").status == 128 + signal.SIGTERM
    missing = lasthop("shell", "--link", "wifi", "--", "no-such-program")
    assert missing.status == 1
    assert "cannot run no-such-program" in missing.err


@POSSIBLE
def test_a_key_of_a_link_may_be_overridden(lasthop: Lasthop) -> None:
    slow = ("--set", "links.wifi.down.propagation=700 ms")
    got = lasthop("shell", "--link", "wifi", *slow, "--outside", outside(8474), "--", *client("LASTHOP_PEER", 8474))
    assert float(got.out.split(" after ")[1]) > 1.4, got.err


def test_a_link_that_is_not_there_is_said_with_those_that_are(lasthop: Lasthop) -> None:
    refused = lasthop("shell", "--link", "gsm-9601", "--", "true")
    assert refused.status == 2
    assert "there is no link 'gsm-9601'" in refused.err
    assert "gsm-9600" in refused.err


def comes_true(holds: Callable[[], bool]) -> bool:
    """Try for some seconds: the kernel takes things down after a process ends."""
    deadline = time.monotonic() + 20
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def runs(words: list[str]) -> bool:
    """Whether any process has this command line."""
    line = b"".join(word.encode() + b"\0" for word in words)
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == line:
                return True
        except OSError:
            continue
    return False


@POSSIBLE
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_a_killed_shell_leaves_nothing_behind(lasthop: Lasthop, number: signal.Signals) -> None:
    before, mark = settings(), ["sleep", f"47{os.getpid()}{int(number)}"]
    own, records = set(DEVICES.iterdir()), set(RECORDS.glob("*"))
    command = [sys.executable, "-m", "lasthop", "shell", "--link", "lte", "--", *mark]
    shell = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert comes_true(lambda: runs(mark))
    shell.send_signal(number)
    assert shell.wait() == (-signal.SIGKILL if number == signal.SIGKILL else 143)
    assert comes_true(lambda: not runs(mark) and set(DEVICES.iterdir()) == own)
    if number == signal.SIGKILL:
        # What a kill leaves on is restored by the next command that looks.
        lasthop("doctor")
    assert settings() == before
    assert set(RECORDS.glob("*")) == records


@POSSIBLE
@AS_ROOT
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="NOT TESTED: setpriv is not installed")
@pytest.mark.skipif(PYTHON_OF_ALL is None, reason="NOT TESTED: there is no Python that every user may run")
def test_without_root_the_far_end_is_a_network_of_its_own() -> None:
    device = f"/tmp/lasthop-tun-{os.getpid()}"
    script = (
        "mknod -m 0666 $0 c 10 200 && mount --bind $0 /dev/net/tun && rm $0 && "
        'exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"'
    )
    server, reader = outside(8475, str(PYTHON_OF_ALL)), client("LASTHOP_GATEWAY", 8475, str(PYTHON_OF_ALL))
    lasthop = [sys.executable, "-m", "lasthop", "shell", "--link", "wifi", "--outside", server, "--"]
    ended = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, device, *lasthop, *reader],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    refused = [word for word in ("mknod:", "mount:", "unshare:", "namespaces are refused") if word in ended.stderr]
    if refused:
        pytest.skip(f"NOT TESTED: this machine keeps users from it: {ended.stderr}")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("from outside")
    assert "the way out of here takes root" in ended.stderr


RESOLVER = """
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
print("up", flush=True)
while True:
    query, client = server.recvfrom(4096)
    server.sendto(b"answer to " + query, client)
"""
QUERY = """
import socket
address = open("/etc/resolv.conf").read().split()[1]
asks = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asks.settimeout(20)
asks.sendto(b"query", (address, 53))
print(address, asks.recv(4096).decode())
"""


@POSSIBLE
@AS_ROOT
def test_a_resolver_on_the_loopback_is_reached_through_the_far_end(tmp_path: Path) -> None:
    """In a namespace of its own for mounts and for the network, whose resolver is on the loopback."""
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    script = (
        "mount --bind resolv.conf /etc/resolv.conf && ip link set lo up && "
        '{ "$1" -c "$2" & } && sleep 1 && "$1" -m lasthop shell --quiet --link wifi -- "$1" -c "$3"; '
        "status=$?; kill $!; exit $status"
    )
    words = ["unshare", "--mount", "--net", "sh", "-c", script, "sh", sys.executable, RESOLVER, QUERY]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    if any(word in ended.stderr for word in ("unshare:", "mount:", "ip: not found")):
        pytest.skip(f"NOT TESTED: this machine does not allow it: {ended.stderr}")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "198.18.1.1 answer to query"
