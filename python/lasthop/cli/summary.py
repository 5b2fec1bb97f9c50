"""A run's summary as tables, as `run` and `live` print it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lasthop.cli.console import print_line, print_table
from lasthop.cli.measured import print_measured

FLOW_COLUMNS: Final = {
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
LINK_COLUMNS: Final = {
    "link": "link",
    "direction": "direction",
    "packets_in": "packets in",
    "packets_out": "packets out",
    "queue_drops": "queue drops",
    "error_drops": "error drops",
    "queue_max": "longest queue",
}
WIRE_COLUMNS: Final = {
    "link": "link",
    "direction": "direction",
    "compressed": "compressed",
    "refreshes": "refreshes",
    "plain": "as they came",
    "decompressor_drops": "discarded",
    "header_bytes": "header bytes",
    "escaped_bytes": "escaped",
    "wire_bytes": "bytes sent",
}
_SELDOM_OF_LINKS: Final = {
    "dropper_drops": "dropper drops",
    "oversize_drops": "oversize drops",
    "packets_inside": "still inside",
}
"""Rarer fates of packets, printed if some packet had them, so that the columns add up to the packets in."""
MOST_LINKS: Final = 12
"""Number of link directions up to which all are printed; in larger networks most have little to show."""
MOST_ROWS: Final = 60
"""Largest number of flows, and of link directions with losses, that are printed."""


def print_summary(summary: Mapping[str, Any], windows: Sequence[str] = ()) -> None:
    """Print flows, links, their measures, and the causes of needless retransmissions.

    `windows` are the names of the measurement windows that the scenario asked for.
    """
    print_line(
        f"{summary['scenario']}: seed {summary['seed']}, {summary['clock']} clock, "
        f"stopped at {summary['stopped_s']:.3f} s: {summary['stopped_by']}\n"
    )
    flows = summary["flows"]
    _print_part(flows[:MOST_ROWS], FLOW_COLUMNS)
    if len(flows) > MOST_ROWS:
        print_line(f"{len(flows) - MOST_ROWS} more flows; --json has them")
    unfinished = [flow for flow in flows if not flow["completed"]]
    _print_names("Not finished when the run stopped", [flow["flow"] for flow in unfinished if flow["segments_sent"]])
    _print_names(
        "No data sent before the run stopped", [flow["flow"] for flow in unfinished if not flow["segments_sent"]]
    )
    print_line()
    links = _worth_printing(summary["links"])
    _print_part(links, {**LINK_COLUMNS, **seldom_columns(links)})
    if len(links) < len(summary["links"]):
        print_line(f"{len(summary['links']) - len(links)} more directions of links; --json has them")
    print_measured(flows[:MOST_ROWS], links)
    _print_wires(links)
    opened = {window["window"] for seen in (*flows[:1], *summary["links"]) for window in seen["windows"]}
    _print_names("\nWindows that had not opened when the run stopped", [name for name in windows if name not in opened])
    _print_proxies(summary.get("proxies", ()))
    causes = _causes(summary)
    if causes:
        print_line("\nNeedless retransmissions, by cause:")
        for cause, count in causes.items():
            print_line(f"  {count:4d}  {cause.replace('_', ' ')}")


def _print_proxies(proxies: Sequence[Mapping[str, Any]]) -> None:
    """Print what each proxy did; counts of 0 are left out."""
    for proxy in proxies:
        counts = [f"{count} {name.replace('_', ' ')}" for name, count in proxy["counts"].items() if count]
        print_line(
            f"\nProxy {proxy['proxy']} ({proxy['kind']}) at {proxy['node']}, before {proxy['link']}: "
            f"{', '.join(counts) or 'nothing to do'}"
        )


def _print_names(words: str, names: Sequence[str]) -> None:
    """Print the names after some words, if there are names."""
    if names:
        more = f" and {len(names) - MOST_ROWS} more" if len(names) > MOST_ROWS else ""
        print_line(f"{words}: {', '.join(names[:MOST_ROWS])}{more}")


def _print_wires(links: Sequence[Mapping[str, Any]]) -> None:
    """Print what links with header compression or octet stuffing sent."""
    wires: list[Mapping[str, Any]] = [{**link, **link["wire"]} for link in links if link.get("wire")]
    if wires:
        print_line("\nHeaders and octets on the wire:")
        _print_part(wires, WIRE_COLUMNS)


def seldom_columns(links: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the columns of rarer fates that a packet of some link had."""
    return {key: words for key, words in _SELDOM_OF_LINKS.items() if any(link.get(key) for link in links)}


def _print_part(rows: list[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
    print_table(None, list(columns.values()), [[row.get(key) for key in columns] for row in rows])


def _worth_printing(links: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return all link directions up to `MOST_LINKS`; of more, those with losses, or with most packets if none has."""
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
