// The congestion diagram: windows and data in flight over the state of the sender, with losses and timeouts on the
// window, and the rates of a sender that has them on an axis of their own.

import { runsOf } from "./columns.ts";
import { extent, marks, rowAt, steps } from "./drawing.ts";
import type { Decisions, Flow, Numbers, Run } from "./model.ts";
import type { Hit, LegendEntry, Painter, RightAxis, View } from "./panel.ts";
import { lowerBound } from "./search.ts";
import { BLUE, GREY, ORANGE, PURPLE, RED, SHADES, TEAL } from "./style.ts";
import { seconds } from "./timeSequence.ts";
import { amount, number } from "./units.ts";

/** Events that end the trust in the window: the sender waited for its timer. */
const TIMEOUT = /^timeout/;

/** Fields that only senders with a model of the path have. */
const RATES = "pacing rate, bandwidth estimate (this congestion control has no model of the path)";

type Marks = { time: Numbers; value: Numbers };

export class Congestion implements Painter {
  readonly title: string;
  readonly unit = "bytes";
  readonly legend: LegendEntry[] = [{ label: "cwnd", colour: BLUE, mark: "line" }];
  readonly missing: string[] = [];
  readonly right?: RightAxis;
  private readonly decisions: Decisions;
  /** When each phase begins, and which it is. */
  private readonly phases: { begin: Numbers; phase: Numbers };
  /** Losses and timeouts, at the window that they met. */
  private readonly losses: Marks;
  private readonly timeouts: Marks;

  constructor(
    private readonly flow: Flow,
    private readonly run: Run,
  ) {
    const decisions = (this.decisions = flow.decisions!);
    const starts = runsOf(decisions.phase);
    const of = (column: Numbers) => Float64Array.from(starts, (row) => column[row]);
    this.phases = { begin: of(decisions.time), phase: of(decisions.phase) };
    this.title = `Congestion of ${flow.name}`;
    this.losses = this.onWindow(flow.drops.time);
    const { time, word } = decisions.events;
    this.timeouts = this.onWindow(time.filter((_, row) => TIMEOUT.test(decisions.words[word[row]])));
    if (decisions.pacing_rate && decisions.bandwidth)
      this.right = this.rates(decisions.pacing_rate, decisions.bandwidth);
    else this.missing.push(RATES);
    if (!run.crossings) this.missing.push('losses (they are in the table "packets")');
    if (!this.phases.phase.some((phase) => phase >= 0)) this.missing.push("state of congestion control");
    if (!this.right && decisions.ssthresh.every(Number.isNaN)) this.missing.push("ssthresh");
    this.explain();
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
    this.paintRates(context, view);
    context.lineWidth = view.ratio;
    context.strokeStyle = GREY;
    steps(context, view, this.flow.flight.time, this.flow.flight.bytes);
    context.strokeStyle = ORANGE;
    dashed(context, view, () => steps(context, view, time, ssthresh));
    context.strokeStyle = BLUE;
    context.lineWidth = 1.5 * view.ratio;
    steps(context, view, time, cwnd);
    context.strokeStyle = RED;
    marks(context, view, this.losses.time, this.losses.value, "cross");
    context.fillStyle = RED;
    marks(context, view, this.timeouts.time, this.timeouts.value, "diamond");
  }

  nearest(x: number, y: number, view: View): Hit | null {
    const { time, cwnd, ssthresh, phase, pacing_rate, bandwidth } = this.decisions;
    const row = rowAt(time, x, view);
    if (row < 0) return null;
    const threshold = Number.isNaN(ssthresh[row]) ? "" : `, ssthresh ${amount(ssthresh[row], "bytes")}`;
    const flight = rowAt(this.flow.flight.time, x, view);
    const lost = lowerBound(this.losses.time, time[row]);
    const lines = [
      `${seconds(time[row] - view.origin)}: ${phaseWords(this.run.phases[phase[row]] ?? "")}`,
      `cwnd ${amount(cwnd[row], "bytes")}${threshold}`,
      ...(flight < 0 ? [] : [`in flight ${amount(this.flow.flight.bytes[flight], "bytes")}`]),
      ...(pacing_rate ? [`pacing ${rate(pacing_rate[row])}, bandwidth ${rate(bandwidth![row])}`] : []),
      ...(lost ? [`${number(lost)} losses so far`] : []),
    ];
    return { x, y, distance: 0, lines };
  }

