// The laboratory without a server: the functions of `laboratory/server.ts`, in the browser. Scenarios run in workers;
// texts that were saved and results stay in the browser. The library is a file next to the page.

import { Refused } from "../laboratory/refused.ts";
import type * as real from "../laboratory/server.ts";
import type { Checked, Lesson, Library, Path, Value } from "../laboratory/server.ts";
import { type Run, unpackAll } from "../model.ts";
import { answer } from "./answers.ts";
import { runCommand } from "./commands.ts";
import { differences, type Measures } from "./comparison.ts";
import { edited } from "./core.ts";
import { drawn } from "./drawn.ts";
import { allJobs, cancel, submit } from "./jobs.ts";
import { runAndKeep } from "./runs.ts";
import { reportOf, type Shown } from "./sharing.ts";
import { entries, entry, records, type RunEntry } from "./store.ts";
import { continueSweep, listed, runCase, sweep, sweepOf } from "./sweeps.ts";

export { Refused };
export { watch } from "./jobs.ts";

/** `library.json`, as `scripts/browser/static_page.py` writes it. */
interface Written {
  library: Omit<Library, "saved" | "server">;
  schema: Record<string, unknown>;
  /** `begun`: new scenarios over the presets. */
  texts: Record<"scenarios" | "profiles" | "presets" | "begun", Record<string, string>>;
  lessons: Lesson[];
  /** What `lasthop compare` compares. */
  measures: Measures;
}

let written: Promise<Written> | null = null;

function library(): Promise<Written> {
  written ??= fetch("library.json").then((response) => {
    if (!response.ok) throw new Refused({ message: `library.json: the server answers ${response.status}`, help: null });
    return response.json() as Promise<Written>;
  });
  return written;
}

/** Texts that were saved, by name. */
const SAVED = "lasthop/saved-texts";
const saved = (): Record<string, string> => JSON.parse(localStorage.getItem(SAVED) ?? "{}");

function refuse(what: string): never {
  throw new Refused({ message: `${what} an installation of lasthop`, help: "install it and start `lasthop serve`" });
}

async function textOf(origin: string, name: string): Promise<string> {
  const { scenarios, begun } = (await library()).texts;
  const text = (origin === "folder" ? saved() : origin === "preset" ? begun : scenarios)[name];
  if (text === undefined)
    throw new Refused({ message: `there is no scenario ${name}`, help: "the library's page lists them" });
  return text;
}

async function check(text: string): Promise<Checked> {
  type Answer = { values: Checked["values"]; scenario: Checked["values"]; error: Checked["error"] };
  const { values, scenario, error } = await edited<Answer>("check", text);
  return { values, error, ...drawn(scenario ?? values ?? {}) };
}

async function runEntry(name: string): Promise<RunEntry> {
  const found = await entry(name);
  if (found?.kind === "run") return found;
  throw new Refused({ message: `there is no run ${name}`, help: "the page of results lists them" });
}

