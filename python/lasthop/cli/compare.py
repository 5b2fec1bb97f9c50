"""`lasthop compare`: differences between results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from lasthop.cli.cases import CASES, runs_of
from lasthop.cli.console import print_json, print_line, print_table, remark, shown

if TYPE_CHECKING:
    from lasthop.experiments.comparison import Comparison, Difference, Value

MOST_ROWS: Final = 80


@click.command(name="compare")
@click.argument("results", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="RESULT RESULT…")
@click.option("--packets", is_flag=True, help="Compare two runs packet by packet.")
@click.option("--all", "all_rows", is_flag=True, help="Print equal measures, too.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Draw the runs on one diagram, in FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@CASES
def command(
    results: tuple[Path, ...],
    packets: bool,
    all_rows: bool,
    out: Path | None,
    as_json: bool,
    cases: tuple[str, ...],
) -> None:
    """Compare RESULTs, folders that `lasthop run`, `live` or `study` wrote with --out, with the first of them.

    Runs (in virtual or real time), sweeps and studies are compared flow by flow, link by link, case by case. With
    replications, only differences whose 95 % intervals do not overlap are printed. Of one sweep or study, the runs of
    its cases are compared with each other.

    --packets compares two runs of one scenario: which packets both have, in which order, and the times between them.

    \b
    Examples:
      lasthop compare results/reno results/cubic
      lasthop compare results/virtual results/live --out apart.svg
      lasthop compare results/before results/after --json
      lasthop compare results/virtual results/live --packets
    """
    if len(results) == 1 or cases:
        results = tuple(folder for result in results for folder in runs_of(result, cases))
    if packets:
        _compare_packets(results, as_json)
        return
    from lasthop.experiments.comparison import compare

    found = compare(results)
    if out is not None:
        _draw(results, found, out)
    if as_json:
        print_json(found.to_json())
    else:
        _print(found, all_rows)


def _compare_packets(results: Sequence[Path], as_json: bool) -> None:
    from lasthop.errors import InputError
    from lasthop.experiments.packet_comparison import compare_packets

    if len(results) != 2:
        raise InputError(f"{len(results)} results", key="--packets", help="give two runs of one scenario")
    found = compare_packets(*results)
    if as_json:
        print_json(found.to_json())
        return
    head = ["flow", "at", "", *found.names, "in both", "in order", "apart: median", "95 %", "99 %", "most, ms"]
    rows = [
        [row.flow, row.host, row.direction, *row.packets, row.common, row.in_order]
        + [None if value is None else f"{value:.3f}" for value in (row.median_ms, row.p95_ms, row.p99_ms, row.max_ms)]
        for row in found.seen
    ]
    print_table(None, head, rows)
    offsets = {row.flow: f"{row.flow} {row.offset_ms:.3f} ms" for row in found.seen}
    print_line(f"\nThe offset of the second run's clock is subtracted: {', '.join(offsets.values())}.")
    same = all(row.same for row in found.seen)
    print_line("\nThe same packets in the same order." if same else "\nThe runs differ in packets or in their order.")
    if found.error_ms is not None:
        shares = [row.within_error for row in found.seen if row.within_error is not None]
        print_line(
            f"Stated error (the greatest lateness): {found.error_ms:.3f} ms; within it: {100 * min(shares):.1f} % "
            "of the packets of the worst row."
        )


def _draw(results: Sequence[Path], found: Comparison, out: Path) -> None:
    from lasthop.cli import quick_matplotlib  # noqa: F401 - before matplotlib is imported
    from lasthop.errors import InputError
    from lasthop.plots.output import save
    from lasthop.plots.overlay import draw_overlay
    from lasthop.results import open_run

    if found.kind != "run":
        raise InputError(
            f"a {found.kind} has a picture of its own", key="--out", help="see `lasthop plot`, or sweep.svg"
        )
    runs = [(name, open_run(path)) for name, path in zip(found.names, results, strict=True)]
    remark(f"wrote {save(draw_overlay(runs), out)}")


def _print(found: Comparison, all_rows: bool) -> None:
    rows = [row for row in found.differences if all_rows or row.differs]
    equal = len(found.differences) - len(rows)
    head = ["of", "measure", found.names[0]]
    for name in found.names[1:]:
        head += [name, "change"]
    print_table(None, head, [_row(row) for row in rows[:MOST_ROWS]])
    if len(rows) > MOST_ROWS:
        print_line(f"{len(rows) - MOST_ROWS} more differences; --json has them")
    if equal:
        print_line(f"\n{equal} measures do not differ; --all prints them")


def _row(row: Difference) -> list[object]:
    cells: list[object] = [row.of, row.measure.replace("_", " "), _cell(row.values[0])]
    for value, change in zip(row.values[1:], row.changes, strict=True):
        cells += [_cell(value), None if change is None else f"{100 * change:+.1f} %"]
    return cells


def _cell(value: Value | None) -> str | None:
    if value is None:
        return None
    text = f"{value.value:.0f}" if value.value == int(value.value) else shown(value.value)
    if abs(value.value) < 0.1 and value.value:
        text = f"{value.value:.4f}"
    if value.low is None or value.high is None or value.low == value.high:
        return text
    return f"{text} [{shown(value.low)}, {shown(value.high)}]"
