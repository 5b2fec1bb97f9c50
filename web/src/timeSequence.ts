// The time-sequence diagram in the conventions of xplot and tcptrace: a stroke for each segment from its first byte to
// its last, under them the line of what was acknowledged, over them the line of what the receiver's window allows. Or,
// as in the books of Stevens, a dot for the first byte of each segment.

import { greatestSoFar, rowsWhere } from "./columns.ts";
import { bars, extent, marks, steps, strokes } from "./drawing.ts";
import type { Flow, Numbers } from "./model.ts";
import { type Hit, type LegendEntry, type Painter, type View } from "./panel.ts";
import { lowerBound, rowsWithin } from "./search.ts";
import { BLACK, BLUE, CYAN, MAGENTA, ORANGE, PURPLE, RED, TEAL } from "./style.ts";
import { duration, number, type Unit } from "./units.ts";

/** Marks of retransmitted segments, by the index of their verdict. */
const RESENT = [
  { verdict: 1, words: "sent again, needed", colour: BLUE, fill: BLUE, shape: "triangle" },
  { verdict: 2, words: "sent again, needless", colour: MAGENTA, fill: "#FFFFFF", shape: "diamond" },
  { verdict: 3, words: "sent again", colour: BLUE, fill: "#FFFFFF", shape: "square" },
] as const;

/** Segments with one verdict; `middle` is that of their bytes. */
type Segments = Record<"time" | "start" | "end" | "middle", Numbers>;

/** The conventions of tcptrace, or those of Stevens. */
export type Convention = "tcptrace" | "Stevens";

export class TimeSequence implements Painter {
  convention: Convention = "tcptrace";
  readonly unit: Unit;
  readonly missing: string[] = [];
  /** By the index of the verdict. */
  private readonly segments: Segments[];
  private readonly duplicates: Record<"time" | "ack", Numbers>;
  /** The latest end of a delay up to each. */
  private readonly latestEnd: Numbers;

  /**
   * `where` the packets were seen, after the flow's name in the title; nothing of a capture, which says it above.
   * `hasPackets`: whether the records have the packets on their links.
   */
  constructor(
    private readonly flow: Flow,
    private readonly where = ", seen by the sender",
    hasPackets = true,
  ) {
    if (!hasPackets) this.missing.push('drops and delays on links (they are in the table "packets")');
    this.unit = flow.datagrams ? "datagrams" : "bytes";
    const { time, start, end, verdict } = flow.sent;
    const middle = start.map((first, row) => (first + end[row]) / 2);
    this.segments = [0, 1, 2, 3].map((wanted) =>
      rowsWhere({ time, start, end, middle }, (row) => verdict[row] === wanted),
    );
    this.duplicates = rowsWhere({ time: flow.acks.time, ack: flow.acks.ack }, (row) => flow.acks.duplicate[row] === 1);
    this.latestEnd = greatestSoFar(flow.delays.end);
  }

  get title(): string {
    const convention = this.convention === "Stevens" ? " (Stevens)" : "";
    return `Time sequence${convention} of ${this.flow.name}${this.where}`;
  }

  get legend(): LegendEntry[] {
    const { sent } = this.flow;
    if (this.convention === "tcptrace") return this.entries();
    return [{ label: `first byte of a segment (${number(sent.time.length)})`, colour: BLUE, mark: "dot" }];
  }

  limits(from: number, to: number): [number, number] {
    const { sent, acks, drops } = this.flow;
    const all = [
      extent(sent.time, [sent.start, sent.end], from, to),
      extent(acks.time, [acks.ack], from, to, true),
      extent(drops.time, [drops.offset], from, to),
    ];
    const low = Math.min(...all.map(([least]) => least));
    const high = Math.max(...all.map(([, most]) => most));
    return Number.isFinite(low) ? [low, high] : [0, 1];
  }

