"""The data of a run on the page: the summary, and what the native module makes of the tables (crates/view)."""

from __future__ import annotations

import json
from typing import Any

from lasthop import _native
from lasthop.explanation.tables import subject_of, viewed_tables
from lasthop.report.captured import capture_facts, of_capture, worst_first
from lasthop.results import RunResult


def run_payload(run: RunResult, offset: int) -> tuple[dict[str, Any], bytes]:
    """Return everything that the page shows of one run: an index, and the columns that it refers to.

    These follow `offset` bytes of other columns.
    """
    captured = of_capture(run)
    summary = worst_first(run.summary, captured) if captured else run.summary
    flows = [flow["flow"] for flow in summary["flows"]] if captured else None
    view, columns = _native.run_view(viewed_tables(run), subject_of(run, flows), offset)
    index = {
        "name": run.name,
        "folder": run.path.name,
        "seed": run.index.get("seed"),
        "clock": run.index.get("clock"),
        "capture": capture_facts(captured) if captured else None,
        "summary": summary,
        "tables": list(run.table_names),
        **json.loads(view),
    }
    return index, columns
