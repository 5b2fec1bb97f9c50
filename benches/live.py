"""`make live-bench`: measures how precise and how fast live runs are here, and writes target/live-bench.json.

Each figure is measured where users meet it: by iperf3 and ping behind an emulated link, by times at which the kernel
received packets, and by the reports of live runs. They mean something on an idle machine only: what else it
did is said, and with --loaded all is measured again while another process keeps one processor busy. Nothing here is a
test: `make test` does not run it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from under_load import HEAD, LINKS, Row, measure

from lasthop.doctor import checks
from lasthop.errors import LasthopError
from lasthop.real_time.kernel_profiles import KERNELS
from lasthop.real_time.live import live_result
from lasthop.scenario import Scenario, parse_scenario

ROOT = Path(__file__).parent.parent
RUNS = 3
"""Number of runs whose median is reported, for figures that vary from run to run."""
SECONDS = 5
"""Time for which a transfer is measured, after a first second that is not."""
PINGS = 200
PORT = "5201"
"""Port of iperf3."""

DATA_SHARE = 1448 / 1500
"""Share of a link's rate that remains for data, with full packets of TCP with timestamps."""
RATES = {"9600 bit/s": (128, 30.0), "1 Mbit/s": (1500, 10.0), "10 Mbit/s": (1500, 5.0), "96 Mbit/s": (1500, 5.0)}
"""Rates; of which size the packets are, and for how many seconds they are sent."""
DATAGRAMS = (50_000, 75_000, 100_000, 125_000, 150_000, 175_000, 200_000, 225_000, 250_000)
"""Packets of 64 bytes in a second, in ascending order."""


@dataclass(frozen=True)
class Target:
    """Target of a figure on an idle machine with two processors."""

    value: float
    is_at_least: bool
    others: str
    """The same of Mahimahi, as was measured in the machine where this was written."""

    def is_met(self, value: float) -> bool:
        """Return whether a value is what was aimed at."""
        return value >= self.value if self.is_at_least else value <= self.value

    def __str__(self) -> str:
        return f"{'≥' if self.is_at_least else '≤'} {self.value:,g}"


TARGETS = {
    "ping_beyond_p50_ms": Target(0.03, is_at_least=False, others="-0.21"),
    "ping_beyond_p99_ms": Target(0.1, is_at_least=False, others="0.85"),
    "unshaped_gbit_s": Target(8, is_at_least=True, others="1.5"),
    "gbit_goodput_gbit_s": Target(0.955, is_at_least=True, others="-41 %"),
    "gbit_tainted_runs": Target(0, is_at_least=False, others=""),
    "datagrams_per_s": Target(200_000, is_at_least=True, others="194,000"),
    "late_max_ms_100mbit_cubic": Target(2, is_at_least=False, others=""),
    "late_p999_ms_1gbit_cubic": Target(0.5, is_at_least=False, others=""),
    "goodput_apart_percent_100mbit_cubic": Target(0.5, is_at_least=False, others=""),
    "goodput_apart_percent_1gbit_cubic": Target(1.5, is_at_least=False, others=""),
    "rate_error_percent": Target(0.2, is_at_least=False, others="11 to 41 from 96 Mbit/s on"),
}


@dataclass(frozen=True)
class Figure:
    """A measured quantity."""

    value: float
    unit: str
    how: str
    """Method of measurement, and remarks."""


Figures = dict[str, Figure]


def main() -> int:
    """Measure, print, write."""
    options = arguments()
    obstacles = [check for check in checks() if check["check"] in {"tun", "namespaces"} and not check["ok"]]
    if obstacles:
        print(f"NOT MEASURED: live runs are not possible here: {obstacles}", file=sys.stderr)
        return 1
    for program, package in {"iperf3": "iperf3", "ping": "iputils-ping"}.items():
        if shutil.which(program) is None:
            print(f"NOT MEASURED by {program}, which is missing: apt-get install {package}", file=sys.stderr)
    before = machine()
    print_machine(before)
    figures = measured(options.only)
    if options.loaded:
        with loaded():
            figures |= {f"{name}_loaded": figure for name, figure in measured(options.only).items()}
    print_figures(figures)
    write(before, figures)
    return 0