  paint(context: CanvasRenderingContext2D, view: View): void {
    if (this.convention === "Stevens") return this.paintDots(context, view);
    const { acks, sacks, drops } = this.flow;
    context.lineWidth = view.ratio;
    context.strokeStyle = CYAN;
    context.setLineDash([4 * view.ratio, 3 * view.ratio]);
    steps(context, view, acks.time, acks.edge);
    context.setLineDash([]);
    context.strokeStyle = TEAL;
    steps(context, view, acks.time, acks.ack);
    marks(context, view, this.duplicates.time, this.duplicates.ack, "tick");
    context.strokeStyle = `${PURPLE}88`;
    strokes(context, view, sacks.time, sacks.start, sacks.end);
    context.strokeStyle = BLACK;
    const [originals] = this.segments;
    strokes(context, view, originals.time, originals.start, originals.end);
    this.paintResent(context, view);
    this.paintDelays(context, view);
    context.strokeStyle = RED;
    context.lineWidth = 1.4 * view.ratio;
    marks(context, view, drops.time, drops.offset, "cross");
  }

  nearest(x: number, y: number, view: View, reach: number): Hit | null {
    const hits = this.segmentsNear(x, y, view, reach);
    if (this.convention === "tcptrace")
      hits.push(
        ...this.dropsNear(x, y, view, reach),
        ...this.delaysNear(x, y, view, reach),
        ...this.acksNear(x, y, view, reach),
      );
    return hits.reduce<Hit | null>((best, hit) => (best && best.distance <= hit.distance ? best : hit), null);
  }

  /** What is known of a segment by its row, in lines; its time counted from `origin`. */
  wordsOfSegment(row: number, origin: number): string[] {
    const { sent, datagrams } = this.flow;
    const verdict = RESENT.find((one) => one.verdict === sent.verdict[row]);
    const what = datagrams
      ? `datagram ${number(sent.start[row])}`
      : `segment ${number(row + 1)}: bytes ${number(sent.start[row])} to ${number(sent.end[row])}`;
    const moment = seconds(sent.time[row] - origin);
    const events = this.eventsAt(sent.time[row]);
    return [`${moment}: ${verdict?.words ?? "sent"}`, what, ...this.wordsOf(sent.why[row]), ...events];
  }

  private paintDots(context: CanvasRenderingContext2D, view: View): void {
    context.fillStyle = BLUE;
    marks(context, view, this.flow.sent.time, this.flow.sent.start, "dot");
  }

  private paintResent(context: CanvasRenderingContext2D, view: View): void {
    for (const { verdict, colour, fill, shape } of RESENT) {
      const { time, start, end, middle } = this.segments[verdict];
      context.strokeStyle = colour;
      context.fillStyle = fill;
      strokes(context, view, time, start, end);
      marks(context, view, time, middle, shape);
    }
  }

  /** A level bar for each packet that a link held up, from when to when. */
  private paintDelays(context: CanvasRenderingContext2D, view: View): void {
    const { time, end, offset } = this.flow.delays;
    context.strokeStyle = ORANGE;
    context.lineWidth = 1.2 * view.ratio;
    bars(context, view, time, end, this.latestEnd, offset);
    context.lineWidth = view.ratio;
  }

  private segmentsNear(x: number, y: number, view: View, reach: number): Hit[] {
    const { sent } = this.flow;
    const hits: Hit[] = [];
    for (const row of rowsNear(sent.time, x, view, reach)) {
      const at = view.x(sent.time[row]);
      const nearestY = Math.min(Math.max(y, view.y(sent.end[row])), view.y(sent.start[row]));
      const distance = Math.hypot(at - x, nearestY - y);
      // The mark of a retransmitted segment takes precedence, because it is drawn over others.
      const rank = sent.verdict[row] > 0 ? 0.5 : 1;
      if (distance <= reach)
        hits.push({
          x: at,
          y: nearestY,
          distance: distance * rank,
          lines: this.wordsOfSegment(row, view.origin),
          segment: row + 1,
        });
    }
    return hits;
  }

  private dropsNear(x: number, y: number, view: View, reach: number): Hit[] {
    const { time, offset, why } = this.flow.drops;
    const hits: Hit[] = [];
    for (const row of rowsNear(time, x, view, reach)) {
      const [at, height] = [view.x(time[row]), view.y(offset[row])];
      const distance = Math.hypot(at - x, height - y);
      const lines = [
        `${seconds(time[row] - view.origin)}: dropped`,
        `around byte ${number(Math.round(offset[row]))}`,
        ...this.wordsOf(why[row]),
      ];
      if (distance <= reach) hits.push({ x: at, y: height, distance: distance * 0.5, lines });
    }
    return hits;
  }

