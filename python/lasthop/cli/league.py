"""`lasthop league`: every pair of entries on every path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lasthop.cli.console import print_json, print_table, remark
from lasthop.cli.options import JSON, RESULT_FOLDER
from lasthop.cli.progress import ProgressLine

if TYPE_CHECKING:
    from lasthop.judge.league import League


@click.command(name="league")
@click.argument("entries", nargs=-1, required=True, metavar="ENTRY…")
@click.option("--path", "only", multiple=True, metavar="NAME", help="Only this path of the list; repeat for several.")
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="Number of seeds of each duel.")
@RESULT_FOLDER
@JSON
def command(entries: tuple[str, ...], only: tuple[str, ...], seeds: int, out: Path | None, as_json: bool) -> int:
    """Let ENTRYs compete, every pair and each against itself, on every path of a versioned list.

    An ENTRY is a profile (cubic), a class of Python in a file (mine.py:Mine), a module of Linux (tcp_mine.c), both with
    your rights, or one of them with a name of its own (ours=mine.py:Mine). Each duel is two downloads of 20 s through
    one link. Goodput is a share of the best on the path; delays are one-way delays of segments; harm is the share of
    its goodput that a rival loses alongside the entry, compared with what it has alongside another of its own kind
    (Ware et al. 2019).

    --out keeps the runs, so that an entry added later costs its own duels alone, and writes a page, a scatter of delay
    and goodput, and a heat map of harm. --json prints what lasthop check takes as a baseline. A duel that fails is
    reported, and the others continue; the exit status is then 1.

    \b
    Examples:
      lasthop league reno cubic --path dsl-one --seeds 2
      lasthop league cubic bbr3 --path dsl-one --path dsl-codel --seeds 2 --out results/league
      lasthop league cubic --path dsl-one --seeds 6 --json
    """
    from lasthop.judge.entries import parse_entry
    from lasthop.judge.league import number_of_runs, play
    from lasthop.judge.paths import paths

    competing, on = [parse_entry(text) for text in entries], paths(only)
    seed_numbers = range(1, seeds + 1)
    with ProgressLine("league", "runs", number_of_runs(len(competing), len(on), seeds)) as line:
        if out is None:
            league = play(competing, on, seeds=seed_numbers, tick=line.update)
        else:
            from lasthop.judge.page import write_league
            from lasthop.judge.pictures import load_format
            from lasthop.study.store import Store

            load_format()
            with Store(out) as store:
                league = play(competing, on, seeds=seed_numbers, store=store, tick=line.update)
            write_league(league, out)
            remark(f"wrote {out}; runs: {league.runs} new")
    if as_json:
        print_json(league.to_json())
    else:
        _print(league)
    for failed in league.failed:
        remark(f"{failed.duel.name} failed: {failed.why}")
    return 1 if league.failed else 0


def _print(league: League) -> None:
    from lasthop.judge.columns import HEADS, shown
    from lasthop.judge.league import MEASURES

    rows = [[each.entry.name, *(shown(key, each.measures.get(key)) for key in MEASURES)] for each in league.standings]
    print_table(None, ["entry", *(HEADS[key] for key in MEASURES)], rows)
