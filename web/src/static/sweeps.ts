// Sweeps in the browser: every combination of the values of some keys under several seeds, as `lasthop run --sweep`
// runs them. What is done is kept after each run, so that a sweep that was stopped continues.

import { type Fault, Refused } from "../laboratory/refused.ts";
import type { CaseRow, Job, ResultEntry, SweepOf } from "../laboratory/server.ts";
import { caseName } from "../laboratory/words.ts";
import { runCommand, sweepCommand } from "./commands.ts";
import { type Case, edited, Runner } from "./core.ts";
import { allJobs, faultOf, submit, type Task } from "./jobs.ts";
import type { SweepOrder } from "./orders.ts";
import { keptRun } from "./runs.ts";
import { meanOf } from "./spread.ts";
import { entries, entry, freeName, keepSweep, type SweepEntry } from "./store.ts";
import { measured } from "./totals.ts";

/** Runs of one sweep: more would take a browser hours. */
const MOST_RUNS = 2000;

/** Most workers of one sweep: each has a core with a memory of its own. */
const MOST_WORKERS = 4;

/** The tables that the view and the story of any run use (`lasthop.experiments.cases`). */
const TABLES = ["segments", "tcp", "packets", "queue", "progress"];

/** Failures that are listed. */
const MOST_FAILURES = 10;

/** The resolved scenarios of a sweep's cases, in the order of the axes with the last one varying fastest. */
interface Grid {
  points: string[][];
  scenario: string;
  firstSeed: number;
}

/** Starts a sweep. */
export async function sweep(order: SweepOrder): Promise<Job> {
  const ordered = allJobs().filter(({ state }) => state === "waiting" || state === "running");
  const out = await freeName(
    order.out,
    ordered.map(({ title }) => title),
  );
  const { length } = pointsOf(order);
  if (length * order.replications > MOST_RUNS) {
    const message = `the grid has ${length * order.replications} runs`;
    throw new Refused({ message, key: "axes", help: `${MOST_RUNS} is the most; use the command for more` });
  }
  return begin({ ...order, out }, null);
}

/** Runs what a stopped sweep has not done, and what failed. */
export async function continueSweep(name: string): Promise<Job> {
  const kept = await sweepEntry(name);
  return begin(kept.order, kept);
}

function begin(order: SweepOrder, kept: SweepEntry | null): Job {
  const about = { kind: "sweep" as const, title: order.out, command: sweepCommand(order) };
  return submit(about, (task) => new Sweep(task, order, kept).run());
}

/** One sweep at work. */
class Sweep {
  private readonly runs: SweepEntry["runs"];
  private readonly failures: Fault[] = [];

  constructor(
    private readonly task: Task,
    private readonly order: SweepOrder,
    kept: SweepEntry | null,
  ) {
    const count = pointsOf(order).length * order.replications;
    this.runs = kept ? [...kept.runs] : Array.from({ length: count }, () => null);
  }

  async run(): Promise<string> {
    const grid = await gridOf(this.order);
    this.reportProgress();
    grid.points.forEach((_, place) => this.addRow(grid, place));
    const missing = this.runs.flatMap((found, place) => (found ? [] : [place]));
    const workers = Math.min(MOST_WORKERS, Math.max(navigator.hardwareConcurrency - 1, 1), missing.length);
    await Promise.all(Array.from({ length: workers }, () => this.work(grid, missing)));
    if (this.failures.length) throw new Refused(several(this.failures));
    await this.keep(grid);
    return this.order.out;
  }

  /** Takes runs until none is left. */
  private async work(grid: Grid, missing: number[]): Promise<void> {
    const runner = new Runner(this.task.signal);
    for (let place = missing.shift(); place !== undefined && !this.task.signal.aborted; place = missing.shift()) {
      await this.one(grid, place, runner);
    }
    runner.end();
  }

  private async one(grid: Grid, run: number, runner: Runner): Promise<void> {
    const place = Math.floor(run / this.order.replications);
    const seed = grid.firstSeed + (run % this.order.replications);
    const overrides = overridesOf(this.order, grid.points[place]);
    try {
      const ordered = { text: this.order.text, overrides, seed, summary_only: true };
      const { answer } = await runner.run(ordered, () => undefined);
      this.runs[run] = measured(answer.summary, answer.scenario);
      this.addRow(grid, place);
    } catch (error) {
      if (this.task.signal.aborted) return;
      const { message, help } = faultOf(error);
      this.failures.push({ message: `${overrides.join(", ")}, seed ${seed}: ${message}`, help });
    }
    this.reportProgress();
    await this.keep(grid);
  }

  /** Shows a case, once all its runs are done. */
  private addRow(grid: Grid, place: number): void {
    const row = rowOf(this.order, grid.points[place], place, this.runs);
    if (row) this.task.change({ rows: [...this.task.job().rows, row] });
  }

  private reportProgress(): void {
    this.task.change({ progress: { done: this.runs.filter(Boolean).length, of: this.runs.length } });
  }

  /** Keeps what is done. A sweep that was stopped before its first run leaves nothing. */
  private async keep({ scenario }: Grid): Promise<void> {
    if (!this.runs.some(Boolean) && !this.failures.length) return;
    await keepSweep({
      kind: "sweep",
      name: this.order.out,
      changed: Date.now(),
      scenario,
      order: this.order,
      runs: this.runs,
      failures: this.failures.map(({ message }) => message),
    });
  }
}

