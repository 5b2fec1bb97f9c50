"""`lasthop serve`: the laboratory in the browser."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

from lasthop.cli.console import print_line, remark


@click.command(name="serve")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=".", metavar="[DIR]")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="[8750, or a free one if that is taken]; 0 takes a free one."
)
@click.option(
    "--host",
    "address",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="The address to listen on. Any but a loopback address lets other machines in, without encryption.",
)
@click.option("--name", "names", multiple=True, metavar="HOST", help="One more name by which browsers reach it.")
@click.option("--live", is_flag=True, help="Allow runs in real time from the page.")
@click.option(
    "--cluster", metavar="ADDRESS", help="Run the page's studies on this Dask cluster, as lasthop study --cluster does."
)
def command(
    folder: Path, port: int | None, address: str, names: tuple[str, ...], live: bool, cluster: str | None
) -> None:
    """Serve the laboratory in the browser: build a scenario, run it, see its packets, sweep, compare, drop a capture,
    do a lesson.

    It shows the results below DIR [the present folder], and writes there what is run. The page says which command does
    the same. Open the address that is printed: it has a token, new at every start, without which nothing is answered.
    Ctrl-C ends the server; runs that have not ended leave nothing.

    \b
    Examples:
      lasthop serve
      lasthop serve results --port 9000
      lasthop serve course --host 0.0.0.0 --name lab.example.org
    """
    from lasthop.serve.server import listen, serve, settings_of

    folder.mkdir(parents=True, exist_ok=True)
    socket = listen(address, port)
    settings = settings_of(folder, socket, names, secrets.token_urlsafe(24), live=live, cluster=cluster)

    def announce() -> None:
        for line in _warnings(address, live):
            remark(f"lasthop: {line}")
        print_line(f"http://{settings.shown_host}/?token={settings.token}")
        remark(f"lasthop: serves {folder.resolve()}; Ctrl-C ends it")

    serve(socket, settings, announce)


def _warnings(address: str, live: bool) -> list[str]:
    """Return remarks on the settings for the user."""
    found = []
    if address not in ("127.0.0.1", "::1", "localhost"):
        found.append(
            "other machines can reach this server; who has the address with its token can run scenarios here and read "
            "the results, and the connection is not encrypted: use it in a network that you trust, or through ssh -L"
        )
    if live:
        found.append("the page can run scenarios in real time, with this machine's kernel")
    return found
