"""The style of all pictures: colours, fonts, sizes. No other module of this package names a colour or a font.

The colours are Paul Tol's "vibrant" set and the purple of his "muted" one (personal.sron.nl/~pault, 2021), which stay
distinct for colour-blind readers; shapes and dashes distinguish the same things in print without colour. The font is
DejaVu Sans, which ships with Matplotlib, so that a picture has the same bytes on every machine.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.transforms import blended_transform_factory

BLACK: Final = "#222222"
GREY: Final = "#8A8A8A"
LIGHT_GREY: Final = "#D9D9D9"
BLUE: Final = "#0077BB"
CYAN: Final = "#33BBEE"
TEAL: Final = "#009988"
ORANGE: Final = "#EE7733"
RED: Final = "#CC3311"
MAGENTA: Final = "#EE3377"
PURPLE: Final = "#AA4499"

SERIES: Final = (BLUE, ORANGE, TEAL, MAGENTA, CYAN, RED, BLACK)
"""Colours of things of one sort, in the order in which they are given out."""

SHADES: Final = {
    "slow_start": "#E3F4FC",
    "congestion_avoidance": "#F1F5EC",
    "fast_recovery": "#FCE9DC",
    "after_timeout": "#FBDDE7",
    "startup": "#E3F4FC",
    "drain": "#FCE9DC",
    "probe_bw": "#F1F5EC",
    "probe_bw_down": "#F3ECDD",
    "probe_bw_cruise": "#F1F5EC",
    "probe_bw_refill": "#E1EFE4",
    "probe_bw_up": "#CFE8DA",
    "probe_rtt": "#EADDF3",
}
"""Tints behind the curves, by phase of the sender, or by state of BBR."""

OTHER_SHADE: Final = "#EFEFEF"

COLUMN_IN: Final = 3.5
PAGE_IN: Final = 7.2
"""Widths of one column and of the page in inches, as in the two-column styles of IEEE and ACM."""

TITLE_PT: Final = 8
TITLE_PAD_PT: Final = 6

LETTER_IN: Final = 0.05
HANDLE_IN: Final = 0.42
"""Width of a legend: of a letter, and of the symbol before the words with the gap to the next."""

LINE_IN: Final = 0.15
"""Height of a line of the legend."""

NOTE_PT: Final = 6.5
NOTE_LETTER_IN: Final = 0.055
"""Size of the note above the legend, and the width of its letters."""

MOST_LISTED: Final = 6

CLEARED: Final[dict[str, Any]] = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
"""The ground of a number among lines, so that it can be read."""

_SETTINGS: Final[dict[str, Any]] = {
    "axes.edgecolor": "#555555",
    "axes.formatter.useoffset": False,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlepad": TITLE_PAD_PT,
    "axes.titlesize": TITLE_PT,
    "figure.constrained_layout.h_pad": 0.04,
    "figure.constrained_layout.w_pad": 0.04,
    "figure.dpi": 200,
    "font.family": ["DejaVu Sans"],
    "font.size": 7.5,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.4,
    "legend.borderaxespad": 0.2,
    "legend.columnspacing": 1.4,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "lines.linewidth": 0.9,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "lasthop",
    "text.parse_math": False,  # names of flows and runs are text, whatever is in them
    "xtick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.labelsize": 7,
    "ytick.major.width": 0.6,
}


@contextmanager
def settings() -> Iterator[None]:
    """Return Matplotlib's settings for drawing and writing, which replace the user's."""
    with mpl.rc_context():
        mpl.rcdefaults()
        parameters: Any = mpl.rcParams  # typed by every key there is, which a plain dictionary is not
        parameters.update(_SETTINGS)
        yield


class Picture(Figure):
    """A figure that a notebook shows, also without pyplot."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        with settings():
            self.savefig(buffer, format="png")
        return buffer.getvalue()


def new_figure(width: Literal["column", "page"], height_in: float) -> Figure:
    """Return an empty figure with constrained layout, which pyplot does not manage."""
    return Picture(figsize=(COLUMN_IN if width == "column" else PAGE_IN, height_in), layout="constrained")


