// Strokes, steps and marks on a canvas. What would fall on one column of pixels is drawn once: a picture of a million points
// costs what a picture of some thousand does, and looks the same.

import type { Numbers } from "./model.ts";
import type { View } from "./panel.ts";
import { rowsWithin } from "./search.ts";

type Context = CanvasRenderingContext2D;

/** More rows than this for each column of pixels are drawn by columns. */
const DENSE = 2;

/** A line that holds each value until the next. Unknown values (NaN) leave a gap. */
export function steps(context: Context, view: View, time: Numbers, value: Numbers): void {
  let [row, end] = rowsWithin(time, view.from, view.to);
  // The value before the first still holds at the left edge.
  row = Math.max(row - 1, 0);
  end = Math.min(end + 1, time.length);
  context.beginPath();
  if (end - row > DENSE * view.width) columnsOfSteps(context, view, time, value, row, end);
  else singleSteps(context, view, time, value, row, end);
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

/** In each column of pixels, an upright line from the least to the greatest value. */
function columnsOfSteps(context: Context, view: View, time: Numbers, value: Numbers, from: number, to: number): void {
  let column = NaN;
  let least = Infinity;
  let most = -Infinity;
  let last = NaN;
  const flush = () => {
    if (!(most >= least)) return;
    context.moveTo(column + 0.5, view.y(least) + 0.5);
    context.lineTo(column + 0.5, view.y(most) - 0.5);
  };
  for (let row = from; row < to; row++) {
    const at = Math.round(view.x(time[row]));
    if (at !== column) {
      flush();
      column = at;
      [least, most] = Number.isNaN(last) ? [Infinity, -Infinity] : [last, last];
    }
    if (Number.isNaN(value[row])) continue;
    last = value[row];
    least = Math.min(least, last);
    most = Math.max(most, last);
  }
  flush();
}

/** Upright strokes from `low` to `high`, one for each row that is `chosen`. */
export function strokes(
  context: Context,
  view: View,
  time: Numbers,
  low: Numbers,
  high: Numbers,
  chosen: (row: number) => boolean = () => true,
): void {
  const [from, to] = rowsWithin(time, view.from, view.to);
  const dense = to - from > DENSE * view.width;
  context.beginPath();
  // In a dense picture neighbouring strokes of one column that touch become one.
  let column = NaN;
  let bottom = 0;
  let top = 0;
  const flush = () => {
    if (Number.isNaN(column)) return;
    // A stroke of less than a pixel would not be seen.
    const middle = (bottom + top) / 2;
    const half = Math.max((bottom - top) / 2, view.ratio * 0.6);
    context.moveTo(column, middle + half);
    context.lineTo(column, middle - half);
  };
  for (let row = from; row < to; row++) {
    if (!chosen(row)) continue;
    const x = dense ? Math.round(view.x(time[row])) : view.x(time[row]);
    const [y0, y1] = [view.y(low[row]), view.y(high[row])];
    if (dense && x === column && y1 <= bottom + 1 && y0 >= top - 1) {
      bottom = Math.max(bottom, y0);
      top = Math.min(top, y1);
      continue;
    }
    flush();
    [column, bottom, top] = [x, y0, y1];
  }
  flush();
  context.stroke();
}

export type Shape = "cross" | "triangle" | "diamond" | "square" | "dot" | "tick";

/** A mark for each chosen row; marks that would cover one another to the pixel are drawn once. */
export function marks(
  context: Context,
  view: View,
  time: Numbers,
  value: (row: number) => number,
  shape: Shape,
  chosen: (row: number) => boolean = () => true,
): void {
  const [from, to] = rowsWithin(time, view.from, view.to);
  const size = (shape === "dot" ? 1.2 : 3.2) * view.ratio;
  const drawn = new Set<number>();
  for (let row = from; row < to; row++) {
    if (!chosen(row)) continue;
    const [x, y] = [Math.round(view.x(time[row])), Math.round(view.y(value(row)))];
    const place = y * 65536 + x;
    if (drawn.has(place)) continue;
    drawn.add(place);
    mark(context, shape, x, y, size);
  }
}

function mark(context: Context, shape: Shape, x: number, y: number, size: number): void {
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
    case "dot":
      context.rect(x - size, y - size, 2 * size, 2 * size);
      break;
  }
  context.closePath();
  context.fill();
  context.stroke();
}

/** The least and the greatest of `columns` in the rows between two times; of steps, the value before the first too. */
export function extent(time: Numbers, columns: Numbers[], from: number, to: number, holds = false): [number, number] {
  let [row, end] = rowsWithin(time, from, to);
  if (holds) row = Math.max(row - 1, 0);
  let [least, most] = [Infinity, -Infinity];
  for (; row < end; row++) {
    for (const column of columns) {
      if (column[row] < least) least = column[row];
      if (column[row] > most) most = column[row];
    }
  }
  return [least, most];
}
