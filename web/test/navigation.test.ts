import assert from "node:assert/strict";
import { test } from "node:test";

import { DIAGRAM } from "../src/keys.ts";
import { afterKey, heightAfterKey, nextOpposite } from "../src/navigation.ts";

test("keys zoom about the middle and move by a tenth, with Shift by a hundredth", () => {
  assert.deepEqual(afterKey("+", false, 0, 10), [1, 9]);
  assert.deepEqual(afterKey("-", false, 1, 9), [0, 10]);
  assert.deepEqual(afterKey("ArrowRight", false, 0, 10), [1, 11]);
  assert.deepEqual(afterKey("ArrowLeft", true, 10, 20), [9.9, 19.9]);
});

test("other keys have no meaning for the range", () => {
  assert.equal(afterKey("q", false, 0, 10), null);
});

test("y and Y zoom the height, and arrows move it", () => {
  assert.deepEqual(heightAfterKey("y", false), { factor: 0.8 });
  assert.deepEqual(heightAfterKey("Y", false), { factor: 1.25 });
  assert.deepEqual(heightAfterKey("ArrowUp", false), { share: 0.1 });
  assert.deepEqual(heightAfterKey("ArrowDown", true), { share: -0.01 });
  assert.equal(heightAfterKey("x", false), null);
});

test("the opposite of a flow is the next one between the same hosts that leads back", () => {
  const ends = [
    { flow: "a", from: "server", to: "phone" },
    { flow: "b", from: "phone", to: "server" },
    { flow: "c", from: "phone", to: "server" },
    { flow: "d", from: "other", to: "server" },
  ];
  const names = ["a", "b", "c", "d"];
  assert.equal(nextOpposite(names, ends, 0), 1);
  assert.equal(nextOpposite(names, ends, 2), 0);
  assert.equal(nextOpposite(names, ends, 3), null);
  assert.equal(nextOpposite(["a", "d"], ends, 0), null);
  assert.equal(nextOpposite(["unknown"], ends, 0), null);
});

test("the help has every key of Wireshark's TCP stream graphs", () => {
  const listed = new Set(DIAGRAM.flatMap(([keys]) => keys.split(" ")));
  const wanted = "+ − x X y Y 0 ← → ↑ ↓ PgUp PgDn d g z s t space 1 2 3 4 5".split(" ");
  assert.deepEqual(
    wanted.filter((key) => !listed.has(key)),
    [],
  );
});
