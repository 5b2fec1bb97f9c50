// The sequence diagram of packets between the nodes of a path, as qvis draws it: a level line for each node, and a
// slanted one for each packet, from its entry into a link to its arrival. The flatter it is, the longer it waited.

import { greatestSoFar } from "./columns.ts";
import type { Crossings, Numbers } from "./model.ts";
import type { Hit, LegendEntry, Painter, View } from "./panel.ts";
import { placesOf } from "./pathLayout.ts";
import { lowerBound } from "./search.ts";
import { BLACK, BLUE, GREY, MAGENTA, RED, TEAL } from "./style.ts";
import { seconds } from "./timeSequence.ts";
import { duration, number } from "./units.ts";

/** Packets that are drawn at once; of more, every second, third, … */
const MOST_DRAWN = 3000;

/** Up to this many packets in sight, each has its number. */
const MOST_NUMBERED = 40;

/** Where a lost packet ends, as a share of the way to the next node. */
const LOST_AT = 0.4;

/** Room above the first node and below the last, in distances between nodes. */
const ROOM = 0.15;

export class Ladder implements Painter {
  readonly title: string;
  readonly unit = "packets";
  readonly levels: string[];
  readonly legend: LegendEntry[];
  /** The end of each crossing, and the latest up to each. */
  private readonly end: Numbers;
  private readonly latest: Numbers;
  /** Levels of the nodes between which each link leads. */
  private readonly ways: { from: number; to: number; name: string }[];

  constructor(private readonly crossings: Crossings) {
    const { time, transmitted, delivered, links } = crossings;
    const places = [...placesOf(links).values()].sort((one, other) => other.x - one.x || other.y - one.y);
    this.levels = places.map(({ name }) => name);
    const level = new Map(this.levels.map((name, place) => [name, place]));
    this.ways = links.map(({ name, direction, from, to }) => ({
      from: level.get(from)!,
      to: level.get(to)!,
      name: `${name}.${direction}`,
    }));
    const known = (at: number) => !Number.isNaN(at);
    this.end = time.map((entered, row) => [delivered[row], transmitted[row]].find(known) ?? entered);
    this.latest = greatestSoFar(this.end);
    this.title = `Sequence of packets between ${places
      .toReversed()
      .map(({ name }) => name)
      .join(", ")}`;
    this.legend = [
      { label: "data", colour: BLUE, mark: "line" },
      { label: "sent again", colour: MAGENTA, mark: "dashes" },
      { label: "ACK", colour: TEAL, mark: "line" },
      { label: "lost", colour: RED, mark: "cross" },
    ];
  }

  limits(): [number, number] {
    return [-ROOM, this.levels.length - 1 + ROOM];
  }

  paint(context: CanvasRenderingContext2D, view: View): void {
    this.paintNodes(context, view);
    const [first, end] = this.inSight(view);
    const stride = Math.max(Math.ceil((end - first) / MOST_DRAWN), 1);
    const rows = [];
    for (let row = first; row < end; row += stride) if (this.end[row] >= view.from) rows.push(row);
    context.lineWidth = view.ratio;
    for (const kind of ["ack", "data", "again"] as const) this.paintLines(context, view, rows, kind);
    this.paintLosses(context, view, rows);
    context.fillStyle = BLACK;
    context.font = `${11 * view.ratio}px sans-serif`;
    context.textAlign = "left";
    if (rows.length <= MOST_NUMBERED) for (const row of rows) this.paintNumber(context, view, row);
    if (stride > 1) {
      const words = `one of ${number(stride)} packets is drawn: zoom in for all`;
      context.fillText(words, view.left + 6 * view.ratio, view.top + 14 * view.ratio);
    }
  }

  nearest(x: number, y: number, view: View, reach: number): Hit | null {
    const [first, end] = this.inSight(view);
    if (end - first > MOST_DRAWN) return null;
    let best: Hit | null = null;
    for (let row = first; row < end; row++) {
      const distance = distanceTo([x, y], this.ends(view, row));
      if (distance <= Math.min(reach, best?.distance ?? Infinity))
        best = { x, y, distance, lines: this.words(row, view) };
    }
    return best;
  }

