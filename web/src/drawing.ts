// Strokes, steps and marks on a canvas. Where several rows fall on one column of pixels, the column shows their
// extremes: a picture of a million rows costs what a picture of some thousands does.

import { extremesOf } from "./extremes.ts";
import type { Numbers } from "./model.ts";
import type { View } from "./panel.ts";
import { lowerBound, rowsWithin } from "./search.ts";

type Context = CanvasRenderingContext2D;

/** More rows than this for each column of pixels are drawn by columns. */
const DENSE = 2;

/** Number of marks in a column of pixels besides those of its extremes. */
const MARKS_BETWEEN = 2;

/** Calls `draw` with the middle of each column of pixels that has rows between `from` and `to`, and with these rows. */
function eachColumn(
  view: View,
  time: Numbers,
  from: number,
  to: number,
  draw: (x: number, first: number, end: number) => void,
): void {
  const perPixel = (view.to - view.from) / view.width;
  let first = from;
  for (let column = 0; column < view.width && first < to; column++) {
    const isLast = column + 1 >= view.width;
    const end = isLast ? to : lowerBound(time, view.from + (column + 1) * perPixel, first, to);
    if (end > first) draw(view.left + column + 0.5, first, end);
    first = end;
  }
}

function isDense(view: View, rows: number): boolean {
  return rows > DENSE * view.width;
}

/** A line that holds each value until the next. Unknown values (NaN) leave a gap. */
export function steps(context: Context, view: View, time: Numbers, value: Numbers): void {
  let [row, end] = rowsWithin(time, view.from, view.to);
  // The value before the first still holds at the left edge.
  row = Math.max(row - 1, 0);
  end = Math.min(end + 1, time.length);
  if (isDense(view, end - row)) return columnsOfSteps(context, view, time, value, row, end);
  context.beginPath();
  singleSteps(context, view, time, value, row, end);
  context.stroke();
}

function singleSteps(context: Context, view: View, time: Numbers, value: Numbers, from: number, to: number): void {
  let drawing = false;
  for (let row = from; row < to; row++) {
    const until = row + 1 < time.length ? time[row + 1] : view.to;
    if (Number.isNaN(value[row])) {
      drawing = false;
      continue;
    }
    const y = view.y(value[row]);
    if (drawing) context.lineTo(view.x(time[row]), y);
    else context.moveTo(view.x(time[row]), y);
    context.lineTo(view.x(until), y);
    drawing = true;
  }
}

/**
 * A level line to each column of pixels, and in it an upright line from the least to the greatest value. Dashes are
 * columns that are left out: a canvas takes long to dash a line that goes up and down.
 */
function columnsOfSteps(context: Context, view: View, time: Numbers, value: Numbers, from: number, to: number): void {
  const extremes = extremesOf(value);
  const dashes = context.getLineDash();
  const [on, period] = dashes.length ? [dashes[0], dashes[0] + dashes[1]] : [1, 1];
  context.setLineDash([]);
  context.beginPath();
  let before = view.left;
  eachColumn(view, time, from, to, (x, first, end) => {
    const [least, most] = extremes.within(Math.max(first - 1, 0), end);
    if (x % period < on && most >= least) {
      const level = first > 0 ? value[first - 1] : NaN;
      if (!Number.isNaN(level)) segment(context, before, view.y(level), x, view.y(level));
      // A line of no length would not be seen.
      segment(context, x, view.y(least) + 0.5, x, view.y(most) - 0.5);
    }
    before = x;
  });
  context.stroke();
  context.setLineDash(dashes);
}

function segment(context: Context, x0: number, y0: number, x1: number, y1: number): void {
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
}

