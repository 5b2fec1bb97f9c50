import assert from "node:assert/strict";
import { test } from "node:test";

import { Ladder } from "../src/ladder.ts";
import type { Crossings } from "../src/model.ts";
import type { View } from "../src/panel.ts";

const columns = (...values: number[]) => Float64Array.from(values);

/** A segment that arrives, one that is lost, and an ACK. */
const crossings = {
  left_out: 0,
  kinds: ["data", "ack"],
  links: [
    { name: "hop", direction: "down", from: "server", to: "mobile" },
    { name: "hop", direction: "up", from: "mobile", to: "server" },
  ],
  flows: ["download"],
  time: columns(0, 0.1, 0.5),
  transmitted: columns(0.1, 0.2, 0.5),
  delivered: columns(0.5, NaN, 0.9),
  link: columns(0, 0, 1),
  flow: columns(0, 0, 0),
  kind: columns(0, 0, 1),
  why: columns(0, 1, 0),
  packet: columns(1, 2, 3),
  size: columns(1500, 1500, 40),
  start: columns(0, 1460, 0),
  length: columns(1460, 1460, 0),
  ack: columns(0, 0, 1460),
  again: columns(0, 0, 0),
  words: ["", "queue drop"],
} as Crossings;

const view: View = {
  ...{ from: 0, to: 1, left: 0, width: 1000, top: 0, height: 100, ratio: 1, origin: 0 },
  x: (time) => 1000 * time,
  y: (level) => 100 * (1 - level),
};

test("the sender is above, and the words of a packet have what it carries and whether it arrives", () => {
  const ladder = new Ladder(crossings);
  assert.deepEqual(ladder.levels, ["mobile", "server"]);
  assert.equal(ladder.nearest(900, 0, view, 5)?.lines[1], "ACK 1,460");
  assert.deepEqual(ladder.nearest(250, 50, view, 5)?.lines.slice(1), ["bytes 0 to 1,460", "arrives after 500 ms"]);
  assert.deepEqual(ladder.nearest(150, 20, view, 5)?.lines.slice(2), ["lost after 100 ms", "queue drop"]);
  assert.equal(ladder.nearest(990, 95, view, 5), null);
});
