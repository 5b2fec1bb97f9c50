// The number of a run's summary that a lesson's question names (`lasthop.serve.lessons`).

import { Refused } from "../laboratory/refused.ts";
import type { Row } from "../model.ts";
import type { Summary } from "./core.ts";

/**
 * `flows.NAME.KEY` and `links.NAME.DIRECTION.KEY` name a key of a flow or of a direction of a link, and `stopped_s` the
 * length of the run. A `*` in NAME stands for any text; the answer is the mean of those that have the key.
 */
export function answer(summary: Summary, measure: string): number {
  const values = rows(summary, measure).map((row) => row[measure.split(".").at(-1)!]);
  const numbers = values.filter((value) => typeof value === "number");
  if (numbers.length) return numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
  const help = "`lasthop run --json` prints what it gives";
  throw new Refused({ message: "the run gives no such number", key: measure, help });
}

function rows(summary: Summary, measure: string): Row[] {
  const parts = measure.split(".");
  if (parts[0] === "flows" && parts.length >= 3) {
    const name = pattern(parts.slice(1, -1).join("."));
    return summary.flows.filter((flow) => name.test(String(flow.flow)));
  }
  if (parts[0] === "links" && parts.length >= 4) {
    const name = pattern(parts.slice(1, -2).join("."));
    return summary.links.filter((link) => name.test(String(link.link)) && link.direction === parts.at(-2));
  }
  return [summary as unknown as Row];
}

function pattern(name: string): RegExp {
  const parts = name.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`);
}