  /** The rows that may be under way between the times in sight. */
  private inSight(view: View): [number, number] {
    return [lowerBound(this.latest, view.from), lowerBound(this.crossings.time, view.to)];
  }

  private kindOf(row: number): "ack" | "data" | "again" {
    const { kind, kinds, again } = this.crossings;
    if (kinds[kind[row]] === "ack") return "ack";
    return again[row] ? "again" : "data";
  }

  private isLost(row: number): boolean {
    return Number.isNaN(this.crossings.delivered[row]);
  }

  /** Where the line of a packet begins and ends. */
  private ends(view: View, row: number): [number, number, number, number] {
    const { time, link } = this.crossings;
    const { from, to } = this.ways[link[row]];
    const share = this.isLost(row) ? LOST_AT : 1;
    return [view.x(time[row]), view.y(from), view.x(this.end[row]), view.y(from + share * (to - from))];
  }

  private paintNodes(context: CanvasRenderingContext2D, view: View): void {
    context.strokeStyle = GREY;
    context.lineWidth = 1.5 * view.ratio;
    context.beginPath();
    for (const level of this.levels.keys()) {
      context.moveTo(view.left, view.y(level));
      context.lineTo(view.left + view.width, view.y(level));
    }
    context.stroke();
  }

  private paintLines(context: CanvasRenderingContext2D, view: View, rows: number[], kind: keyof typeof COLOURS): void {
    context.strokeStyle = COLOURS[kind];
    context.setLineDash(kind === "again" ? [5 * view.ratio, 3 * view.ratio] : []);
    context.beginPath();
    for (const row of rows) {
      if (this.kindOf(row) !== kind) continue;
      const [x0, y0, x1, y1] = this.ends(view, row);
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
    }
    context.stroke();
    context.setLineDash([]);
  }

  private paintLosses(context: CanvasRenderingContext2D, view: View, rows: number[]): void {
    const size = 4 * view.ratio;
    context.strokeStyle = RED;
    context.lineWidth = 1.6 * view.ratio;
    context.beginPath();
    for (const row of rows) {
      if (!this.isLost(row)) continue;
      const [, , x, y] = this.ends(view, row);
      context.moveTo(x - size, y - size);
      context.lineTo(x + size, y + size);
      context.moveTo(x - size, y + size);
      context.lineTo(x + size, y - size);
    }
    context.stroke();
  }

  /** Writes what a packet carries next to the beginning of its line. */
  private paintNumber(context: CanvasRenderingContext2D, view: View, row: number): void {
    const [x, y] = this.ends(view, row);
    const { from, to } = this.ways[this.crossings.link[row]];
    const { start, ack } = this.crossings;
    const words = this.kindOf(row) === "ack" ? `ACK ${number(ack[row])}` : number(start[row]);
    context.fillText(words, x + 3 * view.ratio, y + (from > to ? -5 : 13) * view.ratio);
  }

  private words(row: number, view: View): string[] {
    const { time, link, packet, start, length, ack, words, why } = this.crossings;
    const kind = this.kindOf(row);
    const bytes = `bytes ${number(start[row])} to ${number(start[row] + length[row])}`;
    const carries = kind === "ack" ? `ACK ${number(ack[row])}` : `${bytes}${kind === "again" ? ", sent again" : ""}`;
    const ends = this.isLost(row) ? "lost" : "arrives";
    return [
      `${seconds(time[row] - view.origin)}: packet ${number(packet[row])} on ${this.ways[link[row]].name}`,
      carries,
      `${ends} after ${duration(this.end[row] - time[row])}`,
      ...(words[why[row]] ? [words[why[row]]] : []),
    ];
  }
}

const COLOURS = { ack: TEAL, data: BLUE, again: MAGENTA } as const;

/** The distance of a point to a line between two others, on the canvas. */
function distanceTo([x, y]: [number, number], [x0, y0, x1, y1]: [number, number, number, number]): number {
  const [along, across] = [x1 - x0, y1 - y0];
  const square = along * along + across * across;
  const share = square > 0 ? Math.min(Math.max(((x - x0) * along + (y - y0) * across) / square, 0), 1) : 0;
  return Math.hypot(x - x0 - share * along, y - y0 - share * across);
}
