// The data of the page: runs, their flows and queues. Times are seconds, sequence numbers bytes of the stream.

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

/** Decisions of the sender; unknown numbers are NaN. */
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
  /** Texts to which `why` columns refer. */
  words: string[];
  stories: Story[];
}

/** Events of one connection, in words. Times are in seconds. */
export interface Story {
  connection: number;
  /** Sentences on the whole of it. */
  facts: string[];
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

/** Each crossing of a link by a packet, in the order of entry. Unknown times are NaN. */
export interface Crossings {
  left_out: number;
  kinds: string[];
  links: { name: string; direction: string; from: string; to: string }[];
  flows: string[];
  /** Times at which the packet entered the link, was transmitted, and arrived. */
  time: Numbers;
  transmitted: Numbers;
  delivered: Numbers;
  /** Places in `links`, `flows`, `kinds` and `words`. */
  link: Numbers;
  flow: Numbers;
  kind: Numbers;
  why: Numbers;
  packet: Numbers;
  size: Numbers;
  start: Numbers;
  length: Numbers;
  ack: Numbers;
  /** 1 for a retransmission. */
  again: Numbers;
  words: string[];
}

export type Row = Record<string, unknown>;

export interface Run {
  name: string;
  folder: string;
  seed: number;
  clock: string;
  /** Subject of a capture; null for runs. */
  capture: {
    file: string;
    began: string;
    frames: number;
    connections: number;
    /** Number of QUIC connections, and what those lack whose packets could not be opened. */
    quic: number;
    unopened: string[];
    places: Record<string, number>;
  } | null;
  summary: { stopped_s: number; stopped_by?: string; flows: Row[]; links: Row[] };
  verdicts: string[];
  phases: string[];
  flows: Flow[];
  queues: Queue[];
  /** Unpacked at the first call: the player needs them, after the diagrams have been drawn. */
  crossings: (() => Crossings) | null;
}

/** Columns that hold nanoseconds. All others hold what they are named after. */
const NANOSECONDS = new Set(["time", "srtt", "rto", "value", "transmitted", "delivered"]);

/** Columns in which a negative number means unknown. */
const WITH_UNKNOWN = new Set(["ssthresh", "srtt", "rto", "transmitted", "delivered"]);

/** The part of a run that is unpacked when it is asked for. */
const LATER = "crossings";

/** A tree of the page's JSON with every packed column in it unpacked. */
export function unpackAll(tree: unknown, bytes: Uint8Array, name = "", inside = ""): unknown {
  if (Array.isArray(tree)) return tree.map((item) => unpackAll(item, bytes, name, inside));
  if (tree === null || typeof tree !== "object") return tree;
  if (isPacked(tree)) {
    const numbers = unpack(bytes, tree);
    if (NANOSECONDS.has(name) || (name === "end" && inside === "delays")) scale(numbers, 1e-9);
    if (WITH_UNKNOWN.has(name)) forget(numbers);
    return numbers;
  }
  const unpackFields = () =>
    Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, unpackAll(value, bytes, key, name)]));
  return name === LATER ? once(unpackFields) : unpackFields();
}

/** The function, computed once. */
function once<Value>(compute: () => Value): () => Value {
  let known: Value | undefined;
  return () => (known ??= compute());
}

export function isPacked(tree: object): tree is Packed {
  return "at" in tree && "bytes" in tree && "count" in tree && Object.keys(tree).length === 3;
}

function scale(numbers: Numbers, factor: number): void {
  for (let row = 0; row < numbers.length; row++) numbers[row] *= factor;
}

/** Negative stands for unknown. */
function forget(numbers: Numbers): void {
  for (let row = 0; row < numbers.length; row++) if (numbers[row] < 0) numbers[row] = NaN;
}
