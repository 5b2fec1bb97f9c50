// Moving in time by keys, as in Wireshark's tcptrace graph, and to the segment of a number.

import type { Flow } from "./model.ts";
import { element } from "./panel.ts";
import type { TimeRange } from "./range.ts";
import { number } from "./units.ts";

/** Change of the length by one key. */
const ZOOM = 1.25;

/** Parts of the length by which an arrow moves, and an arrow with Shift. */
const [MOVE, FINE] = [10, 100];

/** Length around a segment that was asked for, as a share of the run, and the least in seconds. */
const AROUND = { share: 0.02, least: 0.05 };

export const KEYS =
  "Keys, as in Wireshark: + and − zoom, arrows move (with Shift less), 0 shows all, G goes to a segment; " +
  "1, 2, 4, 5 show round trips, throughput, time sequence and congestion; Page Up and Page Down another flow. " +
  "The height follows what is in sight.";

/** Panels by the keys of Wireshark's graphs, with the first words of their titles. */
const PANELS: Record<string, string> = {
  "1": "Round trips",
  "2": "Throughput",
  "4": "Time sequence",
  "5": "Congestion",
};

/** Steps to another flow. */
const FLOWS: Record<string, 1 | -1> = { PageDown: 1, PageUp: -1 };

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

/** Listens for keys on a figure, and has a field for the number of a segment. */
export class Navigation {
  private readonly field = document.createElement("input");
  private readonly answer = element("span", "quiet");

  constructor(
    private readonly view: HTMLElement,
    private readonly flow: Flow,
    private readonly range: TimeRange,
    private readonly showNextFlow: (step: 1 | -1) => void,
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

  /** Has a figure take the keys. */
  listen(figure: HTMLElement): void {
    figure.tabIndex = 0;
    figure.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement) return;
      if (this.pressed(event)) event.preventDefault();
    });
  }

  private get count(): number {
    return this.flow.sent.time.length;
  }

  private pressed({ key, shiftKey }: KeyboardEvent): boolean {
    const range = afterKey(key, shiftKey, this.range.from, this.range.to);
    if (range) this.range.set(...range);
    else if (key === "0" || key === "Home") this.range.reset();
    else if (key === "g" || key === "G") this.field.focus();
    else if (key in PANELS) this.show(PANELS[key]);
    else if (key in FLOWS) this.showNextFlow(FLOWS[key]);
    else return false;
    return true;
  }

  private show(title: string): void {
    const figures = [...this.view.querySelectorAll<HTMLElement>("figure.panel")];
    const figure = figures.find((one) => one.querySelector("figcaption")?.textContent?.startsWith(title));
    figure?.scrollIntoView({ block: "nearest" });
    this.answer.textContent = figure ? "" : `there is no diagram of ${title.toLowerCase()}: its table was not recorded`;
  }

  /** Shows the segment of a number, in the order of sending, from 1. */
  private go(wanted: number): void {
    if (!Number.isInteger(wanted) || wanted < 1 || wanted > this.count) {
      this.answer.textContent = `the flow sent ${number(this.count)}: give a number from 1 to ${number(this.count)}`;
      return;
    }
    const { time, start, end } = this.flow.sent;
    const at = time[wanted - 1];
    const room = Math.max((time[this.count - 1] - time[0]) * AROUND.share, AROUND.least) / 2;
    this.range.set(at - room, at + room);
    this.range.mark(at);
    const bytes = this.flow.datagrams ? "" : `, bytes ${number(start[wanted - 1])} to ${number(end[wanted - 1])}`;
    this.answer.textContent = `${at.toFixed(6)} s${bytes}`;
  }
}