def arguments() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loaded", action="store_true", help="measure again while one processor is kept busy")
    parser.add_argument("--only", default="", metavar="TEXT", help="only groups with this in their names")
    return parser.parse_args()


def measured(only: str) -> Figures:
    """Measure every group whose name has `only` in it. A group that fails reports it, and the others continue."""
    figures: Figures = {}
    for name, group in GROUPS.items():
        if only not in name:
            continue
        print(f"… {name}", flush=True)
        try:
            figures |= group()
        except (LasthopError, subprocess.SubprocessError, OSError, KeyError, ValueError) as error:
            print(f"NOT MEASURED: {name}: {error}", file=sys.stderr)
    return figures


# What is measured


def delay() -> Figures:
    """Return the delay that is not the link's, of packets on their own: half of a round trip of ping."""
    if shutil.which("ping") is None:
        return {}
    # A ping at a time: above 99 ms it shows whole milliseconds of each, but microseconds of the least in its summary.
    loop = f'for _ in $(seq {PINGS}); do ping -q -c 1 "$LASTHOP_GATEWAY"; done'
    output = behind({"propagation": "50 ms"}, ["sh", "-c", loop])
    trips = [float(line.split(" = ")[1].split("/")[0]) for line in output.splitlines() if line.startswith("rtt ")]
    beyond = sorted((trip - 100) / 2 for trip in trips)
    how = f"{len(beyond)} pings, half of what a round trip takes beyond 100 ms"
    return {
        "ping_beyond_p50_ms": Figure(statistics.median(beyond), "ms", how),
        "ping_beyond_p99_ms": Figure(beyond[int(0.99 * (len(beyond) - 1))], "ms", how),
    }


def unshaped() -> Figures:
    """Return what one transfer of the kernel's TCP gets across a link without rate and delay."""
    link = {"queue": {"limit": "5000 packets"}}
    figures: Figures = {}
    if shutil.which("iperf3") is not None:
        both = [min(iperf3_behind(link), iperf3_behind(link, "-R")) for _ in range(RUNS)]
        how = "iperf3 -t 5 behind lasthop shell, the slower direction"
        figures["unshaped_gbit_s"] = Figure(statistics.median(both) / 1e9, "Gbit/s", how)
    runs = [run_of(transfer(link, SECONDS)) for _ in range(RUNS)]
    own = statistics.median(throughput(run) for run in runs)
    return figures | {"unshaped_live_gbit_s": Figure(own / 1e9, "Gbit/s", f"lasthop live; {precision(runs)}")}


def gigabit() -> Figures:
    """Return what a transfer gets of 1 Gbit/s with 10 ms each way, and how many runs were tainted."""
    # Twice the data that is under way in a round trip: 20 ms of 1 Gbit/s in packets of 1500 bytes.
    link = {"rate": "1 Gbit/s", "propagation": "10 ms", "queue": {"limit": "3400 packets"}}
    figures: Figures = {}
    runs = [run_of(transfer(link, 2 * SECONDS)) for _ in range(RUNS)]
    if shutil.which("iperf3") is not None:
        goodput = statistics.median(iperf3_behind(link) for _ in range(RUNS))
        figures["gbit_goodput_gbit_s"] = Figure(goodput / 1e9, "Gbit/s", f"iperf3; the limit is {DATA_SHARE:.3f}")
    own = statistics.median(throughput(run) for run in runs)
    tainted = sum(bool(run["tainted_by"]) for run in runs)
    return figures | {
        "gbit_live_goodput_gbit_s": Figure(
            own / 1e9, "Gbit/s", f"lasthop live, slow start included; {precision(runs)}"
        ),
        "gbit_tainted_runs": Figure(tainted, f"of {RUNS}", "lasthop live"),
    }


def datagrams() -> Figures:
    """Return the highest rate of packets of 64 bytes at which none is lost, among the rates tried."""
    counted = highest(in_batches)
    how = f"sendmmsg and recvmmsg, up to {counted.tried:,} a second tried"
    figures = {"datagrams_per_s": Figure(counted.rate, "1/s", how)}
    if shutil.which("iperf3") is not None:
        each = highest(one_by_one)
        how = f"iperf3 -u -l 36 -w 4M, up to {each.tried:,} a second tried; what the sender does not manage is not sent"
        figures["iperf3_datagrams_per_s"] = Figure(each.rate, "1/s", how)
    return figures


