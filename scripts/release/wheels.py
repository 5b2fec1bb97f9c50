"""Build the wheels of Linux and examine them: `python scripts/release/wheels.py [--profile release] [TARGET…]`.

Zig is the C compiler and the linker of every target, so that an older libc, another libc and another processor need no
container. `make wheels` installs what this needs (`scripts/release/requirements.lock`) and builds every target.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent.parent
TOOLS: Final = Path(sysconfig.get_path("scripts"))
LARGEST: Final = 15 * 10**6
"""Largest wheel, in bytes."""

TARGETS: Final = {
    "x86_64-unknown-linux-gnu": "manylinux_2_28",
    "x86_64-unknown-linux-musl": "musllinux_1_2",
    "aarch64-unknown-linux-gnu": "manylinux_2_28",
    "aarch64-unknown-linux-musl": "musllinux_1_2",
}
"""Targets of rustc with the platform tags of their wheels."""

MEMBERS: Final = (
    r"lasthop/_native\.abi3\.so",
    r"lasthop/_native\.pyi",
    r"lasthop/py\.typed",
    r"lasthop/report/viewer\.js",
    r"lasthop/serve/page/laboratory\.js",
    r"lasthop/library/documents/tutorial\.md",
    r"lasthop/library/scenarios/quickstart\.toml",
    r"lasthop-[^/]*\.data/data/share/bash-completion/completions/lasthop",
    r"lasthop-[^/]*\.dist-info/licenses/THIRD-PARTY-LICENSES\.txt",
    r"lasthop-[^/]*\.dist-info/sboms/.*\.cyclonedx\.json",
)
"""What every wheel contains, as regular expressions."""


def build(target: str, profile: str, out: Path) -> Path:
    """Build the wheel of a target, and return its file."""
    subprocess.run(["rustup", "target", "add", target], cwd=ROOT, check=True)
    before = set(out.glob("*.whl"))
    for old in _of(target, before):
        old.unlink()
    words = ["--profile", profile, "--locked", "--zig", "--target", target, "--compatibility", TARGETS[target]]
    subprocess.run([TOOLS / "maturin", "build", *words, "--out", out], cwd=ROOT, check=True, env=_environment())
    (made,) = _of(target, out.glob("*.whl"))
    return made


def _environment() -> dict[str, str]:
    """Return the environment, with the folder of the tools at the head of the path."""
    return {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}


def _of(target: str, wheels: Iterable[Path]) -> list[Path]:
    tag = f"{TARGETS[target]}_{target.partition('-')[0]}"
    return [wheel for wheel in wheels if tag in wheel.stem.split("-")[-1].split(".")]


def faults(wheel: Path) -> list[str]:
    """Return what is wrong with a wheel: its size, its members, its use of Python and of shared libraries."""
    found = [] if wheel.stat().st_size < LARGEST else [f"it has {wheel.stat().st_size} bytes, more than {LARGEST}"]
    names = zipfile.ZipFile(wheel).namelist()
    found += [f"it has no {member}" for member in MEMBERS if not any(re.fullmatch(member, name) for name in names)]
    return found + _complaints(["abi3audit", "--strict", wheel]) + _tag_faults(wheel)


def _tag_faults(wheel: Path) -> list[str]:
    """Compare the platform tag with the one that the libraries allow, which auditwheel finds.

    auditwheel knows musl by the name that Alpine gives it. Zig links its own name, libc.so, which the loader of musl
    takes for itself everywhere. It is not looked for here, where a file of this name is a script of the linker.
    """
    command: list[str | Path] = [TOOLS / "auditwheel", "show", "--json"]
    is_musl = "musllinux" in wheel.stem
    with tempfile.TemporaryDirectory() as nothing:
        command += ["--ldpaths", nothing] if is_musl else []
        shown = subprocess.run([*command, wheel], capture_output=True, text=True, check=False)
    if shown.returncode:
        return [f"auditwheel: {shown.stderr.strip()}"]
    found = json.loads(shown.stdout)
    only_libc = is_musl and set(found["external_libs"]) == {"libc.so"}
    tag = found["sym_tag" if only_libc else "overall_tag"]
    return [] if tag in wheel.stem.split("-")[-1].split(".") else [f"auditwheel: {tag}, {found['external_libs']}"]


def _complaints(command: Sequence[str | Path]) -> list[str]:
    ended = subprocess.run([TOOLS / command[0], *command[1:]], capture_output=True, text=True, check=False)
    return [] if ended.returncode == 0 else [f"{command[0]}: {(ended.stdout + ended.stderr).strip()}"]


def main() -> int:
    """Build the targets of the command line, and print each wheel with its size and its faults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--profile", default="release", help="the profile of cargo [release]")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "release-wheels", help="folder of the wheels")
    given = parser.parse_args()
    if unknown := set(given.targets) - set(TARGETS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; the targets are {', '.join(TARGETS)}")
    given.out.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for target in given.targets or TARGETS:
        wheel = build(target, given.profile, given.out)
        found = faults(wheel)
        wrong += bool(found)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {'; '.join(found) or 'no fault'}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
