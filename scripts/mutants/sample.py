"""Sample mutants of tcp, link and sim, and see which of them the tests catch.

    make mutants [ARGUMENTS="--sample 30 --only congestion"]
    python scripts/mutants/sample.py [--sample 500] [--seed 1] [--only REGEX] [--seconds 500] [--again]

A mutant is a changed place of the code: a function that returns a value at once, a condition that is negated, another
operator, a statement that is left out. All mutants of the sample are compiled into one copy of the sources
(`target/mutants/tree`), where `LASTHOP_MUTANT=n` switches one on: the tests are built once. Each test program then runs
once to see which mutants it reaches, and each mutant runs with the programs that reach it, the quickest first, until
one fails. Tests that cargo ignores do not run, nor do those of Python.

The order in which mutants are drawn follows from the seed and their names, so that a change of the code changes the
sample only where it changes the code. A mutant that changes nothing that can be observed has its reason in
`survivors.toml`, and counts as explained.

Verdicts are appended to `target/mutants/verdicts.jsonl`: a second run continues where the first ended, with `--again`
it also judges anew what was missed. Delete `target/mutants` to begin anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "structure"))

# In these folders, which are on the path from here on.
from judge import Verdict, judge, survey
from modules import is_test
from mutations import Mutation, mutations
from tree import ROOT, Sources, build, tracked

VERDICTS = ROOT / "target" / "mutants" / "verdicts.jsonl"
REASONS = Path(__file__).parent / "survivors.toml"
FOLDERS = (
    "crates/tcp/src/recovery/",
    "crates/tcp/src/congestion/",
    "crates/tcp/src/endpoint/",
    "crates/link/src/",
    "crates/sim/src/",
)


def candidates(sources: Sources, only: str) -> Iterator[Mutation]:
    """Yield every mutant of the code whose path matches a regular expression."""
    for path, content in sources.items():
        is_code = path.startswith(FOLDERS) and path.endswith(".rs") and not is_test(path.partition("/src/")[2])
        if is_code and re.search(only, path):
            yield from mutations(path, content.decode())


def draw(found: Iterable[Mutation], size: int, seed: int) -> list[Mutation]:
    """Return a sample in which no two mutants overlap, in the order of the code."""
    drawn: list[Mutation] = []
    taken: dict[str, list[Mutation]] = defaultdict(list)
    for mutation in sorted(found, key=lambda mutation: rank(mutation, seed)):
        others = taken[mutation.path]
        if len(drawn) < size and all(mutation.begin >= one.end or mutation.end <= one.begin for one in others):
            others.append(mutation)
            drawn.append(mutation)
    return sorted(drawn)


def rank(mutation: Mutation, seed: int) -> bytes:
    """Return the key by which mutants are drawn and judged: a run that ends early has judged a smaller sample."""
    return hashlib.sha256(f"{seed} {mutation.name}".encode()).digest()


def known() -> dict[str, Verdict]:
    """Return the verdicts of earlier runs."""
    rows = map(json.loads, VERDICTS.read_text().splitlines()) if VERDICTS.is_file() else ()
    return {row.pop("name"): Verdict(**row) for row in rows}


def remember(name: str, verdict: Verdict) -> None:
    """Append a verdict to those of earlier runs."""
    with VERDICTS.open("a") as file:
        print(json.dumps({"name": name, **asdict(verdict)}), file=file)


def reasons() -> dict[str, str]:
    """Return why mutants survive that no test can catch."""
    return {row["mutant"]: row["reason"] for row in tomllib.loads(REASONS.read_text())["survivor"]}


def crate(name: str) -> str:
    """Return the crate of a mutant."""
    return name.split("/")[1]


def report(viable: Mapping[str, Mutation], verdicts: Mapping[str, Verdict], explained: Mapping[str, str]) -> None:
    """Print the survivors, and the counts by crate."""
    outcomes = {name: _outcome(name, verdicts, explained) for name in viable}
    for name, outcome in outcomes.items():
        if outcome in {"missed", "unreached"}:
            print(f"{outcome}, line {viable[name].line}: {name}")
    for part in (*sorted(set(map(crate, viable))), ""):
        counts = Counter(outcome for name, outcome in outcomes.items() if part in {"", crate(name)})
        caught = counts["failed"] + counts["timeout"]
        judged = counts.total() - counts["not judged"]
        share = f"{caught / judged:.1%}" if judged else "–"
        print(f"{part or 'all'}: {caught} of {judged} viable mutants caught ({share}): {dict(counts)}")


def _outcome(name: str, verdicts: Mapping[str, Verdict], explained: Mapping[str, str]) -> str:
    verdict = verdicts.get(name, Verdict("not judged"))
    return "explained" if name in explained and not verdict.is_caught else verdict.outcome


def main() -> None:
    """Sample, build, survey, judge, report."""
    given = _arguments()
    sources = tracked()
    drawn = draw(candidates(sources, given.only), given.sample, given.seed)
    viable, programs = build(sources, dict(enumerate(drawn)))
    print(f"{len(viable)} of {len(drawn)} mutants compile", flush=True)
    verdicts, surveyed, begun = known(), survey(programs), time.monotonic()
    for number, mutation in sorted(viable.items(), key=lambda item: rank(item[1], given.seed)):
        verdict = verdicts.get(mutation.name)
        is_due = verdict is None or (given.again and not verdict.is_caught)
        if is_due and time.monotonic() - begun < given.seconds:
            verdicts[mutation.name] = judge(number, surveyed)
            remember(mutation.name, verdicts[mutation.name])
    report({mutation.name: mutation for mutation in viable.values()}, verdicts, reasons())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=500, help="number of mutants (default: 500)")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other mutants (default: 1)")
    parser.add_argument("--only", default="", help="a regular expression for paths")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="the time after which no mutant is begun")
    parser.add_argument("--again", action="store_true", help="judge anew what was missed")
    return parser.parse_args()


if __name__ == "__main__":
    main()