@dataclass(frozen=True)
class Highest:
    """The highest rate without loss, and the highest that was tried."""

    rate: float
    tried: int


def highest(attempt: Callable[[int], tuple[float, int]]) -> Highest:
    """Try rates, in ascending order, until something is lost; an attempt reports the rate it sent at, and the loss."""
    best = 0.0
    for tried in DATAGRAMS:
        rate, lost = attempt(tried)
        if lost > 0:
            return Highest(best, tried)
        best = max(best, rate)
    return Highest(best, DATAGRAMS[-1])


ALL_DATAGRAMS = {"queue": {"limit": "20000 packets"}}
"""A link that is as fast as it can. What goes before 36 bytes are 20 of IP and 8 of UDP."""


def in_batches(rate: int) -> tuple[float, int]:
    """Send many at a time, as QUIC stacks do; return the rate and how many were lost."""
    tool, seconds = shlex.join([sys.executable, str(ROOT / "benches" / "datagrams.py")]), 2
    with tempfile.TemporaryDirectory() as folder:
        counted = Path(folder) / "counted"
        count = shlex.join(["sh", "-c", f"{tool} count {PORT} > {counted}"])
        # The other end is there after half a second, and waits for a second at the end.
        send = f'sleep 0.5; {tool} send "$LASTHOP_GATEWAY" {PORT} 36 {rate} {seconds}; sleep 2'
        sent = int(behind(ALL_DATAGRAMS, ["sh", "-c", send], count))
        return sent / seconds, sent - int(counted.read_text())


def one_by_one(rate: int) -> tuple[float, int]:
    """Send each packet separately; return the rate and the number of lost packets. The receiver's buffer is long."""
    options = ("-u", "-l", "36", "-b", str(rate * 36 * 8), "-t", "2", "-w", "4M")
    total = iperf3_of(ALL_DATAGRAMS, *options)["end"]["sum"]
    return total["packets"] / total["seconds"], total["lost_packets"]


def under_load() -> Figures:
    """Return how late packets of full links are released, and how far such runs are from virtual time."""
    rows = [measure(rate, control, 2 * SECONDS, RUNS, is_loaded=False) for rate in LINKS for control in KERNELS]
    print("\n".join([HEAD, *map(str, rows)]))
    return {name: figure for row in rows for name, figure in figures_of(row).items()}


def figures_of(row: Row) -> Figures:
    """Return the figures of one link with one congestion control."""
    name = f"{row.rate.lower().replace(' ', '').replace('/s', '')}_{row.congestion}"
    apart = 100 * abs(row.goodput_mbit_s / row.virtual_mbit_s - 1)
    how = f"{row.runs} runs of {2 * SECONDS} s, {row.tainted} tainted, {row.stalls_per_s:.2f} stalls over 1 ms a second"
    beside = f"{row.retransmissions:.0f} retransmissions, {row.virtual_retransmissions:.0f} in virtual time"
    return {
        f"late_p999_ms_{name}": Figure(row.p999_ms, "ms", f"{how}; p50 {row.p50_ms:.3f}, p99 {row.p99_ms:.3f}"),
        f"late_max_ms_{name}": Figure(row.worst_ms, "ms", f"the latest of all runs; {row.late_runs} over 2 ms"),
        f"goodput_apart_percent_{name}": Figure(apart, "%", f"{row.goodput_mbit_s:.2f} Mbit/s; {beside}"),
    }


def rates() -> Figures:
    """Return how far the rate at which packets reach a kernel is from the link's, by the kernel's times of arrival."""
    errors = {rate: abs(rate_error(rate, *size_and_time)) for rate, size_and_time in RATES.items()}
    worst = max(errors, key=lambda rate: errors[rate])
    each = ", ".join(f"{rate} {error:.3f} %" for rate, error in errors.items())
    return {"rate_error_percent": Figure(errors[worst], "%", f"datagrams, by SO_TIMESTAMPNS: {each}")}


