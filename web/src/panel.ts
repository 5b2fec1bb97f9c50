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
  /** The time that the axis calls 0. */
  origin: number;
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
  /** The number of the segment in the order of sending, from 1, where the item is one. */
  segment?: number;
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

/** Zoom by one turn of the wheel. */
const TURN = 1.3;
const HIT_REACH = 12;

export class Panel {
  readonly figure = element("figure", "panel");
  private readonly plot: uPlot;
  private readonly caption = element("figcaption");
  private readonly tip: HTMLElement;
  private readonly cursor = element("div", "moment");
  private readonly legend = element("ul", "legend");
  private readonly sight: IntersectionObserver;
  private isInSight = true;
  private isStale = false;
  /** The height that the user has chosen, until the next jump. */
  private own: { low: number; high: number; jumps: number } | null = null;
  private segmentInSight: number | null = null;
  /** The origin of the times that the axis has. */
  private labelled = 0;

  constructor(
    host: HTMLElement,
    readonly painter: Painter,
    private readonly range: TimeRange,
    private readonly height: number,
  ) {
    const { figure } = this;
    figure.tabIndex = 0;
    figure.append(this.caption);
    host.append(figure);
    this.plot = new uPlot(this.options(figure), this.data(), figure);
    this.plot.ctx.canvas.setAttribute("role", "img");
    this.tip = element("div", "tip");
    this.plot.over.append(this.tip, this.cursor);
    figure.append(this.legend);
    this.describe();
    if (painter.missing?.length) figure.append(element("p", "hint", `Not recorded: ${painter.missing.join("; ")}.`));
    this.listen();
    this.sight = new IntersectionObserver((entries) => this.onSight(entries.at(-1)!.isIntersecting));
    this.sight.observe(figure);
  }

  /** The number of the segment under the mouse; null where there is none. */
  get segment(): number | null {
    return this.segmentInSight;
  }

  /** Writes title and legend, which the painter may have changed. */
  describe(): void {
    const { title, legend } = this.painter;
    this.caption.textContent = title;
    this.legend.replaceChildren(...legend.map(legendItem));
    const words = `${title}: ${legend.map(({ label }) => label).join(", ")}`;
    this.plot.ctx.canvas.setAttribute("aria-label", words);
    this.figure.setAttribute("aria-label", `${title}. Press ? for its keys.`);
  }

  /** Zooms the height about its middle: by more than 1 to see more. */
  zoomHeight(factor: number): void {
    const [low, high] = this.limits();
    const [middle, half] = [(low + high) / 2, ((high - low) / 2) * factor];
    this.setHeight(middle - half, middle + half);
  }

  /** Moves up by a share of the height. */
  moveHeight(share: number): void {
    const [low, high] = this.limits();
    const step = (high - low) * share;
    this.setHeight(low + step, high + step);
  }

  /** Whether the user has chosen the height. */
  get hasOwnHeight(): boolean {
    return this.own?.jumps === this.range.jumps;
  }

  private setHeight(low: number, high: number): void {
    this.own = { low, high, jumps: this.range.jumps };
    this.update();
  }

  /** Shows the present range; a panel that is scrolled out of sight, when it comes into sight. */
  update(): void {
    this.isStale = !this.isInSight;
    if (this.isStale) return;
    this.plot.cursor.drag!.x = !this.range.drags;
    this.figure.classList.toggle("drags", this.range.drags);
    this.figure.classList.toggle("crosshairs", this.range.hasCrosshairs);
    this.plot.setData(this.data(), false);
    this.plot.batch(() => {
      this.plot.setScale("x", { min: this.range.from, max: this.range.to });
      const [min, max] = this.limits();
      this.plot.setScale("y", { min, max });
      if (this.painter.right) this.plot.setScale("right", this.rightScale());
    });
    if (this.labelled !== this.range.origin) this.plot.redraw(false, true);
    this.labelled = this.range.origin;
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
    if (this.own && this.hasOwnHeight) return [this.own.low, this.own.high];
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

  private timeAxis(): uPlot.Axis {
    const origin = () => this.range.origin;
    const splits = (_plot: uPlot, _axis: number, from: number, to: number, step: number) => {
      const found: number[] = [];
      for (let at = Math.ceil((from - origin()) / step); at * step + origin() <= to; at++)
        found.push(at * step + origin());
      return found;
    };
    const values = (_: uPlot, places: number[]) => places.map((at) => `${number(rounded(at - origin()))} s`);
    return { size: 28, font: FONT, grid: GRID, ticks: GRID, splits, values };
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
        this.timeAxis(),
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
      origin: this.range.origin,
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
    this.segmentInSight = hit?.segment ?? null;
    if (!hit) return;
    this.tip.replaceChildren(...hit.lines.map((line) => element("div", "", line)));
    const x = (hit.x - view.left) / ratio;
    const toLeft = x > plot.over.clientWidth * 0.6;
    this.tip.style.left = toLeft ? "" : `${x + 12}px`;
    this.tip.style.right = toLeft ? `${plot.over.clientWidth - x + 12}px` : "";
    this.tip.style.top = `${Math.max(0, (hit.y - view.top) / ratio - 8)}px`;
  }

  /** The wheel zooms around the cursor; with Shift it moves. The mouse moves the picture where it is to drag. */
  private listen(): void {
    this.plot.over.addEventListener("mousemove", ({ buttons, movementX, movementY }) => {
      if (!this.range.drags || !(buttons & 1)) return;
      const { clientWidth, clientHeight } = this.plot.over;
      const step = ((this.range.to - this.range.from) * movementX) / clientWidth;
      this.range.set(this.range.from - step, this.range.to - step);
      if (this.hasOwnHeight) this.moveHeight(movementY / clientHeight);
    });
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
          const factor = turn > 0 ? TURN : 1 / TURN;
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

function legendItem({ label, colour, mark }: LegendEntry): HTMLElement {
  const item = element("li");
  const sign = element("span", `sign ${mark}`);
  sign.style.setProperty("--colour", colour);
  item.append(sign, label);
  return item;
}

/** A time without the noise of its last bits. */
function rounded(seconds: number): number {
  return Math.round(seconds * 1e9) / 1e9;
}
