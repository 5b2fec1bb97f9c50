"""One self-contained page of several studies: rows, claims and pictures of each."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final

from lasthop.errors import naming
from lasthop.provenance import versions
from lasthop.study.result import StudyResult

Row = Mapping[str, Any]

_VERDICTS: Final = {True: "holds", False: "fails", None: "not judged"}
_MEASURES: Final = ("published", "measured", "ratio", "q25", "q75", "low", "high", "n", "kind", "agrees")
"""Keys of a row that the page shows, after the keys that name the row."""

_LEFT_OUT: Final = ("ci95", "mean", "mean_low", "mean_high", "deterministic", "uncertain")
"""Keys of a row that the page does not show."""

_STYLE: Final = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 68rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: .5rem 0 1rem; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .6rem; text-align: left; border-bottom: 1px solid #ddd; vertical-align: top; }
td.number { text-align: right; }
.holds, .yes { color: #00705f; } .fails, .no { color: #b8300f; }
summary { cursor: pointer; margin: .4rem 0; } img { max-width: 100%; } nav a { margin-right: 1rem; }
h2 { border-top: 2px solid #0077bb; padding-top: .6rem; margin-top: 2.5rem; } .wide { overflow-x: auto; }
"""


@dataclass(frozen=True)
class Chapter:
    """A study on the page: its result, or in `missing` the reason why there is none."""

    name: str
    result: StudyResult | None
    missing: str = ""


def write_page(chapters: Sequence[Chapter], file: Path) -> Path:
    """Write the page, with the pictures in the folders of the results, and return its file."""
    text = page(chapters)
    with naming(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return file


def page(chapters: Sequence[Chapter]) -> str:
    """Return the page as HTML."""
    made_by = ", ".join(f"{name} {version}" for name, version in versions().items())
    links = " ".join(f'<a href="#{escape(each.name)}">{escape(each.name)}</a>' for each in chapters)
    body = "\n".join(_chapter(each) for each in chapters)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Documents, reproduced</title><style>{_STYLE}</style></head><body>\n"
        f"<h1>Documents, reproduced</h1><nav>{links}</nav>\n{_overview(chapters)}\n{body}\n"
        f"<p><small>{escape(made_by)}</small></p></body></html>\n"
    )


def _overview(chapters: Iterable[Chapter]) -> str:
    lines = []
    for each in chapters:
        name = f'<a href="#{escape(each.name)}">{escape(each.name)}</a>'
        if each.result is None:
            lines.append([name, escape(each.missing), "", "", ""])
            continue
        counts = each.result.agreement["tables"]
        rows = f"{_total(counts, 'agree')} of {_total(counts, 'rows')}" if counts else "–"
        claims = [claim for claim in each.result.claims if not claim["setup"]]
        setup = [claim for claim in each.result.claims if claim["setup"]]
        found = [_held(part) for part in (claims, setup)]
        lines.append([name, escape(each.result.title), rows, *found])
    return _table(["study", "", "rows that agree", "claims that hold", "of the set-up"], lines)


def _held(claims: Sequence[Row]) -> str:
    """Return the number of judged claims that hold."""
    judged = [claim["holds"] for claim in claims if claim["holds"] is not None]
    rest = f", {len(claims) - len(judged)} not judged" if len(judged) < len(claims) else ""
    return f"{sum(judged)} of {len(judged)}{rest}" if claims else "–"


def _total(counts: Iterable[Row], key: str) -> int:
    return sum(int(count[key]) for count in counts)


def _chapter(chapter: Chapter) -> str:
    head = f'<h2 id="{escape(chapter.name)}">{escape(chapter.name)}</h2>'
    result = chapter.result
    if result is None:
        return f"{head}\n<p>{escape(chapter.missing)}</p>"
    parts = [head, f"<p>{escape(result.title)}</p>", _agreement(result), _sheet(result), _failures(result)]
    parts += [_claims(result.claims), _tables(result), _figures(result)]
    return "\n".join(part for part in parts if part)


def _agreement(result: StudyResult) -> str:
    counts = result.agreement["kinds"]
    if not counts:
        return ""
    names = [name for name in counts[0] if name not in {"agree", "rows"}]
    lines = [[*(_cell(row[name]) for name in names), f"{row['agree']} of {row['rows']}"] for row in counts]
    return _table([*names, "rows that agree"], lines)


def _sheet(result: StudyResult) -> str:
    return "".join(_image(file) for file in sorted(result.folder.glob("sheet.svg")))


def _failures(result: StudyResult) -> str:
    texts = [f"case {case}: {what}" for case, what in result.failures.items()]
    texts += [f"published, without an experiment: {_names(row)}" for row in result.unmatched]
    return "".join(f'<p class="fails">{escape(text)}</p>' for text in texts)


def _names(row: Row) -> str:
    return "; ".join(f"{name} {value}" for name, value in row.items())


def _claims(claims: Sequence[Row]) -> str:
    if not claims:
        return ""
    lines = [
        [
            escape(claim["id"]),
            f'<span class="{_VERDICTS[claim["holds"]]}">{_VERDICTS[claim["holds"]]}</span>',
            f"{escape(claim['says'])} <small>[{escape(claim['place'])}]{' set-up' if claim['setup'] else ''}</small>"
            f"<br><small>{escape(claim['evidence'])}</small>",
        ]
        for claim in claims
    ]
    return _folded(f"{len(claims)} claims", _table(["", "", ""], lines))


def _tables(result: StudyResult) -> str:
    parts = []
    for table in dict.fromkeys(str(row["table"]) for row in result.rows):
        rows = [row for row in result.rows if str(row["table"]) == table]
        picture = result.folder / f"published-{table.replace('/', '-')}.svg"
        inner = _table_of(rows) + (_image(picture) if picture.is_file() else "")
        parts.append(_folded(f"Table {table}: {len(rows)} rows", inner))
    return "\n".join(parts)


def _table_of(rows: Sequence[Row]) -> str:
    keys = [key for key in rows[0] if key not in {*_MEASURES, *_LEFT_OUT}]
    keys = [key for key in keys if key != "table" and not key.startswith("published")]
    varying = [key for key in keys if key == "metric" or len({row[key] for row in rows}) > 1]
    measures = [key for key in _MEASURES if any(row.get(key) is not None for row in rows)]
    return _table([*varying, *measures], [[_cell(row.get(key)) for key in (*varying, *measures)] for row in rows])


def _figures(result: StudyResult) -> str:
    files = [file for pattern in ("chart-*.svg", "figure-*.svg") for file in sorted(result.folder.glob(pattern))]
    return "\n".join(_folded(file.stem.replace("-", " ", 1).capitalize(), _image(file)) for file in files)


def _image(file: Path) -> str:
    data = base64.b64encode(file.read_bytes()).decode()
    return f'<img alt="{escape(file.stem)}" src="data:image/svg+xml;base64,{data}">'


def _folded(title: str, inner: str) -> str:
    return f'<details><summary>{escape(title)}</summary><div class="wide">{inner}</div></details>'


def _table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(str(name))}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in line)}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return f'<span class="{"yes" if value else "no"}">{"yes" if value else "no"}</span>'
    return f"{value:.5g}" if isinstance(value, float) else escape(str(value))
