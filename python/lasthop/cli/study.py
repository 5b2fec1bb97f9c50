"""`lasthop study`: the experiments of a document, published values next to measured ones."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import click

from lasthop import catalogue
from lasthop.cli import bcp133, modules
from lasthop.cli.console import a_number, print_json, print_line, remark, warn
from lasthop.cli.names import completing
from lasthop.cli.options import JSON
from lasthop.cli.progress import ProgressLine
from lasthop.cli.study_tables import claims_counted, legend, print_agreement, print_claims, print_study_table
from lasthop.errors import LasthopError, StudyError
from lasthop.results.folder import STORE_FILE
from lasthop.study import Precision, Study, StudyResult, load_parts, run_parts
from lasthop.study.execute import jobs_of, names_checks
from lasthop.study.result import Reached


def _table_ids(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> list[str]:
    """Return the tables of `--only 14 --only 15,16` as one list."""
    tables = [part.strip() for value in values for part in value.split(",") if part.strip()]
    if values and not tables:
        raise click.BadParameter("it names no table; leave --only out to run all.")
    return tables


@click.command(name="study")
@click.argument("study", shell_complete=completing("studies"))
@click.option(
    "--only", multiple=True, metavar="TABLE", callback=_table_ids, help="Only this table (or several: 15,16)."
)
@click.option("--replications", type=click.IntRange(1), help="Number of runs of each case, instead of the study's.")
@click.option(
    "--within",
    type=click.FloatRange(0, 1, min_open=True),
    callback=a_number,
    metavar="SHARE",
    help="Add runs until each 95 % interval is within this share of its median (0.05).",
)
@click.option(
    "--at-most",
    type=click.IntRange(6),
    default=100,
    show_default=True,
    help="Largest number of runs of a case with --within.",
)
@click.option("--jobs", type=click.IntRange(1), help="Number of parallel runs [number of processors].")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the results [results/STUDY].")
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Run on the workers of this Dask scheduler (tcp://host:8786, or local to start one). Needs Dask.",
)
@click.option("--profile", metavar="ENTRY", help="The candidate of bcp133: a profile, mine.py:Mine or tcp_mine.c.")
@click.option("--figures", is_flag=True, help="Also draw the document's own figures.")
@click.option(
    "--format",
    "picture_format",
    type=click.Choice(["svg", "pdf", "png"]),
    default="svg",
    help="Format of the pictures.",
)
@JSON
def command(
    study: str,
    only: list[str],
    replications: int | None,
    within: float | None,
    at_most: int,
    jobs: int | None,
    out: Path | None,
    cluster: str | None,
    profile: str | None,
    figures: bool,
    picture_format: str,
    as_json: bool,
) -> None:
    """Run STUDY (a name of `lasthop list studies`, a folder with a study.toml, `bcp133`, `modules`, or `all`).

    `bcp133` holds a candidate (--profile) against Reno and CUBIC in its place, for every item of RFC 9743. `modules`
    compares the windows of Linux' own modules (--only cubic,bbr) with ours; it needs Linux' source and a C compiler.

    Runs are parallel; all cases share their seeds, so that they meet the same delays and losses. The folder keeps every
    finished run: a study that was stopped continues there, and no run is done twice.
    Measured figures are medians; quartiles interpolate between order statistics (type 7), ci95 is the
    distribution-free 95 % interval of the median, mean_low and mean_high that of the mean (Student's t).

    \b
    Examples:
      lasthop study sarolahti2000 --only 14
      lasthop study sarolahti2000 --only 15,16 --jobs 2 --json
      lasthop study sarolahti2000 --only 14 --replications 6 --out results/quick
      lasthop study bcp133 --profile bbr3 --replications 2
      lasthop study all --figures --out results/all     (one page, index.html)
    """
    others = {"--only": only, "--within": within, "--jobs": jobs, "--cluster": cluster, "--figures": figures}
    if study == modules.NAME:
        modules.check_options({**others, "--only": None, "--profile": profile, "--replications": replications})
        modules.run(only, out, as_json)
        return
    bcp133.check_options(study, profile, others)
    if profile is not None:
        bcp133.run(profile, replications, out, as_json)
        return
    if study == EVERY:
        _run_all(replications, jobs, out or Path("results") / "all", figures, cluster)
        return
    plans = load_parts(study, only)
    _print_code(plans)
    plans = [plan.replicated(replications) for plan in plans] if replications else plans
    precision = None if within is None else Precision(within, at_most)
    result = _run_with_progress(plans, out or Path("results") / plans[0].name, jobs, precision, cluster)
    # The figure of the command is that of the whole process, with reading files and loading libraries.
    result.cpu_s = time.process_time()
    if result.damaged:
        remark(_damage_text(result))
    if as_json:
        print_json(result.to_json())
    else:
        _print(result)
        _print_left_out(plans, only)
    _draw(plans, result, figures, picture_format)
    if result.failures:
        raise StudyError(_failures_text(result))


EVERY = "all"
"""Name for all studies of the library."""


def _run_all(replications: int | None, jobs: int | None, out: Path, figures: bool, cluster: str | None) -> None:
    """Run every study of the library, each into a folder of its own, and write one page over all of them."""
    from lasthop.report.study_page import Chapter, write_page

    chapters: list[Chapter] = []
    failed: list[str] = []
    for name in [entry.name for entry in catalogue.entries("studies")]:
        try:
            plans = load_parts(name)
            plans = [plan.replicated(replications) for plan in plans] if replications else plans
            result = _run_with_progress(plans, out / name, jobs, None, cluster)
        except LasthopError as error:
            # A study that cannot run here (an oracle's program is missing) does not stop the others.
            chapters.append(Chapter(name, None, str(error)))
            failed.append(name)
            continue
        _draw(plans, result, figures, "svg")
        print_line(f"{name}: {_found_text(result)}")
        chapters.append(Chapter(name, result))
        if result.failures:
            failed.append(name)
    remark(f"the page is {write_page(chapters, out / 'index.html')}")
    if failed:
        raise StudyError(f"not complete: {', '.join(failed)}; the page says why")


def _found_text(result: StudyResult) -> str:
    counts = result.agreement["tables"]
    rows = f"{sum(each['agree'] for each in counts)} of {sum(each['rows'] for each in counts)} rows agree"
    return "; ".join(text for text in (rows if counts else "", claims_counted(result.claims)) if text)


def _draw(plans: Sequence[Study], result: StudyResult, figures: bool, picture_format: str) -> None:
    # After the runs, so that a study that fails early does not wait for Matplotlib.
    from lasthop.report.study_pictures import draw_all_rows, draw_charts, draw_figures, draw_published
    from lasthop.study.checks import own_figures

    drawn = [*draw_all_rows(result, picture_format), *draw_published(result, picture_format)]
    for plan in plans:
        drawn += draw_charts(plan, result, picture_format)
        if figures:
            drawn += draw_figures(plan, result.folder, picture_format)
            drawn += own_figures(plan.folder, result.folder)
    if figures and not any(plan.figures for plan in plans):
        remark("the study has no [[figures]] in its file, so --figures drew none of a run")
    remark(f"kept in {result.folder}" + (f", with {len(drawn)} pictures" if drawn else ""))


def _run_with_progress(
    plans: Sequence[Study], folder: Path, jobs: int | None, precision: Precision | None, cluster: str | None
) -> StudyResult:
    with ProgressLine(plans[0].name, "runs", sum(len(jobs_of(plan)) for plan in plans)) as line:
        return run_parts(plans, folder, jobs=jobs, tick=line.update, precision=precision, cluster=cluster)


def _failures_text(result: StudyResult) -> str:
    cases = "; ".join(f"case {case}: {what}" for case, what in result.failures.items())
    return f"{len(result.failures)} of the cases failed ({cases}). The others are kept in {result.folder}"


def _precision_text(reached: Reached, rows: int) -> str:
    goal = f"--within {reached.within:g}"
    if not reached.wide:
        return f"\nEvery row has an interval within {goal}"
    return (
        f"\n{len(reached.wide)} of {rows} rows have an interval wider than {goal} after --at-most "
        f"{reached.at_most} runs; study.json lists them under precision"
    )


def _damage_text(result: StudyResult) -> str:
    several = len(result.damaged) > 1
    lines = ", ".join(map(str, result.damaged))
    return (
        f"{result.folder / STORE_FILE}: line{'s' if several else ''} {lines} {'are' if several else 'is'} damaged and "
        f"ignored; {'their runs were' if several else 'its run was'} repeated if needed"
    )


def _unmatched_text(result: StudyResult) -> str:
    names = ["; ".join(f"{column} {text}" for column, text in row.items()) for row in result.unmatched]
    shown = "\n  ".join(names[:MOST_NAMED])
    more = f"\n  and {len(names) - MOST_NAMED} more: study.json lists them" if len(names) > MOST_NAMED else ""
    return f"{len(names)} published rows have no experiment in this study:\n  {shown}{more}"


def _print_code(plans: Sequence[Study]) -> None:
    """Say, before it runs, that a study from elsewhere than the library runs code of its author."""
    for file in dict.fromkeys(plan.folder / "checks.py" for plan in plans if names_checks(plan)):
        if file.is_file() and not file.resolve().is_relative_to(catalogue.LIBRARY.resolve()):
            remark(f"runs code of the study's author, with your rights: {file}")


def _print_left_out(plans: Sequence[Study], only: Sequence[str]) -> None:
    left_out = [table for plan in plans for table in plan.left_out]
    if left_out and not only:
        remark(f"not run because they take long: {', '.join(left_out)}; --only runs them")


MOST_NAMED = 20
"""Number of published rows without an experiment that are printed."""


def _print(result: StudyResult) -> None:
    print_line(result.title)
    known = f", {result.reused} of them known from earlier" if result.reused else ""
    print_line(f"{result.runs} runs{known}; {result.wall_s:.1f} s, {result.cpu_s:.1f} s of CPU")
    print_line(legend(result.rows) + "\n")
    for table in dict.fromkeys(row["table"] for row in result.rows):
        print_study_table(table, [row for row in result.rows if row["table"] == table])
        print_line()
    if result.claims:
        print_claims(result.claims)
    if any(row["agrees"] is not None for row in result.rows):
        print_agreement(result.agreement)
    if result.unmatched:
        warn(_unmatched_text(result))
    if result.precision is not None:
        print_line(_precision_text(result.precision, len(result.rows)))
