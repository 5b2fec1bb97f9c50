"""Lessons: folders with a file `lesson.md`, of the library and of the server's folder `lessons`.

A lesson begins with TOML between two lines of `+++`: title, scenario, knobs and questions. What follows is Markdown.
A question names a number of the run's summary, so that the run gives the answer.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Set
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from markdown_it import MarkdownIt

from lasthop.catalogue import LIBRARY
from lasthop.errors import InputError
from lasthop.serve.places import below, check_references, checked_name
from lasthop.serve.scenarios import text_of

FILE: Final = "lesson.md"
FENCE: Final = "+++"
KEYS: Final = {"title", "summary", "scenario", "knobs", "questions"}
KNOB_KEYS: Final = {"key", "label", "values"}
QUESTION_KEYS: Final = {"ask", "measure", "set", "unit", "scale", "tolerance", "explain"}
"""Keys of the head, of a knob and of a question."""


def listed(folder: Path) -> list[dict[str, str]]:
    """Return the lessons by name; unreadable lessons have an error."""
    found = []
    for name, path in sorted(_files(folder).items()):
        try:
            head, _ = _parts(path)
            found.append({"name": name, "title": str(head["title"]), "summary": str(head.get("summary", ""))})
        except InputError as error:
            found.append({"name": name, "title": name, "summary": "", "problem": str(error)})
    return found


def lesson(folder: Path, name: str) -> dict[str, Any]:
    """Return a lesson: its head, its text as HTML, and the text of its scenario."""
    path = _files(folder).get(checked_name(name))
    if path is None:
        raise InputError(f"there is no lesson {name!r}", help="the page of lessons lists them")
    head, body = _parts(path)
    return {
        "name": name,
        "title": head["title"],
        "summary": head.get("summary", ""),
        "knobs": head.get("knobs", []),
        "questions": head.get("questions", []),
        "scenario": head["scenario"],
        "text": _scenario_text(folder, path.parent, str(head["scenario"])),
        # "commonmark" without HTML: what a lesson says in tags comes out as text.
        "html": MarkdownIt("commonmark", {"html": False}).enable("table").render(body),
    }


def answer(summary: Mapping[str, Any], measure: str) -> float:
    """Return the number of a run's summary that a measure names. Raises InputError if there is none.

    `flows.NAME.KEY` and `links.NAME.DIRECTION.KEY` name a key of a flow or of a direction of a link, and `stopped_s`
    the length of the run. A `*` in NAME stands for any text; the answer is the mean of those that have the key.
    """
    parts = measure.split(".")
    rows: list[Mapping[str, Any]] = [summary]
    if parts[0] == "flows" and len(parts) >= 3:
        name = ".".join(parts[1:-1])
        rows = [flow for flow in summary["flows"] if fnmatchcase(flow["flow"], name)]
    elif parts[0] == "links" and len(parts) >= 4:
        name = ".".join(parts[1:-2])
        rows = [link for link in summary["links"] if fnmatchcase(link["link"], name) and link["direction"] == parts[-2]]
    values = [row[parts[-1]] for row in rows if isinstance(row.get(parts[-1]), int | float)]
    if not values:
        raise InputError("the run gives no such number", key=measure, help="`lasthop run --json` prints what it gives")
    return float(sum(values)) / len(values)


def _files(folder: Path) -> dict[str, Path]:
    """Return the lessons' files by name; one of the server's folder takes the place of the library's."""
    roots = [LIBRARY / "lessons", folder / "lessons"]
    files = [path for root in roots for path in root.glob(f"*/{FILE}")]
    return {path.parent.name: path for path in files}


def _parts(path: Path) -> tuple[Mapping[str, Any], str]:
    """Return head and body of a lesson. Raises InputError, with the file and what is wrong in it."""
    where = f"{path.parent.name}/{path.name}"
    text = path.read_text(encoding="utf-8")
    _, fence, rest = text.partition(f"{FENCE}\n")
    written, end, body = rest.partition(f"\n{FENCE}\n")
    if not (fence and end):
        raise InputError("has no head", file=where, help=f"begin it with TOML between two lines of {FENCE}")
    try:
        head = tomllib.loads(written)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"its head is no TOML: {error}", file=where, help="correct it") from error
    _check_head(head, where)
    return head, body


def _check_head(head: Mapping[str, Any], where: str) -> None:
    for key in ("title", "scenario"):
        if not isinstance(head.get(key), str):
            raise InputError("is missing in the head, or no text", file=where, key=key, help=f'write {key} = "…"')
    _check_keys(head, KEYS, where, "")
    for knob in head.get("knobs", []):
        _check_keys(knob, KNOB_KEYS, where, "knobs.", required={"key", "values"})
    for question in head.get("questions", []):
        _check_keys(question, QUESTION_KEYS, where, "questions.", required={"ask", "measure"})


def _check_keys(
    table: Mapping[str, Any],
    known: set[str],
    where: str,
    prefix: str,
    required: Set[str] = frozenset(),
) -> None:
    for key in table:
        if key not in known:
            raise InputError(
                "is no key here", file=where, key=prefix + key, help=f"the keys are {', '.join(sorted(known))}"
            )
    for key in sorted(required - set(table)):
        raise InputError("is missing", file=where, key=prefix + key, help="add it")


def _scenario_text(folder: Path, lesson: Path, name: str) -> str:
    """Return the scenario's text: a file next to the lesson, or a name of the library."""
    if not name.endswith(".toml"):
        return text_of(folder, "library", name)
    path = below(lesson, name)
    if not path.is_file():
        raise InputError("there is no such file", file=name, help="put it next to lesson.md")
    text = path.read_text(encoding="utf-8")
    check_references(text, folder)
    return text
