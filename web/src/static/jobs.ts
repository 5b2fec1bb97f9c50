// Jobs of the page, one after the other, which can be watched and cancelled: the browser has few processors.

import { type Fault, Refused } from "../laboratory/refused.ts";
import type { Job } from "../laboratory/server.ts";

/** What a job does with itself while it works. */
export interface Task {
  /** Given when the job is cancelled. */
  signal: AbortSignal;
  job: () => Job;
  change: (what: Partial<Job>) => void;
}

interface Entry {
  job: Job;
  cancelled: AbortController;
  watchers: Set<(job: Job) => void>;
}

const jobs = new Map<number, Entry>();

/** The end of the last job that was ordered. */
let turn: Promise<void> = Promise.resolve();

/** Starts a job, or has it wait for those before it. `work` gives the name of its result. */
export function submit(about: Pick<Job, "kind" | "title" | "command">, work: (task: Task) => Promise<string>): Job {
  const job: Job = {
    ...about,
    id: jobs.size + 1,
    state: "waiting",
    progress: {},
    rows: [],
    result: null,
    error: null,
    run_name: null,
    remarks: [],
  };
  const entry: Entry = { job, cancelled: new AbortController(), watchers: new Set() };
  jobs.set(job.id, entry);
  turn = turn.then(() => begin(entry, work));
  return { ...job };
}

async function begin(entry: Entry, work: (task: Task) => Promise<string>): Promise<void> {
  if (ended(entry.job)) return;
  change(entry, { state: "running" });
  const task: Task = {
    signal: entry.cancelled.signal,
    job: () => entry.job,
    change: (what) => change(entry, what),
  };
  try {
    const result = await work(task);
    if (!ended(entry.job)) change(entry, { state: "done", result });
  } catch (error) {
    if (!ended(entry.job)) change(entry, { state: "failed", error: faultOf(error) });
  }
}

export function faultOf(error: unknown): Fault {
  return error instanceof Refused ? error.fault : { message: String(error), help: null };
}

function ended({ state }: Job): boolean {
  return state !== "waiting" && state !== "running";
}

export function cancel(id: number): Job {
  const entry = jobs.get(id);
  if (!entry) throw new Refused({ message: `there is no job ${id}`, help: "the page was loaded again" });
  if (!ended(entry.job)) {
    change(entry, { state: "cancelled" });
    entry.cancelled.abort();
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
