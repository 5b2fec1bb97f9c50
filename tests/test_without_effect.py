"""What changes nothing is refused or told, and remedies are true."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Lasthop
from lasthop.errors import InputError
from lasthop.real_time.way_out import check_places, default_interfaces


@pytest.mark.parametrize("command", [["explain"], ["plot", "cwnd"], ["export"]])
def test_a_sweeps_folder_is_called_a_sweep_and_nothing_is_to_be_removed(
    lasthop: Lasthop, tmp_path: Path, command: list[str]
) -> None:
    out = tmp_path / "sweep"
    lasthop("run", "quickstart", "--sweep", "links.lasthop.down.rate=1 Mbit/s,2 Mbit/s", "--out", str(out))
    name, *rest = command
    more = ["--format", "qlog", "--out", str(tmp_path / "x")] if name == "export" else []
    shown = lasthop(name, str(out), *rest, *more)
    assert shown.status == 2
    assert "holds a sweep" in shown.err
    assert "remove" not in shown.err


def test_a_router_takes_neither_one_place_twice_nor_this_machines_own_way_out(lasthop: Lasthop, tmp_path: Path) -> None:
    routes = tmp_path / "route"
    routes.write_text(
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n"
        "eth7\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\n"
        "eth8\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\n"
    )
    assert default_interfaces(routes, tmp_path / "none") == {"eth7"}
    for between in [("eth8", "eth8"), ("lo", "eth8")]:
        with pytest.raises(InputError):
            check_places(between, way_out=True)
    shown = lasthop("router", "quickstart", "--between", "left", "right", "--every", "0")
    assert shown.status == 2
    assert "0 is no interval" in shown.err
