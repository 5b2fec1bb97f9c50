"""The index of a run's folder, `run.json`: read, and checked before anything is computed from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from lasthop.errors import InputError

FORMAT: Final = "lasthop run 1"
"""The value of the first key of run.json. The number changes if a key is removed or changes its meaning."""

_NUMBER: Final = (int, float)
_NUMBER_OR_NONE: Final = (int, float, type(None))
_INDEX: Final[Mapping[str, Any]] = {
    "scenario": (str, type(None)),
    "summary": dict,
    "specification": dict,
    "files": dict,
}
_SUMMARY: Final[Mapping[str, Any]] = {"clock": str, "stopped_s": _NUMBER, "flows": list, "links": list}
_FLOW: Final[Mapping[str, Any]] = {
    "flow": str,
    "bytes": _NUMBER,
    "elapsed_s": _NUMBER_OR_NONE,
    "throughput_Bps": _NUMBER_OR_NONE,
    **dict.fromkeys(("segments_sent", "retransmissions", "timeouts"), _NUMBER),
    # Of QUIC in captures, bytes are judged, and not retransmissions.
    "unnecessary_retransmissions": _NUMBER_OR_NONE,
}
_LINK: Final[Mapping[str, Any]] = {"link": str, "direction": str, "queue_drops": _NUMBER, "error_drops": _NUMBER}


def read_index(path: Path) -> Mapping[str, Any]:
    """Read `run.json`. Raises InputError if it is damaged, or has another format."""
    try:
        index = json.loads(path.read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from error
    _check(path, "the whole", index, dict)
    if index.get("format") != FORMAT:
        raise InputError(
            f"is of the format {index.get('format')!r}; this lasthop reads {FORMAT!r}",
            file=str(path),
            help="open it with the lasthop that wrote it, or run the scenario again",
        )
    _check_keys(path, "", index, _INDEX)
    _check_keys(path, "summary.", index["summary"], _SUMMARY)
    for part, keys in (("flows", _FLOW), ("links", _LINK)):
        for place, row in enumerate(index["summary"][part]):
            _check(path, f"summary.{part}[{place}]", row, dict)
            _check_keys(path, f"summary.{part}[{place}].", row, keys)
    for name, fingerprint in index["files"].items():
        if Path(name).name != name:
            raise _damaged(path, f"files[{name!r:.60}] is no name of a file in this folder")
        _check(path, f"files[{name!r}]", fingerprint, dict)
        _check_keys(path, f"files[{name!r}].", fingerprint, {"bytes": int})
    checked: Mapping[str, Any] = index
    return checked


def _check_keys(path: Path, above: str, values: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    for key, kind in kinds.items():
        if key not in values:
            raise _damaged(path, f"{above}{key} is missing")
        _check(path, f"{above}{key}", values[key], kind)


def _check(path: Path, what: str, value: object, kind: Any) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise _damaged(path, f"{what} is {value!r:.60}, and not {_WORDS[kinds[0]]}")


_WORDS: Final = {dict: "a table of keys", list: "a list", str: "a text", int: "a number"}


def _damaged(path: Path, what: str) -> InputError:
    return InputError(f"is damaged: {what}", file=str(path), help="run the scenario again")
