"""Tables of replications: the mean of each measure, with its 95 % interval."""

from __future__ import annotations

from collections.abc import Mapping

from lasthop.cli.console import print_line, print_table, shown
from lasthop.cli.summary import FLOW_COLUMNS, LINK_COLUMNS, seldom_columns
from lasthop.experiments.replications import Replications
from lasthop.stats import Spread


def print_replications(found: Replications) -> None:
    """Print the mean of each measure of flows and links over all runs, with the half-width of its 95 % interval."""
    first, last = found.seeds[0], found.seeds[-1]
    alike = "all alike: deterministic" if found.deterministic else "means ± 95 % (Student's t)"
    print_line(f"{found.scenario}: {len(found.seeds)} runs, seeds {first} to {last}; {alike}\n")
    _print_means("flow", found.flows(), {**FLOW_COLUMNS, **_MORE_OF_FLOWS})
    print_line()
    links = found.links()
    seldom = seldom_columns([{key: spread.mean for key, spread in link.items()} for link in links.values()])
    _print_means("link", links, {**LINK_COLUMNS, **seldom, **_MORE_OF_LINKS})


_MORE_OF_FLOWS = {
    "transfer_mean_s": "transfer s",
    "frame_loss": "lost or late",
    "mos": "MOS",
    "stalled_s": "stalled s",
    "media_bit_rate": "media bit/s",
    "delay_mean_s": "delay s",
    "jitter_s": "jitter s",
}
_MORE_OF_LINKS = {"utilisation": "utilisation", "drop_rate": "drop rate", "queue_mean": "mean queue"}


def _print_means(what: str, found: Mapping[str, Mapping[str, Spread]], columns: Mapping[str, str]) -> None:
    """Print one row for each name, with the columns that have a number in some row."""
    measured = [key for key in columns if any(key in measures for measures in found.values())]
    rows = [[name, *(_mean(measures.get(key)) for key in measured)] for name, measures in found.items()]
    print_table(None, [what, *(columns[key] for key in measured)], rows)


def _mean(found: Spread | None) -> str | None:
    if found is None:
        return None
    if found.mean_ci95 is None:
        return shown(found.mean)
    reach = found.mean_ci95[1] - found.mean
    digits = 3 if abs(found.mean) < 1 else 2 if abs(found.mean) < 1000 else 0
    return f"{found.mean:.{digits}f} ± {reach:.{digits}f}"
