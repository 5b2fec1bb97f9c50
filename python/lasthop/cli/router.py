"""`lasthop router`: real traffic through the links of a scenario."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from lasthop import _native, catalogue
from lasthop.cli.console import a_number, plain, print_json, print_line, remark, rich_console, shown
from lasthop.cli.names import completing
from lasthop.cli.options import OVERRIDES, SEED
from lasthop.errors import InputError
from lasthop.real_time.way_out import check_places
from lasthop.scenario import load_scenario


@click.command(name="router")
@click.argument("file", shell_complete=completing("scenarios"))
@click.option(
    "--between",
    nargs=2,
    required=True,
    metavar="PLACE PLACE",
    help="Network namespaces (of `ip netns`, or files) or interfaces, in the order of the file's two hosts.",
)
@click.option("--name", help="Name of the router for `lasthop set` [the scenario's name].")
@SEED
@OVERRIDES
@click.option("--every", type=float, default=1.0, show_default=True, callback=a_number, help="Seconds between lines.")
@click.option("--way-out", is_flag=True, help="Also take an interface that carries this machine's own default route.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def command(
    file: str,
    between: tuple[str, str],
    name: str | None,
    seed: int | None,
    overrides: tuple[str, ...],
    every: float,
    way_out: bool,
    as_json: bool,
) -> int:
    """Forward real traffic between two places through the links of the scenario FILE, until Ctrl-C or SIGTERM.

    In a network namespace the router makes a device with the address of the file's host, and the default route of the
    namespace leads to it. From an interface it takes the packets that arrive there and would be forwarded; forwarding
    and a routing rule are set up for that, announced, and removed at the end. `lasthop set NAME KEY=VALUE` changes keys
    of links during the run; packets in a queue move to the new queue. The flows of the file are not run.

    \b
    Examples:
      lasthop router my-link.toml --between left right
      lasthop router my-link.toml --between eth1 eth2 --name lab
      lasthop set lab links.lasthop.down.rate="1 Mbit/s" links.lasthop.down.propagation="80 ms"
    """
    if every <= 0:
        raise InputError(f"{every:g} is no interval", key="--every", help="write seconds, like --every 1")
    check_places(between, way_out=way_out)
    scenario = load_scenario(file, overrides=overrides, seed=seed)
    display = _Lines(every) if as_json or not sys.stderr.isatty() else _Screen()
    with display:
        last = _native.router(
            file,
            str(catalogue.LIBRARY),
            overrides,
            seed,
            between,
            name or scenario.name,
            lambda line: remark(f"lasthop: {line}"),
            (lambda state: print_json(json.loads(state))) if as_json else display.show,
        )
    if as_json:
        print_json(json.loads(last))
    else:
        lateness = json.loads(last)["lateness"]
        remark(f"lasthop: {lateness['releases']} packets, half of them released within {lateness['p50_ms']:.2f} ms")
    return 0


class _Rates:
    """Rates between one state and the next."""

    def __init__(self) -> None:
        self.before: dict[str, Any] = {"elapsed_s": 0.0, "links": []}

    def of(self, state: dict[str, Any]) -> list[tuple[str, float, int, int, int]]:
        """Return the name, Mbit/s, waiting packets, waiting bytes and drops of each direction."""
        seconds = max(state["elapsed_s"] - self.before["elapsed_s"], 1e-9)
        old = {link["name"]: link["bytes_out"] for link in self.before["links"]}
        self.before = state
        return [
            (
                link["name"],
                (link["bytes_out"] - old.get(link["name"], 0)) * 8e-6 / seconds,
                link["waiting"],
                link["waiting_bytes"],
                link["drops"],
            )
            for link in state["links"]
        ]


class _Lines:
    """A line of text every `every` seconds, for output that is not a terminal."""

    def __init__(self, every: float) -> None:
        self.every = every
        self.shown_s = 0.0
        self.rates = _Rates()

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, text: str) -> None:
        state = json.loads(text)
        if state["elapsed_s"] - self.shown_s < self.every * 0.9:
            return
        self.shown_s = state["elapsed_s"]
        parts = [
            f"{name} {rate:.2f} Mbit/s, {waiting} waiting, {drops} dropped"
            for name, rate, waiting, _, drops in self.rates.of(state)
        ]
        print_line(f"{state['elapsed_s']:.0f} s: " + "; ".join(parts))


class _Screen:
    """A table on the terminal, redrawn in place."""

    def __init__(self) -> None:
        from rich.live import Live

        self.live = Live(console=rich_console(sys.stderr), transient=True, auto_refresh=False)
        self.rates = _Rates()

    def __enter__(self) -> _Screen:
        self.live.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.live.__exit__(*error)

    def show(self, text: str) -> None:
        from rich.table import Table
        from rich.text import Text

        state = json.loads(text)
        table = Table(box=None, header_style="bold", title=f"{state['elapsed_s']:.0f} s", title_justify="left")
        table.add_column("Link")
        for column in ("Mbit/s", "Waiting", "Bytes", "Dropped"):
            table.add_column(column, justify="right")
        for row in self.rates.of(state):
            table.add_row(*(Text(plain(shown(cell))) for cell in row))
        self.live.update(table, refresh=True)
