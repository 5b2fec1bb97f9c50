// The panels below the diagram: windows, round trips, queues.

import { extent, marks, steps } from "./drawing.ts";
import type { Decisions, Flow, Queue, Run } from "./model.ts";
import { type Hit, type LegendEntry, type Painter, type View } from "./panel.ts";
import { lowerBound } from "./search.ts";
import { BLACK, BLUE, CYAN, GREY, MAGENTA, ORANGE, RED, SHADES } from "./style.ts";
import { seconds } from "./timeSequence.ts";
import { amount, duration, number } from "./units.ts";

/** Congestion window, threshold and data in flight, over the phases of the sender. */
export class Windows implements Painter {
  readonly title: string;
  readonly unit = "bytes";
  readonly legend: LegendEntry[];
  private readonly decisions: Decisions;

  constructor(
    private readonly flow: Flow,
    private readonly run: Run,
  ) {
    this.decisions = flow.decisions!;
    this.title = `Windows of ${flow.name}`;
    const { phase, ssthresh } = this.decisions;
    const seen = new Set(phase);
    const phases = run.phases.filter((_, place) => seen.has(place));
    this.legend = [{ label: "cwnd", colour: BLUE, mark: "line" }];
    if (ssthresh.some((value) => !Number.isNaN(value))) this.legend.push({ label: "ssthresh", colour: ORANGE, mark: "dashes" });
    this.legend.push({ label: "in flight", colour: GREY, mark: "line" });
    this.legend.push(...phases.map((name): LegendEntry => ({ label: phaseWords(name), colour: SHADES[name], mark: "area" })));
  }

  limits(from: number, to: number): [number, number] {
    const { time, cwnd } = this.decisions;
    const [, window] = extent(time, [cwnd], from, to, true);
    const [, flight] = extent(this.flow.flight.time, [this.flow.flight.bytes], from, to, true);
    return [0, Math.max(window, flight, 1)];
  }

  paint(context: CanvasRenderingContext2D, view: View): void {
    const { time, cwnd, ssthresh } = this.decisions;
    this.paintPhases(context, view);
    context.lineWidth = view.ratio;
    context.strokeStyle = GREY;
    steps(context, view, this.flow.flight.time, this.flow.flight.bytes);
    context.strokeStyle = ORANGE;
    context.setLineDash([4 * view.ratio, 3 * view.ratio]);
    steps(context, view, time, ssthresh);
    context.setLineDash([]);
    context.strokeStyle = BLUE;
    context.lineWidth = 1.5 * view.ratio;
    steps(context, view, time, cwnd);
  }

  nearest(x: number, y: number, view: View): Hit | null {
    const { time, cwnd, ssthresh, phase } = this.decisions;
    const row = rowAt(time, x, view);
    if (row < 0) return null;
    const threshold = Number.isNaN(ssthresh[row]) ? "" : `, ssthresh ${amount(ssthresh[row], "bytes")}`;
    const flight = rowAt(this.flow.flight.time, x, view);
    const lines = [
      `${seconds(time[row])}: ${phaseWords(this.run.phases[phase[row]] ?? "")}`,
      `cwnd ${amount(cwnd[row], "bytes")}${threshold}`,
      ...(flight < 0 ? [] : [`in flight ${amount(this.flow.flight.bytes[flight], "bytes")}`]),
    ];
    return { x, y, distance: 0, lines };
  }

  private paintPhases(context: CanvasRenderingContext2D, view: View): void {
    const { time, phase } = this.decisions;
    let begin = Math.max(lowerBound(time, view.from) - 1, 0);
    while (begin < time.length && time[begin] < view.to) {
      let end = begin + 1;
      while (end < time.length && phase[end] === phase[begin]) end++;
      const until = end < time.length ? time[end] : view.to;
      context.fillStyle = SHADES[this.run.phases[phase[begin]]] ?? "#EFEFEF";
      const left = view.x(Math.max(time[begin], view.from));
      context.fillRect(left, view.top, view.x(Math.min(until, view.to)) - left, view.height);
      begin = end;
    }
  }
}

/** A phase in words; BBR's states as its papers write them. */
function phaseWords(name: string): string {
  const probe = /^probe_([a-z]+)_?(.*)$/.exec(name);
  if (probe) return `Probe${probe[1].toUpperCase()} ${probe[2]}`.trim();
  return ({ startup: "Startup", drain: "Drain" } as Record<string, string>)[name] ?? name.replaceAll("_", " ");
}

/** The rates of a sender with a model of the path. */
export class Rates implements Painter {
  readonly title: string;
  readonly unit = "bit/s";
  readonly legend: LegendEntry[] = [
    { label: "pacing rate", colour: ORANGE, mark: "line" },
    { label: "bandwidth estimate", colour: MAGENTA, mark: "dashes" },
  ];
  private readonly time: Float64Array;
  private readonly rates: [Float64Array, Float64Array];

  constructor(flow: Flow) {
    this.title = `Rates of ${flow.name}`;
    this.time = flow.decisions!.time;
    this.rates = [flow.decisions!.pacing_rate!, flow.decisions!.bandwidth!];
  }

  limits(from: number, to: number): [number, number] {
    return [0, Math.max(extent(this.time, this.rates, from, to, true)[1], 1)];
  }

