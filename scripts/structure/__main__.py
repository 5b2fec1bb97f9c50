"""Print how the sources are built: crates, folders, functions, circles of modules, long lines, mannered words.

    python scripts/structure                    the working tree
    python scripts/structure ad3e398            a commit
    python scripts/structure ad3e398 HEAD       two commits, side by side
    python scripts/structure --circles          also the modules of each circle
    python scripts/structure --json             one JSON object

Lines of tests are those of `tests` and `testing` modules, of inline `#[cfg(test)]` modules, and of the folders tests,
benches and examples. A circle is a group of modules of one crate that reach each other by `use`, parent and child
included; paths are resolved through re-exports, a re-export itself is no use, and tests do not count.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "checks"))

# In these folders, which are on the path from here on.
from line_lengths import GENERATED, LONGEST, offenders
from modules import Crate, is_test
from rust import functions, split_tests
from sources import read

LONGEST_FILE = 500
FOLDERS_OF = ("live", "tcp", "stacks")

MANNERISMS = {
    "so many/much/long": r"\bso (?:many|much|long)\b(?! as\b)",
    "told of/tells of": r"\b(?:told|tells?) of\b",
    "behind": r"\bbehind\b",
    "one that/those that": r"\b(?:one|those) that\b",
    "goes on": r"\bgo(?:es)? on\b",
    "what becomes of": r"\bwhat (?:becomes|became) of\b",
    "nobody/somebody/anybody": r"\b(?:nobody|somebody|anybody)\b",
}
"""Words that the comments of Rust files and the documents shall do without."""


@dataclass(frozen=True)
class Structure:
    """The measures of one state of the sources."""

    crates: dict[str, tuple[int, int]]
    """Lines of code and of tests, by crate."""
    folders: dict[str, dict[str, int]]
    """Number of files in each folder of some crates."""
    circles: dict[str, list[list[str]]]
    functions: dict[str, float]
    long_files: dict[str, int]
    long_lines: dict[str, int]
    """Number of lines over the limit, by kind of file."""
    mannerisms: dict[str, int]

    def rows(self) -> dict[str, str]:
        """Return everything as one line of text each."""
        code, tests = (sum(lines) for lines in zip(*self.crates.values(), strict=True))
        circles = [circle for found in self.circles.values() for circle in found]
        return {
            "lines of Rust: code / tests": f"{code:,} / {tests:,}",
            **{f"  {name}": f"{lines[0]:,} / {lines[1]:,}" for name, lines in self.crates.items()},
            **{
                f"files in {crate}/{folder}": str(count)
                for crate, folders in self.folders.items()
                for folder, count in folders.items()
            },
            "circles within crates (of 3 or more)": f"{len(circles)} ({sum(len(circle) > 2 for circle in circles)})",
            **{
                f"  in {name}": " + ".join(str(len(circle)) for circle in found) for name, found in self.circles.items()
            },
            "functions of code": f"{self.functions['count']:,.0f}",
            "  lines: median / p90 / longest": " / ".join(
                f"{self.functions[k]:.0f}" for k in ("median", "p90", "longest")
            ),
            "  ten lines or fewer / forty or fewer": " / ".join(f"{self.functions[k]:.1%}" for k in ("ten", "forty")),
            f"files of code over {LONGEST_FILE} lines": str(len(self.long_files)),
            **{f"  {name}": str(lines) for name, lines in self.long_files.items()},
            **{f"lines over {LONGEST} columns, {kind}": str(count) for kind, count in self.long_lines.items()},
            **{f"“{name}”": str(count) for name, count in self.mannerisms.items()},
        }


def measure(texts: Mapping[str, str]) -> Structure:
    """Measure the sources."""
    rust = {name: text for name, text in texts.items() if name.endswith(".rs")}
    code = {name: split_tests(text)[0] for name, text in rust.items() if _is_code(name)}
    crates = {name: _source_of(rust, name) for name in sorted({_crate(name) for name in rust})}
    return Structure(
        crates=_lines(rust, code),
        folders={name: _folders(crates.get(name, {})) for name in FOLDERS_OF},
        circles={
            name: [["::".join(module) or "lib" for module in circle] for circle in found]
            for name, files in crates.items()
            if (found := Crate.of(files).circles())
        },
        functions=_functions(code.values()),
        long_files={
            name: len(text.splitlines()) for name, text in code.items() if len(text.splitlines()) > LONGEST_FILE
        },
        long_lines={
            kind: sum(_long_lines(name, text) for name, text in texts.items() if name.endswith(suffix))
            for kind, suffix in (("Rust", ".rs"), ("Markdown", ".md"), ("Python", ".py"))
        },
        mannerisms=_mannerisms(texts),
    )


def _crate(name: str) -> str:
    parts = name.split("/")
    return parts[1] if parts[0] == "crates" else parts[0]


def _is_code(name: str) -> bool:
    return "/src/" in name and not is_test(name.split("/src/", 1)[1]) and _crate(name) not in {"testkit", "fuzz"}


def _source_of(rust: Mapping[str, str], crate: str) -> dict[str, str]:
    return {name.split("/src/", 1)[1]: text for name, text in rust.items() if _crate(name) == crate and "/src/" in name}


def _lines(rust: Mapping[str, str], code: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    lines: dict[str, tuple[int, int]] = {}
    for name, text in rust.items():
        of_code, of_tests = lines.get(_crate(name), (0, 0))
        mine = len(code.get(name, "").splitlines())
        lines[_crate(name)] = (of_code + mine, of_tests + len(text.splitlines()) - mine)
    return dict(sorted(lines.items(), key=lambda item: -sum(item[1])))


def _folders(files: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(name.split("/")[0] if "/" in name else "" for name in files).items()))


def _functions(texts: Iterable[str]) -> dict[str, float]:
    lengths = sorted(function.length for text in texts for function in functions(text))
    return {
        "count": len(lengths),
        "median": statistics.median(lengths),
        "p90": lengths[len(lengths) * 9 // 10],
        "longest": lengths[-1],
        "ten": sum(length <= 10 for length in lengths) / len(lengths),
        "forty": sum(length <= 40 for length in lengths) / len(lengths),
    }


def _long_lines(name: str, text: str) -> int:
    """Return the number of lines that are too long, by the rules of the check that runs in `make lint`."""
    return 0 if name.startswith(GENERATED) else sum(1 for _ in offenders(name, text))


def _mannerisms(texts: Mapping[str, str]) -> dict[str, int]:
    prose = "\n".join(_prose(name, text) for name, text in texts.items() if not name.endswith(".py")).lower()
    return {name: len(re.findall(pattern, prose)) for name, pattern in MANNERISMS.items()}


def _prose(name: str, text: str) -> str:
    """Return a document as it is, or the comments of a Rust file."""
    if name.endswith(".md"):
        return text
    return " ".join(found.strip() for found in re.findall(r"//[/!]?(.*)", text))


def _shown(columns: Mapping[str, Structure]) -> str:
    """Return a table with a column for each state of the sources."""
    rows = [structure.rows() for structure in columns.values()]
    keys = list(dict.fromkeys(key for row in rows for key in row))
    lines = [("", *columns), *((key, *(row.get(key, "") for row in rows)) for key in keys)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(columns))]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
        for line in lines
    )


def main() -> None:
    """Print the structure of the commits that are named, or of the working tree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commits", nargs="*", metavar="COMMIT", help="a commit; the working tree where none is given")
    parser.add_argument("--circles", action="store_true", help="name the modules of each circle")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    columns = {commit: measure(read(commit)) for commit in given.commits} or {"working tree": measure(read(None))}
    if given.json:
        print(json.dumps({name: asdict(structure) for name, structure in columns.items()}, indent=2))
        return
    print(_shown(columns))
    if given.circles:
        for name, structure in columns.items():
            print(f"\ncircles of {name}")
            for crate, circles in structure.circles.items():
                for circle in circles:
                    print(f"  {crate} {len(circle)}: {', '.join(circle)}")


if __name__ == "__main__":
    main()
