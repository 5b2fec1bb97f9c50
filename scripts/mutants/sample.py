"""Sample mutants of tcp, link and sim, and see which of them the tests catch.

    python scripts/mutants/sample.py [--sample 500] [--seed 1] [--jobs 2] [--only REGEX]

A mutant is a changed place of the code: a function that returns a value at once, a condition that is negated, a
comparison with another bound, a statement that is left out, a sum with the other sign. All mutants of the sample are
compiled into one copy of the sources (`target/mutants/tree`), where `LASTHOP_MUTANT=n` switches one on: the tests are
built once. Each test program then runs once to see which mutants it reaches, and each mutant runs with the programs
that reach it, the quickest first, until one fails.

The sample follows from the seed and the commit. Results are appended to `target/mutants/results.jsonl`: a second run
continues where the first ended. Delete `target/mutants` to begin anew.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "structure"))

from modules import is_test  # noqa: E402 - in the folder that is on the path from here on
from mutations import Mutation, mutations  # noqa: E402 - sorted with the import above

FOLDER = ROOT / "target" / "mutants"
TREE = FOLDER / "tree"
RESULTS = FOLDER / "results.jsonl"
SOURCES = (
    "crates/tcp/src/recovery",
    "crates/tcp/src/congestion",
    "crates/tcp/src/endpoint",
    "crates/link/src",
    "crates/sim/src",
)
PACKAGES = ("lasthop-tcp", "lasthop-testkit", "lasthop-link", "lasthop-sim")
SWITCH = """
/// Whether the mutant of this number is switched on.
#[doc(hidden)]
pub fn mutant(number: usize) -> bool {
    use std::io::Write;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, Ordering};
    static ON: LazyLock<usize> =
        LazyLock::new(|| std::env::var("LASTHOP_MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(usize::MAX));
    static LOG: LazyLock<Option<std::path::PathBuf>> =
        LazyLock::new(|| std::env::var_os("LASTHOP_REACHED").map(Into::into));
    static SEEN: [AtomicBool; 4096] = [const { AtomicBool::new(false) }; 4096];
    if let Some(path) = LOG.as_ref()
        && !SEEN[number].swap(true, Ordering::Relaxed)
        && let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(path)
    {
        let _ = writeln!(file, "{number}");
    }
    number == *ON
}
"""


@dataclass(frozen=True)
class Program:
    """A built test program."""

    path: str
    folder: str


def sample(size: int, seed: int, only: str) -> dict[int, Mutation]:
    """Return the mutants of the sample by number."""
    files = subprocess.run(["git", "ls-files", *SOURCES], cwd=ROOT, check=True, capture_output=True, text=True)
    found = [
        mutation
        for path in sorted(files.stdout.split())
        if path.endswith(".rs") and not is_test(path.split("/src/")[1]) and re.search(only, path)
        for mutation in mutations(path, (ROOT / path).read_text())
    ]
    drawn = random.Random(seed).sample(found, min(size, len(found)))
    apart = list(_apart(sorted(drawn)))
    print(f"{len(drawn)} of {len(found)} mutants, {len(drawn) - len(apart)} of them in the place of another one")
    return dict(enumerate(apart))


def _apart(mutants: list[Mutation]) -> Iterator[Mutation]:
    """Yield the mutants that do not overlap an earlier one of the same file."""
    path, end = "", 0
    for mutation in mutants:
        if mutation.path != path or mutation.begin >= end:
            path, end = mutation.path, mutation.end
            yield mutation


def write(mutants: Mapping[int, Mutation]) -> None:
    """Write the sources with these mutants into the tree. Files that stay the same keep their times."""
    by_file: dict[str, dict[int, Mutation]] = defaultdict(dict)
    for number, mutation in mutants.items():
        by_file[mutation.path][number] = mutation
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            content = (ROOT / name).read_bytes()
            if name in by_file:
                content = applied(content.decode(), by_file[name]).encode()
            if name == "crates/units/src/lib.rs":
                content += SWITCH.encode()
            _write(TREE / name, content)


def _write(path: Path, content: bytes) -> None:
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def applied(text: str, mutants: Mapping[int, Mutation]) -> str:
    """Return the text with the mutants in place."""
    parts, place = [], 0
    for number, mutation in sorted(mutants.items()):
        parts += [text[place : mutation.begin], mutation.after.replace("NUMBER", str(number)).replace("\n", " ")]
        place = mutation.end
    return "".join([*parts, text[place:]])


def build(mutants: dict[int, Mutation]) -> tuple[dict[int, Mutation], list[Program]]:
    """Build the tests; mutants that do not compile are taken out. Return those that do, and the programs."""
    while True:
        write(mutants)
        packages = [word for package in PACKAGES for word in ("--package", package)]
        check = _cargo("check", "--keep-going", *packages)
        wrong = {number for message in check for number in _numbers(message)}
        if not wrong:
            break
        print(f"{len(wrong)} mutants do not compile")
        mutants = {number: mutation for number, mutation in mutants.items() if number not in wrong}
    built = [m for m in _cargo("test", "--no-run", *packages) if m.get("executable") and m["profile"]["test"]]
    return mutants, [Program(m["executable"], str(Path(m["manifest_path"]).parent)) for m in built]


def _cargo(command: str, *arguments: str) -> list[dict[str, Any]]:
    """Run cargo in the tree. Return its messages; end where it fails for another reason than a mutant."""
    environment = {**os.environ, "CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_TARGET_DIR": str(FOLDER / "target")}
    words = ["cargo", command, "--locked", "--quiet", "--message-format=json", *arguments]
    ended = subprocess.run(words, cwd=TREE, env=environment, check=False, capture_output=True, text=True)
    messages = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    if ended.returncode and not any(_numbers(message) for message in messages):
        errors = [message["message"]["rendered"] for message in messages if message["reason"] == "compiler-message"]
        raise SystemExit("\n".join([*errors, ended.stderr]))
    return messages


def _numbers(message: dict[str, Any]) -> set[int]:
    """Return the mutants on the lines that an error of the compiler points to."""
    told = message.get("message")
    if told is None or told["level"] != "error":
        return set()
    lines = " ".join(text["text"] for span in told["spans"] for text in span["text"])
    return {int(number) for number in re.findall(r"mutant\((\d+)\)", lines)}


def run(program: Program, seconds: float, **environment: str) -> tuple[str, float]:
    """Run a test program. Return passed, failed or timeout, and its time."""
    begun = time.monotonic()
    try:
        ended = subprocess.run(
            [program.path, "--quiet"],
            cwd=program.folder,
            env={**os.environ, "PROPTEST_CASES": "32", **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "timeout", seconds
    return ("passed" if ended.returncode == 0 else "failed"), time.monotonic() - begun


def survey(programs: Iterable[Program]) -> list[tuple[Program, float, set[int]]]:
    """Run every program without a mutant. Return its time and the mutants that it reaches, quickest first."""
    found = []
    for program in programs:
        log = FOLDER / "reached"
        log.unlink(missing_ok=True)
        outcome, seconds = run(program, 3600, LASTHOP_REACHED=str(log))
        if outcome != "passed":
            raise SystemExit(f"{program.path} fails without a mutant")
        reached = {int(number) for number in log.read_text().split()} if log.is_file() else set()
        print(f"{seconds:7.1f} s, reaches {len(reached):4}: {Path(program.path).name}", flush=True)
        found.append((program, seconds, reached))
    return sorted(found, key=lambda item: item[1])


def judge(number: int, surveyed: list[tuple[Program, float, set[int]]]) -> dict[str, str]:
    """Run the programs that reach a mutant until one fails."""
    for program, seconds, reached in surveyed:
        if number in reached:
            outcome, _ = run(program, 5 * seconds + 20, LASTHOP_MUTANT=str(number))
            if outcome != "passed":
                return {"outcome": outcome, "by": Path(program.path).name.rpartition("-")[0]}
    return {"outcome": "missed" if any(number in reached for _, _, reached in surveyed) else "unreached"}


def main() -> None:
    """Sample, build, survey, judge, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="a regular expression for paths")
    given = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(FOLDER / "reached", ignore_errors=True)
    drawn = sample(given.sample, given.seed, given.only)
    viable, programs = build(drawn)
    print(f"{len(viable)} compile")
    known = {row["name"]: row for row in map(json.loads, RESULTS.read_text().splitlines())} if RESULTS.is_file() else {}
    surveyed = survey(programs)
    with ThreadPoolExecutor(given.jobs) as pool, RESULTS.open("a") as file:
        waiting = [number for number, mutation in viable.items() if mutation.name not in known]
        for number, verdict in zip(waiting, pool.map(lambda number: judge(number, surveyed), waiting), strict=True):
            row = {"name": viable[number].name, **verdict}
            known[row["name"]] = row
            print(json.dumps(row), file=file, flush=True)
    counts = Counter(known[mutation.name]["outcome"] for mutation in viable.values())
    for mutation in viable.values():
        if known[mutation.name]["outcome"] in {"missed", "unreached"}:
            print(f"{known[mutation.name]['outcome']}: {mutation.name}")
    caught = counts["failed"] + counts["timeout"]
    print(f"{caught} of {len(viable)} viable mutants caught ({caught / len(viable):.1%}): {dict(counts)}")


if __name__ == "__main__":
    main()
