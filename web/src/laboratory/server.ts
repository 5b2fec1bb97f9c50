// Requests to the server, as functions. Addresses are those of `lasthop.serve.application`.

import { type Run, unpackAll } from "../model.ts";
import { indexAndColumns } from "../packing.ts";
import type { RunState } from "./liveSeries.ts";
import { type Fault, Refused } from "./refused.ts";

export { type Fault, Refused };

export interface Named {
  name: string;
  summary: string;
}

export interface Entry extends Named {
  id: string;
  definition: string;
  source: string;
  /** An example as written in a file, in TOML. */
  written: string;
}

export interface Library {
  scenarios: Named[];
  presets: Named[];
  profiles: Named[];
  saved: Named[];
  registries: { name: string; summary: string; entries: Entry[] }[];
  /**
   * `installed`: whether there is a server, with everything that lasthop can do. `cluster`: the address of the workers
   * that run studies, where they are not this machine's. `largest_capture`: the bytes that it takes.
   */
  server: { folder: string; live: boolean; installed: boolean; cluster: string | null; largest_capture: number };
}

export type Value = string | number | boolean | null | Value[] | { [key: string]: Value };
export type Path = (string | number)[];

export interface Link {
  name: string;
  between: [string, string];
  [key: string]: Value;
}

export interface Checked {
  values: Record<string, Value> | null;
  nodes: { name: string; kind: "host" | "router"; profile: string }[];
  links: Link[];
  flows: { name: string; from: string; to: string }[];
  error: Fault | null;
}

export interface Job {
  id: number;
  kind: "run" | "live" | "sweep" | "analyze" | "join" | "study" | "case";
  title: string;
  command: string;
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  progress: { seconds?: number; done?: number; of?: number };
  rows: CaseRow[];
  result: string | null;
  error: Fault | null;
  run_name: string | null;
  remarks: string[];
}

export interface CaseRow {
  values: string[];
  runs: number;
  measures: Record<string, { mean: number; low: number | null; high: number | null }>;
}

export interface ResultEntry {
  name: string;
  kind: "run" | "sweep" | "study";
  problem: string | null;
  scenario?: string;
  seed?: number;
  clock?: string;
  stopped_s?: number;
  flows?: number;
  bytes?: number;
  retransmissions?: number;
  has_view?: boolean;
  axes?: string[];
  cases?: number;
  /** Of a sweep that has not ended. */
  stopped?: { done: number; of: number; failed: number };
  failures?: string[];
  /** Of a study. */
  rows?: number;
  claims?: number;
  hold?: number;
}

export interface Comparison {
  results: string[];
  differences: {
    of: string;
    measure: string;
    values: ({ value: number } | null)[];
    changes: (number | null)[];
    differs: boolean;
  }[];
}

export interface Lesson extends Named {
  title: string;
  html: string;
  text: string;
  scenario: string;
  knobs: { key: string; label?: string; values: string[] }[];
  questions: Question[];
}

export interface Question {
  ask: string;
  measure: string;
  set?: Record<string, string>;
  unit?: string;
  scale?: number;
  tolerance?: number;
  explain?: string;
}

async function ask<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await request(method, path, body);
  return (await response.json().catch(() => ({}))) as Answer;
}

/** The answer to a request that the server has not refused. */
async function request(method: string, path: string, body?: unknown): Promise<Response> {
  const json = body !== undefined && !(body instanceof Blob);
  const options: RequestInit = { method };
  if (body !== undefined) options.body = json ? JSON.stringify(body) : (body as Blob);
  if (json) options.headers = { "content-type": "application/json" };
  let response: Response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Refused({
      message: "the server does not answer",
      help: "start `lasthop serve` again; what you typed is kept here",
    });
  }
  if (response.ok) return response;
  const answer = await response.json().catch(() => ({}));
  throw new Refused(answer.error ?? { message: `the server answers ${response.status}`, help: null });
}

const part = encodeURIComponent;
const runs = (names: string[]) => names.map((name) => `run=${part(name)}`).join("&");

