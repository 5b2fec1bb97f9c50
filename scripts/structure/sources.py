"""Text files of a commit or of the working tree."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def read(commit: str | None) -> Mapping[str, str]:
    """Return the texts of all Rust, Python and Markdown files by path: those of a commit, or those that lie here."""
    if commit is None:
        names = _git("ls-files", "--cached", "--others", "--exclude-standard").decode().splitlines()
        return {name: (ROOT / name).read_text() for name in sorted(names) if _is_text(name) and (ROOT / name).is_file()}
    names = _git("ls-tree", "-r", "--name-only", commit).decode().splitlines()
    return _contents(commit, [name for name in names if _is_text(name)])


def _contents(commit: str, names: list[str]) -> dict[str, str]:
    wanted = "".join(f"{commit}:{name}\n" for name in names).encode()
    answer = _git("cat-file", "--batch", given=wanted)
    texts, place = {}, 0
    for name in names:
        head, _, _ = answer[place:].partition(b"\n")
        size = int(head.split()[-1])
        begin = place + len(head) + 1
        texts[name] = answer[begin : begin + size].decode()
        place = begin + size + 1
    return texts


def _git(*arguments: str, given: bytes | None = None) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, input=given, check=True, capture_output=True).stdout


def _is_text(name: str) -> bool:
    return name.endswith((".rs", ".py", ".md"))
