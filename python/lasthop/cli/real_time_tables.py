"""Tables of what only a run in real time has: lateness, tunnels, and the comparison with virtual time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lasthop.cli.console import print_line, print_table, warn
from lasthop.experiments.real_against_virtual import Compared, differing


def print_real_time(summary: Mapping[str, Any]) -> None:
    """Print the kernel under test, the lateness of its packets, and why the run is tainted, if it is."""
    late, kernel = summary["lateness"], summary["kernel"]
    control = kernel["congestion"] or "as the machine has it"
    print_line(f"\n{kernel['version']}, congestion control {control}")
    print_line(
        f"Packets were released {late['p50_ms']:.3f} ms late (median), {late['p99_ms']:.3f} ms (99 of 100), "
        f"{late['max_ms']:.3f} ms (at most)"
    )
    for reason in summary["tainted_by"]:
        print_line(f"TAINTED: {reason}.")
    if summary["tainted_by"]:
        print_line("Run it again on a machine with less to do.")
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


def print_beside_virtual(compared: Sequence[Compared], congestion: str, profiles: Sequence[str]) -> None:
    """Print runs in real time beside the same scenario in virtual time, and warn of measures that differ."""
    runs = max((len(one.real) for one in compared), default=0)
    several = f"{runs} runs" if runs > 1 else "1 run; --repeat measures how far runs vary"
    print_line(f"\nThe kernel's {congestion} ({several}) against {', '.join(profiles)} in virtual time:")
    rows = [
        [one.measure.says, one.mean, *_range_of(one), one.virtual, "differs" if one.differs else ""] for one in compared
    ]
    print_table(None, ["", "real", "from", "to", "virtual", ""], rows)
    if differ := differing(compared):
        warn(f"real and virtual differ by more than the kernel does from run to run: {', '.join(differ)}")


def _range_of(one: Compared) -> tuple[float | None, float | None]:
    return (min(one.real), max(one.real)) if len(one.real) > 1 else (None, None)