def title_above(figure: Figure, words: str) -> None:
    """Put the picture's title above all panels, at the left edge of the first one."""
    if words:
        title = figure.suptitle(words, x=0.0, ha="left", fontsize=TITLE_PT)
        title.set_transform(blended_transform_factory(figure.axes[0].transAxes, figure.transSubfigure))


def legend_below(figure: Figure, panels: Iterable[Axes], order: Sequence[str] = (), note: str = "") -> None:
    """Put one legend under the picture, outside the data, and make the figure higher by its room.

    Each label appears once; those in `order` come first. Counts in brackets are summed over the panels. The `note`
    above it says what the picture leaves out.
    """
    entries = _legend_entries(panels)
    if not entries and not note:
        return
    words = [*(each for each in order if each in entries), *(each for each in entries if each not in order)]
    labels = [f"{each} ({entries[each].count})" if entries[each].count else each for each in words]
    width, height = figure.get_size_inches()
    columns = int(width / (LETTER_IN * max((len(label) for label in labels), default=1) + HANDLE_IN))
    lines = max(math.ceil(len(labels) / max(columns, 1)), 1)
    noted = textwrap.fill(note, int(width / NOTE_LETTER_IN))
    figure.set_figheight(height + LINE_IN * (lines + (noted.count("\n") + 1 if noted else 0)))
    handles = [entries[each].handle for each in words]
    below = figure.legend(handles, labels, loc="outside lower center", ncols=max(math.ceil(len(labels) / lines), 1))
    below.set_title(noted, prop=FontProperties(size=NOTE_PT))


def note_of(figure: Figure) -> str:
    """Text of the note on omitted items; empty if nothing is omitted."""
    return " ".join(legend.get_title().get_text() for legend in figure.legends).replace("\n", " ")


@dataclass
class _LegendEntry:
    handle: Artist
    count: int


def _legend_entries(panels: Iterable[Axes]) -> dict[str, _LegendEntry]:
    """Texts of the legend, by their words without the count."""
    entries: dict[str, _LegendEntry] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            counted = re.fullmatch(r"(.*) \((\d+)\)", str(label))
            words, count = (counted[1], int(counted[2])) if counted else (str(label), 0)
            entries.setdefault(words, _LegendEntry(handle, 0)).count += count
    return entries


SHADE_STEPS: Final = (0.0, 0.45, -0.4, 0.7)
"""Change of a colour's lightness in the second and in further runs."""


def shaded(colour: str, step: int) -> str:
    """A colour in another shade for each step; the first is its own."""
    change = SHADE_STEPS[step % len(SHADE_STEPS)]
    towards = 1.0 if change > 0 else 0.0
    red, green, blue = (part + (towards - part) * abs(change) for part in to_rgb(colour))
    return to_hex((red, green, blue))


RATE_UNITS: Final = (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0))


def rate_unit(highest: float) -> tuple[str, float]:
    """The unit of an axis of rates up to `highest` bits per second, and its number of bits per second."""
    return next((unit for unit in RATE_UNITS if highest >= unit[1]), RATE_UNITS[2])


def phase_in_words(name: str) -> str:
    """A phase of the sender as it reads: "slow start"; BBR's states as its papers write them, "ProbeBW up"."""
    if name.startswith("probe_"):
        first, _, rest = name.removeprefix("probe_").partition("_")
        return f"Probe{first.upper()} {rest}".strip()
    return {"startup": "Startup", "drain": "Drain"}.get(name, name.replace("_", " "))


def seconds_in_words(seconds: float) -> str:
    """A short time with its unit, such as "50 ms"."""
    return f"{seconds:g} s" if seconds >= 1 else f"{seconds * 1e3:g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:g} µs"


def listed(names: Sequence[str]) -> str:
    """The names, as many as a note has room for."""
    return ", ".join(names[:MOST_LISTED]) + (", …" if len(names) > MOST_LISTED else "")


def wrapped(words: str, width: Literal["column", "page"]) -> str:
    """A title in lines that fit. A number stays with its unit."""
    kept = re.sub(r"(?<=\d) (?=(s|ms|%|B|kB|MB|packets?|bytes)\b)", "\N{NO-BREAK SPACE}", words)
    return textwrap.fill(kept, 50 if width == "column" else 108)


def say_empty(axes: Axes, words: str) -> None:
    """Write in the middle of the picture why it is empty."""
    axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color=GREY)
