"""Pages of the lessons: the text and the questions of each, with the answers below."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from registries import FOLDER, ROOT, write


def write_pages(_application: object = None) -> None:
    """Write a page for each folder of `lessons/`."""
    for file in sorted((ROOT / "lessons").glob("*/lesson.md")):
        _, head, text = file.read_text().split("+++\n", 2)
        write(FOLDER / "lessons" / f"{file.parent.name}.md", "\n".join(_page(tomllib.loads(head), text)) + "\n")


def _page(head: dict[str, Any], text: str) -> Iterator[str]:
    yield f"# {head['title']}\n\n{text.strip()}\n"
    yield "`lasthop serve` has this lesson with its run, diagrams and player; there the run answers.\n"
    yield f"- Scenario: `{head['scenario']}`"
    for knob in head.get("knobs", ()):
        yield f"- {knob['label']} (`{knob['key']}`): {', '.join(f'`{value}`' for value in knob['values'])}"
    yield "\n## Questions\n"
    for number, question in enumerate(head.get("questions", ()), 1):
        yield f"{number}. {question['ask']}"
        if question.get("explain"):
            yield f"\n   {' '.join(question['explain'].split())}\n"
