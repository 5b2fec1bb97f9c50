"""A network of one's own, as the examples have it, in namespaces that end with it.

`here` has eth0, with the default route to a server at 192.0.2.1 that is also www.example.org; eth1 and eth2; and the
namespaces a, b, left and right of ip(8).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PROGRAMS: Final = ("unshare", "nsenter", "ip", "openssl", "mount")

_BEGIN: Final = """
set -e
mount -t tmpfs none /run/netns 2>/dev/null || {{ mkdir -p /run/netns && mount -t tmpfs none /run/netns; }}
ip link set lo up
for name in internet a b left right; do ip netns add $name; ip -n $name link set lo up; done
ip link add eth0 type veth peer name outer netns internet
ip addr add 198.51.100.2/24 dev eth0 && ip link set eth0 up
ip -n internet addr add 198.51.100.1/24 dev outer && ip -n internet link set outer up
ip -n internet addr add 192.0.2.1/32 dev lo
ip route add default via 198.51.100.1
for number in 1 2; do
  ip link add eth$number type veth peer name far$number && ip addr add 203.0.113.$((number * 16 + 1))/28 dev eth$number
  ip link set eth$number up && ip link set far$number up
done
printf '127.0.0.1 localhost\\n192.0.2.1 www.example.org\\n' > {folder}/hosts && mount --bind {folder}/hosts /etc/hosts
echo 'hosts: files' > {folder}/nsswitch && mount --bind {folder}/nsswitch /etc/nsswitch.conf  # no resolver waits
openssl req -x509 -newkey rsa:2048 -nodes -keyout {folder}/key.pem -out {folder}/certificate.pem -days 2 \
  -subj /CN=www.example.org -addext subjectAltName=DNS:www.example.org 2>{folder}/openssl
ip netns exec internet {python} {server} {folder} &
while [ ! -e {folder}/listening ]; do sleep 0.05; done
echo ready
exec sleep infinity
"""


def obstacle() -> str | None:
    """Say what such a network needs and is not here."""
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"needs {', '.join(missing)}"
    return None if os.geteuid() == 0 else "needs root"


class ScratchNetwork:
    """The network, as long as its first process lives."""

    def __init__(self, folder: Path, process: subprocess.Popen[str]) -> None:
        self._folder = folder
        self._process = process

    def entering(self, folder: Path) -> list[str]:
        """Return the words that start a command in the network, in a folder."""
        return ["nsenter", "--target", str(self._process.pid), "--net", "--mount", f"--wdns={folder}"]

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which the server's certificate is trusted."""
        return {"SSL_CERT_FILE": str(self._folder / "certificate.pem")}


@contextmanager
def scratch_network(folder: Path) -> Iterator[ScratchNetwork]:
    """Yield a network; its files are in `folder`."""
    server = Path(__file__).with_name("web_server.py")
    text = _BEGIN.format(folder=folder, python=sys.executable, server=server)
    words = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
    with subprocess.Popen(
        [*words, "sh", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        if process.stdout.readline() != "ready\n":
            raise OSError(f"no scratch network: {process.stderr.read()}")
        try:
            yield ScratchNetwork(folder, process)
        finally:
            process.kill()
