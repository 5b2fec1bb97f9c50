// Columns made of columns: some rows of them, sums of rows so far, and runs of equal values.

import type { Numbers } from "./model.ts";

/** The rows of each column for which `chosen` holds. */
export function rowsWhere<Name extends string>(
  columns: Record<Name, Numbers>,
  chosen: (row: number) => boolean,
): Record<Name, Numbers> {
  const all = Object.entries(columns) as [Name, Numbers][];
  const rows = new Uint32Array(all[0][1].length);
  let count = 0;
  for (let row = 0; row < rows.length; row++) if (chosen(row)) rows[count++] = row;
  const some = all.map(([name, column]) => [name, taken(column, rows.subarray(0, count))]);
  return Object.fromEntries(some) as Record<Name, Numbers>;
}

function taken(column: Numbers, rows: Uint32Array): Numbers {
  const some = new Float64Array(rows.length);
  for (let place = 0; place < rows.length; place++) some[place] = column[rows[place]];
  return some;
}

/** The greatest value up to each row. */
export function greatestSoFar(column: Numbers): Numbers {
  let most = -Infinity;
  return column.map((value) => (most = Math.max(most, value)));
}

/** The first row of each run of equal values. */
export function runsOf(column: Numbers): Uint32Array {
  const starts = new Uint32Array(column.length);
  let count = 0;
  for (let row = 0; row < column.length; row++) if (row === 0 || column[row] !== column[row - 1]) starts[count++] = row;
  return starts.slice(0, count);
}
