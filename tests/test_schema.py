"""The files of the project against the committed schemas, by a validator that knows nothing of the project."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parents[1]
_FILES = {
    "profile": sorted(ROOT.glob("profiles/*.toml")),
    "link": sorted(ROOT.glob("presets/*.toml")),
    "scenario": sorted(ROOT.glob("scenarios/*.toml")),
    "study": sorted(ROOT.glob("studies/**/study.toml")),
}


def _validator(kind: str) -> Draft202012Validator:
    schema: dict[str, Any] = json.loads((ROOT / "docs" / "schema" / f"{kind}.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize("kind", list(_FILES))
def test_every_file_of_the_library_fits_its_schema(kind: str) -> None:
    validator = _validator(kind)
    assert _FILES[kind]
    for file in _FILES[kind]:
        wrong = [error.message for error in validator.iter_errors(tomllib.loads(file.read_text()))]
        assert not wrong, f"{file.name}: {wrong}"


@pytest.mark.parametrize(
    "line",
    [
        'congestion = { algorithm = "cubic" }',
        "congestion = { cubic = { betta = 0.5 } }",
        'congestion = "cubik"',
        "congestion = { cubic = {}, reno = {} }",
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(line: str) -> None:
    profile = tomllib.loads(f'summary = "wrong"\nsources = ["none"]\n{line}\n')
    assert not _validator("profile").is_valid(profile)


def test_the_schema_takes_a_name_and_a_table_of_one_key() -> None:
    for line in ('congestion = "cubic"', "congestion = { cubic = { beta = 0.5 } }"):
        profile = tomllib.loads(f'summary = "right"\nsources = ["none"]\n{line}\n')
        assert _validator("profile").is_valid(profile)
