"""`lasthop fetch`: our own TCP as the client of real web servers, where this machine allows it."""

from __future__ import annotations

import http.server
import json
import os
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import lasthop as package
from command import Lasthop
from lasthop.doctor import checks
from lasthop.errors import RunError
from lasthop.fetching.comparison import gain_of
from lasthop.fetching.conversation import converse
from lasthop.fetching.limits import Limits
from lasthop.fetching.target import redirected, target_of

OBSTACLES = [check for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]]
pytestmark = pytest.mark.live
POSSIBLE = pytest.mark.skipif(bool(OBSTACLES), reason=f"NOT TESTED: this machine does not allow it: {OBSTACLES}")
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: needs root")
PYTHON_OF_ALL = shutil.which(f"python3.{sys.version_info.minor}", path="/usr/bin:/bin")
"""Root's own may stand in a folder that is closed to others."""
"""Not that of the tests, which may lie in root's own folder."""

SIZE = 60_000
DEVICES = Path("/sys/class/net")
RECORDS = Path("/run/lasthop")


def web_server(port: int, folder: Path, python: str = sys.executable) -> str:
    """Return the command line of a real web server."""
    return shlex.join([python, "-m", "http.server", str(port), "--directory", str(folder)])


def a_file(folder: Path) -> bytes:
    """Write a file of which no part is like another."""
    content = b"".join(number.to_bytes(4, "big") for number in range(SIZE // 4))
    (folder / "file.bin").write_bytes(content)
    return content


def settings() -> dict[str, str]:
    """Return the forwarding of every interface."""
    return {path.parent.name: path.read_text() for path in Path("/proc/sys/net/ipv4/conf").glob("*/forwarding")}


@POSSIBLE
def test_a_real_server_is_fetched_from_with_divided_and_with_delayed_acks(lasthop: Lasthop, tmp_path: Path) -> None:
    content, before = a_file(tmp_path), settings()
    words = [
        "fetch",
        "http://gateway:8491/file.bin",
        "--link",
        "bluetooth-2006",
        "--outside",
        web_server(8491, tmp_path),
    ]
    got = lasthop(*words, "--json", "--out", tmp_path / "out", "--output", tmp_path / "body")
    assert got.status == 0, got.err
    assert (tmp_path / "body").read_bytes() == content
    taba, delayed = got.json["fetches"]
    assert [one["profile"] for one in (taba, delayed)] == ["taba", "delayed"]
    assert {one["bytes"] for one in (taba, delayed)} == {SIZE}
    # 41 segments: two ACKs for each while it is in slow start, against one for every second.
    assert taba["acks"] > delayed["acks"]
    # 60 000 bytes at 723 kbit/s take at least 0.66 s.
    assert min(one["seconds"] for one in (taba, delayed)) > 0.6
    assert got.json["gain"]["pairs"] == 1
    assert settings() == before
    for name in ("taba", "delayed"):
        flow = json.loads((tmp_path / "out" / name / "run.json").read_text())["summary"]["flows"][0]
        assert (flow["flow"], flow["from"], flow["to"], flow["completed"]) == ("fetch", "server", "client", True)
        assert flow["bytes"] > SIZE
        assert lasthop("explain", tmp_path / "out" / name).status == 0
        assert lasthop("analyze", tmp_path / "out" / name / "capture-client.pcapng").status == 0
    assert lasthop("plot", tmp_path / "out/taba", "time-sequence", "--out", tmp_path / "picture.png").status == 0


@POSSIBLE
def test_failures_are_reported_with_status_1_and_what_was_wrong(lasthop: Lasthop, tmp_path: Path) -> None:
    words = ["--against", "none", "--link", "wifi", "--quiet"]
    server = ["--outside", web_server(8492, tmp_path)]
    missing = lasthop("fetch", "http://gateway:8492/no-such-file", *words, *server)
    assert (missing.status, "answers 404 File not found" in missing.err) == (1, True), missing.err
    refused = lasthop("fetch", "http://gateway:8493/", *words)
    assert (refused.status, "refused by the peer" in refused.err) == (1, True), refused.err
    silent = lasthop("fetch", "http://gateway:8494/", *words, "--timeout", "1", "--outside", silent_server(8494))
    assert (silent.status, "no byte arrived for 1 s" in silent.err) == (1, True), silent.err
    unknown = lasthop("fetch", "http://no-such-host.invalid/", *words)
    assert (unknown.status, "no-such-host.invalid" in unknown.err) == (1, True), unknown.err


def silent_server(port: int) -> str:
    """Return the command line of a server that accepts and says nothing."""
    text = f"import socket, time; s = socket.create_server(('', {port})); c = s.accept(); time.sleep(60)"
    return shlex.join([sys.executable, "-c", text])


@POSSIBLE
def test_a_redirection_is_said_and_followed_but_not_for_ever(lasthop: Lasthop, tmp_path: Path) -> None:
    a_file(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "index.html").write_text("here")
    words = ["--against", "none", "--outside", web_server(8495, tmp_path)]
    got = lasthop("fetch", "http://gateway:8495/folder", *words, "--output", tmp_path / "body")
    assert got.status == 0, got.err
    assert "redirected to http://gateway:8495/folder/" in got.err
    assert (tmp_path / "body").read_text() == "here"
    script = (
        "import http.server as h\n"
        "class H(h.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        self.send_response(302); self.send_header('Location', '/again'); self.end_headers()\n"
        "h.HTTPServer(('', 8496), H).serve_forever()"
    )
    round_and_round = lasthop("fetch", "http://gateway:8496/", "--against", "none", "--outside",
                              shlex.join([sys.executable, "-c", script]))  # fmt: skip
    assert (round_and_round.status, "more than 5 times" in round_and_round.err) == (1, True), round_and_round.err


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["www.example.org"], "the scheme is missing"),
        (["ftp://gateway/"], "'ftp' is not supported"),
        (["http://"], "the host is missing"),
        (["http://gateway:99999/"], "Port out of range"),
        (["http://[::1]/"], "only IPv4"),
        (["http://gateway/", "--profile", "no-such"], "no-such"),
        (["http://gateway/", "--against", "no-such"], "no-such"),
        (["http://gateway/", "--against", "taba"], "compared with itself"),
        (["http://gateway/", "--link", "no-such"], "there is no link 'no-such'"),
        (["http://gateway/", "--set", "links.no-such.mtu=100"], "no-such"),
        (["http://127.0.0.1:8000/x"], "http://gateway:8000/x"),
    ],
)
def test_wrong_input_is_refused_with_what_would_be_right(lasthop: Lasthop, words: list[str], what: str) -> None:
    refused = lasthop("fetch", *words)
    assert refused.status == 2, refused.err
    assert what in refused.err


