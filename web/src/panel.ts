// A panel: one plot over the page's time axis. uPlot has the axes, the cursor and the selection; a painter draws what
// is in it.

import uPlot from "uplot";

import type { TimeRange } from "./range.ts";
import { number, scaleOf, type Unit } from "./units.ts";

/** Area of a painter: pixels of the canvas for values of the axes. */
export interface View {
  from: number;
  to: number;
  left: number;
  width: number;
  top: number;
  height: number;
  /** Canvas pixels for one of the screen's. */
  ratio: number;
  x(time: number): number;
  y(value: number): number;
  /** The place of a value of the right axis, if there is one. */
  right?(value: number): number;
}

/** A second axis at the right. */
export interface RightAxis {
  unit: Unit;
  limits(from: number, to: number): [number, number];
}

/** Item under the cursor. */
export interface Hit {
  x: number;
  y: number;
  distance: number;
  lines: string[];
}

export interface LegendEntry {
  label: string;
  colour: string;
  mark: "line" | "dashes" | "stroke" | "cross" | "triangle" | "diamond" | "square" | "dot" | "bar" | "area";
}

/** Draws the content of a panel. */
export interface Painter {
  title: string;
  unit: Unit;
  legend: LegendEntry[];
  right?: RightAxis;
  /** Names of 0, 1, … on the axis at the left, in place of numbers and their unit. */
  levels?: string[];
  /** Fields that the records do not have. */
  missing?: string[];
  /** Lowest and highest value between two times. */
  limits(from: number, to: number): [number, number];
  paint(context: CanvasRenderingContext2D, view: View): void;
  /** The mark that is nearest to a place on the canvas, within `reach` pixels. */
  nearest?(x: number, y: number, view: View, reach: number): Hit | null;
}

const MARGIN = 0.04;
const HIT_REACH = 12;

export class Panel {
  private readonly plot: uPlot;
  private readonly tip: HTMLElement;
  private readonly cursor = element("div", "moment");
  private readonly sight: IntersectionObserver;
  private isInSight = true;
  private isStale = false;

