import assert from "node:assert/strict";
import { test } from "node:test";

import { meanOf, studentT } from "../src/static/spread.ts";

test("the quantiles of Student's t are those of tables", () => {
  for (const [freedom, quantile] of [
    [1, 12.706],
    [2, 4.303],
    [9, 2.262],
    [30, 2.042],
  ])
    assert.ok(Math.abs(studentT(freedom) - quantile) < 5e-4, `${freedom}`);
});

test("equal values, and a single one, have no interval", () => {
  assert.deepEqual(meanOf([3]), { mean: 3, mean_ci95: null });
  assert.deepEqual(meanOf([3, 3, 3]), { mean: 3, mean_ci95: null });
});

test("an interval is the mean with t standard errors at each side", () => {
  const { mean, mean_ci95 } = meanOf([1, 2, 3]);
  assert.equal(mean, 2);
  assert.ok(Math.abs(mean_ci95![1] - (2 + 4.303 / Math.sqrt(3))) < 1e-3);
});
