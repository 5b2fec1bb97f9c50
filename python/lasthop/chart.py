"""What a chart of a study's rows shows: said by the study, drawn by `lasthop.plots.curves`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Chart:
    """Curves through a table's rows: means of `metrics` over a column (or a metric), a curve for each text of `by`.

    `panels` is a column whose texts have a panel each; `only` are the texts that columns may have; `words` is what
    the picture calls columns, metrics and panels.
    """

    id: str
    title: str
    table: str
    metrics: Sequence[str]
    over: str
    by: str | None = None
    panels: str | None = None
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    log: bool = False
    own_scales: bool = False
    words: Mapping[str, str] = field(default_factory=dict)
