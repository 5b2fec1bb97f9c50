// Searching sorted columns.

import type { Numbers } from "./model.ts";

/** The first row from `low` up to `high` whose value is at least `wanted`; `high` if there is none. */
export function lowerBound(sorted: Numbers, wanted: number, low = 0, high = sorted.length): number {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The rows of a sorted column whose values lie between two times: from the first, up to and without the second. */
export function rowsWithin(sorted: Numbers, from: number, to: number): [number, number] {
  return [lowerBound(sorted, from), lowerBound(sorted, to + Number.EPSILON * Math.abs(to))];
}
