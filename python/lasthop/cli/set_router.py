"""`lasthop set`: changes the links of a running router."""

from __future__ import annotations

import json
import socket

import click

from lasthop.cli.console import print_json, remark
from lasthop.errors import InputError, RunError

LONGEST_ANSWER_S = 10.0


@click.command(name="set")
@click.argument("name")
@click.argument("overrides", nargs=-1, required=True, metavar="KEY=VALUE…")
@click.option("--json", "as_json", is_flag=True, help="Print all keys that are set, as one JSON object.")
def command(name: str, overrides: tuple[str, ...], as_json: bool) -> None:
    """Change keys of links of the router NAME, which `lasthop router` runs in this network namespace.

    Keys are those of scenario files. A change that is not valid is refused (status 2), and the router keeps its links.

    \b
    Examples:
      lasthop set lab links.lasthop.down.rate="1 Mbit/s"
      lasthop set lab links.lasthop.down.propagation="80 ms" links.lasthop.down.queue.limit="20 packets"
      lasthop set lab 'links.lasthop.down.errors={ effect = "drop", probability = 0.01 }'
    """
    answer = _asked(name, json.dumps({"set": list(overrides)}))
    if not answer["ok"]:
        raise InputError(f"router {name} refused: {answer['error']}")
    if as_json:
        print_json(answer)
    else:
        remark(f"router {name}: {', '.join(overrides)}")


def _asked(name: str, request: str) -> dict[str, object]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(LONGEST_ANSWER_S)
        try:
            connection.connect(f"\0lasthop/router/{name}")
            connection.sendall(f"{request}\n".encode())
            text = connection.makefile().readline()
        except ConnectionRefusedError as error:
            help = "start it with: lasthop router FILE --name " + name
            raise InputError(f"no router called {name!r} runs in this network namespace", help=help) from error
        except OSError as error:
            raise RunError(f"router {name} did not answer: {error}") from error
    if not text:
        raise RunError(f"router {name} did not answer")
    answer: dict[str, object] = json.loads(text)
    return answer
