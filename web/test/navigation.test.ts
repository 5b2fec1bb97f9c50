import assert from "node:assert/strict";
import { test } from "node:test";

import { afterKey } from "../src/navigation.ts";

test("keys zoom about the middle and move by a tenth, with Shift by a hundredth", () => {
  assert.deepEqual(afterKey("+", false, 0, 10), [1, 9]);
  assert.deepEqual(afterKey("-", false, 1, 9), [0, 10]);
  assert.deepEqual(afterKey("ArrowRight", false, 0, 10), [1, 11]);
  assert.deepEqual(afterKey("ArrowLeft", true, 10, 20), [9.9, 19.9]);
});

test("other keys have no meaning for the range", () => {
  assert.equal(afterKey("q", false, 0, 10), null);
});
