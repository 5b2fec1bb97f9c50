// The panels below the diagrams of sequence and congestion: round trips, queues.

import { extent, marks, rowAt, steps } from "./drawing.ts";
import type { Flow, Queue } from "./model.ts";
import { type Hit, type LegendEntry, type Painter, type View } from "./panel.ts";
import { BLACK, BLUE, CYAN, GREY, ORANGE, RED } from "./style.ts";
import { seconds } from "./timeSequence.ts";
import { duration, number } from "./units.ts";

/** Round trips, their smoothed value, and the retransmission timer. */
export class RoundTrips implements Painter {
  readonly title: string;
  readonly unit = "seconds";
  readonly legend: LegendEntry[];
  readonly missing: string[] = [];

  constructor(private readonly flow: Flow) {
    if (!flow.decisions && !flow.datagrams) this.missing.push("SRTT and RTO, which only the sender knows");
    this.title = `Round trips${flow.decisions ? " and timer" : ""} of ${flow.name}`;
    const curves: LegendEntry[] = [
      { label: "smoothed (SRTT)", colour: BLUE, mark: "line" },
      { label: "timer (RTO)", colour: ORANGE, mark: "dashes" },
    ];
    this.legend = [{ label: "round trip, sent once", colour: GREY, mark: "dot" }, ...(flow.decisions ? curves : [])];
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
    marks(context, view, roundTrips.time, roundTrips.value, "dot");
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
    return {
      x,
      y,
      distance: 0,
      lines: [seconds(roundTrips.time[row] - view.origin), `round trip ${duration(roundTrips.value[row])}`],
    };
  }
}

/** Packets that wait in a queue, and dropped packets. */
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
    marks(context, view, drops.time, drops.behind, "cross");
  }

  nearest(x: number, y: number, view: View): Hit | null {
    const row = rowAt(this.queue.time, x, view);
    if (row < 0) return null;
    return {
      x,
      y,
      distance: 0,
      lines: [seconds(this.queue.time[row] - view.origin), `${number(this.queue.packets[row])} packets wait`],
    };
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
