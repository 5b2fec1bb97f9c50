import assert from "node:assert/strict";
import { test } from "node:test";

import { unpackAll } from "../src/model.ts";
import { indexAndColumns, unpack } from "../src/packing.ts";
import { lowerBound, rowsWithin } from "../src/search.ts";

test("differences in bytes of seven bits become the numbers again", () => {
  // 0, −1, +2: zigzag 0, 1, 6 as differences 0, −1, +3; then 300 more: zigzag 600 = 0b100_1011000.
  const bytes = Uint8Array.from([0, 1, 6, 0b1101_1000, 0b100]);
  assert.deepEqual([...unpack(bytes, { at: 0, bytes: 5, count: 4 })], [0, -1, 2, 302]);
});

test("numbers beyond 32 bits are exact", () => {
  // One hour in nanoseconds: 3.6e12, doubled by zigzag.
  const bytes: number[] = [];
  for (let rest = 2 * 3.6e12; ; rest = Math.floor(rest / 128)) {
    bytes.push((rest % 128) + (rest >= 128 ? 128 : 0));
    if (rest < 128) break;
  }
  assert.equal(unpack(Uint8Array.from(bytes), { at: 0, bytes: bytes.length, count: 1 })[0], 3.6e12);
});

test("columns in the page's JSON are unpacked where they stand, times as seconds, unknown numbers as NaN", () => {
  const column = { at: 0, bytes: 1, count: 1 };
  const tree = unpackAll({ time: column, ssthresh: column, name: "x", rows: [1, 2] }, Uint8Array.from([1])) as Record<
    string,
    never
  >;
  assert.deepEqual([...tree.time], [-1e-9]);
  assert.ok(Number.isNaN(tree.ssthresh[0]));
  assert.deepEqual([tree.name, tree.rows], ["x", [1, 2]]);
});

test("rows within two times are found in a sorted column", () => {
  const sorted = Float64Array.from([0, 1, 1, 2, 5]);
  assert.equal(lowerBound(sorted, 1), 1);
  assert.deepEqual(rowsWithin(sorted, 1, 2), [1, 4]);
  assert.deepEqual(rowsWithin(sorted, 6, 7), [5, 5]);
});

test("differences of any number of bytes are read", () => {
  const differences = [0, 63, 64, -64, -65, 8191, 8192, -8193, 1048575, 1048576, -1048577, 2 ** 31, -(2 ** 40)];
  const bytes: number[] = [];
  for (const difference of differences) {
    let rest = difference < 0 ? -2 * difference - 1 : 2 * difference;
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
    bytes.push(rest);
  }
  let sum = 0;
  const expected = differences.map((difference) => (sum += difference));
  const column = { at: 0, bytes: bytes.length, count: differences.length };
  assert.deepEqual([...unpack(Uint8Array.from(bytes), column)], expected);
});

test("the server's answer is a line of JSON and the packed bytes, which may have line feeds", () => {
  const answer = new Uint8Array([...new TextEncoder().encode('{"runs":["µ"]}\n'), 10, 200]);
  const { index, columns } = indexAndColumns(answer);
  assert.deepEqual([index, [...columns]], [{ runs: ["µ"] }, [10, 200]]);
});
