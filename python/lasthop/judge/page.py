"""The files of a league: its JSON, its pictures, and one page with both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Final

from lasthop.errors import naming
from lasthop.judge.columns import HEADS, SCALES, shown
from lasthop.judge.duels import SECONDS
from lasthop.judge.league import MEASURES, League, Measure, Row
from lasthop.judge.paths import version
from lasthop.judge.pictures import draw_harm, draw_scatter
from lasthop.provenance import versions

STYLE: Final = (
    "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.15rem .6rem;text-align:right;border-bottom:1px solid #ddd}"
    "th{font-weight:600;vertical-align:bottom}td{vertical-align:top}"
    "small{color:#666}td small{display:block;white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left}img{max-width:100%}.wide{overflow-x:auto}"
    "summary{cursor:pointer;padding:.2rem 0}"
)

HEAD: Final = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    f"<style>{STYLE}</style>"
)
"""The beginning of a page, which is also for the width of a phone; its title follows."""


def write_league(league: League, folder: Path) -> None:
    """Write league.json, league.html, and of a league with runs league-scatter.svg and league-harm.svg."""
    _write(folder / "league.json", json.dumps(league.to_json(), indent=1) + "\n")
    if league.standings:
        draw_scatter(league, folder / "league-scatter.svg")
        draw_harm(league, folder / "league-harm.svg")
    _write(folder / "league.html", _page(league))


def _page(league: League) -> str:
    made_by = escape(", ".join(f"{name} {number}" for name, number in versions().items()))
    failed = "".join(f"<li>{escape(each.duel.name)}: {escape(each.why)}</li>" for each in league.failed)
    pictures = (
        '<p><img src="league-scatter.svg" alt="Goodput over delay"> <img src="league-harm.svg" alt="Harm"></p>\n'
        if league.standings
        else "<p>No duel has a result.</p>\n"
    )
    return (
        f"{HEAD}<title>League</title></head><body>\n<h1>League</h1>\n"
        f"<p>Entries: {len(league.entries)}; paths: {len(league.paths)} (version {version()} of the list); seeds: "
        f"{len(league.seeds)}. In each run two downloads share the path for {SECONDS} s. Made by {made_by}.</p>\n"
        f"<h2>Standings</h2>\n{_standings(league)}\n"
        "<p>Medians over seeds, with their 95 % intervals (from the smallest to the largest with fewer than six "
        "seeds). For each seed, goodput, loss, fairness and harm are means over paths and rivals, and the one-way "
        "delays of segments are geometric means. Harm is the share of its goodput that a rival loses, compared with "
        "what it has alongside another of its own kind (Ware et al. 2019).</p>\n"
        f"{pictures}"
        + (f"<h2>Failed</h2>\n<ul>{failed}</ul>\n" if failed else "")
        + f"<h2>Duels</h2>\n{_duels(league)}</body></html>\n"
    )


def _standings(league: League) -> str:
    head = ["entry", *(HEADS[key] for key in MEASURES)]
    rows = [
        [escape(each.entry.name), *(_cell(key, each.measures.get(key)) for key in MEASURES)]
        for each in league.standings
    ]
    return table(head, rows)


def _duels(league: League) -> str:
    """Return the duels of each entry, folded: a league of twelve has thousands."""
    keys = ["goodput_bps", *MEASURES[1:]]
    head = ["rival", "path", *(HEADS[key] for key in keys)]
    folds = []
    for entry in league.entries:
        rows = [_duel(row, keys) for row in league.rows if row.entry == entry]
        if rows:
            name = escape(entry.name)
            folds.append(f"<details><summary>{name}: {len(rows)} rows</summary>\n{table(head, rows)}</details>\n")
    return "".join(folds)


def _duel(row: Row, keys: Sequence[str]) -> list[str]:
    measures: Mapping[str, Measure] = row.measures
    names = [escape(name) for name in (row.rival.name, row.path.name)]
    return [*names, *(_cell(key, measures.get(key)) for key in keys)]


def _cell(key: str, measure: Measure | None) -> str:
    if measure is None:
        return "–"
    scale = SCALES.get(key, 1.0)
    return f"{shown(key, measure)} <small>{measure.low * scale:.3g} to {measure.high * scale:.3g}</small>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of HTML, which scrolls where it is too wide; the cells are HTML already."""
    heads = "".join(f"<th>{escape(each)}</th>" for each in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f'<div class="wide"><table><tr>{heads}</tr>\n{body}</table></div>'


def _write(file: Path, text: str) -> None:
    with naming(file):
        file.write_text(text, encoding="utf-8")