export const server = {
  library: () => ask<Library>("GET", "/api/library"),
  schema: () => ask<Record<string, unknown>>("GET", "/api/schema"),
  shown: (kind: "profiles" | "presets", name: string) =>
    ask<{ text: string }>("GET", `/api/shown/${kind}/${part(name)}`),
  scenario: (origin: string, name: string) =>
    ask<{ text: string; fingerprint: string | null }>("GET", `/api/scenarios/${part(origin)}/${part(name)}`),
  save: (name: string, text: string, replaces: string | null) =>
    ask<{ fingerprint: string }>("PUT", `/api/scenarios/folder/${part(name)}`, { text, replaces }),
  check: (text: string) => ask<Checked>("POST", "/api/check", { text }),
  change: (text: string, path: Path, value: Value) =>
    ask<Checked & { text: string }>("POST", "/api/change", { text, path, value }),
  run: (order: {
    text: string;
    name: string;
    out: string;
    seed: number | null;
    overrides?: string[];
    clock?: string;
  }) => ask<Job>("POST", "/api/runs", order),
  sweep: (order: {
    text: string;
    name: string;
    out: string;
    axes: { key: string; values: string[] }[];
    replications: number;
    seed: number | null;
  }) => ask<Job>("POST", "/api/sweeps", order),
  continueSweep: (result: string) => ask<Job>("POST", "/api/sweeps/continue", { result }),
  changeLinks: (job: number, set: string[]) => ask<{ command: string }>("POST", `/api/jobs/${job}/links`, { set }),
  upload: (file: File) => ask<Job>("PUT", `/api/captures/${part(file.name)}`, file),
  analyze: (name: string) => ask<Job>("POST", `/api/captures/${part(name)}/analysis`),
  join: (captures: string[]) => ask<Job>("POST", "/api/joined-captures", { captures }),
  jobs: () => ask<Job[]>("GET", "/api/jobs"),
  cancel: (job: number) => ask<Job>("DELETE", `/api/jobs/${job}`),
  results: () => ask<{ results: ResultEntry[]; captures: { name: string; bytes: number }[] }>("GET", "/api/results"),
  comparison: (names: string[]) => ask<Comparison>("GET", `/api/comparison?${runs(names)}`),
  sweepOf: (name: string) => ask<SweepOf>("GET", `/api/sweep?name=${part(name)}`),
  studies: () => ask<Named[]>("GET", "/api/studies"),
  study: (name: string) => ask<Study>("GET", `/api/studies/${part(name)}`),
  runStudy: (order: { study: string; only: string[]; replications: number | null; out: string }) =>
    ask<Job>("POST", "/api/studies", order),
  studyResult: (name: string) => ask<StudyResult>("GET", `/api/study?name=${part(name)}`),
  runCase: (result: string, name: string) => ask<Job>("POST", "/api/cases", { result, case: name }),
  lessons: () => ask<(Named & { title: string; problem?: string })[]>("GET", "/api/lessons"),
  lesson: (name: string) => ask<Lesson>("GET", `/api/lessons/${part(name)}`),
  answers: (result: string, measures: string[]) =>
    ask<Record<string, number>>("POST", "/api/answers", { result, measures }),
  /** The address of the runs as one file. */
  reportAddress: (names: string[]): Promise<string> => Promise.resolve(`/api/report.html?${runs(names)}`),
  /** The files of a result, where they are not in a folder. */
  files: (_name: string): Promise<{ name: string; contents: Blob }[]> => Promise.resolve([]),
};

export interface Study {
  name: string;
  title: string;
  tables: { id: string; title: string; cases: number; on_request: boolean }[];
}

export interface StudyRow {
  table: string | number;
  /** The case to run for this row; null where it is of several studies. */
  case: string | null;
  published: number | null;
  measured: number | null;
  q25: number | null;
  q75: number | null;
  n: number;
  ratio: number | null;
  agrees?: boolean | null;
  [column: string]: unknown;
}

export interface StudyResult {
  study: string;
  title: string;
  rows: StudyRow[];
  claims: { id: string; says: string; place: string; holds: boolean | null; evidence: string }[];
  runs: number;
  failures: Record<string, string>;
}

export interface SweepOf {
  scenario: string;
  axes: { path: string }[];
  cases: SweepCase[];
  /** The file with a row for each flow of each run, where there is a folder. */
  table?: string;
}

export interface SweepCase {
  values: Record<string, string>;
  measures: Record<string, { mean: number; mean_ci95: [number, number] | null }>;
}

/** The runs of these results, as the viewer takes them. */
export async function viewOf(names: string[]): Promise<Run[]> {
  const answer = await request("GET", `/api/view?${runs(names)}`);
  const { index, columns } = indexAndColumns(new Uint8Array(await answer.arrayBuffer()));
  return unpackAll((index as { runs: unknown[] }).runs, columns) as Run[];
}

/** Reports the states of a run in real time: those of the last minute, and then each when it comes. */
export function watchStates(job: number, added: (state: RunState) => void): () => void {
  const socket = new WebSocket(`ws://${location.host}/api/jobs/${job}/states`);
  socket.onmessage = (message) => {
    const state = JSON.parse(message.data);
    if ("links" in state) added(state);
  };
  return () => socket.close();
}

/** Reports each change of a job until it has ended; a lost connection is reported as a failure. */
export function watch(job: Job, changed: (job: Job) => void): () => void {
  const socket = new WebSocket(`ws://${location.host}/api/jobs/${job.id}/progress`);
  let last = job;
  socket.onmessage = (message) => changed((last = { ...last, ...JSON.parse(message.data) }));
  socket.onclose = () => {
    if (!["waiting", "running"].includes(last.state)) return;
    const help =
      "start `lasthop serve` again: a run that had not ended has left nothing, and your scenario is kept here";
    changed({ ...last, state: "failed", error: { message: "the server is gone", help } });
  };
  return () => {
    socket.onclose = null;
    socket.close();
  };
}