  constructor(
    host: HTMLElement,
    private readonly painter: Painter,
    private readonly range: TimeRange,
    private readonly height: number,
  ) {
    const figure = element("figure", "panel");
    figure.append(element("figcaption", "", painter.title));
    host.append(figure);
    this.plot = new uPlot(this.options(figure), this.data(), figure);
    const { canvas } = this.plot.ctx;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${painter.title}: ${painter.legend.map(({ label }) => label).join(", ")}`);
    this.tip = element("div", "tip");
    this.plot.over.append(this.tip, this.cursor);
    figure.append(legend(painter.legend));
    if (painter.missing?.length) figure.append(element("p", "hint", `Not recorded: ${painter.missing.join("; ")}.`));
    this.listen();
    this.sight = new IntersectionObserver((entries) => this.onSight(entries.at(-1)!.isIntersecting));
    this.sight.observe(figure);
  }

  /** Shows the present range; a panel that is scrolled out of sight, when it comes into sight. */
  update(): void {
    this.isStale = !this.isInSight;
    if (this.isStale) return;
    this.plot.setData(this.data(), false);
    this.plot.batch(() => {
      this.plot.setScale("x", { min: this.range.from, max: this.range.to });
      const [min, max] = this.limits();
      this.plot.setScale("y", { min, max });
      if (this.painter.right) this.plot.setScale("right", this.rightScale());
    });
    this.showMoment();
  }

  /** Moves the line at the time that the player shows. */
  showMoment(): void {
    const { moment, from, to } = this.range;
    const inSight = moment !== null && moment >= from && moment <= to;
    this.cursor.style.display = inSight ? "block" : "none";
    if (inSight) this.cursor.style.left = `${(100 * (moment - from)) / (to - from)}%`;
  }

  resize(width: number): void {
    this.plot.setSize({ width, height: this.height });
  }

  destroy(): void {
    this.sight.disconnect();
    this.plot.destroy();
  }

  private onSight(isInSight: boolean): void {
    this.isInSight = isInSight;
    if (isInSight && this.isStale) this.update();
  }

  private data(): uPlot.AlignedData {
    return [
      [this.range.from, this.range.to],
      [null, null],
      ...(this.painter.right ? [[null, null]] : []),
    ] as uPlot.AlignedData;
  }

  private limits(): [number, number] {
    const [low, high] = this.painter.limits(this.range.from, this.range.to);
    if (!(high > low)) return [low - 1, low + 1];
    const room = MARGIN * (high - low);
    // An axis that begins at zero keeps its foot there.
    return [low === 0 ? 0 : low - room, high + room];
  }

  private rightScale(): { min: number; max: number } {
    const [min, max] = this.painter.right!.limits(this.range.from, this.range.to);
    return { min, max: max * (1 + MARGIN) };
  }

  /** The unit of the axis for what is shown now. */
  private scale(): { name: string; divisor: number } {
    return scaleOf(this.painter.unit, this.limits()[1]);
  }

  private leftAxis(): uPlot.Axis {
    return {
      size: 64,
      font: FONT,
      grid: GRID,
      ticks: GRID,
      label: () => this.scale().name,
      labelFont: FONT,
      labelSize: 16,
      values: (_, splits) => splits.map((value) => number(value / this.scale().divisor)),
    };
  }

  private namedAxis(levels: string[]): uPlot.Axis {
    const splits = () => levels.map((_, level) => level);
    return { size: 80, font: FONT, grid: { show: false }, ticks: { show: false }, splits, values: () => levels };
  }

  private rightAxis(): uPlot.Axis[] {
    const { right } = this.painter;
    if (!right) return [];
    const scale = () => scaleOf(right.unit, this.rightScale().max);
    const values = (_: uPlot, splits: number[]) => splits.map((value) => number(value / scale().divisor));
    const label = () => scale().name;
    return [
      {
        scale: "right",
        side: 1,
        size: 64,
        font: FONT,
        grid: { show: false },
        ticks: GRID,
        label,
        labelFont: FONT,
        labelSize: 16,
        values,
      },
    ];
  }

  private options(figure: HTMLElement): uPlot.Options {
    const { right } = this.painter;
    return {
      width: figure.clientWidth || 900,
      height: this.height,
      legend: { show: false },
      cursor: {
        sync: { key: "time", setSeries: false },
        drag: { x: true, y: false, setScale: false },
        points: { show: false },
        y: false,
        bind: { dblclick: () => () => (this.range.reset(), null) },
      },
      scales: {
        x: { time: false, auto: false, range: () => [this.range.from, this.range.to] },
        y: { auto: false, range: () => this.limits() },
        ...(right
          ? { right: { auto: false, range: () => [this.rightScale().min, this.rightScale().max] as [number, number] } }
          : {}),
      },
      axes: [
        { size: 28, font: FONT, grid: GRID, ticks: GRID, values: (_, splits) => splits.map((at) => `${number(at)} s`) },
        this.painter.levels ? this.namedAxis(this.painter.levels) : this.leftAxis(),
        ...this.rightAxis(),
      ],
      series: [
        {},
        ...["y", ...(right ? ["right"] : [])].map((scale) => ({
          scale,
          show: true,
          paths: () => null,
          points: { show: false },
        })),
      ],
      hooks: {
        draw: [(plot) => this.paint(plot)],
        setSelect: [(plot) => this.onSelect(plot)],
        setCursor: [(plot) => this.onCursor(plot)],
      },
    };
  }

  private view(plot: uPlot): View {
    const { left, top, width, height } = plot.bbox;
    const from = plot.scales.x.min!;
    const to = plot.scales.x.max!;
    const low = plot.scales.y.min!;
    const high = plot.scales.y.max!;
    const x = (time: number) => left + ((time - from) / (to - from)) * width;
    const y = (value: number) => top + (1 - (value - low) / (high - low)) * height;
    const { min, max } = plot.scales.right ?? {};
    const right = (value: number) => top + (1 - (value - min!) / (max! - min!)) * height;
    return {
      from,
      to,
      left,
      top,
      width,
      height,
      ratio: uPlot.pxRatio,
      x,
      y,
      ...(max === undefined || max === null ? {} : { right }),
    };
  }

  private paint(plot: uPlot): void {
    const view = this.view(plot);
    const { ctx } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(view.left, view.top, view.width, view.height);
    ctx.clip();
    this.painter.paint(ctx, view);
    ctx.restore();
  }

  private onSelect(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 3) return;
    const [from, to] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.range.set(from, to);
  }

  private onCursor(plot: uPlot): void {
    const { left, top } = plot.cursor;
    // A cursor that follows another panel's has no height of its own.
    const here = left !== undefined && top !== undefined && left >= 0 && top >= 0 && plot.over.matches(":hover");
    const view = this.view(plot);
    const ratio = view.ratio;
    const hit = here
      ? this.painter.nearest?.(view.left + left * ratio, view.top + top * ratio, view, HIT_REACH * ratio)
      : null;
    this.tip.style.display = hit ? "block" : "none";
    if (!hit) return;
    this.tip.replaceChildren(...hit.lines.map((line) => element("div", "", line)));
    const x = (hit.x - view.left) / ratio;
    const toLeft = x > plot.over.clientWidth * 0.6;
    this.tip.style.left = toLeft ? "" : `${x + 12}px`;
    this.tip.style.right = toLeft ? `${plot.over.clientWidth - x + 12}px` : "";
    this.tip.style.top = `${Math.max(0, (hit.y - view.top) / ratio - 8)}px`;
  }

  /** The wheel zooms around the cursor; with Shift it moves. */
  private listen(): void {
    this.plot.over.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const at = this.plot.posToVal(event.offsetX, "x");
        const { from, to } = this.range;
        const turn = event.deltaY || event.deltaX;
        if (event.shiftKey) {
          const step = (Math.sign(turn) * (to - from)) / 8;
          this.range.set(from + step, to + step);
        } else {
          const factor = turn > 0 ? 1.3 : 1 / 1.3;
          this.range.set(at - (at - from) * factor, at + (to - at) * factor);
        }
      },
      { passive: false },
    );
  }
}

const FONT = '11px "Helvetica Neue", Arial, sans-serif';
const GRID = { stroke: "#E6E6E6", width: 1 };

export function element(tag: string, className = "", text = ""): HTMLElement {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

function legend(entries: LegendEntry[]): HTMLElement {
  const list = element("ul", "legend");
  for (const { label, colour, mark } of entries) {
    const item = element("li");
    const sign = element("span", `sign ${mark}`);
    sign.style.setProperty("--colour", colour);
    item.append(sign, label);
    list.append(item);
  }
  return list;
}
