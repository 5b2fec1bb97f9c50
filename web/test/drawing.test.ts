import assert from "node:assert/strict";
import { test } from "node:test";

import { greatestSoFar, rowsWhere, runsOf } from "../src/columns.ts";
import { marks, steps, strokes } from "../src/drawing.ts";
import { Extremes } from "../src/extremes.ts";
import type { View } from "../src/panel.ts";

const WIDTH = 500;

/** A view of [0, 1] in both directions, and what is drawn in it: lines and rectangles. */
function canvas() {
  const drawn: { lines: number[][]; at: number[]; rects: number[][] } = { lines: [], at: [], rects: [] };
  const context = {
    beginPath: () => {},
    stroke: () => {},
    getLineDash: () => [],
    setLineDash: () => {},
    moveTo: (x: number, y: number) => (drawn.at = [x, y]),
    lineTo: (x: number, y: number) => (drawn.lines.push([...drawn.at, x, y]), (drawn.at = [x, y])),
    fillRect: (...rect: number[]) => drawn.rects.push(rect),
  } as unknown as CanvasRenderingContext2D;
  const view: View = {
    ...{ from: 0, to: 1, left: 0, width: WIDTH, top: 0, height: 1000, ratio: 1, origin: 0 },
    x: (time) => time * WIDTH,
    y: (value) => 1000 * (1 - value),
  };
  return { drawn, context, view };
}

test("extremes of any rows are those of a search of every row, unknown values left out", () => {
  const column = Float64Array.from({ length: 5000 }, (_, row) => (row % 7 === 0 ? NaN : Math.sin(row * row)));
  const extremes = new Extremes(column);
  for (const [from, to] of [
    [0, 5000],
    [1, 2],
    [31, 33],
    [32, 64],
    [1000, 4999],
    [7, 8],
    [10, 10],
  ]) {
    const known = [...column.slice(from, to)].filter((value) => !Number.isNaN(value));
    assert.deepEqual(extremes.within(from, to), [Math.min(...known), Math.max(...known)]);
  }
});

test("a million steps, strokes and marks are drawn as a few for each column of pixels, with their extremes", () => {
  const rows = 1_000_000;
  const time = Float64Array.from({ length: rows }, (_, row) => row / rows);
  const value = Float64Array.from(time, (at, row) => (row === 123_456 ? 0.9 : 0.1 + at / 10));
  for (const draw of [
    () => steps(context, view, time, value),
    () => strokes(context, view, time, value, value),
    () => marks(context, view, time, value, "dot"),
  ]) {
    var { drawn, context, view } = canvas();
    draw();
    const heights = [
      ...drawn.lines.flatMap(([, y0, , y1]) => [y0, y1]),
      ...drawn.rects.map(([, y, , height]) => y + height / 2),
    ];
    assert.ok(heights.length > WIDTH && heights.length < 10 * WIDTH, `${heights.length}`);
    assert.ok(Math.abs(Math.min(...heights) - 100) < 2, "the one high value is seen");
  }
});

test("few rows are drawn each where it is", () => {
  const { drawn, context, view } = canvas();
  const time = Float64Array.from([0.2, 0.4]);
  strokes(context, view, time, Float64Array.from([0, 0.5]), Float64Array.from([0.5, 1]));
  assert.deepEqual(drawn.lines, [
    [100, 1000, 100, 500],
    [200, 500, 200, 0],
  ]);
});

test("an unknown value leaves a gap in a line", () => {
  const { drawn, context, view } = canvas();
  steps(context, view, Float64Array.from([0, 0.25, 0.5]), Float64Array.from([0.5, NaN, 1]));
  assert.deepEqual(
    drawn.lines.map(([x0, , x1]) => [x0, x1]),
    [
      [0, 125],
      [250, 500],
    ],
  );
});

test("columns are made of chosen rows, of greatest values so far, and of runs", () => {
  const column = Float64Array.from([3, 1, 1, 4]);
  assert.deepEqual([...rowsWhere({ a: column }, (row) => row > 1).a], [1, 4]);
  assert.deepEqual([...greatestSoFar(column)], [3, 3, 3, 4]);
  assert.deepEqual([...runsOf(column)], [0, 1, 3]);
});
