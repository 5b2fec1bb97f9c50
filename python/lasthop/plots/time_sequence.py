"""The time-sequence diagram, as seen by the sender, in the tradition of xplot and tcptrace.

Each data segment is an upright stroke from its first byte to its last, at the time it was sent; the line
under them is what had been acknowledged, the line over them what the receiver's window allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.markers import CARETDOWN, CARETUP
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from lasthop.plots import style, thinning
from lasthop.plots.axes import Scale, scale_of, set_amount_axis
from lasthop.plots.columns import Booleans, Floats
from lasthop.plots.delivery import least_round_trip
from lasthop.plots.flow import Acks, Delays, Drops, Sacks, Sent
from lasthop.plots.flow_panels import FlowPanel, draw_flows
from lasthop.plots.kind import Kind, View
from lasthop.plots.source import Source
from lasthop.plots.span import Span
from lasthop.plots.thinning import Sheet

HEIGHT_IN: Final = 3.6

ARROW_FROM_PT: Final = 7.0
"""Least height of a segment with arrow heads at both ends, as xplot draws them."""

DOT_BELOW_PT: Final = 2.5
"""Height below which a stroke is lengthened by its own width, to be visible."""

COUNTED_FROM: Final = 10
"""Least number of drops at one place that is written next to it."""

FEW_DROPS: Final = 30
"""Number of drops from which their crosses are small."""

RUG_COLUMNS: Final = 400
RUG_HEIGHT: Final = 0.022
"""Places of the ticks at the foot, and their height as a share of the axis."""

WINDOW: Final = "advertised window"
WINDOW_OFF_SCALE: Final = "window (off the scale)"

DATAGRAMS: Final = Scale("datagrams", 1.0)
"""Datagrams are counted: they have no bytes of a stream."""

LEGEND: Final = ("data segment", "datagram", "acknowledged", WINDOW, WINDOW_OFF_SCALE)
"""First entries of the legend; the others follow in the order of drawing."""


@dataclass(frozen=True)
class Verdict:
    """The style of segments with one verdict."""

    id: str
    words: str
    colour: str
    marker: str
    face: str


VERDICTS: Final = (
    Verdict("needed", "sent again, needed", style.BLUE, "^", style.BLUE),
    Verdict("needless", "sent again, needless", style.MAGENTA, "D", "white"),
    Verdict("unjudged", "sent again", style.BLUE, "s", "white"),
)


def draw(source: Source, view: View) -> Figure:
    """Draw the time-sequence diagram of each flow."""
    return draw_flows(source, view, HEIGHT_IN, _draw_flow, LEGEND)


def _draw_flow(panel: FlowPanel) -> None:
    flow, span = panel.flow, panel.span
    sent, acks = flow.sent(), flow.acks()
    drops = flow.drops(sent)
    low, high = _limits(sent, acks, drops, span)
    scale = DATAGRAMS if flow.is_of_datagrams() else scale_of(panel.view.unit, high, flow.segment_size())
    diagram = Diagram(panel.axes, span, scale, low, high, panel.height_in)
    diagram.prepare()
    diagram.draw_acks(acks)
    diagram.draw_sacks(flow.sacks())
    diagram.draw_segments(sent)
    if len((delays := flow.delays(sent)).begin):
        diagram.draw_delays(delays, least_round_trip(flow))
    diagram.draw_drops(drops)
    diagram.draw_local_copies(*flow.local_copies())
    if not span.holds(sent.time).any():
        style.say_empty(diagram.axes, "no data was sent in this time")


def _limits(sent: Sent, acks: Acks, drops: Drops, span: Span) -> tuple[float, float]:
    """The bytes that are to be seen: all that were sent, acknowledged or dropped in `span`, with a margin."""
    in_span = span.holds(sent.time)
    shown = np.concatenate(
        [
            sent.start[in_span],
            sent.end[in_span],
            acks.ack[span.holds(acks.time)],
            drops.offset[span.holds(drops.time)],
        ]
    )
    if not len(shown):
        return 0.0, 1.0
    room = 0.03 * max(float(np.ptp(shown)), 1.0)
    at_foot = span.holds(drops.time) & (drops.offset < float(shown.min()) + 2 * room)
    below = 2 * room if int(at_foot.sum()) >= COUNTED_FROM else room  # their number stands under them
    return float(shown.min()) - below, float(shown.max()) + room


@dataclass(frozen=True)
class Diagram:
    """The diagram while it is being drawn: its axes (`height_in` inches high) and their range.

    That is a time, and bytes from `low` to `high`.
    """

    axes: Axes
    span: Span
    scale: Scale
    low: float
    high: float
    height_in: float

    @property
    def sheet(self) -> Sheet:
        """The same as a range for thinning."""
        return Sheet(self.span, self.low, self.high)

    def prepare(self) -> None:
        """Set the axes up."""
        self.axes.set_ylim(self.low / self.scale.divisor, self.high / self.scale.divisor)
        set_amount_axis(self.axes, f"Sequence number ({self.scale.label})")

    def draw_acks(self, acks: Acks) -> None:
        """The line of acknowledged data, with a tick for each duplicate, and the edge of the window."""
        if not len(acks.time):
            return
        for those in acks.connections:
            time, ack = thinning.steps(self.sheet, acks.time[those], acks.ack[those])
            self.axes.step(
                time, ack / self.scale.divisor, where="post", color=style.TEAL, zorder=2, label="acknowledged"
            )
        in_span = self.span.holds(acks.time)
        self._mark(
            acks.time, acks.ack, in_span & acks.duplicate, "duplicate ACK",
            marker="|", markersize=3.5, markeredgewidth=0.6, color=style.TEAL, zorder=2,
        )  # fmt: skip
        in_sight = (in_span & (acks.edge >= self.low) & (acks.edge <= self.high)).any()
        for those in acks.connections:
            time, edge = thinning.steps(self.sheet, acks.time[those], acks.edge[those])
            self.axes.step(
                time,
                edge / self.scale.divisor,
                where="post",
                color=style.CYAN,
                linestyle=(0, (4, 1.5)),
                zorder=1.8,
                label=WINDOW if in_sight else WINDOW_OFF_SCALE,
            )

    def draw_sacks(self, sacks: Sacks) -> None:
        """An upright line for each block of a selective acknowledgment."""
        shown = self.span.holds(sacks.time)
        if shown.any():
            self._stroke(
                sacks.time, sacks.start, sacks.end, shown,
                color=style.PURPLE, linewidth=0.7, alpha=0.55, zorder=1.9, label="SACK block",
            )  # fmt: skip

    def draw_segments(self, sent: Sent) -> None:
        """A stroke for each data segment; retransmissions have colours of their own and a marker."""
        shown = self.span.holds(sent.time)
        height = self._height_pt(sent, shown)
        what = "datagram" if self.scale == DATAGRAMS else "data segment"
        self._draw_strokes(sent, shown & sent.of("original"), style.BLACK, height, what)
        for verdict in VERDICTS:
            rows = shown & sent.of(verdict.id)
            self._draw_strokes(sent, rows, verdict.colour, height, None)
            self._mark(
                sent.time, (sent.start + sent.end) / 2, rows, verdict.words,
                marker=verdict.marker, markersize=3.2, markeredgewidth=0.7, color=verdict.colour,
                markerfacecolor=verdict.face, zorder=4,
            )  # fmt: skip

    def draw_delays(self, delays: Delays, long_s: float) -> None:
        """A level bar for each packet that was held up for longer than `long_s`, from when to when.

        The others have a tick at the foot: on a link that repeats what was damaged there are hundreds.
        """
        shown = self.span.touches(delays.begin, delays.end)
        long = delays.end - delays.begin > long_s
        self._draw_bars(delays, shown & long)
        rug = np.unique(self.sheet.column(delays.begin[shown & ~long], RUG_COLUMNS))
        if len(rug):
            self.axes.vlines(
                self.span.start + (rug + 0.5) / RUG_COLUMNS * (self.span.end - self.span.start),
                0.0,
                RUG_HEIGHT,
                transform=self.axes.get_xaxis_transform(),
                colors=style.ORANGE,
                linewidth=0.5,
                alpha=0.7,
                label=f"held up for less than a round trip ({int((shown & ~long).sum())})",
            )

    def _draw_bars(self, delays: Delays, rows: Booleans) -> None:
        if not rows.any():
            return
        begin, end, offset = delays.begin[rows], delays.end[rows], delays.offset[rows] / self.scale.divisor
        drawn, _ = thinning.spots(self.sheet, begin, delays.offset[rows])
        self.axes.plot(
            thinning.broken(begin[drawn], end[drawn]),
            thinning.broken(offset[drawn], offset[drawn]),
            color=style.ORANGE,
            linewidth=1.0,
            marker="|",
            markersize=4,
            markeredgewidth=0.8,
            zorder=3.5,
            label=f"held up on the link ({len(begin)})",
        )

    def draw_drops(self, drops: Drops) -> None:
        """A cross where a packet was dropped; its arms show from under the marker of a segment sent again.

        Next to a place with many drops stands their number, once.
        """
        rows = self.span.holds(drops.time)
        many = int(rows.sum()) > FEW_DROPS
        self._mark(
            drops.time, drops.offset, rows, "dropped",
            marker="x", markersize=3.6 if many else 5.5, markeredgewidth=0.9, color=style.RED, zorder=3.8,
        )  # fmt: skip
        across, up, counts = thinning.bundles(self.sheet, drops.time[rows], drops.offset[rows])
        for time, offset, count in zip(across, up, counts, strict=True):
            if count >= COUNTED_FROM:
                at_left = time < self.span.start + 0.08 * (self.span.end - self.span.start)
                # Where there is no room above or at the left, the number stands below at the right.
                at_edge = at_left or offset > self.low + 0.9 * (self.high - self.low)
                self.axes.annotate(
                    f"×{count:.0f}", (time, offset / self.scale.divisor), textcoords="offset points",
                    xytext=(5, -6) if at_edge else (-5, 4), ha="left" if at_edge else "right",
                    color=style.RED, fontsize=5.5, clip_on=True, zorder=5, bbox=style.CLEARED,
                )  # fmt: skip

    def draw_local_copies(self, time: Floats, offset: Floats) -> None:
        """A ring where a proxy sent data again, which is no retransmission of the sender's."""
        self._mark(
            time, offset, self.span.holds(time), "sent again by a proxy",
            marker="o", markersize=3.6, markerfacecolor="white", markeredgewidth=0.9, color=style.PURPLE, zorder=3.9,
        )  # fmt: skip

    def _mark(self, time: Floats, offset: Floats, rows: Booleans, words: str, **looks: Any) -> None:
        """Draw a mark for each marked row."""
        time, offset = time[rows], offset[rows]
        drawn, _ = thinning.spots(self.sheet, time, offset)
        at, value = time[drawn], offset[drawn] / self.scale.divisor
        if len(time):
            self.axes.plot(at, value, linestyle="none", label=f"{words} ({len(time)})", **looks)

    def _draw_strokes(self, sent: Sent, rows: Booleans, colour: str, height: float, label: str | None) -> None:
        if not rows.any():
            return
        cap = "projecting" if height < DOT_BELOW_PT else "butt"
        self._stroke(
            sent.time,
            sent.start,
            sent.end,
            rows,
            color=colour,
            linewidth=0.9,
            capstyle=cap,
            zorder=3,
            label=label,
        )
        heads: tuple[tuple[Floats, int], ...] = ((sent.start, CARETDOWN), (sent.end, CARETUP))
        for ends, marker in heads if height >= ARROW_FROM_PT else ():
            self.axes.plot(
                sent.time[rows],
                ends[rows] / self.scale.divisor,
                linestyle="none",
                marker=marker,
                markersize=2.2,
                markeredgewidth=0,
                color=colour,
                zorder=3,
            )

    def _stroke(self, time: Floats, start: Floats, end: Floats, rows: Booleans, **looks: Any) -> None:
        """Upright lines, one for each marked row, from `start` to `end`."""
        time, start, end = thinning.strokes(self.sheet, time[rows], start[rows], end[rows])
        low = np.column_stack([time, start / self.scale.divisor])
        high = np.column_stack([time, end / self.scale.divisor])
        # One path for all: thousands would be most of the file and of the time to write it.
        vertices = np.stack([low, high], axis=1).reshape(-1, 2)
        codes = np.tile(np.array([Path.MOVETO, Path.LINETO]), len(time))
        if looks["label"]:
            # The legend takes the first of a label, and is to show a line and not an area.
            self.axes.plot([], [], **{key: looks[key] for key in ("color", "linewidth", "label")})
        self.axes.add_artist(PathPatch(Path(vertices, codes), fill=False, **looks))

    def _height_pt(self, sent: Sent, shown: Booleans) -> float:
        """Height of the median segment in the picture, in points."""
        if not shown.any():
            return 0.0
        share = float(np.median((sent.end - sent.start)[shown])) / (self.high - self.low)
        return share * self.height_in * 72


KIND: Final = Kind(
    id="time-sequence",
    summary="what each flow's sender sent and heard: segments, ACKs, window, what was resent and dropped",
    needs=("segments",),
    uses=("packets", "tcp"),
    draw=draw,
    options=("flow", "start_s", "end_s", "unit"),
)
