"""`lasthop explain`: what happened in a run, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lasthop.cli.cases import CASES, runs_of
from lasthop.cli.console import print_json, print_line, print_table

if TYPE_CHECKING:
    from lasthop.explanation import Explanation


@click.command(name="explain")
@click.argument("results", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="RESULT…")
@click.option("--flow", metavar="NAME", help="One flow [all].")
@CASES
@click.option(
    "--events",
    type=click.IntRange(1),
    metavar="N",
    default=40,
    show_default=True,
    help="Number of events printed for each connection.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead, with every event.")
def command(results: tuple[Path, ...], flow: str | None, cases: tuple[str, ...], events: int, as_json: bool) -> None:
    """Explain what happened in RESULT, a folder that `lasthop run`, `live`, `analyze` or `study` wrote with
    --out.

    For each connection it prints the events in order of time, the causes of the retransmissions, and the time lost
    against an ideal transfer over the same link. The result must have the table `segments`; the tables `tcp` and
    `packets` add detail. Of a sweep or a study it explains one case, which it runs again with these tables.

    \b
    Examples:
      lasthop run spikes --out results/spikes --set 'record.tables=["segments","tcp","packets"]'
      lasthop explain results/spikes
    """
    from lasthop.explanation import explain
    from lasthop.results import open_run

    folders = [folder for result in results for folder in runs_of(result, cases, most=1)]
    found = {str(folder): explain(open_run(folder), flow) for folder in folders}
    if as_json:
        print_json({path: [one.to_json() for one in all_] for path, all_ in found.items()})
        return
    for path, all_ in found.items():
        for one in all_:
            _print(path if len(found) > 1 else "", one, events)


def _print(path: str, explained: Explanation, most: int) -> None:
    title = f"{explained.flow}, connection {explained.connection}" if explained.connection > 1 else explained.flow
    print_line(f"{path} {title}: {explained.start:.3f} s to {explained.end:.3f} s".strip(), style="bold")
    for fact in explained.facts:
        print_line(f"  {fact}")
    for event in explained.events[:most]:
        print_line(f"  {event.start:9.3f} s  {event.text}")
    if (number := len(explained.events)) > most:
        print_line(f"  {number - most} more events; --events {number} prints them, --json has them")
    _print_causes(explained)
    _print_time(explained)
    print_line()


def _print_causes(explained: Explanation) -> None:
    if explained.causes:
        print_line()
        # One capture alone does not show what befell a copy.
        traced = any(cause.origin for cause in explained.causes)
        rows: list[Sequence[object]] = [
            [
                cause.copies,
                cause.trigger.replace("_", " "),
                _needed(cause.needed),
                cause.why.replace("_", " "),
                *([cause.origin] if traced else []),
            ]
            for cause in explained.causes
        ]
        headings = ["copies", "sent on", "needed", "why", *(["fate of earlier copies"] if traced else [])]
        print_table("Retransmissions, by cause", headings, rows)


def _needed(needed: bool | None) -> str:
    return "unknown" if needed is None else "yes" if needed else "no"


def _print_time(explained: Explanation) -> None:
    if explained.time_shares:
        whole = sum(share.seconds for share in explained.time_shares)
        print_line()
        judged = any(share.confidence for share in explained.time_shares)
        rows = [
            [
                f"{share.seconds:.3f}",
                f"{100 * share.seconds / whole:.1f} %",
                *([share.confidence] if judged else []),
                share.words,
            ]
            for share in explained.time_shares
        ]
        headings = ["seconds", "share", *(["confidence"] if judged else []), "on"]
        print_table("Where the time went", headings, rows)
