"""What a release needs: versions that agree, licences that are allowed, statements that have a test."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def table(name: str) -> dict[str, Any]:
    """Return a TOML file of the checkout."""
    return tomllib.loads((ROOT / name).read_text())


def test_the_version_stands_once_and_others_agree_with_it() -> None:
    version = table("Cargo.toml")["workspace"]["package"]["version"]
    codemeta = json.loads((ROOT / "codemeta.json").read_text())
    assert codemeta["version"] == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()
    project = table("pyproject.toml")["project"]
    assert (codemeta["name"], codemeta["description"], codemeta["keywords"]) == (
        project["name"],
        project["description"],
        project["keywords"],
    )


def test_crates_that_depend_on_each_other_ask_for_the_version_that_they_have() -> None:
    workspace = table("Cargo.toml")["workspace"]
    ours = {name: asked for name, asked in workspace["dependencies"].items() if "path" in asked}
    asked_for = {asked["version"] for asked in ours.values() if "version" in asked}
    assert asked_for == {workspace["package"]["version"]}
    for name, asked in ours.items():
        published = table(f"{asked['path']}/Cargo.toml")["package"].get("publish", True)
        assert published is ("version" in asked), name


def test_what_workflows_call_exists() -> None:
    text = "".join(workflow.read_text() for workflow in (ROOT / ".github/workflows").glob("*.yml"))
    rules = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    scripts = re.findall(r"scripts/release/[\w.]+", text)
    assert scripts
    assert [name for name in scripts if not (ROOT / name).exists()] == []
    assert set(re.findall(r"run: make ([\w-]+)", text)) <= set(rules)


def test_the_page_of_releases_has_every_job_of_the_workflow() -> None:
    jobs = re.findall(
        r"^  ([\w-]+):$", (ROOT / ".github/workflows/release.yml").read_text().split("\njobs:\n")[1], re.M
    )
    page = (ROOT / "docs/release.md").read_text()
    assert jobs
    assert [job for job in jobs if f"| `{job}` |" not in page] == []


def test_the_citation_agrees_with_the_metadata() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    codemeta = json.loads((ROOT / "codemeta.json").read_text())
    authors = re.findall(r"^  - name: \"(.*)\"$", citation, re.M)
    licences = re.findall(r"^  - (\S+)$", citation, re.M)
    assert [author["name"] for author in codemeta["author"]] == authors
    assert [licence.removeprefix("https://spdx.org/licenses/") for licence in codemeta["license"]] == licences
    assert table("Cargo.toml")["workspace"]["package"]["license"] == " OR ".join(licences)


def test_the_paper_cites_what_its_bibliography_has() -> None:
    paper = (ROOT / "paper/paper.md").read_text()
    entries = re.findall(r"^@\w+\{(\w+),$", (ROOT / "paper/paper.bib").read_text(), re.M)
    assert len(entries) == len(set(entries))
    assert set(re.findall(r"@(\w+)", paper)) == set(entries)


def test_the_commands_of_the_paper_exist() -> None:
    paper = (ROOT / "paper/paper.md").read_text()
    rules = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    targets, studies = re.findall(r"`make ([\w-]+)", paper), re.findall(r"`lasthop study ([\w-]+)", paper)
    assert targets
    assert set(targets) <= set(rules)
    assert studies
    assert all((ROOT / "studies" / name / "study.toml").exists() for name in studies)


def test_make_fuzz_runs_every_target() -> None:
    listed = re.findall(r"^TARGETS \?= (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert sorted(listed[0].split()) == sorted(target["name"] for target in table("fuzz/Cargo.toml")["bin"])


def test_the_licences_of_others_are_those_of_the_lock_file() -> None:
    script = [sys.executable, str(ROOT / "scripts/release/third_party.py")]
    made = subprocess.run(script, check=True, capture_output=True, text=True).stdout
    again = "python scripts/release/third_party.py > THIRD-PARTY-LICENSES.txt"
    assert made == (ROOT / "THIRD-PARTY-LICENSES.txt").read_text(), f"run: {again}"


def test_each_crate_has_a_licence_that_is_allowed() -> None:
    allowed = set(table("deny.toml")["licenses"]["allow"])
    owners = re.findall(
        r"^(\S+ \S+) \(([^()]+(?:\([^()]*\)[^()]*)*)\)$", (ROOT / "THIRD-PARTY-LICENSES.txt").read_text(), re.M
    )
    assert owners
    for crate, expression in owners:
        for part in expression.split(" AND "):
            choices = {name.strip() for name in re.split(r" OR |/|[()]", part)} - {""}
            assert choices & allowed, f"{crate}: {expression}"


@pytest.mark.parametrize("page", ["docs/threat-model.md"])
def test_each_statement_about_strangers_names_tests_that_exist(page: str) -> None:
    names = re.findall(r"`((?:tests|fuzz)/[\w./]*)`", (ROOT / page).read_text())
    assert names
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_third_party_actions_are_pinned_to_commits() -> None:
    for workflow in (ROOT / ".github/workflows").glob("*.yml"):
        used = re.findall(r"uses: (\S+)", workflow.read_text())
        assert used
        assert [name for name in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", name)] == []