  /** Marks at the window that was valid at these times. */
  private onWindow(time: Numbers): Marks {
    const { time: decided, cwnd } = this.decisions;
    return { time, value: time.map((at) => cwnd[Math.max(lowerBound(decided, at) - 1, 0)] ?? 0) };
  }

  private rates(pacing: Numbers, bandwidth: Numbers): RightAxis {
    const { time } = this.decisions;
    return {
      unit: "bit/s",
      limits: (from, to) => [0, Math.max(extent(time, [pacing, bandwidth], from, to, true)[1], 1)],
    };
  }

  private explain(): void {
    const { ssthresh } = this.decisions;
    const seen = new Set(this.phases.phase);
    const phases = this.run.phases.filter((_, place) => seen.has(place));
    if (ssthresh.some((value) => !Number.isNaN(value)))
      this.legend.push({ label: "ssthresh", colour: ORANGE, mark: "dashes" });
    this.legend.push({ label: "in flight", colour: GREY, mark: "line" });
    if (this.right) {
      this.legend.push({ label: "pacing rate (right)", colour: PURPLE, mark: "line" });
      this.legend.push({ label: "bandwidth estimate (right)", colour: TEAL, mark: "dashes" });
    }
    const [lost, timeouts] = [this.losses.time.length, this.timeouts.time.length];
    if (lost) this.legend.push({ label: `lost (${number(lost)})`, colour: RED, mark: "cross" });
    if (timeouts) this.legend.push({ label: `timeout (${number(timeouts)})`, colour: RED, mark: "diamond" });
    this.legend.push(
      ...phases.map((name): LegendEntry => ({ label: phaseWords(name), colour: SHADES[name], mark: "area" })),
    );
  }

  private paintRates(context: CanvasRenderingContext2D, view: View): void {
    const { time, pacing_rate, bandwidth } = this.decisions;
    if (!pacing_rate || !bandwidth || !view.right) return;
    const onRight = { ...view, y: view.right };
    context.lineWidth = view.ratio;
    context.strokeStyle = PURPLE;
    steps(context, onRight, time, pacing_rate);
    context.strokeStyle = TEAL;
    dashed(context, view, () => steps(context, onRight, time, bandwidth));
  }

  private paintPhases(context: CanvasRenderingContext2D, view: View): void {
    const { begin, phase } = this.phases;
    let drawn = view.left;
    for (let run = Math.max(lowerBound(begin, view.from) - 1, 0); run < begin.length && begin[run] < view.to; run++) {
      const left = Math.max(view.x(begin[run]), view.left);
      const right = Math.min(run + 1 < begin.length ? view.x(begin[run + 1]) : Infinity, view.left + view.width);
      // Of phases within one pixel, one is drawn.
      if (right - drawn < 1 && run + 1 < begin.length) continue;
      context.fillStyle = SHADES[this.run.phases[phase[run]]] ?? "#EFEFEF";
      context.fillRect(Math.min(left, drawn), view.top, right - Math.min(left, drawn), view.height);
      drawn = right;
    }
  }
}

/** A phase in words; BBR's states as its papers write them. */
function phaseWords(name: string): string {
  const probe = /^probe_([a-z]+)_?(.*)$/.exec(name);
  if (probe) return `Probe${probe[1].toUpperCase()} ${probe[2]}`.trim();
  return ({ startup: "Startup", drain: "Drain" } as Record<string, string>)[name] ?? name.replaceAll("_", " ");
}

const rate = (value: number) => (Number.isNaN(value) ? "unknown" : amount(value, "bit/s"));

function dashed(context: CanvasRenderingContext2D, view: View, draw: () => void): void {
  context.setLineDash([4 * view.ratio, 3 * view.ratio]);
  draw();
  context.setLineDash([]);
}
