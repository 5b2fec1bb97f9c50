import assert from "node:assert/strict";
import { test } from "node:test";

import { LiveSeries, type RunState } from "../src/laboratory/liveSeries.ts";

function state(elapsed_s: number, bytes_out: number, connections: RunState["connections"] = []): RunState {
  const link = { name: "lasthop.down", bytes_out, packets_out: 0, drops: 2, waiting: 3, waiting_bytes: 0 };
  return { elapsed_s, links: [link], connections, late_p99_ms: 0, late_max_ms: 0, changes: [] };
}

const connection = { flow: "download", port: 1, state: "open", cwnd: 9000, srtt_ms: 40, retransmissions: 0 };

test("rates are those between two states", () => {
  const series = new LiveSeries();
  for (const each of [state(0.5, 0), state(1, 1000), state(1.5, 3000)]) series.add(each);
  assert.deepEqual(series.curves("rate"), [{ name: "lasthop.down", values: [0, 16_000, 32_000] }]);
  assert.deepEqual(series.curves("queue")[0].values, [3, 3, 3]);
});

test("a connection that opens later has a gap before, and one that was not sampled keeps its values", () => {
  const series = new LiveSeries();
  for (const each of [state(1, 0), state(2, 0, [connection]), state(3, 0)]) series.add(each);
  assert.deepEqual(series.curves("round trip"), [{ name: "download :1", values: [null, 0.04, 0.04] }]);
});

test("a minute is kept", () => {
  const series = new LiveSeries();
  for (let at = 0; at < 700; at++) series.add(state(at / 10, 0));
  assert.equal(series.times.length, 600);
  assert.equal(series.times[0], 10);
  assert.equal(series.curves("drops")[0].values.length, 600);
});
