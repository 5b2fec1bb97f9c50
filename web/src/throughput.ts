// Throughput of a flow: what was sent and what was acknowledged, over the time before each moment.

import { extent, rowAt, steps } from "./drawing.ts";
import type { Flow, Numbers } from "./model.ts";
import type { Hit, LegendEntry, Painter, View } from "./panel.ts";
import { BLUE, GREY } from "./style.ts";
import { seconds } from "./timeSequence.ts";
import { amount, duration } from "./units.ts";

/** The length of the window: this share of the run, within these bounds in seconds. */
const WINDOW = { share: 0.02, least: 0.05, most: 1 };

/** A rate that changes at some times, in bits per second. */
interface Rate {
  time: Numbers;
  value: Numbers;
}

export class Throughput implements Painter {
  readonly title: string;
  readonly unit = "bit/s";
  readonly legend: LegendEntry[];
  private readonly sent: Rate;
  private readonly acknowledged: Rate;

  constructor(flow: Flow) {
    const { sent, acks } = flow;
    const length = (sent.time.at(-1) ?? 0) - (sent.time[0] ?? 0);
    const window = Math.min(Math.max(WINDOW.share * length, WINDOW.least), WINDOW.most);
    this.sent = rateOf(
      sent.time,
      sent.end.map((end, row) => end - sent.start[row]),
      window,
    );
    this.acknowledged = rateOf(acks.time, increases(acks.ack), window);
    this.title = `Throughput of ${flow.name}, over the last ${duration(window)}`;
    this.legend = [
      { label: "sent, with retransmissions", colour: GREY, mark: "line" },
      { label: "acknowledged", colour: BLUE, mark: "line" },
    ];
  }

  limits(from: number, to: number): [number, number] {
    const curves = [this.sent, this.acknowledged];
    return [0, Math.max(...curves.map(({ time, value }) => extent(time, [value], from, to, true)[1]), 1)];
  }

  paint(context: CanvasRenderingContext2D, view: View): void {
    context.lineWidth = view.ratio;
    context.strokeStyle = GREY;
    steps(context, view, this.sent.time, this.sent.value);
    context.lineWidth = 1.5 * view.ratio;
    context.strokeStyle = BLUE;
    steps(context, view, this.acknowledged.time, this.acknowledged.value);
  }

  nearest(x: number, y: number, view: View): Hit | null {
    const [sent, acknowledged] = [this.sent, this.acknowledged].map(({ time, value }) => value[rowAt(time, x, view)]);
    if (sent === undefined) return null;
    const at = view.from + ((x - view.left) / view.width) * (view.to - view.from);
    const lines = [
      seconds(at - view.origin),
      `sent ${amount(sent, "bit/s")}`,
      `acknowledged ${amount(acknowledged ?? 0, "bit/s")}`,
    ];
    return { x, y, distance: 0, lines };
  }
}

/** The rate of `bytes` in the last `window` seconds: it rises when they come, and falls when the window has passed. */
export function rateOf(time: Numbers, bytes: Numbers, window: number): Rate {
  const at = new Float64Array(2 * time.length);
  const value = new Float64Array(2 * time.length);
  let inside = 0;
  for (let place = 0, enters = 0, leaves = 0; place < at.length; place++) {
    const isNext = enters < time.length && time[enters] <= time[leaves] + window;
    at[place] = isNext ? time[enters] : time[leaves] + window;
    inside += isNext ? bytes[enters++] : -bytes[leaves++];
    value[place] = (8 * inside) / window;
  }
  return { time: at, value };
}

/** What each cumulative value adds to the greatest before it. The first adds nothing: a capture may begin later. */
function increases(column: Numbers): Numbers {
  let most = column[0] ?? 0;
  return column.map((value) => {
    const added = Math.max(value - most, 0);
    most += added;
    return added;
  });
}
