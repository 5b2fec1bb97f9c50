// Acknowledged data of one flow over time, for several runs in one diagram.

import { extent, steps } from "./drawing.ts";
import type { Acks, Run } from "./model.ts";
import { type LegendEntry, type Hit, type Painter, type View } from "./panel.ts";
import { lowerBound } from "./search.ts";
import { SERIES, shaded } from "./style.ts";
import { seconds } from "./timeSequence.ts";
import { amount } from "./units.ts";

/** Dashes of the runs, for print and for the colour-blind. */
const DASHES = [[], [6, 3], [2, 2], [6, 2, 2, 2]];

interface Curve {
  name: string;
  acks: Acks;
  colour: string;
  dashes: number[];
}

export class Compared implements Painter {
  readonly title: string;
  readonly unit = "bytes";
  readonly legend: LegendEntry[];
  private readonly curves: Curve[];

  constructor(flow: string, runs: Run[]) {
    this.title = `Acknowledged of ${flow}, run by run`;
    const flowsPlace = runs[0].flows.findIndex((one) => one.name === flow);
    const own = SERIES[Math.max(flowsPlace, 0) % SERIES.length];
    this.curves = runs.map((run, place) => ({
      name: run.folder,
      acks: run.flows.find((one) => one.name === flow)!.acks,
      colour: shaded(own, place),
      dashes: DASHES[place % DASHES.length],
    }));
    this.legend = this.curves.map(({ name, colour, dashes }) => ({
      label: name,
      colour,
      mark: dashes.length ? "dashes" : "line",
    }));
  }

  limits(from: number, to: number): [number, number] {
    const ends = this.curves.map(({ acks }) => extent(acks.time, [acks.ack], from, to, true));
    const high = Math.max(...ends.map(([, most]) => most));
    return [Math.max(Math.min(...ends.map(([least]) => least)), 0), Number.isFinite(high) ? high : 1];
  }

  paint(context: CanvasRenderingContext2D, view: View): void {
    context.lineWidth = 1.4 * view.ratio;
    for (const { acks, colour, dashes } of this.curves) {
      context.strokeStyle = colour;
      context.setLineDash(dashes.map((length) => length * view.ratio));
      steps(context, view, acks.time, acks.ack);
    }
    context.setLineDash([]);
  }

  nearest(x: number, y: number, view: View): Hit | null {
    const at = view.from + ((x - view.left) / view.width) * (view.to - view.from);
    const lines = this.curves.map(({ name, acks }) => {
      const row = lowerBound(acks.time, at) - 1;
      return `${name}: ${row < 0 ? 0 : amount(acks.ack[row], "bytes")}`;
    });
    return { x, y, distance: 0, lines: [seconds(at - view.origin), ...lines] };
  }
}
