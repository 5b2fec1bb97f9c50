import assert from "node:assert/strict";
import { test } from "node:test";

import { matching } from "../src/flowTable.ts";

const ROWS = [
  { flow: "10.0.0.1:40000-192.0.2.7:443", from: "192.0.2.7:443" },
  { flow: "10.0.0.2:40001-192.0.2.7:80", from: "10.0.0.2:40001" },
];

test("a search keeps the rows that have every word, in any column and order", () => {
  assert.deepEqual(matching(ROWS, ["flow", "from"], ":80 10.0.0.2"), [ROWS[1]]);
  assert.deepEqual(matching(ROWS, ["flow", "from"], "192.0.2.7"), ROWS);
  assert.deepEqual(matching(ROWS, ["flow", "from"], "198.51"), []);
});

test("an empty search keeps all rows", () => {
  assert.equal(matching(ROWS, ["flow"], "  ").length, 2);
});
