"""Determines the mutants that each test program reaches, and whether its tests catch them."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tree import ROOT, Program, restore_seeds

LOG = ROOT / "target" / "mutants" / "reached"
MEMORY = 4 << 30
"""Bytes of address space that a test program may have: an endless loop that allocates ends there."""
PROPERTY_TESTS = {"PROPTEST_RNG_SEED": "1", "PROPTEST_MAX_SHRINK_ITERS": "0"}
"""The same inputs each time: what is caught does not depend on luck."""


@dataclass(frozen=True)
class Surveyed:
    """A test program, the processor's time that it takes without a mutant, and the mutants that its tests reach."""

    program: Program
    seconds: float
    reached: Mapping[int, frozenset[str]]
    """The tests that reach a mutant. None where one does in a thread that has not its name: they all run."""


@dataclass(frozen=True)
class Verdict:
    """`failed`, `timeout`, `missed` or `unreached`, and the program that caught the mutant."""

    outcome: str
    by: str = ""

    @property
    def is_caught(self) -> bool:
        """Whether a test noticed."""
        return self.outcome in {"failed", "timeout"}


def survey(programs: Iterable[Program]) -> list[Surveyed]:
    """Run every program without a mutant. Return them quickest first."""
    found = []
    for program in programs:
        LOG.unlink(missing_ok=True)
        begun = _processor_seconds()
        if run(program, (), 3600, LASTHOP_REACHED=str(LOG), RUST_TEST_THREADS="2") != "passed":
            raise SystemExit(f"{program.path} fails without a mutant")
        found.append(Surveyed(program, _processor_seconds() - begun, _reached(program)))
    found.sort(key=lambda each: each.seconds)
    for each in found:
        print(f"{each.seconds:7.1f} s, reaches {len(each.reached):4}: {each.program.name}", flush=True)
    return found


def _reached(program: Program) -> dict[int, frozenset[str]]:
    """Return the tests that reach each mutant, by the lines that the survey left."""
    listed = subprocess.run([program.path, "--list", "--format=terse"], capture_output=True, text=True, check=True)
    tests = {line.removesuffix(": test") for line in listed.stdout.splitlines()}
    found: dict[int, set[str]] = defaultdict(set)
    for line in LOG.read_text().splitlines() if LOG.is_file() else ():
        number, _, thread = line.partition(" ")
        found[int(number)].add(thread)
    return {number: frozenset(names if names <= tests else ()) for number, names in found.items()}


def judge(number: int, surveyed: Sequence[Surveyed]) -> Verdict:
    """Run the tests that reach a mutant, program by program, until one fails."""
    reaching = [each for each in surveyed if number in each.reached]
    for each in reaching:
        tests = sorted(each.reached[number])
        outcome = run(each.program, tests, 2 * each.seconds + 5, LASTHOP_MUTANT=str(number), RUST_TEST_THREADS="1")
        if outcome != "passed":
            restore_seeds()
            return Verdict(outcome, each.program.name)
    return Verdict("missed" if reaching else "unreached")


def run(program: Program, tests: Sequence[str], seconds: float, **environment: str) -> str:
    """Run these tests of a program, or all where none is named. Return passed, failed or timeout.

    The time is the processor's. A test that waits takes none: it has ten times as much by the clock.
    """
    try:
        ended = subprocess.run(
            [program.path, "--quiet", *(("--exact", *tests) if tests else ())],
            cwd=program.folder,
            env={**os.environ, **PROPERTY_TESTS, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=10 * seconds,
            preexec_fn=lambda: _limit(int(seconds) + 1),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    if ended.returncode == 0:
        return "passed"
    return "timeout" if ended.returncode == -signal.SIGXCPU else "failed"


def _limit(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
