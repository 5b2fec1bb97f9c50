// Runs of the page, each in a worker of its own, which can be watched and cancelled.

import { Refused } from "../laboratory/refused.ts";
import type { Job, server } from "../laboratory/server.ts";
import { type File, type Pending, run } from "./core.ts";
import { entries, keep, type Summary } from "./store.ts";

type Order = Parameters<typeof server.run>[0];
type Answer = { summary: Summary; view?: Record<string, unknown> };

/** The name of the columns among the files of an answer. */
const COLUMNS = "columns";

interface Entry {
  job: Job;
  pending: Pending<Answer> | null;
  watchers: Set<(job: Job) => void>;
}

const jobs = new Map<number, Entry>();

/** Starts a run, or has it wait for those before it: the browser has few processors. */
export function submit(order: Order): Job {
  const job: Job = {
    id: jobs.size + 1,
    kind: "run",
    title: order.out,
    command: command(order),
    state: "waiting",
    progress: {},
    rows: [],
    result: null,
    error: null,
    run_name: null,
    remarks: [],
  };
  const entry: Entry = { job, pending: null, watchers: new Set() };
  jobs.set(job.id, entry);
  turn = turn.then(() => begin(entry, order));
  return { ...job };
}

/** The end of the last run that was ordered. */
let turn: Promise<void> = Promise.resolve();

async function begin(entry: Entry, order: Order): Promise<void> {
  if (ended(entry.job)) return;
  change(entry, { state: "running" });
  const { text, overrides = [], seed } = order;
  entry.pending = run<Answer>({ text, overrides, seed, view: true }, (seconds) =>
    change(entry, { progress: { seconds } }),
  );
  try {
    const { answer, files } = await entry.pending.ended;
    const result = await kept(order.out, answer, files);
    change(entry, { state: "done", result });
  } catch (error) {
    if (ended(entry.job)) return;
    const fault = error instanceof Refused ? error.fault : { message: String(error), help: null };
    change(entry, { state: "failed", error: fault });
  }
}

function ended({ state }: Job): boolean {
  return state !== "waiting" && state !== "running";
}

/** Keeps a result under the first free name. */
async function kept(wanted: string, { summary, view = {} }: Answer, files: File[]): Promise<string> {
  const taken = new Set((await entries()).map(({ name }) => name));
  let name = wanted;
  for (let number = 2; taken.has(name); number++) name = `${wanted}-${number}`;
  const columns = files.find((file) => file.name === COLUMNS)?.contents ?? new Uint8Array();
  const recorded = files.some((file) => file.name === "segments.parquet");
  const others = files.filter((file) => file.name !== COLUMNS);
  await keep({ name, changed: Date.now(), summary, recorded }, { name, view, columns, files: others });
  return name;
}

export function cancel(id: number): Job {
  const entry = jobs.get(id);
  if (!entry) throw new Refused({ message: `there is no job ${id}`, help: "the page was loaded again" });
  if (!ended(entry.job)) {
    change(entry, { state: "cancelled" });
    entry.pending?.cancel();
  }
  return { ...entry.job };
}

/** Every job, the newest first. */
export function allJobs(): Job[] {
  return [...jobs.values()].map(({ job }) => ({ ...job })).reverse();
}

/** Reports each change of a job, and its present state. */
export function watch(job: Job, changed: (job: Job) => void): () => void {
  const entry = jobs.get(job.id)!;
  entry.watchers.add(changed);
  queueMicrotask(() => changed({ ...entry.job }));
  return () => entry.watchers.delete(changed);
}

function change(entry: Entry, what: Partial<Job>): void {
  entry.job = { ...entry.job, ...what };
  for (const watcher of entry.watchers) watcher({ ...entry.job });
}

/** The command that does the same. */
function command({ name, out, seed, overrides = [] }: Order): string {
  const set = overrides.flatMap((override) => ["--set", override]);
  const words = [
    "lasthop",
    "run",
    `${name}.toml`,
    ...set,
    ...(seed === null ? [] : ["--seed", String(seed)]),
    "--out",
    out,
  ];
  return words.map(quoted).join(" ");
}

/** A word for a shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}
