import assert from "node:assert/strict";
import { test } from "node:test";

import { rateOf } from "../src/throughput.ts";

test("a rate rises with each amount and falls when the window has passed", () => {
  const { time, value } = rateOf(Float64Array.of(0, 1, 4), Float64Array.of(100, 50, 10), 2);
  assert.deepEqual([...time], [0, 1, 2, 3, 4, 6]);
  assert.deepEqual([...value], [400, 600, 200, 0, 40, 0]);
});

test("no amounts have no rate", () => {
  assert.equal(rateOf(new Float64Array(), new Float64Array(), 1).time.length, 0);
});
