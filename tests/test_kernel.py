"""The study `kernel` in its short form: a cell of each kind, live on this machine and in virtual time."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Lasthop
from lasthop.doctor import checks

OBSTACLES = [check for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]]


@pytest.mark.live
@pytest.mark.skipif(bool(OBSTACLES), reason=f"NOT TESTED: this machine does not allow it: {OBSTACLES}")
def test_the_short_form_gives_every_cell_what_the_kernel_has_beside_it(
    lasthop: Lasthop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LASTHOP_KERNEL_RUNS", "1")
    monkeypatch.setenv("LASTHOP_KERNEL_ANSWERS", str(tmp_path / "kernel.jsonl"))
    study = lasthop("study", "kernel", "--only", "short", "--json")
    assert study.status == 0, study.err
    goodputs = [row for row in study.json["rows"] if row["metric"] == "goodput_Bps"]
    assert len(goodputs) == 8
    assert all(row["published"] and row["measured"] for row in goodputs)
