"""Work that kernels leave to devices: streams and datagrams arrive as sent, whatever a link does to packets."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from command import Lasthop
from lasthop.doctor import checks

OBSTACLES = [check for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]]
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(OBSTACLES), reason=f"NOT TESTED: this machine does not allow it: {OBSTACLES}"),
]

SERVER = """
import socket, sys
listener = socket.create_server(("", int(sys.argv[1])))
stream, _ = listener.accept()
stream.sendall(open(sys.argv[2], "rb").read())
stream.close()
"""
CLIENT = """
import hashlib, os, socket, sys
stream, digest = socket.create_connection((os.environ["LASTHOP_GATEWAY"], int(sys.argv[1]))), hashlib.sha256()
while piece := stream.recv(1 << 20):
    digest.update(piece)
print(digest.hexdigest())
print(open("/proc/thread-self/net/netstat").read())
"""
DATAGRAMS = """
import os, socket, sys
UDP_SEGMENT = 103
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.SOL_UDP, UDP_SEGMENT, 100)
for letter in b"abc":
    sender.sendto(bytes([letter]) * 1234, (os.environ["LASTHOP_GATEWAY"], int(sys.argv[1])))
"""
RECEIVER = """
import socket, sys
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("", int(sys.argv[1])))
with open(sys.argv[2], "w") as out:
    while True:
        data = receiver.recv(65535)
        print(chr(data[0]), len(data), len(set(data)), file=out, flush=True)
"""

LINKS = {
    "without-a-rate": 'queue = { limit = "5000 packets" }',
    "lossy": 'rate = "100 Mbit/s"\npropagation = "1 ms"\nqueue = { limit = "500 packets" }\n'
    'errors = { probability = 0.003, effect = "drop" }',
    "damaging": 'rate = "100 Mbit/s"\npropagation = "1 ms"\nqueue = { limit = "500 packets" }\n'
    'errors = { probability = 0.003, effect = "corrupt" }',
    "marking": 'rate = "20 Mbit/s"\npropagation = "5 ms"\n'
    'queue = { limit = "500 packets", discipline = { codel = { ecn = true } } }',
}


def link_file(folder: Path, name: str) -> Path:
    """Write a link that is the same both ways."""
    file = folder / f"{name}.toml"
    file.write_text(
        f'summary = "{name}"\nsources = ["none"]\nmtu = "1500 bytes"\n[down]\n{LINKS[name]}\n[up]\n{LINKS[name]}\n'
    )
    return file


def program(text: str, *words: object) -> list[str]:
    """Return the command line of a program of ours."""
    return [sys.executable, "-c", text, *map(str, words)]


@pytest.mark.parametrize(("name", "port"), [(name, 8500 + place) for place, name in enumerate(LINKS)])
def test_a_stream_arrives_to_the_byte(lasthop: Lasthop, tmp_path: Path, name: str, port: int) -> None:
    data = os.urandom(10_000_003)
    (tmp_path / "data").write_bytes(data)
    server = shlex.join(program(SERVER, port, tmp_path / "data"))
    # The client asks for marks, and a server agrees (tcp_ecn = 2, the default of Linux).
    client = shlex.join(program(CLIENT, port))
    asking = ["sh", "-c", f"echo 1 > /proc/sys/net/ipv4/tcp_ecn; {client}"]
    got = lasthop("shell", "--link", str(link_file(tmp_path, name)), "--outside", server, "--", *asking)
    assert got.status == 0, got.err
    digest, _, netstat = got.out.partition("\n")
    assert digest == hashlib.sha256(data).hexdigest()
    if name == "marking":
        assert counter(netstat, "IpExt", "InCEPkts") > 0


def counter(table: str, protocol: str, name: str) -> int:
    """Return a counter of /proc/net/netstat: a line of names, then one of numbers."""
    names, numbers = (line.split() for line in table.splitlines() if line.startswith(f"{protocol}:"))
    return int(numbers[names.index(name)])


def test_datagrams_that_are_sent_at_once_arrive_one_by_one(lasthop: Lasthop, tmp_path: Path) -> None:
    file = link_file(tmp_path, "without-a-rate")
    receiver = shlex.join(program(RECEIVER, 8510, tmp_path / "arrived"))
    sender = shlex.join(program(DATAGRAMS, 8510))
    # Until all are there; the shell then ends, and the receiver with it.
    wait = f'for _ in $(seq 100); do [ "$(wc -l < {tmp_path}/arrived)" -ge 39 ] && break; sleep 0.1; done'
    got = lasthop("shell", "--link", str(file), "--outside", receiver, "--", "sh", "-c", f"sleep 1; {sender}; {wait}")
    assert got.status == 0, got.err
    arrived = (tmp_path / "arrived").read_text().splitlines()
    assert arrived == [line for letter in "abc" for line in [f"{letter} 100 1"] * 12 + [f"{letter} 34 1"]]


def test_transfers_in_a_row_leave_nothing_behind() -> None:
    script = Path(__file__).parent.parent / "scripts" / "live" / "transfers"
    lasthop = Path(sys.executable).with_name("lasthop")
    environment = {**os.environ, "RUNS": "3", "LASTHOP": str(lasthop)}
    ended = subprocess.run([script], env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr


HELD = """
hosts = { client = { profile = "linux-6" }, server = { profile = "linux-6" } }
[[links]]
name = "lasthop"
between = ["client", "server"]
down = { queue = { limit = "5000 packets" }, events = [{ packet = 1, delay = "500 ms" }] }
up = { queue = { limit = "5000 packets" } }
[record]
tables = ["packets"]
"""
"""All that is sent in half a second comes at once."""

SENDS = """
import os, socket, time
time.sleep(0.5)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.connect((os.environ["LASTHOP_ADDRESS_SERVER"], 5300))
for number in range(300):
    sender.send(number.to_bytes(4, "big") + bytes(number % 7 * 50))
time.sleep(1.5)
"""

COUNTS = """
import pathlib, socket
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
receiver.bind(("", 5300))
def packets():
    names, values = (line.split() for line in pathlib.Path("/proc/thread-self/net/snmp").read_text().splitlines()[:2])
    return int(values[names.index("InReceives")])
before, came = packets(), []
for _ in range(300):
    data = receiver.recv(2000)
    number = int.from_bytes(data[:4], "big")
    assert data[4:] == bytes(number % 7 * 50), number
    came.append(number)
print(came == list(range(300)), packets() - before, flush=True)
"""


def test_a_kernel_gets_datagrams_that_are_due_together_as_one_and_programs_each(
    lasthop: Lasthop, tmp_path: Path
) -> None:
    (tmp_path / "held.toml").write_text(HELD)
    receive, send = (shlex.join([sys.executable, "-c", program]) for program in (COUNTS, SENDS))
    got = lasthop("live", tmp_path / "held.toml", "--json", "--out", tmp_path / "out",
                  "--in", "server", receive, "--", "sh", "-c", send)  # fmt: skip
    assert got.status == 0, got.err
    said = (tmp_path / "out" / "output-server-1.txt").read_text()
    in_order, packets = said.split()
    assert in_order == "True", said
    # The link saw each; of seven lengths, each longer one begins anew.
    assert got.json["links"][0]["packets_out"] == 300
    if takes_trains():
        assert int(packets) < 300, said


def takes_trains() -> bool:
    """Return whether this kernel takes UDP segmentation from a device: from Linux 6.2 on."""
    major, minor = os.uname().release.split(".")[:2]
    return (int(major), int(minor)) >= (6, 2)
