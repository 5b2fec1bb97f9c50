// Builds the page from the data that it carries.

import "uplot/dist/uPlot.min.css";
import "./style.css";

import { QueueLength, Rates, RoundTrips, Windows } from "./curves.ts";
import { type Run, unpackAll } from "./model.ts";
import { inflate } from "./packing.ts";
import { element, type Painter, Panel } from "./panel.ts";
import { Compared } from "./compared.ts";
import { TimeRange } from "./range.ts";
import { storiesOf } from "./story.ts";
import { comparison, summaryTables } from "./summary.ts";
import { TimeSequence } from "./timeSequence.ts";

const HEIGHTS = { timeSequence: 460, curve: 200 };

void start();

async function start(): Promise<void> {
  const begun = performance.now();
  const index = JSON.parse(document.getElementById("index")!.textContent!);
  const columns = await inflate(document.getElementById("columns")!.textContent!.trim());
  const runs = unpackAll(index.runs, columns) as Run[];
  new Page(document.getElementById("report")!, runs);
  // For tests and for those who script the page.
  document.body.dataset.ready = String(Math.round(performance.now() - begun));
}

/** One run and one flow of it at a time. */
class Page {
  private readonly view = element("div", "view");
  private panels: Panel[] = [];
  private shown = { run: 0, flow: 0 };
  private range: TimeRange | null = null;

  constructor(
    host: HTMLElement,
    private readonly runs: Run[],
  ) {
    host.append(element("h1", "", runs.map((run) => run.name).filter(unique).join(", ")));
    if (runs.length > 1) host.append(comparison(runs), this.choice("Run", runs.map((run) => run.folder), "run"));
    host.append(this.view);
    this.show();
    window.addEventListener("resize", () => this.resize());
  }

  private show(): void {
    for (const panel of this.panels) panel.destroy();
    const run = this.runs[this.shown.run];
    const flow = run.flows[this.shown.flow];
    const flows = run.flows.length > 1 ? [this.choice("Flow", run.flows.map((one) => one.name), "flow")] : [];
    const hint = "Drag to zoom, double-click for all, wheel to zoom at the cursor, Shift and wheel to move.";
    this.view.replaceChildren(summaryTables(run), ...flows, element("p", "hint", hint));
    if (!flow) return void this.view.append(element("p", "", "No flow of this run sent anything."));
    const range = (this.range = this.rangeOf(run));
    const panel = (painter: Painter, height: number) => new Panel(this.view, painter, range, height);
    this.view.append(storiesOf(run.flows, this.shown.flow, (place, from, to) => this.showMoment(place, from, to)));
    this.panels = [panel(new TimeSequence(flow), HEIGHTS.timeSequence)];
    const same = this.runs.filter((other) => other.flows.some((one) => one.name === flow.name));
    if (same.length > 1) this.panels.push(panel(new Compared(flow.name, same), HEIGHTS.curve));
    if (flow.decisions) this.panels.push(panel(new Windows(flow, run), HEIGHTS.curve));
    if (flow.decisions?.pacing_rate) this.panels.push(panel(new Rates(flow), HEIGHTS.curve));
    if (flow.roundTrips.time.length) this.panels.push(panel(new RoundTrips(flow), HEIGHTS.curve));
    for (const queue of run.queues) this.panels.push(panel(new QueueLength(queue), HEIGHTS.curve));
    range.watch(() => this.panels.forEach((one) => one.update()));
    this.resize();
    range.reset();
    document.body.dataset.segments = String(flow.sent.time.length);
  }

  /** Shows a moment of a flow in the diagrams, which may be those of another flow until then. */
  private showMoment(flow: number, from: number, to: number): void {
    if (flow !== this.shown.flow) {
      this.shown = { ...this.shown, flow };
      this.show();
    }
    this.range!.set(from, to);
    this.view.querySelector("figure")?.scrollIntoView({ block: "nearest" });
  }

  /** All times of a run; `#from=1.5&to=2` in the address shows a part at first. */
  private rangeOf(run: Run): TimeRange {
    const ends = run.flows.flatMap((flow) => [flow.sent.time.at(-1) ?? 0, flow.acks.time.at(-1) ?? 0]);
    const last = Math.max(...ends, 1e-3);
    const range = new TimeRange(-0.01 * last, 1.01 * last);
    const asked = new URLSearchParams(location.hash.slice(1));
    if (asked.has("from") || asked.has("to")) {
      const [from, to] = [Number(asked.get("from") ?? 0), Number(asked.get("to") ?? last)];
      requestAnimationFrame(() => range.set(from, to));
    }
    return range;
  }

  private choice(words: string, names: string[], of: "run" | "flow"): HTMLElement {
    const label = element("label", "choice", `${words} `);
    const select = document.createElement("select");
    select.append(...names.map((name, place) => new Option(name, String(place), false, place === this.shown[of])));
    select.addEventListener("change", () => {
      this.shown = { ...this.shown, ...(of === "run" ? { flow: 0 } : {}), [of]: Number(select.value) };
      this.show();
    });
    label.append(select);
    return label;
  }

  private resize(): void {
    for (const panel of this.panels) panel.resize(this.view.clientWidth);
  }
}

function unique<T>(value: T, place: number, all: T[]): boolean {
  return all.indexOf(value) === place;
}
