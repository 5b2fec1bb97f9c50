"""`lasthop set`: changes the links of a running router or live run."""

from __future__ import annotations

import click

from lasthop.cli.console import print_json, remark
from lasthop.real_time.watching import set_links


@click.command(name="set")
@click.argument("name")
@click.argument("overrides", nargs=-1, required=True, metavar="KEY=VALUE…")
@click.option("--json", "as_json", is_flag=True, help="Print all keys that are set, as one JSON object.")
def command(name: str, overrides: tuple[str, ...], as_json: bool) -> None:
    """Change keys of links of NAME, which `lasthop router` or `lasthop live --name` runs in this network namespace.

    Keys are those of scenario files. A change that is not valid is refused (status 2), and the links remain as they
    are. Packets in a queue move to the new queue.

    \b
    Examples:
      lasthop set lab links.lasthop.down.rate="1 Mbit/s"
      lasthop set lab links.lasthop.down.propagation="80 ms" links.lasthop.down.queue.limit="20 packets"
      lasthop set lab 'links.lasthop.down.errors={ effect = "drop", probability = 0.01 }'
    """
    answer = set_links(name, overrides)
    if as_json:
        print_json(answer)
    else:
        remark(f"{name}: {', '.join(overrides)}")
