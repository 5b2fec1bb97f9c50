"""A study's pictures: published beside measured, one for each table, and the document's own figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lasthop.plots import Tables, View, draw, kind_of, save
from lasthop.study.execute import record_case
from lasthop.study.plan import Figure, Study
from lasthop.study.result import StudyResult


def draw_published(result: StudyResult) -> Iterator[Path]:
    """Draw each table that has a published value; yield the files."""
    published = [row["table"] for row in result.rows if row["published"] is not None]
    for table in dict.fromkeys(str(table) for table in published):
        yield save(
            draw("published", result, View(table=table)), result.folder / f"published-{table.replace('/', '-')}.svg"
        )


def draw_figures(study: Study, folder: Path) -> Iterator[Path]:
    """Draw the document's figures, each from a run of its own; yield the files. With tables chosen, only theirs."""
    selected = {case.id for case in study.selected_cases}
    for figure in study.figures:
        if study.is_whole or figure.case in selected:
            yield _draw_figure(study, figure, folder)


def _draw_figure(study: Study, figure: Figure, folder: Path) -> Path:
    kind = kind_of(figure.kind)
    wanted = [name for name in (*kind.needs, *kind.uses) if name in RECORDABLE]
    run = record_case(study.cases[figure.case], wanted, span=figure.span, seed=figure.seed)
    title = f"{study.name}, figure {figure.id}: {figure.title}"
    view = View(flow=figure.flow, start_s=figure.from_s, end_s=figure.to_s, title=title)
    return save(draw(figure.kind, Tables(run.tables), view), folder / f"figure-{figure.id}.svg")


RECORDABLE = ("packets", "tcp", "queue", "segments")
"""The tables that a run can be asked for; `flows` is always there."""
