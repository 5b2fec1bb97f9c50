// Builds the page of `lasthop report` from the data that it carries.

import "uplot/dist/uPlot.min.css";
import "./style.css";

import { type Run, unpackAll } from "./model.ts";
import { inflate } from "./packing.ts";
import { type Asked, Viewer } from "./viewer.ts";

void start();

async function start(): Promise<void> {
  const begun = performance.now();
  const index = JSON.parse(document.getElementById("index")!.textContent!);
  const columns = await inflate(document.getElementById("columns")!.textContent!.trim());
  const runs = unpackAll(index.runs, columns) as Run[];
  new Viewer(document.getElementById("report")!, runs, askedFor());
  // For tests and for those who script the page.
  document.body.dataset.ready = String(Math.round(performance.now() - begun));
}

/** `#from=1.5&to=2` in the address shows a part at first. */
function askedFor(): Asked {
  const asked = new URLSearchParams(location.hash.slice(1));
  const of = (key: string) => (asked.has(key) ? Number(asked.get(key)) : undefined);
  return { from: of("from"), to: of("to") };
}
