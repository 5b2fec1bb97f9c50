"""A run's summary as tables for a reader; `run` and `live` print the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lasthop.cli.console import print_table, shown, stdout, warn
from lasthop.cli.measured import print_measured
from lasthop.experiments.real_against_virtual import Compared, differing
from lasthop.experiments.replications import Replications
from lasthop.stats import Spread

_FLOW_COLUMNS = {
    "flow": "flow",
    "from": "from",
    "to": "to",
    "bytes": "bytes",
    "elapsed_s": "elapsed s",
    "throughput_Bps": "byte/s",
    "segments_sent": "segments",
    "retransmissions": "retransmitted",
    "unnecessary_retransmissions": "needless",
    "timeouts": "timeouts",
    "spurious_timeouts": "spurious",
    "fast_retransmits": "fast retr.",
}
_LINK_COLUMNS = {
    "link": "link",
    "direction": "direction",
    "packets_in": "packets in",
    "packets_out": "packets out",
    "queue_drops": "queue drops",
    "error_drops": "error drops",
    "queue_max": "longest queue",
}
_SELDOM_OF_LINKS = {
    "dropper_drops": "dropper drops",
    "oversize_drops": "oversize drops",
    "packets_inside": "still inside",
}
"""What else became of packets, told where it did of any: so the columns add up to the packets that came in."""
MOST_LINKS: Final = 12
"""Directions of links up to which all are told: a network of many access links has little to say of most."""
MOST_ROWS: Final = 60
"""Flows, and directions of links that lost something, that are told one by one: nobody reads a thousand."""


def print_summary(summary: Mapping[str, Any], windows: Sequence[str] = ()) -> None:
    """Print flows, links, what was measured of them, and why anything was sent again needlessly.

    `windows` are the names of those that were to be measured.
    """
    stdout.print(
        f"{summary['scenario']}: seed {summary['seed']}, {summary['clock']} clock, "
        f"stopped at {summary['stopped_s']:.3f} s: {summary['stopped_by']}\n"
    )
    flows = summary["flows"]
    _print_part(flows[:MOST_ROWS], _FLOW_COLUMNS)
    if len(flows) > MOST_ROWS:
        stdout.print(f"{len(flows) - MOST_ROWS} more flows; --json has them")
    unfinished = [flow for flow in flows if not flow["completed"]]
    _print_names("Not finished when the run stopped", [flow["flow"] for flow in unfinished if flow["segments_sent"]])
    _print_names(
        "No data sent before the run stopped", [flow["flow"] for flow in unfinished if not flow["segments_sent"]]
    )
    stdout.print()
    links = _worth_telling(summary["links"])
    _print_part(links, {**_LINK_COLUMNS, **_seldom(links)})
    if len(links) < len(summary["links"]):
        stdout.print(f"{len(summary['links']) - len(links)} more directions of links; --json has them")
    print_measured(flows[:MOST_ROWS], links)
    opened = {window["window"] for seen in (*flows[:1], *summary["links"]) for window in seen["windows"]}
    _print_names("\nWindows that had not opened when the run stopped", [name for name in windows if name not in opened])
    causes = _causes(summary)
    if causes:
        stdout.print("\nNeedless retransmissions, by cause:")
        for cause, count in causes.items():
            stdout.print(f"  {count:4d}  {cause.replace('_', ' ')}")


def print_replications(found: Replications) -> None:
    """Print flows and links over all runs: of each measure the mean, and how far its 95 % interval reaches."""
    first, last = found.seeds[0], found.seeds[-1]
    alike = "all alike: deterministic" if found.deterministic else "means ± 95 % (Student's t)"
    stdout.print(f"{found.scenario}: {len(found.seeds)} runs, seeds {first} to {last}; {alike}\n")
    _print_means("flow", found.flows(), {**_FLOW_COLUMNS, **_MORE_OF_FLOWS})
    stdout.print()
    links = found.links()
    seldom = _seldom([{key: spread.mean for key, spread in link.items()} for link in links.values()])
    _print_means("link", links, {**_LINK_COLUMNS, **seldom, **_MORE_OF_LINKS})


_MORE_OF_FLOWS = {
    "transfer_mean_s": "transfer s",
    "frame_loss": "lost or late",
    "delay_mean_s": "delay s",
    "jitter_s": "jitter s",
}
_MORE_OF_LINKS = {"utilisation": "utilisation", "drop_rate": "drop rate", "queue_mean": "mean queue"}


def _print_means(what: str, found: Mapping[str, Mapping[str, Spread]], columns: Mapping[str, str]) -> None:
    """Print one row for each name, with the columns that some name has a number for."""
    told = [key for key in columns if any(key in measures for measures in found.values())]
    rows = [[name, *(_mean(measures.get(key)) for key in told)] for name, measures in found.items()]
    print_table(None, [what, *(columns[key] for key in told)], rows)


def _mean(found: Spread | None) -> str | None:
    if found is None:
        return None
    if found.mean_ci95 is None:
        return shown(found.mean)
    reach = found.mean_ci95[1] - found.mean
    digits = 3 if abs(found.mean) < 1 else 2 if abs(found.mean) < 1000 else 0
    return f"{found.mean:.{digits}f} ± {reach:.{digits}f}"


def print_real_time(summary: Mapping[str, Any]) -> None:
    """Print what only a run in real time has: the kernel under test, and how true the clock was."""
    late, kernel = summary["lateness"], summary["kernel"]
    control = kernel["congestion"] or "as the machine has it"
    stdout.print(f"\n{kernel['version']}, congestion control {control}")
    stdout.print(
        f"Packets were released {late['p50_ms']:.3f} ms late (median), {late['p99_ms']:.3f} ms (99 of 100), "
        f"{late['max_ms']:.3f} ms (at most)"
    )
    for reason in summary["tainted_by"]:
        stdout.print(f"TAINTED: {reason}.")
    if summary["tainted_by"]:
        stdout.print("Run it again on a machine with less to do.")
    elif dropped := summary["outside"]["device_drops"] + summary["outside"]["socket_drops"]:
        stdout.print(f"{dropped} packets were dropped at devices and sockets, fewer than live.tainted_from_drops.")
    for machine in summary.get("machines", ()):
        _print_machine(machine)


def _print_machine(machine: Mapping[str, Any]) -> None:
    """Print how true the tunnels to a machine were."""
    ways = [way for tunnel in machine["tunnels"] for way in (tunnel["to_host"], tunnel["from_host"])]
    lost, reordered = sum(way["lost"] for way in ways), sum(way["reordered"] for way in ways)
    slowest = max((way["delay"]["max_ms"] for way in ways), default=0.0)
    hosts = ", ".join(tunnel["host"] for tunnel in machine["tunnels"])
    ahead = machine["clock_ahead_ms"]
    clock = f"{abs(ahead):.3f} ms {'behind' if ahead < 0 else 'ahead'}"
    packets = sum(way["packets"] for way in ways)
    name = machine["machine"].partition("?")[0]
    stdout.print(
        f"{hosts} on {name} ({machine['kernel']}): {packets} packets through the tunnel, {lost} lost, "
        f"{reordered} reordered, {slowest:.3f} ms at most; its clock is {clock}, "
        f"± {machine['round_trip_ms'] / 2:.3f} ms"
    )


def print_beside_virtual(compared: Sequence[Compared], congestion: str, profiles: Sequence[str]) -> None:
    """Print runs in real time beside the same scenario in virtual time, and warn where they differ."""
    runs = max((len(one.real) for one in compared), default=0)
    several = f"{runs} runs" if runs > 1 else "1 run; how far it varies is not known: --repeat"
    stdout.print(f"\nThe kernel's {congestion} ({several}) against {', '.join(profiles)} in virtual time:")
    rows = [
        [one.measure.says, one.mean, *_range_of(one), one.virtual, "differs" if one.differs else ""] for one in compared
    ]
    print_table(None, ["", "real", "from", "to", "virtual", ""], rows)
    if differ := differing(compared):
        warn(f"real and virtual differ by more than the kernel does from run to run: {', '.join(differ)}")


def _range_of(one: Compared) -> tuple[float | None, float | None]:
    return (min(one.real), max(one.real)) if len(one.real) > 1 else (None, None)


def _print_names(words: str, names: Sequence[str]) -> None:
    """Print the names after the words, if there are any."""
    if names:
        more = f" and {len(names) - MOST_ROWS} more" if len(names) > MOST_ROWS else ""
        stdout.print(f"{words}: {', '.join(names[:MOST_ROWS])}{more}")


def _seldom(links: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The columns of what befell a packet of any of the links."""
    return {key: words for key, words in _SELDOM_OF_LINKS.items() if any(link.get(key) for link in links)}


def _print_part(rows: list[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
    print_table(None, list(columns.values()), [[row.get(key) for key in columns] for row in rows])


def _worth_telling(links: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All directions of links; of many, those that lost something, or had the most packets if none did."""
    if len(links) <= MOST_LINKS:
        return links
    lossy = [link for link in links if link["packets_in"] > _through(link)]
    by_traffic = sorted(lossy or links, key=lambda link: int(link["packets_in"]), reverse=True)
    kept = {id(link) for link in by_traffic[: MOST_ROWS if lossy else MOST_LINKS]}
    return [link for link in links if id(link) in kept]


def _through(link: Mapping[str, Any]) -> int:
    return int(link["packets_out"]) + int(link.get("packets_inside", 0))


def _causes(summary: Mapping[str, Any]) -> dict[str, int]:
    total: dict[str, int] = {}
    for flow in summary["flows"]:
        for cause, count in flow.get("causes", {}).items():
            total[cause] = total.get(cause, 0) + count
    return total
