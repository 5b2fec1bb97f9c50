"""The layers of the Python package: a module imports its own package and those below it, wherever the import stands."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import lasthop
from lasthop.entry_points import ENTRY_POINTS, Name, entry_point

LAYERS: Final = (
    {"errors", "extras", "_native", "congestion_control", "stopping", "system"},
    {
        "catalogue",
        "chart",
        "congestion",
        "congestion_control",
        "entry_points",
        "parallel",
        "pcap_filter",
        "progress_bar",
        "provenance",
        "stats",
    },
    {"results", "selection", "interface"},
    {"quic_connection"},
    {"scenario", "analysis", "packetdrill"},
    {"real_time", "joining"},
    {"fetching", "fitting", "study"},
    {"experiments"},
    {"plots"},
    {"exchange", "explanation"},
    {"report", "doctor", "judge"},
    {"serve"},
    {"cli"},
)
"""From the lowest to the highest. Packages of one layer do not import each other."""

LATE: Final = {"__main__", "cli", "study/checks.py"}
"""Modules that may import ours inside functions: commands, what handles signals before it imports them, and the checks
of studies, which need Arrow."""

ROOT: Final = Path(lasthop.__file__).parent
MODULES: Final = sorted(path for path in ROOT.rglob("*.py") if "library" not in path.parts)
PACKAGE_FILES: Final = {"__init__", "__main__"}


def layer_of(package: str) -> int:
    return next(place for place, packages in enumerate(LAYERS) if package in packages)


def package_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line of each import statement, and the packages of ours that it names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name.split(".")[1]) for name in names if name.startswith("lasthop."))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_its_own_package_and_lower_layers(path: Path) -> None:
    own = package_of(path)
    if own in PACKAGE_FILES:
        return
    for line, other in imports(ast.parse(path.read_text())):
        assert other == own or layer_of(other) < layer_of(own), f"line {line}: {own} imports {other}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_commands_and_checks_import_modules_of_ours_inside_functions(path: Path) -> None:
    if {package_of(path), str(path.relative_to(ROOT))} & LATE:
        return
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    assert [found for function in functions for found in imports(function)] == []


def test_every_package_has_a_layer() -> None:
    packages = {package_of(path) for path in MODULES} - PACKAGE_FILES
    assert packages | {"_native"} == set().union(*LAYERS)


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_an_entry_point_names_a_function(name: Name) -> None:
    assert inspect.isfunction(entry_point(name))
