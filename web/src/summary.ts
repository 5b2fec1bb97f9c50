// The summary as tables: what came of each flow and each link; of several runs, side by side.

import type { Row, Run } from "./model.ts";
import { element } from "./panel.ts";
import { amount, duration, number } from "./units.ts";

/** Columns of a table: the summary's key, what a reader calls it, and its unit. */
type Column = [key: string, words: string, unit?: "s" | "bit/s"];

const FLOW_COLUMNS: Column[] = [
  ["flow", "flow"],
  ["elapsed_s", "elapsed", "s"],
  ["throughput_Bps", "throughput", "bit/s"],
  ["segments_sent", "segments"],
  ["retransmissions", "sent again"],
  ["unnecessary_retransmissions", "needlessly"],
  ["timeouts", "timeouts"],
  ["spurious_timeouts", "spurious"],
  ["fast_retransmits", "fast retransmits"],
  ["packets_lost", "lost"],
  ["delay_p95_s", "95 % delay", "s"],
];

const LINK_COLUMNS: Column[] = [
  ["link", "link"],
  ["direction", "direction"],
  ["packets_in", "packets in"],
  ["packets_out", "packets out"],
  ["queue_drops", "queue drops"],
  ["error_drops", "error drops"],
  ["queue_max", "longest queue"],
];

export function summaryTables(run: Run): HTMLElement {
  const section = element("section", "summary");
  section.append(
    element("p", "facts", `${duration(run.summary.stopped_s)}, seed ${run.seed}, ${run.clock === "real" ? "real" : "virtual"} time`),
    table(FLOW_COLUMNS, run.summary.flows),
    causes(run.summary.flows),
    table(LINK_COLUMNS, run.summary.links),
  );
  return section;
}

/** The flows of several runs in one table, the run's name before each. */
export function comparison(runs: Run[]): HTMLElement {
  const rows = runs.flatMap((run) => run.summary.flows.map((flow) => ({ run: run.folder, ...flow })));
  return table([["run", "run"], ...FLOW_COLUMNS], rows);
}

function table(columns: Column[], rows: Row[]): HTMLElement {
  const used = columns.filter(([key], place) => place < 2 || rows.some((row) => hasValue(row[key])));
  const made = element("table");
  const head = element("tr");
  head.append(...used.map(([, words]) => element("th", "", words)));
  const body = rows.map((row) => {
    const line = element("tr");
    line.append(...used.map(([key, , unit]) => element("td", typeof row[key] === "number" ? "number" : "", cell(row[key], unit))));
    return line;
  });
  made.append(head, ...body);
  return made;
}

function hasValue(value: unknown): boolean {
  return value !== null && value !== undefined && value !== 0;
}

function cell(value: unknown, unit?: "s" | "bit/s"): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  if (unit === "s") return duration(value);
  return unit === "bit/s" ? amount(value * 8, "bit/s") : number(value);
}

/** Why segments were sent again needlessly. */
function causes(flows: Row[]): HTMLElement {
  const list = element("ul", "causes");
  for (const flow of flows) {
    const told = Object.entries((flow.causes ?? {}) as Record<string, number>).filter(([, count]) => count > 0);
    for (const [cause, count] of told) {
      list.append(element("li", "", `${flow.flow}: ${number(count)} sent again needlessly: ${cause.replaceAll("_", " ")}`));
    }
  }
  return list;
}
