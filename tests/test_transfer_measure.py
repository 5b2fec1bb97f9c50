"""Numbers of transfers: each that ends in the window counts once; a flow without one counts with its goodput."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import lasthop as api
from lasthop.plots import View, draw
from lasthop.plots.transfers import goodputs_kbps
from lasthop.results.run import Run
from lasthop.study import load_study, run_study
from lasthop.study.transfer_measure import PREFIX, TransferMeasure
from small_study import BASE

WINDOW = "late"


def fast_and_starved() -> Run:
    """Two flows: one ends transfers of 1, 2 and 3 kB in a second each, the first before the window; one ends none."""
    rows = [("fast", 0, 1, 1_000), ("fast", 10, 11, 2_000), ("fast", 12, 13, 3_000), ("other", 12, 13, 9_000)]
    table = pa.table(
        {
            "flow": [row[0] for row in rows],
            "start_ns": [row[1] * 10**9 for row in rows],
            "end_ns": [row[2] * 10**9 for row in rows],
            "bytes": [row[3] for row in rows],
        }
    )

    def flow(name: str, goodput: float | None) -> dict[str, object]:
        window = {"window": WINDOW, "from_s": 5.0, "to_s": 20.0, "goodput_Bps": goodput}
        return {"flow": name, "throughput_Bps": 5.0, "windows": [window]}

    flows = [flow("fast", 333.0), flow("starved", 100.0), flow("other", 600.0)]
    return Run(specification={}, hash="", summary={"flows": flows}, tables={"transfers": table})


def number(flows: str | None, statistic: str, value: float, window: str | None = WINDOW) -> float:
    name = PREFIX + json.dumps({"flows": flows, "window": window, "statistic": statistic, "value": value})
    return TransferMeasure.of(name)(fast_and_starved())


def test_each_transfer_of_the_window_counts_once() -> None:
    assert number("fast", "quantile", 0.0) == 2_000
    assert number("fast", "quantile", 1.0) == 3_000
    assert number("fast", "quantile", 0.0, window=None) == 1_000


def test_a_flow_that_ends_no_transfer_counts_as_one_with_its_goodput() -> None:
    assert number("*a*", "quantile", 0.0) == 100
    assert number("*a*", "below", 2_000) == pytest.approx(100 / 3)
    assert number("*a*", "at_least", 2_000) == pytest.approx(200 / 3)
    assert number("starved", "quantile", 0.5, window=None) == 5


def test_a_study_reads_its_transfers_from_the_recorded_table(tmp_path: Path) -> None:
    web = 'workload = { web = { connection = "new" } }'
    (tmp_path / "base.toml").write_text(BASE.replace('bytes = "60 kB"', web) + '\n[measure]\nwarm_up = "5 s"\n')
    (tmp_path / "study.toml").write_text(
        """
title = "pages"
source = "these tests"
scenario = "./base.toml"
columns = ["table", "rate", "metric"]
[[variables.rate]]
form = "{kbps}"
set."links.lasthop.down.rate" = "{kbps} kbit/s"
set.stop = "60 s"
[metrics.median_Bps]
says = "half of the pages do not exceed it"
transfers = { quantile = 0.5 }
flows = "down*"
window = "steady"
[[tables]]
id = "1"
title = "two rates"
metrics = ["median_Bps"]
cases = [{ rate = [100, 400] }]
"""
    )
    rows = run_study(load_study(tmp_path / "study.toml"), tmp_path / "out").rows
    slow, fast = (row["measured"] for row in rows)
    assert slow is not None
    assert fast is not None
    assert slow < 100e3 / 8
    assert fast > 1.5 * slow


def test_the_picture_shows_every_transfer_and_none_faster_than_the_link() -> None:
    run = api.run("web-users", overrides=["record.tables=['transfers']"])
    (rates,) = goodputs_kbps(run, View()).values()
    assert len(rates) == run.table("transfers").num_rows
    assert rates.max() < 2_000, "the link carries 2 Mbit/s"
    assert draw("transfers", run).axes[0].get_xscale() == "log"