/** Upright strokes from `low` to `high`, one for each row; in a dense picture one for each column of pixels. */
export function strokes(context: Context, view: View, time: Numbers, low: Numbers, high: Numbers): void {
  const [from, to] = rowsWithin(time, view.from, view.to);
  const stroke = (x: number, bottom: number, top: number) => {
    // A stroke of less than a pixel would not be seen.
    const middle = (view.y(bottom) + view.y(top)) / 2;
    const half = Math.max((view.y(bottom) - view.y(top)) / 2, view.ratio * 0.6);
    segment(context, x, middle + half, x, middle - half);
  };
  context.beginPath();
  if (isDense(view, to - from)) {
    const [bottoms, tops] = [extremesOf(low), extremesOf(high)];
    eachColumn(view, time, from, to, (x, first, end) =>
      stroke(x, bottoms.within(first, end)[0], tops.within(first, end)[1]),
    );
  } else {
    for (let row = from; row < to; row++) stroke(view.x(time[row]), low[row], high[row]);
  }
  context.stroke();
}

/** Level bars, each from its `time` to its `end`. `latest` has the latest end up to each row. */
export function bars(context: Context, view: View, time: Numbers, end: Numbers, latest: Numbers, value: Numbers): void {
  const from = lowerBound(latest, view.from);
  const to = lowerBound(time, view.to);
  const stride = Math.max(Math.floor((to - from) / (DENSE * view.width)), 1);
  context.beginPath();
  for (let row = from; row < to; row += stride) {
    if (end[row] < view.from) continue;
    segment(context, view.x(time[row]), view.y(value[row]), view.x(end[row]), view.y(value[row]));
  }
  context.stroke();
}

export type Shape = "cross" | "triangle" | "diamond" | "square" | "dot" | "tick";

/** A mark for each row. In a dense picture a column of pixels has those of its extremes and a few between them. */
export function marks(context: Context, view: View, time: Numbers, value: Numbers, shape: Shape): void {
  const [from, to] = rowsWithin(time, view.from, view.to);
  const size = (shape === "dot" ? 1.2 : 3.2) * view.ratio;
  const draw = (x: number, at: number) => mark(context, shape, x, Math.round(view.y(at)), size);
  if (!isDense(view, to - from)) {
    for (let row = from; row < to; row++) draw(Math.round(view.x(time[row])), value[row]);
    return;
  }
  const extremes = extremesOf(value);
  eachColumn(view, time, from, to, (x, first, end) => {
    const [least, most] = extremes.within(first, end);
    if (most >= least) draw(x, least);
    if (most > least) draw(x, most);
    const stride = Math.ceil((end - first) / (MARKS_BETWEEN + 1));
    for (let row = first + stride; row < end; row += stride) draw(x, value[row]);
  });
}

function mark(context: Context, shape: Shape, x: number, y: number, size: number): void {
  if (shape === "dot") return context.fillRect(x - size, y - size, 2 * size, 2 * size);
  context.beginPath();
  switch (shape) {
    case "cross":
      context.moveTo(x - size, y - size);
      context.lineTo(x + size, y + size);
      context.moveTo(x - size, y + size);
      context.lineTo(x + size, y - size);
      return context.stroke();
    case "tick":
      context.moveTo(x, y);
      context.lineTo(x, y - size);
      return context.stroke();
    case "triangle":
      context.moveTo(x, y - size);
      context.lineTo(x + size, y + size);
      context.lineTo(x - size, y + size);
      break;
    case "diamond":
      context.moveTo(x, y - size);
      context.lineTo(x + size, y);
      context.lineTo(x, y + size);
      context.lineTo(x - size, y);
      break;
    case "square":
      context.rect(x - size, y - size, 2 * size, 2 * size);
      break;
  }
  context.closePath();
  context.fill();
  context.stroke();
}

/** The least and the greatest of `columns` in the rows between two times; of steps, the value before the first too. */
export function extent(time: Numbers, columns: Numbers[], from: number, to: number, holds = false): [number, number] {
  const [first, end] = rowsWithin(time, from, to);
  const found = columns.map((column) => extremesOf(column).within(holds ? Math.max(first - 1, 0) : first, end));
  return [Math.min(...found.map(([least]) => least)), Math.max(...found.map(([, most]) => most))];
}

/** The last row at or before the time under `x`; −1 if there is none. */
export function rowAt(time: Numbers, x: number, view: View): number {
  const at = view.from + ((x - view.left) / view.width) * (view.to - view.from);
  return lowerBound(time, at) - 1;
}