def test_a_target_is_what_its_url_says() -> None:
    target = target_of("https://example.org/a b?x=1&y=ö#part")
    assert (target.host, target.port, target.path) == ("example.org", 443, "/a%20b?x=1&y=%C3%B6")
    numeric = target_of("https://192.0.2.1/a")
    assert redirected(numeric, "/else").url == "https://192.0.2.1/else"
    assert redirected(numeric, "http://192.0.2.7:81/").port == 81
    with pytest.raises(RunError):
        redirected(numeric, "gopher://192.0.2.1/")
    assert target_of("http://gateway/").address() is None


def test_a_gain_is_the_median_of_pairs_and_says_how_far_it_is_known() -> None:
    one = gain_of([3.0], [2.0])
    assert (round(one.median, 6), one.interval) == (0.5, None)
    assert "--repeat" in one.in_words()
    several = gain_of([2.0, 3.0, 4.0], [2.0, 2.0, 2.0])
    assert several.in_words() == "+50.0 % (median of 3 pairs; all pairs: +0.0 to +100.0 %)"
    many = gain_of([2.2] * 6, [2.0] * 6)
    assert "95 %" in many.in_words()


class Chunked(http.server.BaseHTTPRequestHandler):
    """Answers in chunks."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"5\r\nfirst\r\n7\r\n second\r\n0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def chunked() -> Iterator[http.server.HTTPServer]:
    server = http.server.HTTPServer(("127.0.0.1", 0), Chunked)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def answer_of(port: int, url: str, folder: Path) -> dict[str, object]:
    """Talk as over one of our connections, but over the loopback."""
    converse(socket.create_connection(("127.0.0.1", port)).detach(), target_of(url), Limits(silence_s=20), folder)
    answer: dict[str, object] = json.loads((folder / "answer.json").read_text())
    return answer


def test_a_body_in_chunks_is_put_together(chunked: http.server.HTTPServer, tmp_path: Path) -> None:
    answer = answer_of(chunked.server_port, f"http://127.0.0.1:{chunked.server_port}/", tmp_path)
    assert (tmp_path / "body").read_text() == "first second"
    assert (answer["bytes"], answer["length_known"]) == (12, True)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="NOT TESTED: openssl is not installed")
def test_https_checks_the_certificate(
    chunked: http.server.HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    chunked.socket = context.wrap_socket(chunked.socket, server_side=True)
    url = f"https://localhost:{chunked.server_port}/"
    refused = answer_of(chunked.server_port, url, tmp_path)
    assert "certificate is refused" in str(refused["error"])
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert answer_of(chunked.server_port, url, tmp_path)["bytes"] == 12


TWO_NETWORKS = """
unshare --net sleep 100 > /dev/null 2>&1 & far=$!
sleep 0.5
ip link set lo up && ip link add near type veth peer name far netns $far && ip address add 10.77.0.1/24 dev near &&
    ip link set near up && ip route add default via 10.77.0.2 && ip route add unreachable 10.99.0.0/24
