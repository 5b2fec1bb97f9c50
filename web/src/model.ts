// What the page shows, as values: runs, their flows and queues. Times are seconds, sequence numbers bytes of the stream.

import { type Packed, unpack } from "./packing.ts";

export type Numbers = Float64Array;

/** Data segments as they left the sender; `verdict` is a place in `Run.verdicts`. */
export interface Sent {
  time: Numbers;
  start: Numbers;
  end: Numbers;
  verdict: Numbers;
  /** Places in the flow's `words`; 0 where there is nothing to say. */
  why: Numbers;
}

/** Acknowledgments as they reached the sender. */
export interface Acks {
  time: Numbers;
  ack: Numbers;
  /** Right edge of the advertised window. */
  edge: Numbers;
  duplicate: Numbers;
}

/** What the sender decided; unknown numbers are NaN. */
export interface Decisions {
  time: Numbers;
  cwnd: Numbers;
  ssthresh: Numbers;
  srtt: Numbers;
  rto: Numbers;
  phase: Numbers;
  /** Of a sender with a model of the path, in bits per second. */
  pacing_rate?: Numbers;
  bandwidth?: Numbers;
  /** Times of events that have a name, and which. */
  events: { time: Numbers; word: Numbers };
  words: string[];
}

export interface Flow {
  name: string;
  datagrams: boolean;
  sent: Sent;
  acks: Acks;
  sacks: { time: Numbers; start: Numbers; end: Numbers };
  drops: { time: Numbers; offset: Numbers; why: Numbers };
  delays: { time: Numbers; end: Numbers; offset: Numbers; why: Numbers };
  flight: { time: Numbers; bytes: Numbers };
  roundTrips: { time: Numbers; value: Numbers };
  decisions: Decisions | null;
  /** What `why` columns refer to. */
  words: string[];
  stories: Story[];
}

/** What happened on one connection, in words. Times are seconds. */
export interface Story {
  connection: number;
  events: { from: number; to: number; kind: string; text: string }[];
  left_out: number;
  shares: { kind: string; seconds: number; words: string }[];
}

export interface Queue {
  name: string;
  /** The most packets that it holds, where the scenario has such a limit. */
  limit: number | null;
  time: Numbers;
  packets: Numbers;
  drops: { time: Numbers; behind: Numbers };
}

export type Row = Record<string, unknown>;

export interface Run {
  name: string;
  folder: string;
  seed: number;
  clock: string;
  summary: { stopped_s: number; stopped_by?: string; flows: Row[]; links: Row[] };
  verdicts: string[];
  phases: string[];
  flows: Flow[];
  queues: Queue[];
}

/** Columns that hold nanoseconds. All others hold what they are named after. */
const NANOSECONDS = new Set(["time", "srtt", "rto", "value"]);

/** A tree of the page's JSON with every packed column in it unpacked. */
export function unpackAll(tree: unknown, bytes: Uint8Array, name = "", inside = ""): unknown {
  if (Array.isArray(tree)) return tree.map((item) => unpackAll(item, bytes, name, inside));
  if (tree === null || typeof tree !== "object") return tree;
  if (isPacked(tree)) {
    const numbers = unpack(bytes, tree);
    if (NANOSECONDS.has(name) || (name === "end" && inside === "delays")) scale(numbers, 1e-9);
    if (["ssthresh", "srtt", "rto"].includes(name)) forget(numbers);
    return numbers;
  }
  return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, unpackAll(value, bytes, key, name)]));
}

function isPacked(tree: object): tree is Packed {
  return "at" in tree && "bytes" in tree && "count" in tree && Object.keys(tree).length === 3;
}

function scale(numbers: Numbers, factor: number): void {
  for (let row = 0; row < numbers.length; row++) numbers[row] *= factor;
}

/** Negative stands for unknown. */
function forget(numbers: Numbers): void {
  for (let row = 0; row < numbers.length; row++) if (numbers[row] < 0) numbers[row] = NaN;
}
