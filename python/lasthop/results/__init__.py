"""Results on disk: a run is a folder with `run.json`, tables (`*.parquet`) and captures (`capture-*.pcapng`).

Read `folder` first (whole or not at all), then `run` (what a run's folder holds).
"""

from lasthop.results.run import Run, RunResult, open_run, write_run

__all__ = ["Run", "RunResult", "open_run", "write_run"]
