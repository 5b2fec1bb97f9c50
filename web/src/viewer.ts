// The view of runs: summary, story, player and diagrams of one run and one flow at a time.

import { Congestion } from "./congestion.ts";
import { QueueLength, RoundTrips } from "./curves.ts";
import { InFlight } from "./inFlight.ts";
import type { Crossings, Flow, Run } from "./model.ts";
import { KeysHelp } from "./keys.ts";
import { Navigation, nextOpposite } from "./navigation.ts";
import { element, type Painter, Panel } from "./panel.ts";
import { Player } from "./player.ts";
import { Compared } from "./compared.ts";
import { Ladder } from "./ladder.ts";
import { spanOf, TimeRange } from "./range.ts";
import { storiesOf } from "./story.ts";
import { comparison, summaryTables } from "./summary.ts";
import { Throughput } from "./throughput.ts";
import { TimeSequence } from "./timeSequence.ts";

const HINT =
  "Drag to zoom, double-click for all, wheel to zoom at the cursor, Shift and wheel to move. Each diagram takes the " +
  "keys of Wireshark's TCP stream graphs when it has the focus.";

const HEIGHTS = { timeSequence: 460, curve: 200, ladder: 300 };

/** Times to show at first, in seconds. */
export type Asked = { from?: number; to?: number };

/** One run and one flow of it at a time. */
export class Viewer {
  private readonly view = element("div", "view");
  private panels: Panel[] = [];
  private shown = { run: 0, flow: 0 };
  private range: TimeRange | null = null;
  /** The summary of each run that was shown, with what was typed into its search. */
  private readonly summaries = new Map<number, HTMLElement>();
  private player: Player | null = null;
  private navigation: Navigation | null = null;
  private readonly keys: KeysHelp;
  private readonly onResize = () => this.resize();

  constructor(
    host: HTMLElement,
    private readonly runs: Run[],
    private readonly asked: Asked = {},
  ) {
    host.append(
      element(
        "h1",
        "",
        runs
          .map((run) => run.name)
          .filter(unique)
          .join(", "),
      ),
    );
    if (runs.length > 1)
      host.append(
        comparison(runs),
        this.choice(
          "Run",
          runs.map((run) => run.folder),
          "run",
        ),
      );
    this.keys = new KeysHelp(host);
    host.append(this.view);
    this.show();
    window.addEventListener("resize", this.onResize);
  }

  /** Takes the view out of the page. */
  destroy(): void {
    window.removeEventListener("resize", this.onResize);
    this.keys.destroy();
    this.player?.destroy();
    for (const panel of this.panels) panel.destroy();
  }

  private show(): void {
    for (const panel of this.panels) panel.destroy();
    this.player?.destroy();
    this.player = null;
    const run = this.runs[this.shown.run];
    const flow = run.flows[this.shown.flow];
    const flows =
      run.flows.length > 1
        ? [
            this.choice(
              "Flow",
              run.flows.map((one) => one.name),
              "flow",
            ),
          ]
        : [];
    const hint = element("p", "hint", `${HINT} `);
    hint.append(this.keys.button);
    this.view.replaceChildren(this.summaryOf(this.shown.run), ...flows, hint);
    if (!flow) return void this.view.append(element("p", "", "No flow of this run sent anything."));
    const range = (this.range = this.rangeOf(run));
    const panel = (painter: Painter, height: number) => new Panel(this.view, painter, range, height);
    this.view.append(storiesOf(run.flows, this.shown.flow, (place, from, to) => this.showMoment(place, from, to)));
    if (run.crossings) this.addPlayer(run.crossings, flow, range);
    const sequence = new TimeSequence(flow, run.capture ? "" : undefined, run.crossings !== null);
    const navigation = (this.navigation = new Navigation(flow, sequence, range, {
      toFlow: (step) => this.showNextFlow(step),
      toOpposite: () => this.showOpposite(),
    }));
    this.view.append(navigation.form());
    this.panels = [panel(sequence, HEIGHTS.timeSequence)];
    const same = this.runs.filter((other) => other.flows.some((one) => one.name === flow.name));
    if (same.length > 1) this.panels.push(panel(new Compared(flow.name, same), HEIGHTS.curve));
    if (flow.decisions) this.panels.push(panel(new Congestion(flow, run), HEIGHTS.curve));
    else if (!flow.datagrams) this.view.append(element("p", "hint", lacksWindows(run)));
    if (run.capture && flow.flight.time.length) this.panels.push(panel(new InFlight(flow), HEIGHTS.curve));
    if (flow.roundTrips.time.length) this.panels.push(panel(new RoundTrips(flow), HEIGHTS.curve));
    if (flow.acks.time.length && !flow.datagrams) this.panels.push(panel(new Throughput(flow), HEIGHTS.curve));
    for (const queue of run.queues) this.panels.push(panel(new QueueLength(queue), HEIGHTS.curve));
    for (const one of this.panels) navigation.listen(one);
    for (const words of lacking(run)) this.view.append(element("p", "hint", words));
    range.watch(() => this.panels.forEach((one) => one.update()));
    range.watchMoment(() => this.panels.forEach((one) => one.showMoment()));
    this.resize();
    // Of many connections in a capture one lasts a moment only: all times are a double click away.
    if (run.capture && run.flows.length > 1) range.jump(...spanOf(flow));
    else range.reset();
    document.body.dataset.segments = String(flow.sent.time.length);
  }

