"""The child process of one fetch: `python -m lasthop.fetching.process EXCHANGE`; see `lasthop.real_time.process`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lasthop import _native
from lasthop.fetching.conversation import converse
from lasthop.fetching.limits import Limits
from lasthop.fetching.target import Target
from lasthop.real_time.process import carry_out, stop_when_orphaned, write_result


def main(exchange: Path) -> int:
    """Run the request in `exchange`; return the exit status."""
    request = json.loads((exchange / "request.json").read_text())
    return carry_out(exchange, request, lambda: _fetch(exchange, request))


def _fetch(exchange: Path, request: dict[str, Any]) -> None:
    target, limits = Target(**request["target"]), Limits(**request["limits"])
    run, connection = _native.fetch(
        request["scenario"],
        request["server"],
        target.port,
        request["outside"],
        request["links"],
        lambda descriptor: converse(descriptor, target, limits, exchange),
        _say if request["announces"] else lambda _line: None,
        stop_when_orphaned(request["parent"]),
    )
    (exchange / "connection.json").write_text(connection)
    if request["folder"] is not None:
        write_result(run, request)


def _say(line: str) -> None:
    print(f"lasthop: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