  paint(context: CanvasRenderingContext2D, view: View): void {
    const [pacing, bandwidth] = this.rates;
    context.lineWidth = view.ratio;
    context.strokeStyle = ORANGE;
    steps(context, view, this.time, pacing);
    context.strokeStyle = MAGENTA;
    context.setLineDash([4 * view.ratio, 3 * view.ratio]);
    steps(context, view, this.time, bandwidth);
    context.setLineDash([]);
  }

  nearest(x: number, y: number, view: View): Hit | null {
    const row = rowAt(this.time, x, view);
    if (row < 0) return null;
    const [pacing, bandwidth] = this.rates.map((rate) => amount(rate[row], "bit/s"));
    return { x, y, distance: 0, lines: [seconds(this.time[row]), `pacing ${pacing}, bandwidth ${bandwidth}`] };
  }
}

/** Round trips, their smoothed value, and the retransmission timer. */
export class RoundTrips implements Painter {
  readonly title: string;
  readonly unit = "seconds";
  readonly legend: LegendEntry[] = [
    { label: "round trip, sent once", colour: GREY, mark: "dot" },
    { label: "smoothed (SRTT)", colour: BLUE, mark: "line" },
    { label: "timer (RTO)", colour: ORANGE, mark: "dashes" },
  ];

  constructor(private readonly flow: Flow) {
    this.title = `Round trips and timer of ${flow.name}`;
  }

  limits(from: number, to: number): [number, number] {
    const { roundTrips, decisions } = this.flow;
    const [, sample] = extent(roundTrips.time, [roundTrips.value], from, to);
    const curves = decisions ? extent(decisions.time, [decisions.srtt, decisions.rto], from, to, true)[1] : -Infinity;
    const high = Math.max(sample, curves);
    return [0, Number.isFinite(high) ? high : 1];
  }

  paint(context: CanvasRenderingContext2D, view: View): void {
    const { roundTrips, decisions } = this.flow;
    context.lineWidth = view.ratio;
    context.strokeStyle = context.fillStyle = GREY;
    marks(context, view, roundTrips.time, (row) => roundTrips.value[row], "dot");
    if (!decisions) return;
    context.strokeStyle = ORANGE;
    context.setLineDash([4 * view.ratio, 3 * view.ratio]);
    steps(context, view, decisions.time, decisions.rto);
    context.setLineDash([]);
    context.strokeStyle = BLUE;
    steps(context, view, decisions.time, decisions.srtt);
  }

  nearest(x: number, y: number, view: View): Hit | null {
    const { roundTrips } = this.flow;
    const row = rowAt(roundTrips.time, x, view);
    if (row < 0) return null;
    return { x, y, distance: 0, lines: [`${seconds(roundTrips.time[row])}`, `round trip ${duration(roundTrips.value[row])}`] };
  }
}

/** Packets that wait in a queue, and those that were dropped. */
export class QueueLength implements Painter {
  readonly title: string;
  readonly unit = "packets";
  readonly legend: LegendEntry[];

  constructor(private readonly queue: Queue) {
    this.title = `Queue of link ${queue.name}`;
    this.legend = [{ label: "waiting", colour: BLUE, mark: "line" }];
    if (queue.limit) this.legend.push({ label: `limit (${number(queue.limit)})`, colour: BLACK, mark: "dashes" });
    const dropped = queue.drops.time.length;
    if (dropped) this.legend.push({ label: `dropped (${number(dropped)})`, colour: RED, mark: "cross" });
  }

  limits(from: number, to: number): [number, number] {
    const [, waiting] = extent(this.queue.time, [this.queue.packets], from, to, true);
    const [, met] = extent(this.queue.drops.time, [this.queue.drops.behind], from, to);
    const most = Math.max(waiting, met, 1);
    const { limit } = this.queue;
    return [0, limit && limit <= ROOM * most ? limit : most];
  }

  paint(context: CanvasRenderingContext2D, view: View): void {
    const { time, packets, drops, limit } = this.queue;
    context.lineWidth = view.ratio;
    if (limit) level(context, view, limit);
    context.strokeStyle = BLUE;
    steps(context, view, time, packets);
    context.strokeStyle = RED;
    context.fillStyle = CYAN;
    marks(context, view, drops.time, (row) => drops.behind[row], "cross");
  }

  nearest(x: number, y: number, view: View): Hit | null {
    const row = rowAt(this.queue.time, x, view);
    if (row < 0) return null;
    return { x, y, distance: 0, lines: [seconds(this.queue.time[row]), `${number(this.queue.packets[row])} packets wait`] };
  }
}

/** Up to this multiple of the longest queue a limit is in sight; the queue would be flat under a higher one. */
const ROOM = 1.6;

/** A dotted line across the panel. */
function level(context: CanvasRenderingContext2D, view: View, value: number): void {
  context.strokeStyle = BLACK;
  context.setLineDash([view.ratio, 2 * view.ratio]);
  context.beginPath();
  context.moveTo(view.left, view.y(value));
  context.lineTo(view.left + view.width, view.y(value));
  context.stroke();
  context.setLineDash([]);
}

/** The last row at or before the time under `x`; −1 if there is none. */
function rowAt(time: Float64Array, x: number, view: View): number {
  const at = view.from + ((x - view.left) / view.width) * (view.to - view.from);
  return lowerBound(time, at) - 1;
}
