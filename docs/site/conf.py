"""Configuration of Sphinx for the documentation site. The source folder is the root of the repository."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

project = "lasthop"
author = "The lasthop developers"
project_copyright = "the lasthop developers; MIT or Apache-2.0"
release = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]

extensions = ["myst_parser", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]

root_doc = "docs/site/index"
include_patterns = [
    "docs/*.md",
    "docs/*/*.md",
    "docs/*/*/*.md",
    "docs/site/generated/lessons/*.md",
    "*.md",
    "crates/live/ARCHITECTURE.md",
    "crates/modules/ARCHITECTURE.md",
    "crates/trace/tests/kernels/README.md",
    "studies/*.md",
    "studies/*/*.md",
    "studies/*/*/*.md",
    "benches/README.md",
    "fuzz/README.md",
    "tests/README.md",
    "scripts/*/README.md",
]

html_theme = "furo"
html_extra_path = ["root"]
html_title = "lasthop"
html_show_sphinx = False
html_copy_source = False


def setup(application: Sphinx) -> None:
    """Write the pages of registries and lessons before the sources are read."""
    import lessons
    import registries

    application.connect("builder-inited", registries.write_pages)
    application.connect("builder-inited", lessons.write_pages)
