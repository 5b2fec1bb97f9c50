"""The copy of the sources in which the mutants are, and its build."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutations import Mutation

ROOT = Path(__file__).resolve().parent.parent.parent
TREE = ROOT / "target" / "mutants" / "tree"
PACKAGES = ("tcp", "link", "sim", "testkit", "packetdrill")
"""The crates whose tests judge."""
SWITCH = (Path(__file__).parent / "switch.rs").read_text()

Message = dict[str, Any]
Sources = dict[str, bytes]


@dataclass(frozen=True)
class Program:
    """A built test program."""

    path: str
    folder: str

    @property
    def name(self) -> str:
        """The crate and the program."""
        return f"{Path(self.folder).name}: {Path(self.path).name.rpartition('-')[0]}"


def tracked() -> Sources:
    """Return the repository's files by their paths, as they are now: they may be edited during a run."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    return {path: (ROOT / path).read_bytes() for path in listed.stdout.splitlines() if (ROOT / path).is_file()}


def build(sources: Sources, mutants: Mapping[int, Mutation]) -> tuple[dict[int, Mutation], list[Program]]:
    """Build the tests; mutants that do not compile are taken out. Return those that do, and the programs."""
    compiling = dict(mutants)
    while True:
        write(sources, compiling)
        messages = _build()
        wrong = {number for message in messages for number in numbers(message)} & compiling.keys()
        if not wrong:
            return compiling, [_program(message) for message in messages if _is_test(message)]
        for number in sorted(wrong):
            print(f"does not compile: {compiling.pop(number).name}", flush=True)


def write(sources: Sources, mutants: Mapping[int, Mutation]) -> None:
    """Write the sources with these mutants into the tree. Files that stay the same keep their times."""
    by_file: dict[str, dict[int, Mutation]] = defaultdict(dict)
    for number, mutation in mutants.items():
        by_file[mutation.path][number] = mutation
    for name, source in sources.items():
        content = source
        if name in by_file:
            content = applied(content.decode(), by_file[name]).encode()
        if name == "crates/units/src/lib.rs":
            content += SWITCH.encode()
        _write(TREE / name, content)
    for stray in {path for path in TREE.rglob("*") if path.is_file()} - {TREE / name for name in sources}:
        stray.unlink()


def _write(path: Path, content: bytes) -> None:
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def applied(text: str, mutants: Mapping[int, Mutation]) -> str:
    """Return the text with the mutants in place."""
    parts, place = [], 0
    for number, mutation in sorted(mutants.items(), key=lambda item: item[1].begin):
        parts += [text[place : mutation.begin], mutation.after.replace("NUMBER", str(number))]
        place = mutation.end
    return "".join([*parts, text[place:]])


def restore_seeds() -> None:
    """Take away the inputs that property tests found with a mutant, and wrote next to the committed ones."""
    for path in TREE.glob("crates/**/proptest-regressions/**/*.txt"):
        original = ROOT / path.relative_to(TREE)
        if original.is_file():
            _write(path, original.read_bytes())
        else:
            path.unlink()


def _build() -> list[Message]:
    """Build the tests of the tree. Return cargo's messages; end where it fails for another reason than a mutant.

    The folder for results is the repository's own: what is built of other projects' crates is not built again. Our own
    crates have another profile here, or cargo would take those of the tree for those of the repository.
    """
    packages = [word for package in PACKAGES for word in ("--package", f"lasthop-{package}")]
    words = ["cargo", "build", "--tests", "--keep-going", "--locked", "--quiet", *packages]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")}
    crates = sorted(path.name for path in (TREE / "crates").iterdir())
    profile = [word for crate in crates for word in ("--config", f"profile.dev.package.lasthop-{crate}.debug=false")]
    ended = subprocess.run(
        [*words, *profile, "--message-format=json"],
        cwd=TREE,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    messages: list[Message] = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    if ended.returncode and not any(numbers(message) for message in messages):
        raise SystemExit("\n".join([*filter(None, map(_rendered, messages)), ended.stderr]))
    return messages


def _is_test(message: Message) -> bool:
    return bool(message.get("executable")) and message["profile"]["test"]


def _program(message: Message) -> Program:
    return Program(message["executable"], str(Path(message["manifest_path"]).parent))


def _rendered(message: Message) -> str:
    diagnostic = message.get("message")
    return diagnostic["rendered"] if diagnostic and diagnostic["level"] == "error" else ""


def numbers(message: Message) -> set[int]:
    """Return the mutants on the lines that an error of the compiler points to."""
    diagnostic = message.get("message")
    if not diagnostic or diagnostic["level"] != "error":
        return set()
    spans = [span for each in (diagnostic, *diagnostic["children"]) for span in each["spans"]]
    pointed = _mutants(span for span in spans if span["is_primary"])
    return pointed or _mutants(spans)


def _mutants(spans: Any) -> set[int]:
    lines = " ".join(text["text"] for span in spans for text in span["text"])
    return {int(number) for number in re.findall(r"::units::mutant\((\d+)\)", lines)}
