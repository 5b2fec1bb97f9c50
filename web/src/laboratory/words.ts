// Measures in words, and their numbers with units.

import { amount, duration, number } from "../units.ts";

/** The name of a case of a sweep, as `lasthop report --case` takes it. */
export function caseName({ values }: { values: string[] }): string {
  return values.join(",");
}

/** "throughput_Bps" as "throughput". */
export function measureWords(measure: string): string {
  return measure.replace(/_(Bps|s)$/, "").replaceAll("_", " ");
}

/** A measure's value with its unit, rounded for reading. */
export function shown(measure: string, value: number): string {
  if (measure.endsWith("_Bps")) return amount(value * 8, "bit/s");
  if (measure.endsWith("_s")) return duration(value);
  return number(Number(value.toPrecision(4)));
}

/** A number to three digits; a dash where there is none. */
export function three(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : number(Number(value.toPrecision(3)));
}