  /**
   * Builds the player and the sequence of packets after the other diagrams have been drawn: those are seen first, and
   * the player needs the order of all events.
   */
  private addPlayer(crossings: () => Crossings, flow: Flow, range: TimeRange): void {
    const place = element("div", "player-place");
    this.view.append(place);
    requestAnimationFrame(() =>
      setTimeout(() => {
        if (!place.isConnected) return;
        this.player = new Player(place, crossings(), flow, range);
        this.player.resize(this.view.clientWidth);
        place.classList.remove("player-place");
        const ladder = new Panel(this.view, new Ladder(crossings()), range, HEIGHTS.ladder);
        this.panels.push(ladder);
        this.navigation?.listen(ladder);
        ladder.resize(this.view.clientWidth);
        ladder.update();
      }),
    );
  }

  private summaryOf(run: number): HTMLElement {
    const made = this.summaries.get(run) ?? summaryTables(this.runs[run], (name) => this.showFlow(name));
    this.summaries.set(run, made);
    return made;
  }

  private showFlow(name: string): void {
    this.shown = { ...this.shown, flow: this.runs[this.shown.run].flows.findIndex((flow) => flow.name === name) };
    this.show();
    this.view.querySelector("figure")?.scrollIntoView({ block: "nearest" });
  }

  /** Shows the flow after the present one, or before it, and gives its diagram the focus; they go in a circle. */
  private showNextFlow(step: 1 | -1): void {
    const count = this.runs[this.shown.run].flows.length;
    if (count > 1) this.showAndFocus((this.shown.flow + step + count) % count);
  }

  /** Shows the next flow between the same hosts in the other direction; false if there is none. */
  private showOpposite(): boolean {
    const { flows, summary } = this.runs[this.shown.run];
    const flow = nextOpposite(
      flows.map(({ name }) => name),
      summary.flows,
      this.shown.flow,
    );
    if (flow !== null) this.showAndFocus(flow);
    return flow !== null;
  }

  private showAndFocus(flow: number): void {
    this.shown = { ...this.shown, flow };
    this.show();
    this.view.querySelector<HTMLElement>("figure.panel")?.focus();
  }

  /** Shows a moment of a flow in the diagrams, which may be those of another flow until then. */
  private showMoment(flow: number, from: number, to: number): void {
    if (flow !== this.shown.flow) {
      this.shown = { ...this.shown, flow };
      this.show();
    }
    this.range!.jump(from, to);
    this.view.querySelector("figure")?.scrollIntoView({ block: "nearest" });
  }

  /** All times of a run; a part of them at first if that was asked for. */
  private rangeOf(run: Run): TimeRange {
    const ends = run.flows.flatMap((flow) => [flow.sent.time.at(-1) ?? 0, flow.acks.time.at(-1) ?? 0]);
    const last = Math.max(...ends, 1e-3);
    const range = new TimeRange(-0.01 * last, 1.01 * last);
    const { from, to } = this.asked;
    if (from !== undefined || to !== undefined) requestAnimationFrame(() => range.set(from ?? 0, to ?? last));
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
    this.player?.resize(this.view.clientWidth);
  }
}

/** Parts of the view that a run's records do not have, and what they would need. */
function lacking(run: Run): string[] {
  const found: string[] = [];
  if (!run.crossings && run.capture)
    found.push("No player: a capture of one end does not have the way of packets; captures of both ends have it.");
  if (!run.crossings && !run.capture)
    found.push('No player: the way of packets is in the table "packets", which was not recorded (record.tables).');
  if (!run.queues.length && !run.capture)
    found.push('No queue: its length is in the table "queue", which was not recorded (record.tables).');
  return found;
}

/** Why there is no congestion diagram, and which fields are missing. */
function lacksWindows(run: Run): string {
  const fields = "cwnd, ssthresh, the state of congestion control";
  if (run.capture) return `No congestion diagram: a capture does not have ${fields}.`;
  return `No congestion diagram: ${fields} are in the table "tcp", which this run did not record (record.tables).`;
}

function unique<T>(value: T, place: number, all: T[]): boolean {
  return all.indexOf(value) === place;
}
