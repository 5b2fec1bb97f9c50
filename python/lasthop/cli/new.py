"""`lasthop new`: a first scenario file, from a few answers."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from lasthop import catalogue
from lasthop.cli.console import remark
from lasthop.errors import InputError
from lasthop.scenario import parse_scenario
from lasthop.scenario.beginning import Answers, scenario_text


@click.command(name="new")
@click.argument("name")
@click.option("--link", metavar="PRESET", help="A link of `lasthop list links`.")
@click.option("--rate", metavar="RATE", help='Instead of a preset: "10 Mbit/s", in both directions.')
@click.option("--delay", metavar="TIME", help="One-way propagation delay of the link [25 ms].")
@click.option("--queue", metavar="LIMIT", help='Queue limit in packets, bytes or time, such as "500 ms" [100 packets].')
@click.option("--profile", metavar="NAME", help="The sender's TCP [linux-6].")
@click.option("--against", metavar="NAME", help="A further download with this TCP at the same time, as linux-6-bbr.")
@click.option(
    "--flows", type=click.IntRange(1, 1000), default=1, show_default=True, help="Number of parallel downloads."
)
@click.option("--bytes", "amount", metavar="SIZE", default="5 MB", show_default=True, help="Bytes of each download.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="The file [NAME.toml].")
def command(
    name: str,
    link: str | None,
    rate: str | None,
    delay: str | None,
    queue: str | None,
    profile: str | None,
    against: str | None,
    flows: int,
    amount: str,
    out: Path | None,
) -> None:
    """Write a first scenario file NAME.toml: a server, a mobile host, the link between them, and a download.

    In a terminal it asks for the link and the sender's TCP if they are not given. The file has comments, and it runs
    without changes.

    \b
    Examples:
      lasthop new my-lte --link lte
      lasthop new duel --rate "20 Mbit/s" --profile linux-6 --against linux-6-bbr
      lasthop new slow --rate "2 Mbit/s" --delay "100 ms" --queue "20 packets" --profile reno --flows 3
    """
    if not name.strip():
        raise InputError("a scenario needs a name", key="NAME", help="write a word, like my-link")
    target = out or Path(f"{name}.toml")
    if target.exists():
        raise InputError("exists, and is not overwritten", file=str(target), help="choose another name, or --out")
    if link and (rate or delay):
        raise InputError("a preset has its own rate and delay", help="leave out --link, or --rate and --delay")
    link = link or ("" if rate else _asked("Link", "presets", "lte"))
    profile = profile or _asked("TCP of the sender", "profiles", "linux-6")
    link_keys = (link, rate or "", delay or "", queue or "")
    text = scenario_text(Answers(target.stem, *link_keys, profile, profile, flows, amount, against or ""))
    parse_scenario(text, source=str(target))
    try:
        target.write_text(text, "utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"cannot write here: {error.strerror}", file=str(target), help="choose --out") from error
    remark(f"wrote {target}; now: lasthop run {target} --out results/{target.stem}")


def _asked(question: str, kind: catalogue.Kind, default: str) -> str:
    """Ask the user if standard input and error are a terminal; else return the default."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return default
    names = [entry.name for entry in catalogue.entries(kind)]
    remark(f"{question}: {', '.join(names)}")
    answer: str = click.prompt(question, default=default, type=click.Choice(names), show_choices=False, err=True)
    return answer
