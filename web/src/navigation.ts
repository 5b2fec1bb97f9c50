// Moving in the diagrams by keys, as in Wireshark's TCP stream graphs, and to the segment of a number.

import type { Flow, Row } from "./model.ts";
import { element, type Panel } from "./panel.ts";
import type { TimeRange } from "./range.ts";
import { lowerBound } from "./search.ts";
import { type Convention, TimeSequence } from "./timeSequence.ts";
import { number } from "./units.ts";

/** Change of the length by one key. */
const ZOOM = 1.25;

/** Parts of the length by which an arrow moves, and an arrow with Shift. */
const [MOVE, FINE] = [10, 100];

/** Length around a segment that was asked for, as a share of the run, and the least in seconds. */
const AROUND = { share: 0.02, least: 0.05 };

/** First words of the titles of diagrams, by the keys of Wireshark's graphs; the first that is there is shown. */
const PANELS: Record<string, string[]> = {
  "1": ["Round trips"],
  "2": ["Throughput"],
  "3": ["Time sequence"],
  "4": ["Time sequence"],
  "5": ["Congestion", "In flight"],
};

/** Conventions of the time sequence by the keys that choose them. */
const CONVENTIONS: Record<string, Convention> = { "3": "Stevens", "4": "tcptrace" };

/** Changes of the view that navigation asks for. */
export interface Steps {
  /** Shows the flow after the present one, or before it. */
  toFlow(step: 1 | -1): void;
  /** Shows the flow in the opposite direction; false if there is none. */
  toOpposite(): boolean;
}

/** The range after a key; null for a key without a meaning for it. */
export function afterKey(key: string, shift: boolean, from: number, to: number): [number, number] | null {
  const [middle, half] = [(from + to) / 2, (to - from) / 2];
  const step = (to - from) / (shift ? FINE : MOVE);
  switch (key) {
    case "+":
    case "=":
    case "i":
    case "x":
      return [middle - half / ZOOM, middle + half / ZOOM];
    case "-":
    case "_":
    case "o":
    case "X":
      return [middle - half * ZOOM, middle + half * ZOOM];
    case "ArrowLeft":
      return [from - step, to - step];
    case "ArrowRight":
      return [from + step, to + step];
    default:
      return null;
  }
}

/** The change of a height by a key: a factor by which it grows, or the share by which it moves up. */
export function heightAfterKey(key: string, shift: boolean): { factor: number } | { share: number } | null {
  const share = 1 / (shift ? FINE : MOVE);
  switch (key) {
    case "y":
      return { factor: 1 / ZOOM };
    case "Y":
      return { factor: ZOOM };
    case "ArrowUp":
      return { share };
    case "ArrowDown":
      return { share: -share };
    default:
      return null;
  }
}

/**
 * The place in `names` of the next flow, after that at `place` and in a circle, which by the summary leads from the
 * receiver of that flow to its sender; null if there is none.
 */
export function nextOpposite(names: string[], summary: Row[], place: number): number | null {
  const ends = names.map((name) => summary.find(({ flow }) => flow === name));
  const isOpposite = (other: number) =>
    ends[other]?.from !== undefined && ends[other].from === ends[place]?.to && ends[other].to === ends[place]?.from;
  const others = names.map((_, step) => (place + step) % names.length);
  return others.find(isOpposite) ?? null;
}

/** Listens for keys on the panels, and has a field for the number of a segment. */
export class Navigation {
  private readonly field = document.createElement("input");
  private readonly answer = element("span", "quiet");
  private readonly panels: Panel[] = [];
  /** The segment that was shown last, from 1. */
  private last = 0;

  constructor(
    private readonly flow: Flow,
    private readonly sequence: TimeSequence,
    private readonly range: TimeRange,
    private readonly steps: Steps,
  ) {}