GROUPS: dict[str, Callable[[], Figures]] = {
    "delay": delay,
    "unshaped": unshaped,
    "gigabit": gigabit,
    "datagrams": datagrams,
    "rates": rates,
    "under-load": under_load,
}


def rate_error(rate: str, size: int, seconds: float) -> float:
    """Return the error of a rate in percent. The link is kept full of packets of a size."""
    number, unit = rate.split()
    nominal = float(number) * {"bit/s": 1.0, "Mbit/s": 1e6}[unit]
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "arrived"
        receive = shlex.join([sys.executable, "-c", RECEIVE, PORT, str(found)])
        send = shlex.join([sys.executable, "-c", SEND, PORT, str(size), str(1.5 * nominal), str(seconds)])
        limit = f"{queued(nominal, size)} packets"
        behind({"rate": rate, "queue": {"limit": limit}}, ["sh", "-c", send], receive)
        count, nanoseconds = map(int, found.read_text().split())
    # The first packet has arrived when the time begins.
    return 100 * (8e9 * size * (count - 1) / nanoseconds / nominal - 1)


def queued(rate: float, size: int) -> int:
    """Return how many packets wait in the queue of a link at most: 50 ms of it, in which the sender may be asleep."""
    return max(20, round(0.05 * rate / 8 / size))


SEND = """
import os, socket, sys, time
port, size, rate, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.connect((os.environ["LASTHOP_GATEWAY"], port))
began, sent = time.monotonic(), 0
while time.monotonic() < began + seconds:
    if sent * size * 8 < (time.monotonic() - began) * rate:
        sender.send(bytes(size - 28))
        sent += 1
    else:
        time.sleep(min(0.001, size * 8 / rate))
time.sleep(4 + 30 * size * 8 / rate)
"""
"""Sends packets of a size, faster than the link, and waits until the last ones have arrived."""
RECEIVE = """
import socket, struct, sys
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
receiver.setsockopt(socket.SOL_SOCKET, 35, 1)
receiver.bind(("", int(sys.argv[1])))
times = []
while True:
    try:
        _, extra, _, _ = receiver.recvmsg(1, 64)
    except TimeoutError:
        break
    receiver.settimeout(2)
    seconds, nanoseconds = struct.unpack("qq", extra[0][2][:16])
    times.append(seconds * 10**9 + nanoseconds)
with open(sys.argv[2], "w") as out:
    print(len(times), times[-1] - times[0], file=out)
"""
"""Notes how many packets came, and the time from the first to the last (SO_TIMESTAMPNS, 35)."""


# Runs


def transfer(direction: Mapping[str, Any], seconds: int) -> Scenario:
    """Return a transfer of some seconds over a link that is the same both ways."""
    stop = f"{seconds} s"
    link = {"name": "lasthop", "between": ["server", "mobile"], "down": direction, "up": direction}
    flow = {"name": "bulk", "from": "server", "to": "mobile", "until": stop}
    hosts = {"server": {"profile": "linux-6"}, "mobile": {"profile": "linux-6"}}
    return parse_scenario({"name": "live-bench", "stop": stop, "hosts": hosts, "links": [link], "flows": [flow]})


def run_of(scenario: Scenario) -> dict[str, Any]:
    """Run in real time; return the summary."""
    with live_result(scenario, quiet_output=True) as result:
        return dict(result.summary)


def throughput(run: Mapping[str, Any]) -> float:
    """Return what the flow got, in bits a second."""
    return 8 * float(run["flows"][0]["throughput_Bps"] or 0)


def precision(runs: Sequence[Mapping[str, Any]]) -> str:
    """Return the precision that runs report."""
    late = statistics.median(run["lateness"]["p99_ms"] for run in runs)
    most = max(run["lateness"]["max_ms"] for run in runs)
    tainted = sum(bool(run["tainted_by"]) for run in runs)
    return f"99 of 100 packets at most {late:.3f} ms late, all {most:.3f} ms; {tainted} of {len(runs)} runs tainted"


def iperf3_behind(direction: Mapping[str, Any], *options: str) -> float:
    """Return the bits that the receiver got in a second, after the first one."""
    end = iperf3_of(direction, "-O", "1", "-t", str(SECONDS), *options)["end"]
    return float(end["sum_received"]["bits_per_second"])


