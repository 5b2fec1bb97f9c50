// What differs between runs, as `lasthop compare` says it (`lasthop.experiments.comparison`).

import type { Row } from "../model.ts";
import type { Comparison } from "../laboratory/server.ts";
import type { Summary } from "./store.ts";

const FLOW_MEASURES = [
  "throughput_Bps",
  "elapsed_s",
  "segments_sent",
  "retransmissions",
  "unnecessary_retransmissions",
  "timeouts",
  "spurious_timeouts",
  "fast_retransmits",
  "delay_mean_s",
  "delay_p95_s",
  "transfer_mean_s",
  "frame_loss",
];
const LINK_MEASURES = ["queue_drops", "error_drops", "utilisation", "queue_mean", "queue_p95"];

interface Measure {
  of: string;
  measure: string;
  value: number;
}

/** The measures that at least two runs have, of each run; null for a run without it. */
export function differences(names: string[], summaries: Summary[]): Comparison {
  const found = summaries.map(measures);
  const keys = new Map(found.flat().map(({ of, measure }) => [`${of} ${measure}`, { of, measure }]));
  const rows = [...keys.values()].map(({ of, measure }) => {
    const values = found.map((all) => all.find((one) => one.of === of && one.measure === measure) ?? null);
    return row(
      of,
      measure,
      values.map((one) => one && { value: one.value }),
    );
  });
  return { results: names, differences: rows.filter(({ values }) => values.filter(Boolean).length > 1) };
}

function row(of: string, measure: string, values: ({ value: number } | null)[]): Comparison["differences"][number] {
  const [first, ...others] = values;
  const changes = others.map((other) => (first && other && first.value !== 0 ? other.value / first.value - 1 : null));
  return { of, measure, values, changes, differs: others.some((other) => other?.value !== first?.value) };
}

function measures(summary: Summary): Measure[] {
  const flows = summary.flows.flatMap((flow) => some(String(flow.flow), flow, FLOW_MEASURES));
  const links = summary.links.flatMap((link) => some(`${link.link}.${link.direction}`, link, LINK_MEASURES));
  return [...flows, ...links];
}

function some(of: string, entry: Row, wanted: string[]): Measure[] {
  const known = wanted.filter((measure) => entry[measure] !== null && entry[measure] !== undefined);
  return known.map((measure) => ({ of, measure, value: Number(entry[measure]) }));
}
