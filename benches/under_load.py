"""Precision of live runs under load: how late packets of a full link are released, compared with virtual time.

One transfer of a kernel's TCP keeps a link full, for each of several rates and congestion controls. Lateness is the
driver's own record of every packet. `make live-bench` runs all of it; called directly, it has the options --rates,
--controls and so on.
With --rights both, everything is measured again without the privilege for the real-time class (setpriv), and with
--load both again alongside a process that keeps one processor busy.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lasthop.errors import LasthopError
from lasthop.real_time.kernel_profiles import KERNELS
from lasthop.real_time.live import live_result
from lasthop.scenario import Scenario, parse_scenario, run

ROOT = Path(__file__).parent.parent
FILE = ROOT / "target" / "live-under-load.json"
LINKS = {
    "1 Mbit/s": ("5 ms", 42),
    "10 Mbit/s": ("5 ms", 42),
    "30 Mbit/s": ("5 ms", 42),
    "100 Mbit/s": ("5 ms", 42),
    "300 Mbit/s": ("10 ms", 500),
    "1 Gbit/s": ("10 ms", 1700),
}
"""Rates, with the delay of each direction and the packets that its queue holds: a round trip of them from 300 Mbit/s,
where 42 would be a fraction of it."""
WITHOUT = ["setpriv", "--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice", "--"]
"""Runs a command without the privilege for the real-time class."""


@dataclass(frozen=True)
class Row:
    """Results of runs over one link: medians over the runs; for lateness and stalls also the worst."""

    rate: str
    congestion: str
    scheduling: str
    loaded: bool
    runs: int
    tainted: int
    goodput_mbit_s: float
    virtual_mbit_s: float
    retransmissions: float
    virtual_retransmissions: float
    p50_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float
    worst_ms: float
    late_runs: int
    """Runs in which a packet was over 2 ms late."""
    stalls_per_s: float
    busy: float
    out_of_class: float
    worst_stall: dict[str, Any] | None

    def __str__(self) -> str:
        apart = 100 * (self.goodput_mbit_s / self.virtual_mbit_s - 1) if self.virtual_mbit_s else 0.0
        return (
            f"{self.rate:>10} {self.congestion:5} {self.scheduling:11} {'loaded' if self.loaded else 'idle':6} "
            f"{self.goodput_mbit_s:8.2f} {self.virtual_mbit_s:8.2f} {apart:+6.2f} % "
            f"{self.retransmissions:6.0f} {self.virtual_retransmissions:6.0f} "
            f"{self.p50_ms:7.3f} {self.p99_ms:7.3f} {self.p999_ms:7.3f} {self.max_ms:7.2f} {self.worst_ms:7.2f} "
            f"{self.stalls_per_s:7.2f} {self.late_runs}/{self.runs} {self.tainted}/{self.runs} {100 * self.busy:4.0f} %"
        )


HEAD = (
    f"{'rate':>10} {'TCP':5} {'class':11} {'':6} {'Mbit/s':>8} {'virtual':>8} {'':8} {'retr.':>6} {'virt.':>6} "
    f"{'p50':>7} {'p99':>7} {'p99.9':>7} {'max':>7} {'worst':>7} {'stalls':>7} >2ms tainted busy"
)
"""Lateness in ms: medians over runs, and the worst of all; stalls over 1 ms a second; runs over 2 ms late, tainted."""


def scenario(rate: str, congestion: str, seconds: int) -> Scenario:
    """Return a transfer that keeps a link full."""
    propagation, packets = LINKS[rate]
    direction = {"rate": rate, "propagation": propagation, "queue": {"limit": f"{packets} packets"}}
    link = {"name": "lasthop", "between": ["server", "mobile"], "down": direction, "up": direction}
    stop = f"{seconds} s"
    flow = {"name": "bulk", "from": "server", "to": "mobile", "until": stop}
    hosts = {"server": {"profile": KERNELS[congestion]}, "mobile": {"profile": "linux-6"}}
    return parse_scenario({"name": "under-load", "stop": stop, "hosts": hosts, "links": [link], "flows": [flow]})


def measure(rate: str, congestion: str, seconds: int, runs: int, *, is_loaded: bool) -> Row:
    """Run a transfer several times, and once in virtual time."""
    given = scenario(rate, congestion, seconds)
    found = []
    for _ in range(runs):
        with live_result(given, quiet_output=True) as result:
            found.append(dict(result.summary))
    return row_of(rate, congestion, found, run(given).summary, is_loaded=is_loaded)


def row_of(
    rate: str, congestion: str, found: Sequence[Mapping[str, Any]], virtual: Mapping[str, Any], *, is_loaded: bool
) -> Row:
    """Return what runs have shown."""
    late = [one["lateness"] for one in found]
    drivers = [one["driver"] for one in found]
    stalls = [stall for driver in drivers for stall in driver["stalls"]["longest"]]

    def of_flows(key: str) -> float:
        return statistics.median(float(one["flows"][0][key] or 0) for one in found)

    return Row(
        rate=rate,
        congestion=found[0]["kernel"]["flows"][0]["congestion"] or congestion,
        scheduling=str(found[0]["scheduling"]),
        loaded=is_loaded,
        runs=len(found),
        tainted=sum(bool(one["tainted_by"]) for one in found),
        goodput_mbit_s=8e-6 * of_flows("throughput_Bps"),
        virtual_mbit_s=8e-6 * float(virtual["flows"][0]["throughput_Bps"] or 0),
        retransmissions=of_flows("retransmissions"),
        virtual_retransmissions=float(virtual["flows"][0]["retransmissions"]),
        **{f"{key}_ms": statistics.median(one[f"{key}_ms"] for one in late) for key in ("p50", "p99", "p999", "max")},
        worst_ms=max(one["max_ms"] for one in late),
        late_runs=sum(one["max_ms"] > LATE_MS for one in late),
        stalls_per_s=statistics.median(one["stalls_per_s"] for one in drivers),
        busy=statistics.median(one["busy"] for one in drivers),
        out_of_class=statistics.median(one["ordinary"] for one in drivers),
        worst_stall=max(stalls, key=lambda stall: float(stall["length_ms"]), default=None),
    )


LATE_MS = 2.0
"""The latest release of a run that counts as precise, in milliseconds."""


@contextmanager
def busy_processor(is_wanted: bool) -> Iterator[None]:
    """Keep one processor busy."""
    if not is_wanted:
        yield
        return
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        burner.kill()
        burner.wait()


def main() -> int:
    """Measure, print, write."""
    options = arguments()
    if options.rights == "both":
        return both_rights(options)
    rows = []
    for is_loaded in {"idle": [False], "one": [True], "both": [False, True]}[options.load]:
        with busy_processor(is_loaded):
            for rate in options.rates:
                for congestion in options.controls:
                    try:
                        rows.append(measure(rate, congestion, options.seconds, options.runs, is_loaded=is_loaded))
                    except LasthopError as error:
                        print(f"NOT MEASURED: {rate} {congestion}: {error}", file=sys.stderr)
                        continue
                    print(rows[-1], flush=True)
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps({"load": os.getloadavg()[0], "rows": [asdict(row) for row in rows]}, indent=2))
    return 0


def both_rights(options: argparse.Namespace) -> int:
    """Measure with the privileges of this process, and without that for the real-time class."""
    print(HEAD, flush=True)
    rows: list[dict[str, Any]] = []
    for prefix in ([], WITHOUT):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "rows.json"
            words = ["--rights", "own", "--load", options.load, "--out", str(out)]
            words += ["--seconds", str(options.seconds), "--runs", str(options.runs)]
            words += ["--rates", *options.rates, "--controls", *options.controls]
            subprocess.run([*prefix, sys.executable, __file__, *words], check=False)
            rows += json.loads(out.read_text())["rows"] if out.is_file() else []
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps({"load": os.getloadavg()[0], "rows": rows}, indent=2))
    return 0


def arguments() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", nargs="+", default=list(LINKS), choices=list(LINKS), metavar="RATE")
    parser.add_argument("--controls", nargs="+", default=list(KERNELS), choices=list(KERNELS), metavar="NAME")
    parser.add_argument("--seconds", type=int, default=10, help="length of a transfer")
    parser.add_argument("--runs", type=int, default=3, help="number of runs of each")
    parser.add_argument("--rights", choices=["own", "both"], default="own", help="again without the real-time class")
    parser.add_argument("--load", choices=["idle", "one", "both"], default="idle", help="busy processors")
    parser.add_argument("--out", type=Path, default=FILE, help="file for the figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
