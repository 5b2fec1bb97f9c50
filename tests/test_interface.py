"""`lasthop analyze --interface`: frames of an interface as they pass."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command import Lasthop
from lasthop.errors import InputError
from lasthop.interface import open_interface


def may_capture() -> bool:
    """Return whether this machine and user can capture an interface."""
    try:
        open_interface("lo").close()
    except InputError:
        return False
    return True


needs_privilege = pytest.mark.skipif(not may_capture(), reason="capturing an interface needs CAP_NET_RAW on Linux")


def transfer() -> None:
    """Send some data over the loopback interface."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        peer, _ = server.accept()
        client.sendall(bytes(50_000))
        with peer:
            while peer.recv(65_536) and client.fileno() >= 0:
                client.close()


@needs_privilege
@pytest.mark.parametrize("options", [[], ["--out", "captured"]], ids=["as it comes", "as a result"])
def test_connections_of_an_interface_are_analyzed_until_ctrl_c(options: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lasthop", "analyze", "--interface", "lo", "--json", *options]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not list(
        Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text()
    ):
        time.sleep(0.05)
    time.sleep(1.0)
    transfer()
    time.sleep(0.5)
    subprocess.run(["kill", f"-{signal.SIGINT.value}", "--", f"-{running.pid}"], check=True)
    output, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    assert '"unique_bytes": 50000' in output or '"unique_bytes":50000' in output


def test_an_interface_that_is_not_there_is_named(lasthop: Lasthop) -> None:
    refused = lasthop("analyze", "--interface", "nosuch0")
    assert refused.status == 2
    assert "nosuch0" in refused.err


def test_an_interface_and_a_file_are_not_read_together(lasthop: Lasthop) -> None:
    refused = lasthop("analyze", "--interface", "lo", "some.pcap")
    assert refused.status == 2
    assert "alone" in refused.err


def test_a_user_without_the_privilege_gets_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> socket.socket:
        raise PermissionError

    monkeypatch.setattr(socket, "socket", refuse)
    with pytest.raises(InputError, match="tcpdump -i lo"):
        open_interface("lo")
