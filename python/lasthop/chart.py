"""The description of a chart of a study's rows, which `lasthop.plots.curves` draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Chart:
    """Curves through a table's rows: means of `metrics` over a column (or a metric), a curve for each value of `by`.

    Each value of the column `panels` has a panel. `only` restricts columns to some values; `words` are the labels of
    columns, metrics and panels.
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
