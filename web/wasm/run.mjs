// Runs a scenario in the core for browsers, by Node: `node run.mjs CORE.wasm SCENARIO.toml SEED DIR [REPETITIONS
// [view]]` writes the files of the result and answer.json into DIR. A negative seed stands for that of the scenario.
// `cpu_s` of the answer has the CPU time of each repetition, in seconds. With `view`, the answer has what the viewer
// shows, and its columns.
import { readFile, writeFile } from "node:fs/promises";

import { Core } from "./core.js";

const [program, scenario, seed, folder, repetitions = "1", view] = process.argv.slice(2);
const core = await Core.of(await WebAssembly.compile(await readFile(program)));
const text = await readFile(scenario, "utf8");
const order = { text, seed: Number(seed) < 0 ? null : Number(seed), view: view === "view" };

/** The result of a run, and its CPU time in seconds. */
function timed() {
  const begun = process.cpuUsage();
  const result = core.do("run", order);
  const { user, system } = process.cpuUsage(begun);
  return { ...result, cpu: (user + system) / 1e6 };
}

const runs = Array.from({ length: Number(repetitions) }, timed);
const { answer, files } = runs[0];
answer.cpu_s = runs.map(({ cpu }) => cpu);
for (const { name, contents } of files) await writeFile(`${folder}/${name}`, contents);
await writeFile(`${folder}/answer.json`, JSON.stringify(answer));
