// The summary as tables: what came of each flow and each link; of several runs, side by side.

import { type Column, flowTable, table } from "./flowTable.ts";
import type { Row, Run } from "./model.ts";
import { element } from "./panel.ts";
import { duration, number } from "./units.ts";

const FLOW_COLUMNS: Column[] = [
  ["flow", "flow"],
  ["elapsed_s", "elapsed", "s"],
  ["timer_s", "waited for timers", "s"],
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

/** The summary of a run; `choose` is called with the name of a flow whose row is clicked. */
export function summaryTables(run: Run, choose: (name: string) => void): HTMLElement {
  const section = element("section", "summary");
  const shown = new Set(run.flows.map((flow) => flow.name));
  section.append(
    ...facts(run).map((text) => element("p", "facts", text)),
    flowTable(FLOW_COLUMNS, run.summary.flows, shown, choose),
    causes(run.summary.flows),
  );
  if (run.summary.links.length) section.append(table(LINK_COLUMNS, run.summary.links));
  return section;
}

/** Subject of the page. */
function facts(run: Run): string[] {
  const length = duration(run.summary.stopped_s);
  if (!run.capture) return [`${length}, seed ${run.seed}, ${run.clock === "real" ? "real" : "virtual"} time`];
  const { file, began, frames, connections, quic, unopened, places } = run.capture;
  const where = Object.entries(places).map(([place, count]) => `${number(count)} ${place}`);
  const ofQuic = quic ? `; QUIC connections: ${number(quic)}` : "";
  const captured = where.length ? `Captured: ${where.join(", ")}. ` : "";
  const counts = `TCP connections: ${number(connections)}${ofQuic}`;
  return [
    `Capture ${file}: ${number(frames)} packets in ${length}, from ${began}; ${counts}`,
    `${captured}The worst connections are first; with diagrams: ${run.flows.length}.`,
    ...unopened,
  ];
}

/** The flows of several runs in one table, the run's name before each. */
export function comparison(runs: Run[]): HTMLElement {
  const rows = runs.flatMap((run) => run.summary.flows.map((flow) => ({ run: run.folder, ...flow })));
  return table([["run", "run"], ...FLOW_COLUMNS], rows);
}

/** Why segments were sent again needlessly. */
function causes(flows: Row[]): HTMLElement {
  const list = element("ul", "causes");
  for (const flow of flows) {
    const counts = Object.entries((flow.causes ?? {}) as Record<string, number>).filter(([, count]) => count > 0);
    for (const [cause, count] of counts) {
      list.append(
        element("li", "", `${flow.flow}: ${number(count)} sent again needlessly: ${cause.replaceAll("_", " ")}`),
      );
    }
  }
  return list;
}
