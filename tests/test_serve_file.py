"""`lasthop serve-file`: our own TCP as the server of real clients, where this machine allows it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command import Lasthop
from lasthop.doctor import checks

OBSTACLES = [check for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]]
pytestmark = pytest.mark.live
POSSIBLE = pytest.mark.skipif(bool(OBSTACLES), reason=f"NOT TESTED: this machine does not allow it: {OBSTACLES}")
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: needs root")

SIZE = 60_000
DEVICES = Path("/sys/class/net")
RECORDS = Path("/run/lasthop")

CLIENT = """
import hashlib, os, sys, urllib.request
for number in range(int(sys.argv[1])):
    with urllib.request.urlopen(os.environ["LASTHOP_URL"], timeout=60) as answer:
        body = answer.read()
    print(len(body), hashlib.sha256(body).hexdigest(), answer.headers["Content-Length"], file=sys.stderr)
"""


def client(times: int) -> list[str]:
    """Return the command line of a real client."""
    return [sys.executable, "-c", CLIENT, str(times)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of which no part is like another."""
    path = tmp_path / "a file.bin"
    path.write_bytes(b"".join(number.to_bytes(4, "big") for number in range(SIZE // 4)))
    return path


@POSSIBLE
def test_a_real_client_gets_the_file_and_each_connection_is_reported_of(lasthop: Lasthop, file: Path) -> None:
    out = file.parent / "out"
    got = lasthop("serve-file", file, "--port", "8511", "--link", "bluetooth-2006", "--against", "newreno", "--json",
                  "--out", out, "--", *client(2))  # fmt: skip
    assert got.status == 0, got.err
    first, second, gain = [json.loads(line) for line in got.out.splitlines()]
    assert [first["profile"], second["profile"], gain["gain"]["pairs"]] == ["aix", "newreno", 1]
    for one in (first, second):
        assert one["flow"]["bytes"] > SIZE
        assert one["flow"]["completed"]
        assert one["broken"] is None
        # 60 000 bytes at 723 kbit/s take at least 0.66 s.
        assert one["flow"]["elapsed_s"] > 0.6
    assert got.err.count(f"{SIZE} ") == 2
    flows = json.loads((out / "run.json").read_text())["summary"]["flows"]
    assert [(flow["flow"], flow["from"], flow["to"]) for flow in flows] == [
        ("connection-1", "server", "client"),
        ("connection-2", "server", "client"),
    ]
    # The server is ours, so it reports its window.
    assert lasthop("plot", out, "cwnd", "--flow", "connection-1", "--out", file.parent / "cwnd.png").status == 0
    assert lasthop("explain", out).status == 0


@POSSIBLE
@pytest.mark.skipif(shutil.which("curl") is None, reason="NOT TESTED: curl is not installed")
def test_head_and_what_is_not_there_and_the_status_of_the_command(lasthop: Lasthop, file: Path) -> None:
    script = (
        'curl -sI "$LASTHOP_URL" | grep -q "Content-Length: 60000" || exit 3; '
        'curl -s -o /dev/null -w "%{http_code}" "${LASTHOP_URL%%/a*}/other" | grep -q 404 || exit 4; '
        'curl -s "http://${LASTHOP_PEER}:1/"; test $? = 7 || exit 5; exit 9'
    )
    got = lasthop("serve-file", file, "--port", "8512", "--", "sh", "-c", script)
    assert got.status == 9, got.err


@POSSIBLE
@AS_ROOT
def test_it_serves_this_machine_until_it_is_stopped(file: Path) -> None:
    before, own = set(RECORDS.glob("*")), set(DEVICES.iterdir())
    words = [sys.executable, "-m", "lasthop", "serve-file", str(file), "--port", "8513", "--link", "wifi"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    lines = iter(server.stderr.readline, "")
    url = next(line.split()[1] for line in lines if "http://" in line)
    got = subprocess.run(client(1), env={**os.environ, "LASTHOP_URL": url}, capture_output=True, text=True, check=False)
    time.sleep(0.5)
    server.send_signal(signal.SIGTERM)
    out, _ = server.communicate(timeout=30)
    assert got.stderr.startswith(f"{SIZE} "), got.stderr
    assert server.returncode == 0
    assert f"aix: {SIZE}" not in out  # the bytes of the stream are those of the file and of the header
    assert "aix: 60" in out
    assert set(DEVICES.iterdir()) == own
    assert set(RECORDS.glob("*")) == before


@POSSIBLE
@AS_ROOT
def test_a_killed_server_leaves_nothing_that_the_next_command_does_not_take_back(lasthop: Lasthop, file: Path) -> None:
    own, records = set(DEVICES.iterdir()), set(RECORDS.glob("*"))
    words = [sys.executable, "-m", "lasthop", "serve-file", str(file), "--port", "8514"]
    server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while set(DEVICES.iterdir()) == own and time.monotonic() < deadline:
        time.sleep(0.02)
    server.kill()
    server.wait()
    while set(DEVICES.iterdir()) != own and time.monotonic() < deadline:
        time.sleep(0.02)
    lasthop("doctor")
    assert set(DEVICES.iterdir()) == own
    assert set(RECORDS.glob("*")) == records


FROM_OUTSIDE = """
unshare --net sleep 100 > /dev/null 2>&1 & far=$!
sleep 0.5
ip link set lo up && ip link add near type veth peer name far netns $far && ip address add 10.78.0.1/24 dev near &&
    ip link set near up && ip route add default via 10.78.0.2
nsenter --target $far --net sh -c "ip link set lo up; ip address add 10.78.0.2/24 dev far; ip link set far up"
LASTHOP_URL= "$1" -m lasthop serve-file "$2" --port 8515 --bind 10.78.0.1 --link wifi -- \\
    nsenter --target $far --net env LASTHOP_URL=http://10.78.0.1:8515/ "$1" -c "$3" 1
status=$?
kill $far
exit $status
"""


@POSSIBLE
@AS_ROOT
@pytest.mark.skipif(shutil.which("ip") is None, reason="NOT TESTED: ip is not installed")
def test_a_client_elsewhere_reaches_it_by_this_machines_address(file: Path) -> None:
    words = ["unshare", "--net", "sh", "-c", FROM_OUTSIDE, "sh", sys.executable, str(file), CLIENT]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    refused = [word for word in ("unshare:", "Operation not permitted", "Unknown device type") if word in ended.stderr]
    if refused:
        pytest.skip(f"NOT TESTED: this machine does not allow it: {ended.stderr}")
    assert ended.returncode == 0, ended.stderr
    assert "connections that come in by near to port 8515 lead to" in ended.stderr
    assert f"{SIZE} " in ended.stderr


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["no-such-file"], "does not exist"),
        (["FILE", "--profile", "no-such"], "no-such"),
        (["FILE", "--against", "aix"], "compared with itself"),
        (["FILE", "--link", "no-such"], "there is no link 'no-such'"),
        (["FILE", "--port", "0"], "0 is not in the range"),
        (["FILE", "--bind", "192.0.2.1"], "no IPv4 address of this machine"),
        (["FILE", "--bind", "localhost"], "no IPv4 address of this machine"),
    ],
)
def test_wrong_input_is_refused(lasthop: Lasthop, file: Path, words: list[str], what: str) -> None:
    refused = lasthop("serve-file", *(str(file) if word == "FILE" else word for word in words))
    assert refused.status == 2, refused.err
    assert what in refused.err


@POSSIBLE
@AS_ROOT
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="NOT TESTED: setpriv is not installed")
def test_without_root_it_wants_a_command_beside_it() -> None:
    folder = Path(f"/tmp/lasthop-serve-{os.getpid()}")
    folder.mkdir(mode=0o755)
    (folder / "file").write_text("here")
    device = f"/tmp/lasthop-tun-{os.getpid()}"
    script = (
        "mknod -m 0666 $0 c 10 200 && mount --bind $0 /dev/net/tun && rm $0 && "
        'exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"'
    )
    words = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        script,
        device,
        sys.executable,
        "-m",
        "lasthop",
        "serve-file",
        str(folder / "file"),
    ]

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*words, *more], capture_output=True, text=True, check=False)

    alone, beside = run(), run("--", "curl", "-s", "-o", "-", "http://198.18.1.2:8080/file")
    shutil.rmtree(folder)
    refused = [word for word in ("mknod:", "mount:", "unshare:", "namespaces are refused") if word in alone.stderr]
    if refused:
        pytest.skip(f"NOT TESTED: this machine keeps users from it: {alone.stderr}")
    assert (alone.returncode, "give a COMMAND" in alone.stderr) == (1, True), alone.stderr
    assert beside.returncode == 0, beside.stderr
    assert "here" in beside.stdout
