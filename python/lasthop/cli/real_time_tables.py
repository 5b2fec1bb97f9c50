"""Tables that only runs in real time have: lateness, tunnels, and the comparison with virtual time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lasthop.cli.console import print_line, print_table, warn
from lasthop.experiments.real_against_virtual import Compared, Runs, differing
from lasthop.real_time.kernel_profiles import Beside


def print_real_time(summary: Mapping[str, Any]) -> None:
    """Print the kernel under test, the lateness of its packets, and why the run is tainted, if it is."""
    late, kernel = summary["lateness"], summary["kernel"]
    controls = dict.fromkeys(flow["congestion"] for flow in kernel["flows"])
    control = ", ".join(controls) or kernel["congestion"] or "the machine's default"
    print_line(f"\n{kernel['version']}, congestion control {control}")
    print_line(
        f"Packets were released {late['p50_ms']:.3f} ms late (median), {late['p99_ms']:.3f} ms (99 of 100), "
        f"{late['max_ms']:.3f} ms (at most)"
    )
    if count := summary["driver"]["stalls"]["count"]:
        print_line(
            f"The emulator was held up {count} times for over {summary['driver']['stall_from_ms']:g} ms, "
            f"at most {summary['driver']['stalls']['longest'][0]['length_ms']:.1f} ms"
        )
    for reason in summary["tainted_by"]:
        print_line(f"TAINTED: {reason}.")
    if summary["tainted_by"]:
        print_line("This run does not count: run it again; --repeat makes as many runs as it takes.")
    elif dropped := summary["outside"]["device_drops"] + summary["outside"]["socket_drops"]:
        print_line(f"{dropped} packets were dropped at devices and sockets, fewer than live.tainted_from_drops.")
    for machine in summary.get("machines", ()):
        _print_machine(machine)


def _print_machine(machine: Mapping[str, Any]) -> None:
    """Print losses, reordering, delay and clock offset of the tunnels to a machine."""
    ways = [way for tunnel in machine["tunnels"] for way in (tunnel["to_host"], tunnel["from_host"])]
    lost, reordered = sum(way["lost"] for way in ways), sum(way["reordered"] for way in ways)
    slowest = max((way["delay"]["max_ms"] for way in ways), default=0.0)
    hosts = ", ".join(tunnel["host"] for tunnel in machine["tunnels"])
    ahead = machine["clock_ahead_ms"]
    clock = f"{abs(ahead):.3f} ms {'behind' if ahead < 0 else 'ahead'}"
    packets = sum(way["packets"] for way in ways)
    name = machine["machine"].partition("?")[0]
    print_line(
        f"{hosts} on {name} ({machine['kernel']}): {packets} packets through the tunnel, {lost} lost, "
        f"{reordered} reordered, {slowest:.3f} ms at most; its clock is {clock}, "
        f"± {machine['round_trip_ms'] / 2:.3f} ms"
    )


def print_beside_virtual(compared: Sequence[Compared], other: Beside, runs: Runs) -> None:
    """Print runs in real time next to the same scenario in virtual time, and warn of measures that differ."""
    count = len(runs.measures)
    several = f"{count} runs" if count > 1 else "1 run; --repeat measures how far runs vary"
    names = ", ".join(other.controls) or "TCP"
    print_line("")
    for remark in other.remarks:
        print_line(remark)
    print_line(f"The kernel's {names} ({several}) against {', '.join(other.profiles)} in virtual time:")
    rows = [
        [one.measure.says, one.mean, *_range_of(one), one.virtual, "differs" if one.differs else ""] for one in compared
    ]
    print_table(None, ["", "real", "from", "to", "virtual", ""], rows)
    _print_tainted(runs)
    if differ := differing(compared):
        warn(_difference(", ".join(differ), count))


def _print_tainted(runs: Runs) -> None:
    """Print how many runs were tainted, and why the first one was."""
    if runs.are_tainted:
        warn(f"every run was tainted ({runs.made}): the comparison is of these")
    elif runs.tainted:
        print_line(f"{len(runs.tainted)} of {runs.made} runs were tainted and are left out: {runs.tainted[0]}.")


def _difference(measures: str, runs: int) -> str:
    if runs > 1:
        return f"real and virtual differ by more than the kernel does from run to run: {measures}"
    return f"real and virtual differ in {measures}; one run does not show how far the kernel varies: --repeat 5 does"


def _range_of(one: Compared) -> tuple[float | None, float | None]:
    return (min(one.real), max(one.real)) if len(one.real) > 1 else (None, None)
