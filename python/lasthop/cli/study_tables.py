"""A study's rows and claims for a reader: a line for each case as in the document, metrics side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from rich.text import Text

from lasthop.cli.console import print_table, shown, stdout
from lasthop.study.claims import ELSEWHERE

Row = Mapping[str, Any]
Line = dict[tuple[str, str], Any]
"""A line's cells by metric (or column of the study) and head."""

_JUDGED = {True: "holds", False: "FAILS", None: "not judged"}


def print_study_table(table: object, rows: Sequence[Row]) -> None:
    """Print one table of the document: for each metric what was published, what was measured, and their ratio."""
    naming = [
        key for key in takewhile(lambda key: key != "published", rows[0]) if key not in {"table", "figure", "metric"}
    ]
    same = [key for key in naming if len({row[key] for row in rows}) == 1]
    title = ", ".join([f"Table {table}", *(f"{key} {rows[0][key]}" for key in same)])
    lines = _lines(rows, [key for key in naming if key not in same])
    columns = dict.fromkeys(column for line in lines for column in line)
    filled = [column for column in columns if any(line.get(column) is not None for line in lines)]
    print_table(title, [head for _, head in filled], [[line.get(column) for column in filled] for line in lines])


def print_claims(claims: Sequence[Row]) -> None:
    """Print each claim with the verdict and what decided it, but for those about other tables, and count them all."""
    stdout.print(Text("Claims", style="bold"))
    for claim in claims:
        if claim["evidence"] == ELSEWHERE:
            continue
        stdout.print(Text(f"{claim['id']:>4}  {_JUDGED[claim['holds']]:10}  {claim['says']}  [{claim['place']}]"))
        stdout.print(Text(f"{'':18}{claim['evidence']}", style="dim"))
    verdicts = [_JUDGED[claim["holds"]] for claim in claims]
    stdout.print("\n" + ", ".join(f"{verdicts.count(word)} {word}" for word in _JUDGED.values() if word in verdicts))


def _lines(rows: Sequence[Row], naming: Sequence[str]) -> list[Line]:
    """Turn rows of single numbers into lines of one case each."""
    lines: dict[tuple[Any, ...], Line] = {}
    for row in rows:
        key = tuple(row[name] for name in naming)
        line = lines.setdefault(key, {(name, name): value for name, value in zip(naming, key, strict=True)})
        line |= _columns_of(row)
    return list(lines.values())


def _columns_of(row: Row) -> Line:
    """Return a row's cells. Ratio and spread are shown of times only, or no terminal were wide enough."""
    metric = row["metric"]
    columns: Line = {(metric, metric): row["measured"], (metric, "published"): row["published"]}
    if metric.endswith("_s"):
        columns |= {(metric, "ratio"): row["ratio"], (metric, "spread"): _spread(row)}
    return columns


def _spread(row: Row) -> str | None:
    """Return the span of a row that was run over one, else its quartiles; nothing where all runs are alike."""
    low, high = (row["low"], row["high"]) if "low" in row else (row["q25"], row["q75"])
    return None if low is None or low == high else f"{shown(low)} to {shown(high)}"
