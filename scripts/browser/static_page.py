"""Write the static page of lasthop, with the core in WebAssembly, into a folder that any server of files can serve.

python scripts/browser/static_page.py CORE.wasm FOLDER

The page's program is put there by `web/static.mjs`. The library is what an installed lasthop says of it.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from lasthop import catalogue
from lasthop.experiments.comparison import ALL_FLOWS, FLOW_MEASURES, LINK_MEASURES
from lasthop.report.page import FORMAT, page_of
from lasthop.serve.lessons import lesson, listed
from lasthop.serve.library import KINDS, library, schema
from lasthop.serve.scenarios import begun

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ("index.html", "worker.js", "core.js")


def written() -> dict[str, Any]:
    """Return what the page knows without a server: names, texts, the schema of scenarios, and the lessons."""
    texts: dict[str, dict[str, str]] = {
        kind: {entry.name: entry.path.read_text(encoding="utf-8") for entry in catalogue.entries(kind)}
        for kind in KINDS
    }
    texts["begun"] = {preset: begun(preset) for preset in texts["presets"]}
    # The library's lessons only: a folder that is none has no others.
    nowhere = ROOT / "web"
    lessons = [lesson(nowhere, each["name"]) for each in listed(nowhere)]
    measures = {"flow": FLOW_MEASURES, "link": LINK_MEASURES, "all_flows": ALL_FLOWS}
    return {"library": library(), "schema": schema(), "texts": texts, "lessons": lessons, "measures": measures}


def report() -> str:
    """Return the page of a report without runs: marks stand for its title, its runs and their columns."""
    index = f'{{"format":{json.dumps(FORMAT)},"runs":@lasthop-runs@}}'
    return page_of("@lasthop-title@", index, "@lasthop-columns@")


def write(core: Path, folder: Path) -> None:
    """Write the page into a folder, which is made if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PAGE:
        shutil.copyfile(ROOT / "web/wasm" / name, folder / name)
    shutil.copyfile(ROOT / "web/icon.svg", folder / "icon.svg")
    shutil.copyfile(core, folder / "lasthop.wasm")
    (folder / "report.html").write_text(report(), encoding="utf-8")
    (folder / "library.json").write_text(json.dumps(written()), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(Path(sys.argv[1]), Path(sys.argv[2]))
