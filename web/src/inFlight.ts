// The data in flight of a flow without recorded decisions, with the window that the peer offers.

import { extent, rowAt, steps } from "./drawing.ts";
import type { Flow, Numbers } from "./model.ts";
import type { Hit, LegendEntry, Painter, View } from "./panel.ts";
import { BLUE, ORANGE } from "./style.ts";
import { seconds } from "./timeSequence.ts";
import { amount } from "./units.ts";

/** A window of this multiple of the largest flight is no limit, and the axis ends below it. */
const FAR = 3;

export class InFlight implements Painter {
  readonly title: string;
  readonly unit = "bytes";
  readonly legend: LegendEntry[] = [
    { label: "in flight", colour: BLUE, mark: "line" },
    { label: "window that the peer offers", colour: ORANGE, mark: "line" },
  ];
  private readonly window: Numbers;

  constructor(private readonly flow: Flow) {
    this.title = `In flight of ${flow.name}`;
    this.window = flow.acks.edge.map((edge, row) => edge - flow.acks.ack[row]);
  }

  limits(from: number, to: number): [number, number] {
    const { flight, acks } = this.flow;
    const [, highest] = extent(flight.time, [flight.bytes], from, to, true);
    const [, window] = extent(acks.time, [this.window], from, to, true);
    return [0, Math.max(Math.min(Math.max(window, highest), FAR * highest), 1)];
  }

  paint(context: CanvasRenderingContext2D, view: View): void {
    context.lineWidth = view.ratio;
    context.strokeStyle = ORANGE;
    steps(context, view, this.flow.acks.time, this.window);
    context.strokeStyle = BLUE;
    steps(context, view, this.flow.flight.time, this.flow.flight.bytes);
  }

  nearest(x: number, y: number, view: View): Hit | null {
    const { flight, acks } = this.flow;
    const row = rowAt(flight.time, x, view);
    if (row < 0) return null;
    const ack = rowAt(acks.time, x, view);
    const window = ack < 0 ? [] : [`window of the peer ${amount(this.window[ack], "bytes")}`];
    return {
      x,
      y,
      distance: 0,
      lines: [seconds(flight.time[row] - view.origin), `in flight ${amount(flight.bytes[row], "bytes")}`, ...window],
    };
  }
}
