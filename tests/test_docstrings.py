"""The examples in the docstrings of public names, run as they stand, in an empty folder."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import lasthop

pytest.importorskip("pandas")

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

WITHOUT_EXAMPLE = {"Run", "RunResult", "Scenario", "Study", "StudyResult", "Sweep", "__version__", "errors"}
"""Public names that are no functions; the examples of their methods stand there."""


WRITERS = {"write_run", "run_study"}
"""Functions whose examples write what others open."""


def public() -> Iterator[tuple[str, object]]:
    """Yield the public names with their objects, the module first."""
    yield "lasthop", lasthop
    for name in lasthop.__all__:
        found = getattr(lasthop, name)
        if inspect.isfunction(found) or (inspect.isclass(found) and not issubclass(found, Exception)):
            yield name, found


@pytest.mark.slow
def test_every_example_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one folder, since an example may open what one before it wrote."""
    monkeypatch.chdir(tmp_path)
    ordered = sorted(public(), key=lambda named: (named[0] not in WRITERS, named[0]))
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    said: list[str] = []
    for name, found in ordered:
        for test in doctest.DocTestFinder(recurse=name != "lasthop").find(found, name, globs={}):
            runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)
    assert runner.tries > 20


@pytest.mark.parametrize("name", sorted(set(lasthop.__all__) - WITHOUT_EXAMPLE))
def test_every_function_has_an_example(name: str) -> None:
    found = getattr(lasthop, name)
    if not (inspect.isclass(found) and issubclass(found, Exception)):
        assert ">>> import lasthop" in (found.__doc__ or "").replace("import asyncio, lasthop", "import lasthop"), name


ROOT = Path(__file__).parent.parent


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_first_example_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    block = re.search(r"```python\n(import lasthop\n.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert block
    exec(compile(block[1], page, "exec"), {})
