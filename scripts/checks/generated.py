"""Scenarios drawn at random from what the registries and the library list, each by its number."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

DISTRIBUTIONS = ('"40 ms"', '{ uniform = ["20 ms", "60 ms"] }', '{ lognormal = { median = "40 ms", sigma = 0.3 } }')
NEEDS_A_FILE = {"trace", "file", "table"}


def generated(number: int, registries: str, profiles: Sequence[str]) -> str:
    """Return the text of a scenario: two hosts, a last hop and a few flows. A number always gives the same text."""
    draw = random.Random(f"scenario {number}")
    choices = {registry["name"]: list(_written(registry)) for registry in json.loads(registries)}
    server = draw.choice(profiles)
    mobile = server if draw.random() < 0.5 else draw.choice(profiles)  # most options need both ends
    return "\n".join(
        [
            f'name = "generated-{number}"',
            f"seed = {number}",
            'stop = "20 s"',
            f'hosts = {{ server = {{ profile = "{server}" }}, mobile = {{ profile = "{mobile}" }} }}',
            *_flows(draw, choices["workloads"]),
            "[[links]]",
            'name = "lasthop"',
            'between = ["server", "mobile"]',
            f"down = {{ {_direction(draw, choices)} }}",
            f'up = {{ rate = "1 Mbit/s", propagation = "{draw.choice((5, 40, 300))} ms" }}',
            "[record]",
            'tables = ["packets", "tcp", "queue", "segments"]',
            'captures = ["server", "mobile"]',
        ]
    )


def _written(registry: dict[str, Any]) -> Iterator[str]:
    """Yield how each entry is written in a file, those that name a file apart."""
    yield from (entry["written"] for entry in registry["entries"] if entry["name"] not in NEEDS_A_FILE)


def _flows(draw: random.Random, workloads: Sequence[str]) -> Iterator[str]:
    yield f'[[flows]]\nname = "download"\nfrom = "server"\nto = "mobile"\nbytes = "{draw.choice((20, 200, 1000))} kB"'
    for number in range(draw.randrange(3)):
        source, target, way = draw.choice((("server", "mobile", "down"), ("mobile", "server", "up")))
        ends = f'from = "{source}"\nto = "{target}"'
        workload = draw.choice(workloads).replace("lasthop.down", f"lasthop.{way}")
        kind = f"workload = {workload}" if workload.startswith("{") else workload
        yield f'[[flows]]\nname = "other-{number}"\n{ends}\nstart = "{draw.randrange(3000)} ms"\n{kind}'
        if workload.startswith("{"):
            yield 'until = "10 s"'


def _direction(draw: random.Random, choices: dict[str, list[str]]) -> str:
    queue = draw.choice(choices["queues"])
    limit = "" if "infinite" in queue else f'limit = "{draw.choice((7, 20, 100))} packets", '
    keys = [f"propagation = {draw.choice(DISTRIBUTIONS)}", f"queue = {{ {limit}discipline = {queue} }}"]
    capacity = draw.choice(choices["capacities"]) if draw.random() < 0.25 else ""
    if capacity:
        keys.append(f"capacity = {capacity}")
    if not capacity or "multiples" in capacity:
        keys.append(f'rate = "{draw.choice((64, 384, 2000, 10000))} kbit/s"')
    if draw.random() < 0.5:
        effect = draw.choice(("drop", "corrupt"))
        keys.append(f'errors = {{ model = {draw.choice(choices["errors"])}, effect = "{effect}" }}')
    return ", ".join(keys)
