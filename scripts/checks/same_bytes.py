"""Hold two builds of the engine against each other: every shipped scenario and 200 generated ones, the same bytes.

    python scripts/checks/same_bytes.py target/debug/lib_native.so

compares a build with another, by default the installed one (`lasthop._native`). The optimised build is what
users run; the other has assertions and checks overflow. Summary, tables and captures of each run are compared by
digest; of a run that differs, the first line that does is shown. The exit status is 1 if any run differs.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.machinery
import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
from generated import generated

ROOT = Path(__file__).resolve().parent.parent.parent
RECORD = {"tables": ["packets", "tcp", "queue", "segments"], "captures": []}
GENERATED = 200
LEAST_ACCEPTED = 0.9
"""Share of the generated scenarios that must run; fewer mean that the generator writes what is no longer right."""


@dataclass(frozen=True)
class Case:
    """A scenario to run: a file of the library, or a number that a scenario is generated from."""

    given: str | int

    def __str__(self) -> str:
        return str(self.given) if isinstance(self.given, str) else f"generated {self.given}"


def load(library: str) -> Any:
    """Load the engine of a build by its path."""
    loader = importlib.machinery.ExtensionFileLoader("_native", library)
    spec = importlib.util.spec_from_file_location("_native", library, loader=loader)
    assert spec is not None
    engine = importlib.util.module_from_spec(spec)
    loader.exec_module(engine)
    return engine


def outcome(engine: Any, case: Case) -> dict[str, bytes]:
    """Run a scenario. Return summary, tables and captures by name, or the error with which it is refused."""
    try:
        if isinstance(case.given, str):
            scenario = engine.load_scenario(case.given, str(ROOT), (), None)
            run = engine.run(scenario.json, RECORD)
        else:
            profiles = sorted(path.stem for path in (ROOT / "profiles").glob("*.toml"))
            text = generated(case.given, engine.registries(), profiles)
            run = engine.run(engine.parse_scenario(text, "generated.toml", str(ROOT)).json)
    except Exception as error:  # a refusal, or a panic, is an outcome to compare
        return {"error": f"{type(error).__name__}: {error}".encode()}
    tables = {f"table {name}": _csv(run.table(name)) for name in run.table_names}
    captures = {f"capture {name}": bytes(content) for name, content in run.captures.items()}
    return {"summary": json.dumps(json.loads(run.summary_json), indent=1).encode(), **tables, **captures}


def _csv(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(pa.table(table), sink)
    return bytes(sink.getvalue().to_pybytes())


def digests(library: str, cases: list[Case]) -> list[dict[str, str]]:
    """Run all cases in one build, in this process. Return the digests of each outcome."""
    engine = load(library)
    return [
        {part: hashlib.sha256(content).hexdigest() for part, content in outcome(engine, case).items()} for case in cases
    ]


def single(library: str, case: Case) -> dict[str, bytes]:
    """Run one case in one build, in this process."""
    return outcome(load(library), case)


def difference(left: Mapping[str, bytes], right: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the first line that differs of each part that does."""
    for part in sorted(left.keys() | right.keys()):
        lines = (side.get(part, b"").split(b"\n") for side in (left, right))
        for number, (ours, theirs) in enumerate(zip_longest(*lines), start=1):
            if ours != theirs:
                yield f"  {part}, line {number}:\n    - {ours!r}\n    + {theirs!r}"
                break


def main() -> int:
    """Compare the two builds that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="the extension module of the build with assertions")
    parser.add_argument("--with", dest="other", metavar="BUILD", help="the other build; the installed one without it")
    parser.add_argument("--generated", type=int, default=GENERATED, help="number of generated scenarios")
    given = parser.parse_args()
    builds = [str(Path(given.build).resolve()), given.other or _installed()]
    cases = [Case(path.stem) for path in sorted((ROOT / "scenarios").glob("*.toml"))]
    cases += [Case(number) for number in range(given.generated)]
    with ProcessPoolExecutor(max_workers=2, max_tasks_per_child=1) as pool:
        left, right = pool.map(digests, builds, [cases, cases])
        different = [case for case, ours, theirs in zip(cases, left, right, strict=True) if ours != theirs]
        for case in different:
            print(f"{case} differs between {builds[0]} (-) and {builds[1]} (+):")
            print("\n".join(difference(*pool.map(single, builds, [case, case]))))
    accepted = sum("error" not in ours for case, ours in zip(cases, left, strict=True) if isinstance(case.given, int))
    print(f"{len(cases) - len(different)} of {len(cases)} scenarios give the same bytes; {accepted} generated ones ran")
    return int(bool(different) or accepted < given.generated * LEAST_ACCEPTED)


def _installed() -> str:
    from lasthop import _native

    return str(_native.__file__)


if __name__ == "__main__":
    sys.exit(main())