nsenter --target $far --net sh -c "ip link set lo up; ip address add 10.77.0.2/24 dev far; ip link set far up"
nsenter --target $far --net $1 > /dev/null 2>&1 & server=$!
sleep 2
"$2" -m lasthop fetch http://10.77.0.2:8497/file.bin --link bluetooth-2006 --against none --output body
status=$?
cat /proc/sys/net/ipv4/conf/near/forwarding
"$2" -m lasthop fetch http://10.99.0.1/ --against none --quiet
echo "unreachable: $?"
kill $server $far
exit $status
"""


@POSSIBLE
@AS_ROOT
@pytest.mark.skipif(shutil.which("ip") is None, reason="NOT TESTED: ip is not installed")
def test_as_root_the_way_leads_on_to_a_server_elsewhere(tmp_path: Path) -> None:
    """The server is in another namespace, and knows nothing of the addresses here."""
    content = a_file(tmp_path)
    ended = subprocess.run(
        ["unshare", "--net", "sh", "-c", TWO_NETWORKS, "sh", web_server(8497, tmp_path), sys.executable],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    refused = [word for word in ("unshare:", "Operation not permitted", "Unknown device type") if word in ended.stderr]
    if refused:
        pytest.skip(f"NOT TESTED: this machine does not allow it: {ended.stderr}")
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "body").read_bytes() == content
    assert "leave by near with this machine's address" in ended.stderr
    assert "no route to the host" in ended.stderr
    assert ended.stdout.splitlines()[-2:] == ["0", "unreachable: 1"]


@POSSIBLE
@AS_ROOT
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="NOT TESTED: setpriv is not installed")
@pytest.mark.skipif(PYTHON_OF_ALL is None, reason="NOT TESTED: there is no Python of this version for every user")
def test_without_root_the_far_end_is_a_network_of_its_own(tmp_path: Path) -> None:
    a_file(tmp_path)
    shutil.copytree(tmp_path, folder := Path(f"/tmp/lasthop-fetch-{os.getpid()}"))
    folder.chmod(0o755)
    device = f"/tmp/lasthop-tun-{os.getpid()}"
    script = (
        "mknod -m 0666 $0 c 10 200 && mount --bind $0 /dev/net/tun && rm $0 && "
        'exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"'
    )
    words = [str(PYTHON_OF_ALL), "-m", "lasthop", "fetch", "--link", "wifi", "--against", "none", "--json"]
    packages = f"{Path(package.__file__).parents[1]}:{sysconfig.get_path('purelib')}"
    server = ["--outside", web_server(8498, folder, str(PYTHON_OF_ALL))]

    def run(url: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["unshare", "--mount", "sh", "-c", script, device, *words, url, *server],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": packages})  # fmt: skip

    ended = run("http://gateway:8498/file.bin")
    refused = [word for word in ("mknod:", "mount:", "unshare:", "namespaces are refused") if word in ended.stderr]
    elsewhere = run("http://192.0.2.1/")
    shutil.rmtree(folder)
    if refused:
        pytest.skip(f"NOT TESTED: this machine keeps users from it: {ended.stderr}")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["fetches"][0]["bytes"] == SIZE
    assert "takes root" in ended.stderr
    assert elsewhere.returncode == 1
    assert "192.0.2.1 cannot be reached without root" in elsewhere.stderr


@POSSIBLE
def test_a_killed_fetch_leaves_nothing_that_the_next_command_does_not_take_back(lasthop: Lasthop) -> None:
    before, own, records = settings(), set(DEVICES.iterdir()), set(RECORDS.glob("*"))
    words = [sys.executable, "-m", "lasthop", "fetch", "http://192.0.2.1/", "--timeout", "60", "--link", "wifi"]
    fetch = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while set(DEVICES.iterdir()) == own and fetch.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    fetch.send_signal(signal.SIGKILL)
    fetch.wait()
    # The child notices within a fifth of a second that it is an orphan.
    while set(DEVICES.iterdir()) != own and time.monotonic() < deadline:
        time.sleep(0.05)
    lasthop("doctor")
    assert set(DEVICES.iterdir()) == own
    assert settings() == before
    assert set(RECORDS.glob("*")) == records