  private delaysNear(x: number, y: number, view: View, reach: number): Hit[] {
    const { time, end, offset, why } = this.flow.delays;
    const hits: Hit[] = [];
    const [from, to] = [lowerBound(this.latestEnd, view.from), lowerBound(time, view.to)];
    for (let row = from; row < Math.min(to, from + MOST_LOOKED_AT); row++) {
      const at = Math.min(Math.max(x, view.x(time[row])), view.x(end[row]));
      const distance = Math.hypot(at - x, view.y(offset[row]) - y);
      if (distance > reach) continue;
      const held = `held up for ${duration(end[row] - time[row])}, until ${seconds(end[row] - view.origin)}`;
      hits.push({ x: at, y: view.y(offset[row]), distance, lines: [held, ...this.wordsOf(why[row])] });
    }
    return hits;
  }

  /** A text of the flow, in lines that fit a tip. */
  private wordsOf(place: number): string[] {
    return wrapped(this.flow.words[place] ?? "");
  }

  private acksNear(x: number, y: number, view: View, reach: number): Hit[] {
    const { acks } = this.flow;
    const hits: Hit[] = [];
    for (const row of rowsNear(acks.time, x, view, reach)) {
      const [at, height] = [view.x(acks.time[row]), view.y(acks.ack[row])];
      const distance = Math.hypot(at - x, height - y);
      const what = acks.duplicate[row] ? "duplicate ACK" : "ACK";
      const lines = [
        `${seconds(acks.time[row] - view.origin)}: ${what} ${number(acks.ack[row])}`,
        `window to ${number(acks.edge[row])}`,
        ...this.eventsAt(acks.time[row]),
      ];
      if (distance <= reach) hits.push({ x: at, y: height, distance, lines });
    }
    return hits;
  }

  /** Records of the sender at exactly this time: timeouts, fast retransmits, reasons. */
  private eventsAt(time: number): string[] {
    const decisions = this.flow.decisions;
    if (!decisions) return [];
    const [from, to] = rowsWithin(decisions.events.time, time - 5e-10, time + 5e-10);
    const words = new Set<string>();
    for (let row = from; row < to; row++) words.add(decisions.words[decisions.events.word[row]]);
    return [...words];
  }

  private entries(): LegendEntry[] {
    const { sent, acks, sacks, drops, delays, datagrams } = this.flow;
    const count = (verdict: number) => this.segments[verdict].time.length;
    const entries: LegendEntry[] = [
      {
        label: `${datagrams ? "datagram" : "data segment"} (${number(sent.time.length)})`,
        colour: BLACK,
        mark: "stroke",
      },
    ];
    if (acks.time.length) {
      entries.push({ label: "acknowledged", colour: TEAL, mark: "line" });
      entries.push({ label: "advertised window", colour: CYAN, mark: "dashes" });
    }
    if (sacks.time.length) entries.push({ label: "SACK block", colour: PURPLE, mark: "stroke" });
    for (const { verdict, words, colour, shape } of RESENT) {
      if (count(verdict)) entries.push({ label: `${words} (${number(count(verdict))})`, colour, mark: shape });
    }
    if (delays.time.length) {
      entries.push({ label: `held up on the link (${number(delays.time.length)})`, colour: ORANGE, mark: "bar" });
    }
    if (drops.time.length)
      entries.push({ label: `dropped (${number(drops.time.length)})`, colour: RED, mark: "cross" });
    return entries;
  }
}

/** The rows whose marks can lie within `reach` pixels of `x`; of very many, those nearest. */
function* rowsNear(time: Float64Array, x: number, view: View, reach: number): Generator<number> {
  const perPixel = (view.to - view.from) / view.width;
  const at = view.from + (x - view.left) * perPixel;
  const [from, to] = rowsWithin(time, at - reach * perPixel, at + reach * perPixel);
  const middle = lowerBound(time, at);
  for (let row = Math.max(from, middle - MOST_LOOKED_AT); row < Math.min(to, middle + MOST_LOOKED_AT); row++) yield row;
}

const MOST_LOOKED_AT = 2_000;

const LETTERS = 90;

/** The text in lines of at most `LETTERS` characters. */
export function wrapped(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ").filter(Boolean)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < LETTERS) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** A moment of the run, to the tenth of a millisecond. */
export function seconds(time: number): string {
  return `${time.toFixed(4)} s`;
}
