// What differs between runs, as `lasthop compare` says it (`lasthop.experiments.comparison`).

import type { Comparison } from "../laboratory/server.ts";
import type { Row } from "../model.ts";
import type { RunEntry } from "./store.ts";
import { fairness, rivalsOf, throughput } from "./totals.ts";

/** The measures to compare, as `static_page.py` writes them. */
export interface Measures {
  flow: string[];
  link: string[];
  all_flows: string;
}

interface Measure {
  of: string;
  measure: string;
  value: number;
}

/** The measures that at least two runs have, of each run; null for a run without it. */
export function differences(runs: RunEntry[], wanted: Measures): Comparison {
  const found = runs.map((run) => measures(run, wanted));
  const keys = new Map(found.flat().map(({ of, measure }) => [`${of} ${measure}`, { of, measure }]));
  const rows = [...keys.values()].map(({ of, measure }) => {
    const values = found.map((all) => all.find((one) => one.of === of && one.measure === measure) ?? null);
    return row(
      of,
      measure,
      values.map((one) => one && { value: one.value }),
    );
  });
  const results = runs.map(({ name }) => name);
  return { results, differences: rows.filter(({ values }) => values.filter(Boolean).length > 1) };
}

function row(of: string, measure: string, values: ({ value: number } | null)[]): Comparison["differences"][number] {
  const [first, ...others] = values;
  const changes = others.map((other) => (first && other && first.value !== 0 ? other.value / first.value - 1 : null));
  return { of, measure, values, changes, differs: others.some((other) => other?.value !== first?.value) };
}

function measures({ summary, specification }: RunEntry, wanted: Measures): Measure[] {
  const flows = summary.flows.flatMap((flow) => some(String(flow.flow), flow, wanted.flow));
  const totals = { throughput_Bps: throughput(summary), fairness: fairness(summary, rivalsOf(specification)) };
  const all = summary.flows.length > 1 ? some(wanted.all_flows, totals, Object.keys(totals)) : [];
  const links = summary.links.flatMap((link) => some(`${link.link}.${link.direction}`, link, wanted.link));
  return [...flows, ...all, ...links];
}

function some(of: string, entry: Row, wanted: string[]): Measure[] {
  const known = wanted.filter((measure) => entry[measure] !== null && entry[measure] !== undefined);
  return known.map((measure) => ({ of, measure, value: Number(entry[measure]) }));
}
