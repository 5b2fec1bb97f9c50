"""What a search leaves: the worst path as a scenario file, its diagram and its story, and everything as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from lasthop.errors import naming
from lasthop.explanation import explain
from lasthop.judge.stress.goals import MEANINGS, Sides, runs_of
from lasthop.judge.stress.hunt import FINAL_SEEDS, Stress
from lasthop.judge.stress.trials import FLOWS, keys_of, programs_of, scenario
from lasthop.plots import View, draw, save
from lasthop.scenario import run
from lasthop.scenario.given import toml_value

SCENARIO_FILE: Final = "worst.toml"
DIAGRAM_FILE: Final = "worst.svg"
STORY_FILE: Final = "worst.txt"
RESULT_FILE: Final = "stress.json"

EVENTS: Final = 30
"""Number of events that the story has at most."""


def write_stress(stress: Stress, folder: Path) -> None:
    """Write the scenario file of the simplest path, its diagram and story under the first final seed, and the result.

    Raises InputError if a file cannot be written.
    """
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
    sides = runs_of(stress.goal, stress.entry, stress.against)[0]
    _write(folder / RESULT_FILE, json.dumps(stress.to_json(), indent=1) + "\n")
    _write(folder / SCENARIO_FILE, scenario_text(stress, sides, folder))
    recorded = run(
        scenario(stress.simplest.genome, sides), seed=None, record={"tables": ["segments", "tcp", "packets"]}
    )
    save(draw("time-sequence", recorded, View(flow=FLOWS[0])), folder / DIAGRAM_FILE)
    explained = explain(recorded, FLOWS[0])[0]
    lines = [f"{event.start:9.3f} s  {event.text}" for event in explained.events[:EVENTS]]
    left = len(explained.events) - len(lines)
    _write(folder / STORY_FILE, "\n".join([*lines, *([f"{left} more events"] if left else [])]) + "\n")


def scenario_text(stress: Stress, sides: Sides, folder: Path) -> str:
    """Return the simplest path as a scenario file in `folder`, with what was found in its comments."""
    genome, measure = stress.simplest.genome, stress.score
    keys = keys_of(genome, sides)
    programs = programs_of(sides)
    for flow in keys["flows"]:
        if entry := programs.get(flow["name"]):
            flow["tcp.congestion"] = entry.congestion_beside(folder)
    comments = [
        f"Found by lasthop stress: {stress.entry.name} against {stress.reference}, goal {stress.goal}.",
        f"Score {measure.median:.2f} ({measure.low:.2f} to {measure.high:.2f} over {measure.n} seeds): "
        f"{MEANINGS[stress.goal]}.",
        str(stress.rule),
    ]
    summary = f"where {stress.entry.name} does worst: {stress.goal}"
    head = {"name": "worst", "summary": summary, "seed": FINAL_SEEDS[0]}
    scalars = {**head, **{key: keys[key] for key in ("stop", "hosts", "measure")}}
    return "".join(f"# {comment}\n" for comment in comments) + _lines(scalars) + _tables(keys)


def _tables(keys: Mapping[str, Any]) -> str:
    return "".join(f"\n[[{name}]]\n{_lines(table)}" for name in ("flows", "links") for table in keys[name])


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {toml_value(value)}\n" for key, value in table.items())


def _write(file: Path, text: str) -> None:
    with naming(file):
        file.write_text(text, encoding="utf-8")
