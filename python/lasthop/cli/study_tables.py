"""Tables of a study's rows and claims: a line for each case as in the document, metrics side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, takewhile
from typing import Any

from lasthop.cli.console import print_line, print_table, shown, width
from lasthop.study.claims import ELSEWHERE

Row = Mapping[str, Any]
Column = tuple[str, str]
"""A metric and one of its figures, or "" and a column of the study: a metric may be named "ratio", too."""

Line = dict[Column, Any]
"""The cells of a line."""

MEASURED = "measured"

GAP = 2
"""Spaces between two columns."""

_JUDGED = {True: "holds", False: "FAILS", None: "not judged"}


def print_study_table(table: object, rows: Sequence[Row]) -> None:
    """Print one table of the document: measured and published value, ratio and spread of each metric.

    A table wider than the terminal is split into several.
    """
    naming = [
        key for key in takewhile(lambda key: key != "published", rows[0]) if key not in {"table", "figure", "metric"}
    ]
    same = [key for key in naming if len({row[key] for row in rows}) == 1]
    title = ", ".join([f"Table {table}", *(f"{key} {rows[0][key]}" for key in same)])
    naming = [key for key in naming if key not in same]
    lines = _lines(rows, naming)
    columns = dict.fromkeys(column for line in lines for column in line)
    filled = [column for column in columns if any(line.get(column) is not None for line in lines)]
    for block in _blocks([("", name) for name in naming], filled, lines):
        print_table(
            title, [_head(column) for column in block], [[line.get(column) for column in block] for line in lines]
        )


def legend(rows: Sequence[Row]) -> str:
    """Return the legend of the columns that have a value in some row."""
    parts = ["Medians"]
    if any(_spread(row) is not None for row in rows):
        parts.append("the spread is low to high for rows run over a span, else the quartiles")
    if any(row["ratio"] is not None for row in rows):
        parts.append("the ratio is measured to published")
    if alike := sum(bool(row.get("deterministic")) for row in rows):
        whose = "all rows" if alike == len(rows) else f"{alike} of {len(rows)} rows"
        parts.append(f"{whose} are deterministic: all runs are equal, so there is no interval")
    return "; ".join(parts)


def print_claims(claims: Sequence[Row]) -> None:
    """Print the verdict and the evidence of each claim about the chosen tables, and count all claims."""
    print_line("Claims", "bold")
    for claim in claims:
        if claim["evidence"] == ELSEWHERE:
            continue
        says = f"{claim['says']}  [{claim['place']}]{'  (set-up)' if claim['setup'] else ''}"
        print_line(f"{claim['id']:>4}  {_JUDGED[claim['holds']]:10}  {says}")
        print_line(f"{'':18}{claim['evidence']}", "dim")
    print_line("\n" + claims_counted(claims))


def claims_counted(claims: Sequence[Row]) -> str:
    """Return the number of claims that hold, fail and are not judged, with set-up claims counted separately."""
    found = _verdicts([claim for claim in claims if not claim["setup"]])
    setup = [claim for claim in claims if claim["setup"]]
    return f"{found}; of {len(setup)} that restate the set-up, {_verdicts(setup)}" if setup else found


def _verdicts(claims: Sequence[Row]) -> str:
    verdicts = [_JUDGED[claim["holds"]] for claim in claims]
    return ", ".join(f"{verdicts.count(word)} {word}" for word in _JUDGED.values() if word in verdicts)


def print_agreement(agreement: Mapping[str, Sequence[Row]]) -> None:
    """Print the number of rows that agree with the document, by kind and by table."""
    print_line()
    for by, title in (("kinds", "Rows that agree with the document"), ("tables", "The same by table")):
        counts = agreement[by]
        names = [name for name in counts[0] if name not in {"agree", "rows"}]
        every = {"agree": sum(row["agree"] for row in counts), "rows": sum(row["rows"] for row in counts)}
        lines = [[str(row[name]) for name in names] + _share(row) for row in counts]
        print_table(title, [*names, "agree", "of", "%"], [*lines, ["all"] + [""] * (len(names) - 1) + _share(every)])
        print_line()


def _share(count: Row) -> list[Any]:
    return [count["agree"], count["rows"], f"{100 * count['agree'] / count['rows']:.0f}"]


def _lines(rows: Sequence[Row], naming: Sequence[str]) -> list[Line]:
    """Turn rows of single numbers into lines of one case each."""
    lines: dict[tuple[Any, ...], Line] = {}
    for row in rows:
        key = tuple(row[name] for name in naming)
        line = lines.setdefault(key, {("", name): value for name, value in zip(naming, key, strict=True)})
        line |= _columns_of(row)
    return list(lines.values())


def _columns_of(row: Row) -> Line:
    metric = row["metric"]
    return {
        (metric, MEASURED): row["measured"],
        (metric, "published"): row["published"],
        (metric, "ratio"): row["ratio"],
        (metric, "spread"): _spread(row),
    }


def _head(column: Column) -> str:
    metric, what = column
    return metric if what == MEASURED else what


def _blocks(naming: Sequence[Column], columns: Sequence[Column], lines: Sequence[Line]) -> list[list[Column]]:
    """Split the columns into tables that fit the terminal, each with the naming columns. A metric is never split."""
    blocks = [[*naming]]
    for _, group in groupby((column for column in columns if column not in naming), key=lambda column: column[0]):
        more = list(group)
        if len(blocks[-1]) > len(naming) and _width([*blocks[-1], *more], lines) > width():
            blocks.append([*naming])
        blocks[-1] += more
    return blocks


def _width(columns: Sequence[Column], lines: Sequence[Line]) -> int:
    widest = (
        max(len(text) for text in (_head(column), *(shown(line.get(column)) for line in lines))) for column in columns
    )
    return sum(width + GAP for width in widest)


def _spread(row: Row) -> str | None:
    """Return the span of a row run over a span, else its quartiles; None if all runs are equal."""
    low, high = (row["low"], row["high"]) if "low" in row else (row["q25"], row["q75"])
    return None if low is None or low == high else f"{shown(low)} to {shown(high)}"