export const server: typeof real.server = {
  async library() {
    const texts = Object.keys(saved()).sort();
    const summaries = texts.map((name) => ({ name, summary: "" }));
    const here = { folder: "this browser", live: false, installed: false, cluster: null, largest_capture: 0 };
    return { ...(await library()).library, saved: summaries, server: here };
  },
  schema: async () => (await library()).schema,
  shown: async (kind, name) => ({ text: (await library()).texts[kind][name] ?? "" }),
  // A saved text is its own fingerprint: nothing else writes it.
  async scenario(origin, name) {
    const text = await textOf(origin, name);
    return { text, fingerprint: origin === "folder" ? text : null };
  },
  async save(name, text, replaces) {
    const present = saved()[name];
    if (present !== undefined && present !== replaces && present !== text) {
      const help = "save under another name, or open that text and make the change there";
      throw new Refused({ message: `${name} is there already, with another text`, help });
    }
    localStorage.setItem(SAVED, JSON.stringify({ ...saved(), [name]: text }));
    return { fingerprint: text };
  },
  check,
  async change(text: string, path: Path, value: Value) {
    const { text: now, error } = await edited<{ text: string | null; error: Checked["error"] }>("change", {
      text,
      path,
      value,
    });
    if (error || now === null) throw new Refused(error ?? { message: "the text cannot be changed", help: null });
    return { text: now, ...(await check(now)) };
  },
  run: async (order) =>
    submit({ kind: "run", title: order.out, command: runCommand(order) }, (task) => runAndKeep(task, order)),
  sweep,
  continueSweep,
  changeLinks: async () => refuse("a run in real time needs"),
  upload: async () => refuse("the analysis of a capture needs"),
  analyze: async () => refuse("the analysis of a capture needs"),
  join: async () => refuse("the analysis of a capture needs"),
  jobs: async () => allJobs(),
  cancel: async (job) => cancel(job),
  async results() {
    const results = (await entries()).map((one) => (one.kind === "run" ? listedRun(one) : listed(one)));
    return { results, captures: [] };
  },
  async comparison(names) {
    return differences(await Promise.all(names.map(runEntry)), (await library()).measures);
  },
  sweepOf,
  studies: async () => refuse("a study needs"),
  study: async () => refuse("a study needs"),
  runStudy: async () => refuse("a study needs"),
  studyResult: async () => refuse("a study needs"),
  runCase,
  lessons: async () => (await library()).lessons,
  async lesson(name) {
    const found = (await library()).lessons.find((lesson) => lesson.name === name);
    if (!found) throw new Refused({ message: `there is no lesson ${name}`, help: "the page of lessons lists them" });
    return found;
  },
  async answers(result, measures) {
    const { summary } = await runEntry(result);
    return Object.fromEntries(measures.map((measure) => [measure, answer(summary, measure)]));
  },
  async reportAddress(names) {
    const runs = await Promise.all(names.map(shown));
    const titles = new Set(runs.map(({ index }) => String(index.name)));
    return URL.createObjectURL(await reportOf(runs, [...titles].join(", ")));
  },
  async files(name) {
    const found = await records(name);
    return found?.files.map((file) => ({ name: file.name, contents: new Blob([file.contents]) })) ?? [];
  },
};

/** The runs of these results, as the viewer takes them. */
export async function viewOf(names: string[]): Promise<Run[]> {
  return Promise.all(names.map(oneView));
}

async function oneView(name: string): Promise<Run> {
  const { index, columns } = await shown(name);
  return unpackAll(index, columns) as Run;
}

/** A run as the report shows it. */
async function shown(name: string): Promise<Shown> {
  const [{ summary }, found] = [await runEntry(name), await records(name)];
  if (!found || !(found.view.flows as unknown[] | undefined)?.length) {
    const help = 'name it in the scenario: [record] tables = ["segments", "tcp", "packets", "queue"]';
    throw new Refused({ message: "the run recorded no table 'segments', which the view needs", help });
  }
  const tables = found.files
    .filter((file) => file.name.endsWith(TABLE))
    .map((file) => file.name.slice(0, -TABLE.length));
  const facts = {
    name: summary.scenario,
    folder: name,
    seed: summary.seed,
    clock: summary.clock,
    capture: null,
    summary,
    tables,
  };
  return { index: { ...facts, ...found.view }, columns: found.columns };
}

/** The end of a table's name. */
const TABLE = ".parquet";

function listedRun({ name, summary, recorded }: RunEntry): real.ResultEntry {
  return {
    name,
    kind: "run",
    problem: null,
    scenario: summary.scenario,
    seed: summary.seed,
    clock: summary.clock,
    stopped_s: summary.stopped_s,
    flows: summary.flows.length,
    bytes: sum(summary.flows.map((flow) => flow.bytes)),
    retransmissions: sum(summary.flows.map((flow) => flow.retransmissions)),
    has_view: recorded,
  };
}

/** There are no runs in real time to watch. */
export const watchStates: typeof real.watchStates = () => () => undefined;

function sum(values: unknown[]): number {
  return values.reduce((total: number, value) => total + (Number(value) || 0), 0);
}
