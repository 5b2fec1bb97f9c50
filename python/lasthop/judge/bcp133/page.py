"""The page of the answers, as an author may put it into a draft, and the answers as JSON."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from lasthop.errors import naming
from lasthop.judge.bcp133.answers import Answer, Answers, Comparison, Finding
from lasthop.judge.bcp133.items import SECONDS, version
from lasthop.judge.bcp133.measures import MEASURES
from lasthop.judge.bcp133.picture import draw_answers
from lasthop.judge.league import Measure
from lasthop.judge.page import HEAD, table
from lasthop.provenance import versions


def write_answers(answers: Answers, folder: Path) -> None:
    """Write bcp133.json, bcp133.html and bcp133.svg. Raises InputError if a file cannot be written."""
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
    draw_answers(answers, folder / "bcp133.svg")
    for name, text in (
        ("bcp133.json", json.dumps(answers.to_json(), indent=1) + "\n"),
        ("bcp133.html", _page(answers)),
    ):
        with naming(folder / name):
            (folder / name).write_text(text, encoding="utf-8")


def said(comparison: Comparison) -> str:
    """Return a comparison in words."""

    return f"{comparison.verdict} than {comparison.reference}"


def shown(measure: Measure | None) -> str:
    """Return a median; a dash where there is none."""
    return "–" if measure is None else f"{measure.median:.3g}"


def _page(answers: Answers) -> str:
    name = escape(answers.candidate.name)
    made_by = escape(", ".join(f"{key} {number}" for key, number in versions().items()))
    measured = "".join(_section(answers, each) for each in answers.answers if each.findings)
    left = "".join(
        f"<li>§{each.item.section} {escape(each.item.title)} ({escape(each.item.force)}): "
        f"{escape(each.item.unmeasured)}</li>\n"
        for each in answers.answers
        if not each.findings
    )
    return (
        f"{HEAD}<title>{name} and BCP 133</title></head><body>\n<h1>{name}: the items of RFC 9743 (BCP 133)</h1>\n"
        f"<p>Each case ran for {SECONDS} s (seeds: {len(answers.seeds)}), with {name}, Reno (RFC 5681, RFC 6675) "
        f"and CUBIC (RFC 9438, RFC 6675) in the candidate's place; version {version()} of the list of cases. "
        "Numbers are medians with their 95 % intervals. The RFC names no thresholds: a verdict is a comparison, paired "
        "by seeds; worse or better where the whole interval of the median difference lies on that side. "
        f"Made by {made_by}.</p>\n"
        '<p><img src="bcp133.svg" alt="The candidate against Reno and CUBIC"></p>\n'
        f"{measured}<h2>Not measured</h2>\n<ul>{left}</ul>\n"
        "<p>What these results do not show: paths and neighbours are models, a case has one bottleneck, and no run "
        "replaces a deployment on the Internet.</p>\n</body></html>\n"
    )


def _section(answers: Answers, each: Answer) -> str:
    names = list(dict.fromkeys([answers.candidate.name, "Reno", "CUBIC"]))
    head = ["case", "flow", "measure", *names, "verdict"]
    rows = [_row(finding, names) for finding in each.findings]
    return (
        f"<h2>§{each.item.section} {escape(each.item.title)}</h2>\n<p>{escape(each.item.force)}. "
        f"{escape(each.item.asks)}</p>\n{table(head, rows)}\n"
    )


def _row(finding: Finding, names: list[str]) -> list[str]:
    cells = []
    for name in names:
        measure = finding.values.get(name)
        interval = "" if measure is None else f" <small>{measure.low:.3g} to {measure.high:.3g}</small>"
        cells.append(shown(measure) + interval)
    verdict = "; ".join(said(comparison) for comparison in finding.comparisons)
    return [
        escape(finding.case),
        escape(finding.asked.flow),
        escape(MEASURES[finding.asked.measure].head),
        *cells,
        escape(verdict),
    ]
