"""`lasthop fetch`: lasthop's TCP as the client of a real web server."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from lasthop.cli.console import a_number, print_json, print_line, print_table, remark
from lasthop.cli.names import completing
from lasthop.cli.options import JSON, LINKS, QUIET, SEED_OF_LINKS, overrides_of_host
from lasthop.errors import InputError, RunError
from lasthop.fetching import Fetched, Target, Way, fetch_once, gain_of, target_of
from lasthop.fetching.fetched import DELAYED, check_profiles
from lasthop.fetching.limits import Limits
from lasthop.fetching.target import redirected

NOTHING = "none"
"""The value of --against that compares with no other profile."""

MOST_REDIRECTIONS = 5


@click.command(name="fetch")
@click.argument("url")
@click.option(
    "--profile",
    default="taba",
    show_default=True,
    shell_complete=completing("profiles"),
    metavar="NAME|FILE",
    help="The client's TCP.",
)
@click.option(
    "--against",
    default=DELAYED,
    show_default=True,
    metavar="delayed|NAME|FILE|none",
    help="Also fetch with this TCP; delayed is the profile with ordinary delayed ACKs.",
)
@LINKS
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True, help="Number of pairs of fetches.")
@click.option("--outside", metavar="COMMAND", help="Run this server at the far end; the URL names it gateway.")
@SEED_OF_LINKS
@overrides_of_host("client")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    callback=a_number,
    metavar="SECONDS",
    help="Longest wait for the next byte.",
)
@click.option(
    "--max-time",
    "max_time_s",
    type=click.FloatRange(min=0, min_open=True),
    default=600.0,
    show_default=True,
    callback=a_number,
    metavar="SECONDS",
    help="Longest time of one fetch, from the connection to the last byte.",
)
@click.option(
    "--max-size",
    type=click.IntRange(1),
    default=10**9,
    show_default=True,
    metavar="BYTES",
    help="Largest body.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Write a result folder for each fetch below DIR."
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the body to FILE."
)
@QUIET
@JSON
def command(
    url: str,
    profile: str,
    against: str,
    links: tuple[str, ...],
    repeat: int,
    outside: str | None,
    seed: int | None,
    overrides: tuple[str, ...],
    timeout_s: float,
    max_time_s: float,
    max_size: int,
    out: Path | None,
    output: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Fetch URL from a real web server with lasthop's TCP, through emulated links, and print what its profile gained.

    The client is the endpoint of `lasthop run`, on a network device; the server is the one that the URL names. As root,
    traffic continues from the far end of the links by this machine's connection, as in `lasthop shell`. Without root,
    the only server is the one that --outside runs at the far end, which the URL names gateway. Schemes are http and
    https, over IPv4. Both profiles must get the same body. An answer beyond a limit, or more
    than five redirections, fails with status 1.

    \b
    Examples:
      lasthop fetch http://192.0.2.1/file --link bluetooth-2006
      lasthop fetch http://gateway:8000/README.md --link gsm-9600 \\
          --outside 'python3 -m http.server 8000 --bind $LASTHOP_ADDRESS'
      lasthop fetch https://www.example.org/ --profile taba --against delayed --repeat 5
      lasthop fetch http://192.0.2.1/file --profile linux-6 --against none --link lte --out results/fetch
      lasthop report results/fetch
    """
    limits = Limits(max_size, max_time_s, timeout_s)
    way = Way(links, tuple(shlex.split(outside or "")), overrides, seed, limits)
    profiles = [profile] if against == NOTHING else [profile, against]
    if len(set(profiles)) < len(profiles):
        raise InputError(f"{profile} is compared with itself", key="--against", help="name another, or none")
    check_profiles(way, profiles, profile)
    fetches = _fetch_all(target_of(url), way, profiles, repeat, out, output, announces=not quiet)
    _check_bodies(url, fetches)
    by_profile = [[one for one in fetches if one.profile == name] for name in profiles]
    goodputs = [[one.goodput for one in those] for those in by_profile]
    gain = gain_of(*goodputs) if len(goodputs) == 2 else None
    if as_json:
        gain_as_json = None if gain is None else gain.to_json()
        print_json(
            {"url": url, "links": list(links), "fetches": [one.to_json() for one in fetches], "gain": gain_as_json}
        )
        return
    _print(fetches)
    if gain is not None:
        print_line(f"\n{profile} against {against}: {gain.in_words()}")


def _fetch_all(
    target: Target, way: Way, profiles: list[str], repeat: int, out: Path | None, output: Path | None, announces: bool
) -> list[Fetched]:
    """Fetch with each profile, alternating. Only the first fetch follows redirections; the others use its URL."""
    fetches: list[Fetched] = []
    for number in range(1, repeat + 1):
        for profile in profiles:
            folder = None if out is None else _folder(out, profile, number, len(profiles) * repeat, repeat)
            scenario = way.scenario(profile, like=profiles[0], records=folder is not None)
            for _ in range(MOST_REDIRECTIONS + 1):
                body = output if not fetches else None
                fetched = fetch_once(
                    target, scenario, way, profile=profile, out=folder, body=body, announces=announces and not fetches
                )
                if fetched.location is None:
                    break
                target = redirected(target, fetched.location)
                remark(f"redirected to {target.url}")
            else:
                raise RunError(f"{target.url}: redirected more than {MOST_REDIRECTIONS} times")
            fetches.append(fetched)
    return fetches


def _folder(out: Path, profile: str, number: int, fetches: int, repeat: int) -> Path:
    if fetches == 1:
        return out
    name = Path(profile).stem
    return out / (name if repeat == 1 else f"{name}-{number}")


def _check_bodies(url: str, fetches: list[Fetched]) -> None:
    if len({one.sha256 for one in fetches}) > 1:
        sizes = ", ".join(str(one.bytes) for one in fetches)
        raise RunError(f"{url}: the server gave different bodies ({sizes} bytes): nothing can be compared")


def _print(fetches: list[Fetched]) -> None:
    columns = ["profile", "seconds", "bytes", "byte/s", "ACKs", "retransmitted", "duplicates", "timeouts"]
    rows = [
        [
            one.profile,
            one.seconds,
            one.bytes,
            one.goodput,
            one.connection["acks"],
            one.retransmissions,
            one.connection["duplicates"],
            one.connection["flow"]["timeouts"],
        ]
        for one in fetches
    ]
    print_table(None, columns, rows)
