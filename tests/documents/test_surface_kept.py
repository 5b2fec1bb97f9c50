"""What an earlier version had is still there (docs/compatibility.md)."""

from __future__ import annotations

import json

import pytest

from documents.surface import RECORD, surface

RECORDED: dict[str, list[str]] = json.loads(RECORD.read_text())


@pytest.fixture(scope="module")
def present() -> dict[str, list[str]]:
    return surface()


@pytest.mark.parametrize("interface", RECORDED)
def test_nothing_that_was_promised_is_gone(present: dict[str, list[str]], interface: str) -> None:
    gone = set(RECORDED[interface]) - set(present[interface])
    assert gone == set(), "deprecate it for a minor version first: docs/compatibility.md says how"
