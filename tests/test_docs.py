"""The documents agree with the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lasthop.plots import KINDS
from lasthop.scenario import load_scenario, run

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "results.md").read_text()
TABLES = ("packets", "tcp", "queue", "segments", "flows")
MEASURED = ("progress", "transfers", "queue_lengths")


def documented(table: str) -> dict[str, bool]:
    """Return the columns of a table as the page has them, and whether each may be null."""
    section = PAGE.split(f"### `{table}`")[1].split("###")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name: mark == "?" for cell in cells for name, mark in re.findall(r"`(\w+)`(\??)", cell)}


@pytest.mark.parametrize("table", TABLES)
def test_the_page_of_results_has_every_column(base: Path, table: str) -> None:
    recorded = run(load_scenario(base), record={"tables": ["packets", "tcp", "queue", "segments"], "captures": []})
    assert tuple(recorded.tables) == TABLES
    assert documented(table) == {field.name: field.nullable for field in recorded.tables[table].schema}


@pytest.mark.parametrize("table", MEASURED)
def test_the_page_of_results_has_every_column_of_what_is_measured(base: Path, table: str) -> None:
    measured = load_scenario(base, overrides=["measure.links=true"])
    recorded = run(measured, record={"tables": list(MEASURED), "captures": []})
    assert documented(table) == {field.name: field.nullable for field in recorded.tables[table].schema}


def test_the_page_of_results_has_every_key_of_the_summary(base: Path) -> None:
    overrides = ["measure.links=true", "measure.windows.early=['1 s', '2 s']"]
    summary = run(load_scenario(base, overrides=overrides)).summary
    flow, link = summary["flows"][0], summary["links"][0]
    of_flows, of_links = set(documented("measures of a flow")), set(documented("measures of a link"))
    assert set(summary) == set(documented("summary"))
    assert set(flow) == set(documented("summary.flows")) | of_flows
    assert set(flow["windows"][0]) == set(documented("summary.flows.windows")) | of_flows
    assert set(link) == set(documented("summary.links")) | of_links
    assert set(link["windows"][0]) == set(documented("summary.links.windows")) | of_links


def test_the_page_of_results_has_the_tables_of_every_kind_of_picture() -> None:
    for kind in KINDS:
        assert f"| `{kind.id}` | {kind.tables()} |" in PAGE


def test_the_readmes_files_and_names_are_there() -> None:
    text = (ROOT / "README.md").read_text()
    for path in re.findall(r"\]\((\w[\w./-]*)\)|`((?:scenarios|studies|docs)/[\w./-]+\w)`", text):
        assert (ROOT / "".join(path)).exists(), path


def test_the_map_of_tests_has_every_file() -> None:
    patterns = re.findall(r"^\| `([\w/*.]+)` \|", (ROOT / "tests" / "README.md").read_text(), re.MULTILINE)
    files = {path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    assert {path for path in files if not any(path.match(pattern) for pattern in patterns)} == set()
    assert all(any(path.match(pattern) for path in files) for pattern in patterns)
