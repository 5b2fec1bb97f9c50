"""The licences of the crates in the wheel: `python scripts/release/third_party.py > THIRD-PARTY-LICENSES.txt`.

Each text of a licence stands once, after the crates that have it. Crates are those of `Cargo.lock` on which the wheel
depends in any supported system, without those that only build or test it.
"""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
WHEEL = "lasthop-python"
PATTERNS = ("LICENSE*", "LICENCE*", "COPYING*", "UNLICENSE*", "NOTICE*")
RULE = "=" * 80


def crates() -> list[dict[str, Any]]:
    """Return the crates of others in the wheel, sorted by name and version."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    uses = {node["id"]: list(_normal(node)) for node in found["resolve"]["nodes"]}
    (start,) = (package["id"] for package in packages.values() if package["name"] == WHEEL)
    reached, waiting = set[str](), [start]
    while waiting:
        crate = waiting.pop()
        if crate not in reached:
            reached.add(crate)
            waiting += uses[crate]
    others = [packages[crate] for crate in reached if packages[crate]["source"] is not None]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def _normal(node: Mapping[str, Any]) -> Iterator[str]:
    for dependency in node["deps"]:
        if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
            yield dependency["pkg"]


def texts(package: Mapping[str, Any]) -> list[str]:
    """Return the licence files of a crate; a sentence where it has none."""
    folder = Path(package["manifest_path"]).parent
    files = sorted({path for pattern in PATTERNS for path in folder.glob(pattern) if path.is_file()})
    found = [path.read_text(encoding="utf-8", errors="replace").strip() for path in files]
    return found or [f"The crate names its licence, {package['license']}, and contains no text of it."]


def document() -> str:
    """Return the whole text."""
    owners, wording = defaultdict(list), dict[str, str]()
    for package in crates():
        for text in texts(package):
            # Copies that differ in line breaks only are one text.
            words = " ".join(text.split())
            wording.setdefault(words, text)
            owners[words].append(f"{package['name']} {package['version']} ({package['license']})")
    parts = ["Licences of the crates that are compiled into lasthop. Made by scripts/release/third_party.py."]
    for words, names in owners.items():
        parts.append("\n".join([RULE, *names, RULE, "", *(line.rstrip() for line in wording[words].splitlines())]))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(document(), end="")