def iperf3_of(direction: Mapping[str, Any], *options: str) -> dict[str, Any]:
    """Run iperf3 behind a link to a server outside; return its output."""
    client = shlex.join(["iperf3", "-J", "-p", PORT, *options])
    output = behind(
        direction, ["sh", "-c", f'{client} -c "$LASTHOP_GATEWAY"'], f"iperf3 -s -1 -p {PORT} --logfile /dev/null"
    )
    report = json.loads(output[output.index("{") :])
    if "error" in report:
        raise ValueError(f"iperf3 says: {report['error']}")
    return dict(report)


def behind(direction: Mapping[str, Any], command: Sequence[str], outside: str = "") -> str:
    """Run a command behind a link that is the same both ways; return what it writes."""
    words = [str(Path(sys.executable).with_name("lasthop")), "shell", "--quiet"]
    if outside:
        words += ["--outside", outside]
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / "link.toml"
        link.write_text(toml_of(direction))
        words += ["--link", str(link), "--", *command]
        return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL).stdout


def toml_of(direction: Mapping[str, Any]) -> str:
    """Return a link that is the same both ways as a file."""
    keys = dict(direction)
    limit = keys.pop("queue", {"limit": "1000 packets"})["limit"]
    lines = [*(f'{key} = "{value}"' for key, value in keys.items()), f'queue = {{ limit = "{limit}" }}']
    return "\n".join(
        [
            'summary = "of live-bench"',
            'sources = ["none"]',
            'mtu = "1500 bytes"',
            "[down]",
            *lines,
            "",
            "[up]",
            *lines,
            "",
        ]
    )


@contextmanager
def loaded() -> Iterator[None]:
    """Keep one processor busy."""
    print("… again, with one processor kept busy", flush=True)
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        burner.kill()
        burner.wait()


# What is reported


def machine() -> dict[str, Any]:
    """Return what this machine is, and what else it does."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "kernel": platform.release(),
        "processors": os.cpu_count(),
        "processor": names[0] if names else platform.machine(),
        "load": os.getloadavg()[0],
        "root": os.geteuid() == 0,
    }


def print_machine(state: Mapping[str, Any]) -> None:
    """Print what the figures are figures of."""
    rights = "root" if state["root"] else "not root: without the real-time class"
    print(f"Linux {state['kernel']}, {state['processors']} x {state['processor']}, {rights}; load {state['load']:.2f}")
    if state["load"] > IDLE:
        print("THIS MACHINE IS NOT IDLE: the figures are those of a busy one", file=sys.stderr)


IDLE = 0.3
"""The load of the last minute above which figures are not those of an idle machine."""


def print_figures(figures: Figures) -> None:
    """Print the table."""
    width = max(map(len, figures), default=6)
    print(f"\n{'figure':{width}}  {'measured':>10}  {'unit':8}  {'target':10}  {'':6}  Mahimahi")
    for name, figure in figures.items():
        target = TARGETS.get(name.removesuffix("_loaded"))
        verdict = "" if target is None else "met" if target.is_met(figure.value) else "MISSED"
        known = ("", "") if target is None else (str(target), target.others)
        row = f"{name:{width}}  {figure.value:>10,.4g}  {figure.unit:8}  {known[0]:10}  {verdict:6}  {known[1]}"
        print(f"{row.rstrip()}\n{'':{width}}  {figure.how}")
    missing = [name for name in TARGETS if name not in figures]
    if missing:
        print(f"\nNOT MEASURED: {', '.join(missing)}")


def write(before: Mapping[str, Any], figures: Figures) -> None:
    """Write the figures, with what they are figures of."""
    target = ROOT / "target" / "live-bench.json"
    target.parent.mkdir(exist_ok=True)
    values = {
        name: {**asdict(figure), "target": str(TARGETS[name]) if name in TARGETS else None}
        for name, figure in figures.items()
    }
    written = {"machine": before, "load_after": os.getloadavg()[0], "figures": values}
    target.write_text(json.dumps(written, indent=2, ensure_ascii=False) + "\n")
    print(f"\nwritten to {target.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
