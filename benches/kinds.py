"""Compares the causes that lasthop infers with labels of another classifier, and prints a confusion table.

    kinds.py FOLDER LABELS [--differences]

LABELS is a CSV table with the columns `trace` (a capture's path in FOLDER), `kind` (`retransmission` or `reordering`),
`time` (seconds since 1970), `seq` (the raw sequence number) and `type`, the code of TCPRS (J. Swaro, Ohio University):
1 RTO, 2 three duplicate ACKs, 3 speculated, 4 and 9 to 12 early retransmit, 5 follow-up of a fast retransmit or of a
timeout, 13 by SACK, 14 sent again more than once after a timeout, 15 RTO without duplicate ACKs, 16 by FACK. A label of
reordering that has the type of a retransmission is compared by its type. Labels are an opinion: a difference asks for a
look, and is no fault on its own.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from lasthop import _native
from lasthop.selection import select

TIMER: Final = ("timeout",)
LOSS_SEEN: Final = ("fast_retransmit", "scoreboard", "partial_ack")
FOLLOWING: Final = ("after_timeout", "partial_ack", "scoreboard")

GROUPS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    **dict.fromkeys(("1", "15"), ("timer", TIMER)),
    **dict.fromkeys(("2", "3", "4", "9", "10", "11", "12", "13", "16"), ("loss seen", LOSS_SEEN)),
    "5": ("follow-up", FOLLOWING),
    "14": ("timer again", ("timeout", "after_timeout")),
}
"""The group of each code, and our causes that agree with it. Codes without a group are not compared."""

Found = tuple[str, str, int]
"""Statement on a packet: cause or kind, confidence, frame number."""


def main() -> None:
    """Compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("labels", type=Path)
    parser.add_argument("--differences", action="store_true", help="list each one")
    options = parser.parse_args()
    table: Counter[tuple[str, str]] = Counter()
    agreed: Counter[str] = Counter()
    for trace, labels in sorted(_by_trace(options.labels).items()):
        said = _said(options.folder / trace)
        for label in labels:
            group, agreeing = _group(label)
            word, confidence, frame = said.get(_key(float(label["time"]), int(label["seq"])), ("not there", "", -1))
            table[group, word] += 1
            agrees = word in agreeing
            agreed[group] += agrees
            if options.differences and agreeing and not agrees:
                print(f"{trace} frame {frame}: {group} ({label['type']}), here {word} {confidence}")
    _print_table(table, agreed)


def _by_trace(path: Path) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = defaultdict(list)
    with path.open(newline="") as file:
        for label in csv.DictReader(file):
            found[label["trace"]].append(label)
    return found


def _group(label: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    if label["kind"] == "reordering" and label["type"] not in GROUPS:
        return "reordering", ("out_of_order",)
    return GROUPS.get(label["type"], ("unknown", ()))


def _key(seconds: float, seq: int) -> tuple[int, int]:
    return round(seconds * 1e6), seq


def _said(capture: Path) -> dict[tuple[int, int], Found]:
    """Return what is said of each packet, by its time in microseconds and its raw sequence number."""
    raw = pa.table(_native.capture_packets(select([capture])))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "segments.parquet"
        _native.analyze(select([capture]), path)
        rows = pq.read_table(path)
    said = dict(_words(rows))
    columns = (raw.column(name).to_pylist() for name in ("time_ns", "seq", "packet"))
    return {(round(time / 1e3), seq): (*said[packet], packet) for time, seq, packet in zip(*columns, strict=True)}


def _words(rows: pa.Table) -> Iterator[tuple[int, tuple[str, str]]]:
    columns: Sequence[list[object]] = [
        rows.column(name).to_pylist() for name in ("packet", "cause", "kind", "confidence")
    ]
    for packet, cause, kind, confidence in zip(*columns, strict=True):
        yield int(str(packet)), (str(cause or kind), str(confidence or ""))


def _print_table(table: Mapping[tuple[str, str], int], agreed: Mapping[str, int]) -> None:
    groups = sorted({group for group, _ in table})
    words = sorted({word for _, word in table})
    print(f"{'label':12}" + "".join(f"{word:>16}" for word in words) + f"{'agree':>12}")
    for group in groups:
        numbers = [table.get((group, word), 0) for word in words]
        share = f"{agreed[group]}/{sum(numbers)}"
        print(f"{group:12}" + "".join(f"{number or '':>16}" for number in numbers) + f"{share:>12}")
    compared = sum(number for (group, _), number in table.items() if group != "unknown")
    total = sum(number for group, number in agreed.items() if group != "unknown")
    print(f"agreed: {total} of {compared}, {100 * total / max(compared, 1):.1f} %")


if __name__ == "__main__":
    main()
