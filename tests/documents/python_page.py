"""The page docs/python.md, made from the signatures and docstrings of the public names.

`python -m documents.python_page` (with tests/ on PYTHONPATH) writes it.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import lasthop

PAGE: Final = Path(__file__).parent.parent.parent / "docs" / "python.md"

_GROUPS: Final = {
    "Run": ("run", "run_to_folder", "sweep", "live", "live_async"),
    "Scenarios": ("load_scenario", "parse_scenario", "Scenario"),
    "Results": ("Run", "RunResult", "open_run", "write_run", "Sweep"),
    "Reading results": ("explain", "compare", "export", "analyze"),
    "Studies": ("load_study", "run_study", "open_study", "Study", "StudyResult"),
    "Errors": ("LasthopError", "InputError", "RunError", "LiveError", "OracleError", "StudyError"),
}

_HEAD: Final = """\
# Python

`import lasthop` has everything that the command has. This page is made from the docstrings (`help(lasthop.run)` shows
them, too); its examples are run by the tests.

- A **scenario** is given as a name of `lasthop list scenarios`, a path, TOML text of several lines, or a mapping.
- **Paths** are texts or any `os.PathLike`.
- **Overrides** are a mapping of keys, `{"links.lasthop.down.rate": "1 Mbit/s"}`, or texts as `--set` takes them.
- **Tables** are Arrow tables: `.to_pandas()` makes a frame of pandas, `polars.from_arrow` one of polars.
- **Errors** are `InputError` (what was given is wrong: file, line, key, remedy) and `RunError` (a run failed).
- `progress=True` shows a bar, in notebooks too. `await lasthop.live_async(…)` leaves the event loop free.

```python
import lasthop

run = lasthop.run("quickstart", overrides={"hosts.server.profile": "reno"}, seed=7)
run.flows.to_pandas()  # a row for each flow; run.links for the links
run.plot("cwnd")  # a figure of Matplotlib
grid = lasthop.sweep("quickstart", {"hosts.server.profile": ["reno", "cubic"]}, replications=5, progress=True)
grid.to_pandas().groupby("hosts.server.profile")["elapsed_s"].describe()
```
"""


def page() -> str:
    """Return the page."""
    parts = [_HEAD]
    for title, names in _GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [_entry(name, getattr(lasthop, name)) for name in names]
    return "\n".join(parts)


def listed() -> set[str]:
    """Return the names on the page."""
    return {name for names in _GROUPS.values() for name in names}


def _entry(name: str, found: object) -> str:
    if inspect.isclass(found) and not issubclass(found, Exception):
        members = "\n".join(_entry(f"{name}.{member}", value) for member, value in _members(found))
        return f"### `{name}`\n\n{_prose(found)}\n{members}"
    head = f"### `{name}`\n" if "." not in name else f"#### `{name}`\n"
    signature = f"\n```python\n{_signature(name, found)}\n```\n" if inspect.isfunction(found) else ""
    return f"{head}{signature}\n{_prose(found)}"


def _members(found: type) -> Iterator[tuple[str, object]]:
    """Yield the public methods and properties of a class, those of its bases included."""
    for member in sorted(name for name in dir(found) if not name.startswith("_")):
        value = inspect.getattr_static(found, member)
        value = value.fget if isinstance(value, property) else getattr(value, "func", value)
        if inspect.isfunction(value) and value.__doc__:
            yield member, value


def _signature(name: str, found: Callable[..., object]) -> str:
    text = str(inspect.signature(found))
    text = re.sub(r"'([^']*)'", r"\1", re.sub(r"PathLike\[str\]", "PathLike", text))
    line = f"{name}{text}"
    if len(line) <= 100:
        return line
    inside, _, result = line.partition("(")[2].rpartition(")")
    return f"{name}(\n{textwrap.indent(_one_per_line(inside), '    ')}\n){result}"


def _one_per_line(parameters: str) -> str:
    depth, lines, current = 0, [], ""
    for letter in parameters:
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and depth == 0:
            lines.append(f"{current.strip()},")
            current = ""
        else:
            current += letter
    return "\n".join([*lines, f"{current.strip()},"])


def _prose(found: object) -> str:
    """Return a docstring, its examples as blocks of code."""
    text = inspect.getdoc(found) or ""
    words, _, examples = text.partition(">>> ")
    block = f"```python\n>>> {examples.rstrip()}\n```\n" if examples else ""
    return f"{words.strip()}\n\n{block}" if block else f"{words.strip()}\n"


if __name__ == "__main__":
    PAGE.write_text(page())