/** Every combination of the values of the axes. */
function pointsOf({ axes }: SweepOrder): string[][] {
  return axes.reduce<string[][]>(
    (points, { values }) => points.flatMap((at) => values.map((one) => [...at, one])),
    [[]],
  );
}

function overridesOf({ axes }: SweepOrder, point: string[]): string[] {
  return axes.map(({ key }, axis) => `${key}=${point[axis]}`);
}

/** Reads every case before one runs: a mistake in the last is said at once. A key that no case reads is one. */
async function gridOf(order: SweepOrder): Promise<Grid> {
  const points = pointsOf(order);
  const first = await caseOf(order, points[0], true);
  let unread = first.unread;
  for (const point of points.slice(1)) {
    const found = await caseOf(order, point, unread.length > 0);
    unread = unread.filter(({ key }) => found.unread.some((other) => other.key === key));
  }
  if (unread.length) throw new Refused(unread[0]);
  const { name, seed } = first.scenario!;
  return { points, scenario: name, firstSeed: seed };
}

/** A case as the core reads it; with its `effect`, also the keys that it does not read. */
async function caseOf(order: SweepOrder, point: string[], effect: boolean): Promise<Case> {
  const { text, seed } = order;
  const found = await edited<Case>("case", { text, seed, overrides: overridesOf(order, point), effect });
  if (found.error) throw new Refused(found.error);
  return found;
}

/** A case as the page shows it; null while a run of it is to be done. */
function rowOf(order: SweepOrder, values: string[], place: number, runs: SweepEntry["runs"]): CaseRow | null {
  const own = runs.slice(place * order.replications, (place + 1) * order.replications);
  if (!own.every((found) => found !== null)) return null;
  const keys = Object.keys(own[0]).filter((key) => own.every((found) => key in found));
  const measures = keys.map((key) => {
    const { mean, mean_ci95 } = meanOf(own.map((found) => found[key]));
    return [key, { mean, low: mean_ci95?.[0] ?? null, high: mean_ci95?.[1] ?? null }];
  });
  return { values, runs: own.length, measures: Object.fromEntries(measures) };
}

/** A sweep as lists show it. */
export function listed({ name, scenario, order, runs, failures }: SweepEntry): ResultEntry {
  const axes = order.axes.map(({ key }) => key);
  const done = runs.filter(Boolean).length;
  const facts = { name, kind: "sweep" as const, problem: null, scenario, axes, cases: pointsOf(order).length };
  if (done === runs.length) return facts;
  const stopped = { done, of: runs.length, failed: failures.length };
  return { ...facts, stopped, failures: failures.slice(0, MOST_FAILURES) };
}

/** The cases of a sweep that is whole. */
export async function sweepOf(name: string): Promise<SweepOf> {
  const { scenario, order, runs } = await sweepEntry(name);
  const cases = pointsOf(order).map((values, place) => {
    const row = rowOf(order, values, place, runs);
    if (!row) throw new Refused({ message: `${name} was stopped`, help: "the page of results continues it" });
    const measures = Object.entries(row.measures).map(([key, { mean, low, high }]) => {
      const mean_ci95: [number, number] | null = low === null || high === null ? null : [low, high];
      return [key, { mean, mean_ci95 }] as const;
    });
    const at = order.axes.map(({ key }, axis) => [key, values[axis]] as const);
    return { values: Object.fromEntries(at), measures: Object.fromEntries(measures) };
  });
  return { scenario, axes: order.axes.map(({ key }) => ({ path: key })), cases };
}

/** Runs a case of a sweep with its tables, unless it was run before. */
export async function runCase(result: string, wanted: string): Promise<Job> {
  const { order } = await sweepEntry(result);
  const point = pointsOf(order).find((values) => caseName({ values }) === wanted);
  if (!point) throw new Refused({ message: `there is no case ${wanted}`, help: `the sweep ${result} lists them` });
  const name = `${result}/${wanted}`;
  const overrides = [...overridesOf(order, point), await recording(order, point)];
  const { text, seed } = order;
  const command = runCommand({ text, name: order.name, out: name.replaceAll(/[^\w.=-]+/g, "-"), seed, overrides });
  return submit({ kind: "case", title: `${result}: ${wanted}`, command }, async (task) => {
    if (await entry(name)) return name;
    return keptRun(task, { text, seed, overrides }, () => Promise.resolve(name));
  });
}

/** The override that records what the view needs, in addition to what the scenario records. */
async function recording(order: SweepOrder, point: string[]): Promise<string> {
  const { scenario } = await caseOf(order, point, false);
  return `record.tables=${JSON.stringify([...new Set([...scenario!.record.tables, ...TABLES])])}`;
}

async function sweepEntry(name: string): Promise<SweepEntry> {
  const found = (await entries()).find((one) => one.name === name);
  if (found?.kind === "sweep") return found;
  throw new Refused({ message: `there is no sweep ${name}`, help: "the page of results lists them" });
}

function several([first, ...others]: Fault[]): Fault {
  return others.length ? { ...first, message: `${first.message} (${others.length} more runs failed)` } : first;
}
