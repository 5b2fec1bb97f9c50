"""The limits of real-time runs on this machine, measured by three short live runs and kept for later runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lasthop.real_time.live import live_result
from lasthop.scenario import Scenario, parse_scenario

SECONDS = 2
"""Duration of each transfer, in seconds."""

LOAD_MBIT = 100.0
"""Rate of the link that is kept full to find stalls, in Mbit/s; half of the ceiling where that is less."""

UNITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}


@dataclass(frozen=True)
class Calibration:
    """The measured limits of real-time runs on this machine."""

    ceiling_bps: float
    """Goodput of one transfer over a link without a rate, in bit/s."""
    ceiling_packets: float
    """Packets per second of that transfer, both directions together."""
    crossing_us: float
    """Time per packet, in microseconds: the inverse of `ceiling_packets`."""
    lateness_p50_ms: float
    """Median lateness of the packets of a transfer over a link of 10 Mbit/s, in milliseconds."""
    lateness_p99_ms: float
    """The 99 % quantile of that lateness, in milliseconds."""
    lateness_max_ms: float
    """The largest lateness, in milliseconds."""
    loaded_mbit: float
    """Rate of the link that was kept full, in Mbit/s."""
    loaded_p999_ms: float
    """The 99.9 % quantile of the lateness of the packets of that link, in milliseconds."""
    loaded_max_ms: float
    """The largest of them, in milliseconds."""
    stalls_per_s: float
    """Number of times in each second that the emulator was held up for over 1 ms at that rate."""

    def __str__(self) -> str:
        return (
            f"{self.ceiling_bps / 1e6:,.0f} Mbit/s and {self.ceiling_packets:,.0f} packets/s at most "
            f"({self.crossing_us:.1f} us a packet); at 10 Mbit/s released {self.lateness_p50_ms:.3f} ms late (median), "
            f"{self.lateness_p99_ms:.3f} ms (99 of 100), {self.lateness_max_ms:.3f} ms (at most); at "
            f"{self.loaded_mbit:,.0f} Mbit/s {self.loaded_p999_ms:.3f} ms (999 of 1,000), {self.loaded_max_ms:.3f} ms "
            f"(at most), {self.stalls_per_s:.1f} stalls over 1 ms a second"
        )


def calibrate() -> Calibration:
    """Measure this machine, and keep the result. Raises LiveError if real time is not possible."""
    with live_result(_transfer({"queue": {"limit": "2000 packets"}}), quiet_output=True) as fast:
        summary = fast.summary
    with live_result(_transfer({"rate": "10 Mbit/s", "queue": {"limit": "50 packets"}}), quiet_output=True) as paced:
        late = paced.summary["lateness"]
    ceiling = 8 * float(summary["flows"][0]["throughput_Bps"] or 0)
    load = min(LOAD_MBIT, ceiling / 2e6)
    with live_result(
        _transfer({"rate": f"{load:.3f} Mbit/s", "queue": {"limit": "100 packets"}}), quiet_output=True
    ) as full:
        loaded, driver = full.summary["lateness"], full.summary["driver"]
    packets = sum(link["packets_out"] for link in summary["links"]) / SECONDS
    found = Calibration(
        ceiling_bps=ceiling,
        ceiling_packets=packets,
        crossing_us=1e6 / max(packets, 1),
        lateness_p50_ms=late["p50_ms"],
        lateness_p99_ms=late["p99_ms"],
        lateness_max_ms=late["max_ms"],
        loaded_mbit=load,
        loaded_p999_ms=loaded["p999_ms"],
        loaded_max_ms=loaded["max_ms"],
        stalls_per_s=driver["stalls_per_s"],
    )
    file = _file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(found)))
    return found


def calibration() -> Calibration | None:
    """Return the last calibration; None if there is none."""
    try:
        return Calibration(**json.loads(_file().read_text()))
    except (OSError, ValueError, TypeError):
        return None


def beyond_calibration(scenario: Scenario) -> Iterator[str]:
    """Yield a warning for each direction of a link that is faster than the calibrated limit."""
    known = calibration()
    if known is None:
        return
    for link in scenario.specification["links"]:
        for heading in ("down", "up"):
            rate = _rate(link[heading])
            if rate > known.ceiling_bps:
                yield (
                    f"link {link['name']}.{heading} has {rate / 1e6:,.0f} Mbit/s, and this machine was measured to "
                    f"carry {known.ceiling_bps / 1e6:,.0f} Mbit/s in real time (lasthop doctor --calibrate)"
                )


def _rate(direction: Mapping[str, Any]) -> float:
    """Return a direction's rate in bit/s; 0 if it has none."""
    number, _, unit = str(direction.get("rate") or "0 bit/s").partition(" ")
    return float(number) * UNITS[unit]


def _transfer(direction: Mapping[str, Any]) -> Scenario:
    """Return a transfer of `SECONDS` over a link with two equal directions."""
    link = {"name": "lasthop", "between": ["server", "mobile"], "down": direction, "up": direction}
    flow = {"name": "calibration", "from": "server", "to": "mobile", "until": f"{SECONDS} s"}
    hosts = {"server": {"profile": "linux-6"}, "mobile": {"profile": "linux-6"}}
    stop = f"{SECONDS} s"
    return parse_scenario({"name": "calibration", "stop": stop, "hosts": hosts, "links": [link], "flows": [flow]})


def _file() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "lasthop" / "calibration.json"
