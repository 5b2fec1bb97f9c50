import assert from "node:assert/strict";
import { test } from "node:test";

import { spanOf } from "../src/range.ts";

const at = (...times: number[]) => ({ time: Float64Array.of(...times) });

test("the span of a flow reaches from its first packet to its last, with room", () => {
  assert.deepEqual(spanOf({ sent: at(100, 101), acks: at(100.5, 110) }), [99.8, 110.2]);
  assert.deepEqual(spanOf({ sent: at(), acks: at(5, 5) }), [5, 5]);
});

test("a flow without packets has no span", () => {
  assert.deepEqual(spanOf({ sent: at(), acks: at() }), [0, 0]);
});
