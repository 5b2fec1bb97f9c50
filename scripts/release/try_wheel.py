"""Try a wheel as a new user would: `python scripts/release/try_wheel.py WHEEL [--python PYTHON] [--json FILE]`.

The wheel goes into a new environment, whose path has no cargo and no node. Measured are the installation, `import
lasthop`, `lasthop --version`, and the tutorial from its first file to its comparison with intervals.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent.parent
TIMES: Final = 20
"""Repetitions of a measurement. The least is printed: other work of the machine only adds."""

BOUNDS: Final = {"import_s": 0.05, "version_s": 0.1, "total_s": 600.0}
"""Bounds of what is measured, in seconds."""

IMPORT: Final = "import time; begun = time.perf_counter(); import lasthop; print(time.perf_counter() - begun)"
VIRTUAL_TIME: Final = re.compile(r"^## [1-4]\. .*?(?=^## [5-9]\. )", re.MULTILINE | re.DOTALL)
"""The part of the tutorial that needs no kernel."""
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def tutorial() -> list[list[str]]:
    """Return the tutorial's commands of virtual time, each as its words."""
    text = "".join(BLOCK.findall("".join(VIRTUAL_TIME.findall((ROOT / "docs" / "tutorial.md").read_text("utf-8")))))
    return [shlex.split(line, comments=True) for line in text.replace("\\\n", " ").splitlines()]


class Environment:
    """A new virtual environment, in which programs see its own folder of programs and nothing else."""

    def __init__(self, python: str, folder: Path) -> None:
        subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
        self.programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        self.work = folder / "work"
        self.work.mkdir()
        windows = {"SYSTEMROOT": os.environ["SYSTEMROOT"]} if os.name == "nt" else {}
        self._variables = {"PATH": str(self.programs), "HOME": str(folder), "USERPROFILE": str(folder), **windows}

    def run(self, program: str, *arguments: str | Path, pip: bool = False) -> str:
        """Run a program of the environment, and return what it printed. Only pip sees the caller's variables."""
        ended = subprocess.run(
            [self.programs / program, *arguments],
            cwd=self.work,
            env={**os.environ, **self._variables} if pip else self._variables,
            encoding="utf-8",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if ended.returncode != 0:
            sys.exit(f"{program} {' '.join(map(str, arguments))}: status {ended.returncode}\n{ended.stdout}")
        return ended.stdout


def seconds(action: Callable[[], object]) -> float:
    """Return the time that an action takes."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def least(measure: Callable[[], float]) -> float:
    """Return the least of several measurements."""
    return min(measure() for _ in range(TIMES))


def tried(wheel: Path, python: str, folder: Path) -> dict[str, float]:
    """Install a wheel and use it; return the times in seconds."""
    into = Environment(python, folder)
    times = {
        "install_s": seconds(
            lambda: into.run("python", "-m", "pip", "install", "--quiet", f"{wheel}[results]", pip=True)
        )
    }
    times["import_s"] = least(lambda: float(into.run("python", "-c", IMPORT)))
    times["version_s"] = least(lambda: seconds(lambda: into.run("lasthop", "--version")))
    times["tutorial_s"] = seconds(lambda: [into.run(*command) for command in tutorial()])
    return {**times, "total_s": times["install_s"] + times["tutorial_s"]}


def main() -> int:
    """Print the size of the wheel and the times; the status is 1 if one is beyond its bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the new environment [this one]")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lasthop-wheel-") as folder:
        times = tried(given.wheel.absolute(), given.python, Path(folder))
    figures = {"wheel": given.wheel.name, "bytes": given.wheel.stat().st_size, **times}
    for name, value in figures.items():
        print(f"{name:12} {value:.3f}" if isinstance(value, float) else f"{name:12} {value}")
    if given.json is not None:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    beyond = [name for name, bound in BOUNDS.items() if times[name] > bound]
    if beyond:
        print(f"beyond its bound: {', '.join(beyond)}", file=sys.stderr)
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
