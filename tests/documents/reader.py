"""Files that the reader of a page has already: its commands name them, and no earlier command writes them."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

Shell = Callable[[str], None]
"""Runs a line in the reader's folder, and fails if the line does."""

_CAPTURED: Final = (
    "lasthop run quickstart --seed 3 --set flows.download.bytes='3 MB'"
    ' --set \'record.captures=["server","mobile"]\' --out captured'
)
_OF_SERVER: Final = f"{_CAPTURED} && cp captured/capture-server.pcapng "
_OF_PHONE: Final = f"{_CAPTURED} && cp captured/capture-mobile.pcapng "
_RUN: Final = "lasthop run quickstart --out "

MADE_BY: Final = {
    "trace.pcap": f"{_OF_SERVER} trace.pcap",
    "mine.pcap": f"{_OF_SERVER} mine.pcap",
    "mine.pcap0": f"{_OF_SERVER} mine.pcap0",
    "mine.pcap1": f"{_OF_SERVER} mine.pcap1",
    "server.pcapng": f"{_OF_SERVER} server.pcapng",
    "phone.pcapng": f"{_OF_PHONE} phone.pcapng",
    "my-link.toml": "lasthop new my-link --link lte",
    "lab.toml": "lasthop new lab --link lte",
    "my-lte.toml": "lasthop new my-lte --link lte",
    "mine.pkt": "lasthop show unread_data_resets --json | python -c 'import json, sys; "
    'print(json.load(sys.stdin)["found"][0]["text"])\' > mine.pkt',
    "downlink.log": f"{_RUN} exported && lasthop export exported --format mahimahi && cp exported/mahimahi/*down.log "
    "downlink.log",
    "results/quickstart": f"{_RUN} results/quickstart",
    "results/reno": f"{_RUN} results/reno --set hosts.server.profile=reno",
    "results/cubic": f"{_RUN} results/cubic --set hosts.server.profile=cubic",
    "results/virtual": f"{_RUN} results/virtual",
    "results/live": f"{_RUN} results/live --seed 2",
    "results/before": f"{_RUN} results/before",
    "results/after": f"{_RUN} results/after --seed 2",
    "baseline.json": "lasthop league cubic --path dsl-one --seeds 6 --json > baseline.json",
    "results/sarolahti2000": "lasthop study sarolahti2000 --only 14 --replications 6 --out results/sarolahti2000",
}
"""Commands for the files that other tools, or earlier work, gave the reader."""

_PROGRAMS: Final = {
    "my-server": """\
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("", int(sys.argv[1])))
while True:
    data, client = server.recvfrom(2000)
    server.sendto(data, client)
""",
    "my-client": """\
import socket, sys
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(1)
for _ in range(30):
    client.sendto(b"hello", (sys.argv[1], int(sys.argv[2])))
    try:
        sys.exit(client.recv(2000) != b"hello")
    except TimeoutError:
        continue
sys.exit(1)
""",
}
"""The reader's own programs."""

_RECIPE: Final = Path(__file__).parents[2] / "docs/recipes/my-own-congestion-control.md"

_MODULE: Final = Path(__file__).parents[2] / "crates/modules/tests/tcp_aimd.c"

_CLASSES: Final = {
    "mine.py": re.findall(r"```python\n(.*?)```", _RECIPE.read_text("utf-8"), re.DOTALL)[0],
    "tcp_mine.c": _MODULE.read_text("utf-8").replace("kept", "beta"),
}
"""Programs that pages show or name, so that the reader has written them."""

_BYTES: Final = {"film.mp4": 200_000, "file.bin": 60_000, "README.md": 5_000}
"""Files of any contents, with their sizes."""


def supply(line: str, folder: Path, shell: Shell) -> None:
    """Make the files that a command names and that are not there."""
    for name in re.findall(r"[\w./-]+", line):
        if Path(name).name in _BYTES:
            name = Path(name).name  # of a URL, from the server's folder
        path = folder / name
        if path.exists() or re.search(rf"--(?:out|output) {re.escape(name)}(?:\s|$)", line):
            continue
        if path.name in _PROGRAMS:
            path.write_text(f"#!{sys.executable}\n{_PROGRAMS[path.name]}")
            path.chmod(0o755)
        elif name in _CLASSES:
            path.write_text(_CLASSES[name])
        elif name in _BYTES:
            path.write_bytes(random.Random(1).randbytes(_BYTES[name]))
        elif name in MADE_BY:
            shell(MADE_BY[name])