  /** The field, to stand above the diagram. */
  form(): HTMLElement {
    const form = document.createElement("form");
    form.className = "goto";
    const label = element("label", "", `Go to ${this.flow.datagrams ? "datagram" : "segment"} `);
    Object.assign(this.field, {
      type: "number",
      min: "1",
      max: String(this.count),
      placeholder: `1 … ${number(this.count)}`,
    });
    label.append(this.field);
    this.answer.setAttribute("role", "status");
    form.append(label, element("button", "", "Go"), this.answer);
    form.noValidate = true;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.go(Number(this.field.value));
    });
    return form;
  }

  /** Has a panel take the keys. */
  listen(panel: Panel): void {
    this.panels.push(panel);
    panel.figure.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement) return;
      if (this.pressed(panel, event)) event.preventDefault();
    });
  }

  private get count(): number {
    return this.flow.sent.time.length;
  }

  private pressed(panel: Panel, { key, shiftKey }: KeyboardEvent): boolean {
    if (this.moved(panel, key, shiftKey)) return true;
    const act = this.acts(panel)[key];
    act?.();
    return act !== undefined;
  }

  private moved(panel: Panel, key: string, shift: boolean): boolean {
    const range = afterKey(key, shift, this.range.from, this.range.to);
    if (range) {
      // A height of the user's own is zoomed by the keys that zoom both.
      if (panel.hasOwnHeight && "+=-_io".includes(key)) panel.zoomHeight("+=i".includes(key) ? 1 / ZOOM : ZOOM);
      this.range.set(...range);
      return true;
    }
    const height = heightAfterKey(key, shift);
    if (!height) return false;
    if ("factor" in height) panel.zoomHeight(height.factor);
    else panel.moveHeight(height.share);
    return true;
  }

  private acts(panel: Panel): Record<string, (() => void) | undefined> {
    const all = () => this.range.reset();
    const goTo = () => (panel.segment === null ? this.field.focus() : this.go(panel.segment));
    return {
      "0": all,
      Home: all,
      PageUp: () => this.steps.toFlow(1),
      PageDown: () => this.steps.toFlow(-1),
      d: () => this.toOpposite(),
      g: goTo,
      G: goTo,
      z: () => this.toggleDrag(),
      t: () => this.toggleOrigin(),
      s: () => this.say("sequence numbers are relative: the records do not have the initial ones"),
      " ": () => this.toggleCrosshairs(),
      n: () => this.step(1),
      p: () => this.step(-1),
      r: () => this.step(1, (row) => this.flow.sent.verdict[row] > 0),
      ...Object.fromEntries(Object.keys(PANELS).map((key) => [key, () => this.show(key)])),
    };
  }

  private say(words: string): void {
    this.answer.textContent = words;
  }

  private toOpposite(): void {
    if (!this.steps.toOpposite()) this.say(`no flow of this run is in the direction opposite to ${this.flow.name}`);
  }

  private toggleDrag(): void {
    this.range.drags = !this.range.drags;
    this.range.announce();
    this.say(this.range.drags ? "the mouse drags the diagram" : "the mouse chooses the part to zoom to");
  }

  private toggleOrigin(): void {
    this.range.origin = this.range.origin === 0 ? (this.flow.sent.time[0] ?? 0) : 0;
    this.range.announce();
    const from = this.range.origin === 0 ? "the beginning of the run" : `the first segment of ${this.flow.name}`;
    this.say(`times in the diagrams are from ${from}`);
  }

  private toggleCrosshairs(): void {
    this.range.hasCrosshairs = !this.range.hasCrosshairs;
    this.range.announce();
    this.say(this.range.hasCrosshairs ? "crosshairs at the mouse" : "no crosshairs");
  }

  /** Shows the diagram of a key, the time sequence in the convention of the key. */
  private show(key: string): void {
    const titles = PANELS[key];
    const found = titles.map((title) => this.panels.find((one) => one.painter.title.startsWith(title)));
    const panel = found.find((one) => one !== undefined);
    if (!panel) return this.say(`there is no diagram of ${titles[0].toLowerCase()}: its table was not recorded`);
    if (key in CONVENTIONS && this.sequence.convention !== CONVENTIONS[key]) {
      this.sequence.convention = CONVENTIONS[key];
      panel.describe();
      panel.update();
    }
    panel.figure.scrollIntoView({ block: "nearest" });
    panel.figure.focus({ preventScroll: true });
    this.say("");
  }

  /** Shows the next or the previous segment that is wanted; at first, those in sight. */
  private step(by: 1 | -1, isWanted = (_row: number) => true): void {
    let row = this.last ? this.last - 1 + by : lowerBound(this.flow.sent.time, this.range.from);
    while (row >= 0 && row < this.count && !isWanted(row)) row += by;
    if (row < 0 || row >= this.count) return this.say(by > 0 ? "there is no later one" : "there is no earlier one");
    this.go(row + 1);
  }

  /** Shows the segment of a number, in the order of sending, from 1. */
  private go(wanted: number): void {
    if (!Number.isInteger(wanted) || wanted < 1 || wanted > this.count) {
      this.say(`the flow sent ${number(this.count)}: give a number from 1 to ${number(this.count)}`);
      return;
    }
    const { time } = this.flow.sent;
    const at = time[wanted - 1];
    const room = Math.max((time[this.count - 1] - time[0]) * AROUND.share, AROUND.least) / 2;
    this.range.jump(at - room, at + room);
    this.range.seek(at);
    this.last = wanted;
    this.field.value = String(wanted);
    this.say(this.sequence.wordsOfSegment(wanted - 1, this.range.origin).join("; "));
  }
}
