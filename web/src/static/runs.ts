// A run of the page: in a worker, its result kept in the browser.

import { type RunOrder as CoreOrder, Runner } from "./core.ts";
import type { Task } from "./jobs.ts";
import type { RunOrder } from "./orders.ts";
import { freeName, keepRun } from "./store.ts";

/** The name of the columns among the files of an answer. */
const COLUMNS = "columns";

/** Runs a scenario, and returns the name of its result: the first free one like `order.out`. */
export async function runAndKeep(task: Task, order: RunOrder): Promise<string> {
  return keptRun(task, { text: order.text, overrides: order.overrides ?? [], seed: order.seed }, () =>
    freeName(order.out),
  );
}

/** Runs a scenario with the data of the viewer, and keeps its result. */
export async function keptRun(task: Task, order: CoreOrder, named: () => Promise<string>): Promise<string> {
  const runner = new Runner(task.signal);
  try {
    const progress = (seconds: number) => task.change({ progress: { seconds } });
    const { answer, files } = await runner.run({ ...order, view: true }, progress);
    const name = await named();
    const columns = files.find((file) => file.name === COLUMNS)?.contents ?? new Uint8Array();
    const recorded = files.some((file) => file.name === "segments.parquet");
    const others = files.filter((file) => file.name !== COLUMNS);
    const { summary, scenario, view = {} } = answer;
    await keepRun(
      { kind: "run", name, changed: Date.now(), summary, specification: scenario, recorded },
      { name, view, columns, files: others },
    );
    return name;
  } finally {
    runner.end();
  }
}
