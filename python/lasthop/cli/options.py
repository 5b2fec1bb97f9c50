"""Options that several commands share, each written once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from lasthop.cli.keys import complete_keys
from lasthop.cli.names import completing

Command = TypeVar("Command", bound=Callable[..., Any])

SEED: Final = click.option(
    "--seed", type=click.IntRange(0, 2**64 - 1), help="Seed of every random stream, instead of the file's."
)
OVERRIDES: Final = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="PATH=VALUE",
    shell_complete=complete_keys,
    help="Override one key of the file.",
)
JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
RESULT_FOLDER: Final = click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the result folder DIR."
)
ALLOW_CODE: Final = click.option(
    "--allow-code", is_flag=True, help="Run programs that the file brings, with your rights (read them first)."
)
QUIET: Final = click.option(
    "--quiet", is_flag=True, help="Do not report on standard error what is set up and changed on this machine."
)
SEED_OF_LINKS: Final = click.option(
    "--seed", type=click.IntRange(0, 2**64 - 1), help="Seed of every random stream of the links [1]."
)
LINKS: Final = click.option(
    "--link",
    "links",
    multiple=True,
    metavar="PRESET|FILE",
    shell_complete=completing("presets"),
    help="A link of `lasthop list links`, a file like one, or a scenario with one link; down leads to the client. "
    "Repeat for links in series.",
)


def overrides_of_host(host: str) -> Callable[[Command], Command]:
    """Return the option --set of a command whose scenario has links and the profile of one host."""
    help = f"Override one key of a link or of the profile: links.lte.down.rate=…, hosts.{host}.tcp.…"
    return click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help=help)
