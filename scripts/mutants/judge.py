"""Which mutants each test program reaches, and whether its tests catch them."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tree import ROOT, Program, restore_seeds

LOG = ROOT / "target" / "mutants" / "reached"
MEMORY = 4 << 30
"""Bytes of address space that a test program may have: an endless loop that allocates ends there."""
PROPERTY_TESTS = {"PROPTEST_RNG_SEED": "1", "PROPTEST_MAX_SHRINK_ITERS": "0"}
"""The same inputs each time: what is caught does not depend on luck."""


@dataclass(frozen=True)
class Surveyed:
    """A test program, the processor's time that it takes without a mutant, and the mutants that it reaches."""

    program: Program
    seconds: float
    reached: frozenset[int]


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
        if run(program, 3600, LASTHOP_REACHED=str(LOG)) != "passed":
            raise SystemExit(f"{program.path} fails without a mutant")
        reached = frozenset(map(int, LOG.read_text().split())) if LOG.is_file() else frozenset()
        found.append(Surveyed(program, _processor_seconds() - begun, reached))
    found.sort(key=lambda each: each.seconds)
    for each in found:
        print(f"{each.seconds:7.1f} s, reaches {len(each.reached):4}: {each.program.name}", flush=True)
    return found


def judge(number: int, surveyed: Sequence[Surveyed]) -> Verdict:
    """Run the programs that reach a mutant until one fails."""
    reaching = [each for each in surveyed if number in each.reached]
    for each in reaching:
        outcome = run(each.program, 5 * each.seconds + 5, LASTHOP_MUTANT=str(number))
        if outcome != "passed":
            restore_seeds()
            return Verdict(outcome, each.program.name)
    return Verdict("missed" if reaching else "unreached")


def run(program: Program, seconds: float, **environment: str) -> str:
    """Run a test program for at most this time of the processor. Return passed, failed or timeout.

    A test that waits takes no such time: it has ten times as much by the clock.
    """
    try:
        ended = subprocess.run(
            [program.path, "--quiet", "--test-threads=1"],
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
