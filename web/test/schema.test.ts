// Fields of the form from a schema, and values as TOML.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Definitions, dotted, keysOf, toml } from "../src/laboratory/schema.ts";

const definitions = new Definitions({
  $defs: {
    Rate: { type: "string", pattern: "bit/s$", description: "a rate" },
    queue: { anyOf: [{ const: "codel" }, { type: "object" }] },
  },
});

test("references and alternatives to null give the field of what they stand for", () => {
  assert.deepEqual(definitions.field({ anyOf: [{ $ref: "#/$defs/Rate" }, { type: "null" }] }), {
    kind: "text",
    pattern: "bit/s$",
  });
  assert.equal(definitions.field({ $ref: "#/$defs/queue" }).kind, "toml");
  assert.deepEqual(definitions.field({ type: ["integer", "null"], minimum: 0 }), {
    kind: "number",
    minimum: 0,
    maximum: undefined,
  });
  assert.equal(definitions.field({ oneOf: [{ const: "drop", description: "x" }] }).kind, "choice");
  assert.equal(definitions.resolved({ $ref: "#/$defs/Rate", description: "its own" }).description, "its own");
});

test("keys are named as errors and sweeps name them", () => {
  const file = { links: [{ name: "lasthop", down: { rate: "2 Mbit/s" } }] };
  assert.equal(dotted(["links", 0, "down", "rate"], file), "links.lasthop.down.rate");
  assert.ok(keysOf(file).some(({ key, value }) => key === "links.lasthop.down.rate" && value === "2 Mbit/s"));
});

test("a value is written as inline TOML", () => {
  assert.equal(toml({ red: { min: "2 packets", weight: 0.15 } }), '{ red = { min = "2 packets", weight = 0.15 } }');
  assert.equal(toml({ "a.b": [1, true] }), '{ "a.b" = [1, true] }');
});
