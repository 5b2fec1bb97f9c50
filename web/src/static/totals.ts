// Totals over the flows of a run, and the measures of a sweep (`lasthop.experiments.totals`,
// `lasthop.experiments.sweeps.measured`).

import type { Row } from "../model.ts";
import type { Specification, Summary } from "./core.ts";

/** The measurement window after a warm-up. */
const STEADY = "steady";

const PREFIXES: Record<string, number> = { "": 1, k: 1e3, M: 1e6, G: 1e9 };

interface Window {
  from_s: number;
  to_s: number;
  received: number;
  goodput_Bps: number | null;
}

/** The measures of a run over all its flows, without missing ones. */
export function measured(summary: Summary, specification: Specification): Record<string, number> {
  const { flows, links } = summary;
  const found: Record<string, number | null> = {
    throughput_Bps: throughput(summary),
    elapsed_s: extreme(Math.max, flows, "elapsed_s"),
    fairness: fairness(summary, rivalsOf(specification)),
    retransmissions: total(flows, "retransmissions"),
    unnecessary_retransmissions: total(flows, "unnecessary_retransmissions"),
    timeouts: total(flows, "timeouts"),
    drops: total(links, "queue_drops") + total(links, "error_drops"),
  };
  for (const key of ["delay_mean_s", "delay_p95_s", "transfer_mean_s", "frame_loss", "stalled_s"])
    found[key] = extreme(Math.max, flows, key);
  found.mos = extreme(Math.min, flows, "mos");
  found.queue_mean = extreme(Math.max, links, "queue_mean");
  return Object.fromEntries(Object.entries(found).filter((pair): pair is [string, number] => pair[1] !== null));
}

/** The bytes that all flows received in the period of the totals, per second; null if none sent. */
export function throughput(summary: Summary): number | null {
  const { flows } = summary;
  if (flows.every((flow) => numeric(flow.throughput_Bps) === null)) return null;
  if (flows.length === 1 && !steady(flows[0])) return numeric(flows[0].throughput_Bps);
  const received = flows.reduce((sum, flow) => sum + Number((steady(flow) ?? flow).received), 0);
  const window = steady(flows[0]);
  const length = window ? window.to_s - window.from_s : summary.stopped_s;
  return length > 0 ? received / length : null;
}

/** Jain's index of the rivals' throughputs, after the warm-up or else each over its own time (DEC-TR-301, eq. 1). */
export function fairness(summary: Summary, rivals: string[]): number | null {
  const rates = summary.flows
    .filter((flow) => rivals.includes(String(flow.flow)))
    .map((flow) => numeric((steady(flow) ?? { goodput_Bps: flow.throughput_Bps }).goodput_Bps))
    .filter((rate) => rate !== null);
  if (rates.length < 2) return null;
  const largest = Math.max(...rates);
  // Scaled by the largest, so that squares of rates neither underflow nor overflow.
  const shares = rates.map((rate) => (largest > 0 ? rate / largest : 1));
  const [sum, squares] = [shares.reduce((all, one) => all + one, 0), shares.reduce((all, one) => all + one * one, 0)];
  return sum ** 2 / (shares.length * squares);
}

/** The bulk flows of a resolved scenario that share a link or a cell; of several places those of the one with most. */
export function rivalsOf(specification: Specification): string[] {
  const sharing = new Map<string, string[]>();
  for (const flow of specification.flows.filter(({ workload }) => workload === undefined)) {
    for (const place of placesOf(specification, flow.from, flow.to))
      sharing.set(place, [...(sharing.get(place) ?? []), flow.name]);
  }
  let [most, place] = [0, ""];
  for (const [name, flows] of sharing) {
    const slower = flows.length === most && rateOf(specification, name) < rateOf(specification, place);
    if (flows.length > most || slower) [most, place] = [flows.length, name];
  }
  return most > 1 ? sharing.get(place)! : [];
}

/** The rate of a direction of a link in bits per second; 0 of a cell, or where the rate changes. */
function rateOf(specification: Specification, place: string): number {
  const [name, way] = parted(place);
  const link = specification.links.find((one) => one.name === name);
  const rate = String((link?.[way] as Row | undefined)?.rate ?? "");
  const words = /^([\d.]+) (\w*)bit\/s$/.exec(rate);
  return words && words[2] in PREFIXES ? Number(words[1]) * PREFIXES[words[2]] : 0;
}

/** A direction of a link as its link and "down" or "up". */
function parted(place: string): [string, string] {
  const dot = place.lastIndexOf(".");
  return [place.slice(0, Math.max(dot, 0)), place.slice(dot + 1)];
}

/** The directions of links, or the cells, that a flow's data cross: the fewest hops, as the engine routes. */
function placesOf(specification: Specification, from: string, to: string): string[] {
  const users = new Map(
    (specification.cells ?? []).flatMap(({ name, users }) => users.map(({ link }) => [link, name])),
  );
  return route(specification, from, to).map(([link, way]) =>
    way === "down" && users.has(link) ? users.get(link)! : `${link}.${way}`,
  );
}

function route(specification: Specification, from: string, to: string): [string, string][] {
  const routers = new Set(specification.routers ?? []);
  const reached = new Map<string, [string, string][]>([[from, []]]);
  // A map keeps the order of its entries: each node that is found is visited after those before it.
  for (const [node, path] of reached) {
    if (node !== from && !routers.has(node)) continue;
    for (const { name, between } of specification.links) {
      const ways: [string, string, string][] = [
        [...between, "down"],
        [between[1], between[0], "up"],
      ];
      for (const [here, there, way] of ways) {
        if (here === node && !reached.has(there)) reached.set(there, [...path, [name, way]]);
      }
    }
  }
  return reached.get(to) ?? [];
}

function steady(flow: Row): Window | null {
  const windows = (flow.windows ?? []) as ({ window: string } & Window)[];
  return windows.find(({ window }) => window === STEADY) ?? null;
}

function total(rows: Row[], key: string): number {
  return rows.reduce((sum, row) => sum + Number(row[key]), 0);
}

function extreme(of: (...values: number[]) => number, rows: Row[], key: string): number | null {
  const values = rows.map((row) => numeric(row[key])).filter((value) => value !== null);
  return values.length ? of(...values) : null;
}

function numeric(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
