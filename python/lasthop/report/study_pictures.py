"""The pictures of a study: published and measured values by table, charts, and the document's own figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lasthop.plots import Tables, View, draw, draw_curves, kind_of, save
from lasthop.plots.sheet import draw_sheet
from lasthop.study.execute import record_case
from lasthop.study.plan import Figure, Study
from lasthop.study.result import StudyResult


def draw_all_rows(result: StudyResult, picture_format: str = "svg") -> Iterator[Path]:
    """Draw all rows with a published value on one sheet, if there are any; yield the file."""
    if any(row["published"] is not None for row in result.rows):
        yield save(draw_sheet(result.name, result.rows), result.folder / f"sheet.{picture_format}")


def draw_published(result: StudyResult, picture_format: str = "svg") -> Iterator[Path]:
    """Draw each table with a published value; yield the files."""
    published = [row["table"] for row in result.rows if row["published"] is not None]
    for table in dict.fromkeys(str(table) for table in published):
        figure = draw("published", result, View(table=table))
        yield save(figure, result.folder / f"published-{table.replace('/', '-')}.{picture_format}")


def draw_charts(study: Study, result: StudyResult, picture_format: str = "svg") -> Iterator[Path]:
    """Draw the curves through the rows of the selected tables; yield the files."""
    for chart in study.charts:
        if chart.table in study.selected:
            title = f"{study.name}, figure {chart.id}: {chart.title}"
            figure = draw_curves(result, chart, title)
            yield save(figure, result.folder / f"chart-{chart.id.replace('/', '-')}.{picture_format}")


def draw_figures(study: Study, folder: Path, picture_format: str = "svg") -> Iterator[Path]:
    """Draw the document's figures of the chosen tables, each from a separate run; yield the files."""
    selected = {case.id for case in study.selected_cases}
    for figure in study.figures:
        if study.is_whole or figure.case in selected:
            yield _draw_figure(study, figure, folder, picture_format)


def _draw_figure(study: Study, figure: Figure, folder: Path, picture_format: str) -> Path:
    kind = kind_of(figure.kind)
    wanted = [name for name in (*kind.needs, *kind.uses) if name in RECORDABLE]
    run = record_case(study.cases[figure.case], wanted, span=figure.span, seed=figure.seed)
    title = f"{study.name}, figure {figure.id}: {figure.title}"
    view = View(flow=figure.flow, start_s=figure.from_s, end_s=figure.to_s, title=title)
    return save(draw(figure.kind, Tables(run.tables), view), folder / f"figure-{figure.id}.{picture_format}")


RECORDABLE = ("packets", "tcp", "queue", "segments")
"""Tables that a run can record; `flows` is always there."""
