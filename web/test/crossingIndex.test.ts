// Which packets are under way, and when something happens next.

import assert from "node:assert/strict";
import { test } from "node:test";

import { CrossingIndex } from "../src/crossingIndex.ts";
import type { Crossings } from "../src/model.ts";

/** Packets that enter, are transmitted and arrive at these times; NaN where they do not. */
function crossings(rows: [number, number, number][]): Crossings {
  const column = (place: number) => Float64Array.from(rows.map((row) => row[place]));
  return { time: column(0), transmitted: column(1), delivered: column(2) } as Crossings;
}

const LOST = NaN;
const index = new CrossingIndex(
  crossings([
    [0, 1, 11],
    [0.5, 2, 12],
    [1, LOST, LOST],
    [20, 21, 31],
  ]),
);

test("a packet is under way from its entry to its arrival", () => {
  assert.deepEqual(index.underWay(0), [0]);
  assert.deepEqual(index.underWay(0.5), [0, 1]);
  assert.deepEqual(index.underWay(11.5), [1]);
  assert.deepEqual(index.underWay(15), []);
});

test("a lost packet is shown for a while after its loss", () => {
  assert.deepEqual(index.underWay(1), [0, 1, 2]);
  assert.deepEqual(index.underWay(1 + index.linger / 2), [0, 1, 2]);
  assert.deepEqual(index.underWay(1 + 1.1 * index.linger), [0, 1]);
});

test("a packet that takes long is found behind many that do not", () => {
  const many = new CrossingIndex(
    crossings([
      [0, 1, 1000],
      ...Array.from({ length: 500 }, (_, n): [number, number, number] => [n + 1, n + 1, n + 2]),
    ]),
  );
  assert.deepEqual(many.underWay(600), [0]);
});

test("steps go to the next event, the previous one, and the next loss", () => {
  assert.equal(index.nextEvent(0), 0.5);
  assert.equal(index.previousEvent(2), 1);
  assert.equal(index.previousEvent(0), null);
  assert.equal(index.nextLoss(0), 1);
  assert.equal(index.nextLoss(1), null);
  assert.equal(index.nextEvent(31), null);
});
