import assert from "node:assert/strict";
import { test } from "node:test";

import type { Specification, Summary } from "../src/static/core.ts";
import { fairness, measured, rivalsOf, throughput } from "../src/static/totals.ts";

/** Two downloads and a call over two links; both downloads share the second, slower one. */
const specification = {
  name: "shared",
  seed: 1,
  hosts: {},
  routers: ["router"],
  links: [
    { name: "core", between: ["server", "router"], down: { rate: "1 Gbit/s" }, up: { rate: "1 Gbit/s" } },
    { name: "hop", between: ["router", "mobile"], down: { rate: "2 Mbit/s" }, up: { rate: "2 Mbit/s" } },
  ],
  flows: [
    { name: "one", from: "server", to: "mobile" },
    { name: "two", from: "server", to: "mobile" },
    { name: "call", from: "mobile", to: "server", workload: "voip" },
  ],
  record: { tables: [], captures: [] },
} as Specification;

const flow = (name: string, throughput_Bps: number | null, received: number) => ({
  ...{ flow: name, throughput_Bps, received, elapsed_s: throughput_Bps && 2, retransmissions: 1, timeouts: 0 },
  ...{ unnecessary_retransmissions: 0, mos: name === "call" ? 4.1 : null },
});

const summary = {
  stopped_s: 4,
  flows: [flow("one", 200, 600), flow("two", 100, 200), flow("call", null, 0)],
  links: [{ link: "hop", direction: "down", queue_drops: 2, error_drops: 1, queue_mean: 1.5 }],
} as unknown as Summary;

test("bulk flows over one link are rivals, a call is none", () => {
  assert.deepEqual(rivalsOf(specification), ["one", "two"]);
  assert.deepEqual(rivalsOf({ ...specification, flows: specification.flows.slice(1) }), []);
});

test("totals are over the whole run, and fairness is Jain's index of the rivals", () => {
  assert.equal(throughput(summary), 200);
  assert.equal(fairness(summary, ["one", "two"]), 0.9);
  assert.equal(fairness(summary, ["one"]), null);
});

test("a sweep measures what every run has", () => {
  assert.deepEqual(measured(summary, specification), {
    throughput_Bps: 200,
    elapsed_s: 2,
    fairness: 0.9,
    retransmissions: 3,
    unnecessary_retransmissions: 0,
    timeouts: 0,
    drops: 3,
    mos: 4.1,
    queue_mean: 1.5,
  });
});
