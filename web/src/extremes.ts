// The least and the greatest values of a column among any of its rows. The rows are summarized in blocks, and the
// blocks in larger blocks, so that an answer costs nearly the same for a thousand rows and for a million.

import type { Numbers } from "./model.ts";

/** Number of rows in a block, and of blocks in a larger block. */
const FAN = 32;

export class Extremes {
  /** The column itself, then its blocks, then the blocks of these. */
  private readonly levels: { least: Numbers; most: Numbers }[];

  constructor(column: Numbers) {
    let level = { least: column, most: column };
    this.levels = [level];
    while (level.least.length > FAN) this.levels.push((level = blocksOf(level)));
  }

  /** The extremes of the rows from `from` up to and without `to`; [∞, −∞] where no value is known. */
  within(from: number, to: number): [number, number] {
    let least = Infinity;
    let most = -Infinity;
    for (const level of this.levels) {
      const isLast = level.least.length <= FAN;
      // Rows before the first whole block, and after the last one.
      const first = isLast ? to : Math.min(Math.ceil(from / FAN) * FAN, to);
      const last = Math.max(isLast ? to : Math.floor(to / FAN) * FAN, first);
      for (let row = from; row < first; row++) {
        if (level.least[row] < least) least = level.least[row];
        if (level.most[row] > most) most = level.most[row];
      }
      for (let row = last; row < to; row++) {
        if (level.least[row] < least) least = level.least[row];
        if (level.most[row] > most) most = level.most[row];
      }
      if (first >= last) break;
      from = first / FAN;
      to = last / FAN;
    }
    return [least, most];
  }
}

function blocksOf({ least, most }: { least: Numbers; most: Numbers }): { least: Numbers; most: Numbers } {
  const count = Math.ceil(least.length / FAN);
  const blocks = { least: new Float64Array(count).fill(Infinity), most: new Float64Array(count).fill(-Infinity) };
  for (let row = 0; row < least.length; row++) {
    const block = Math.floor(row / FAN);
    // Comparisons with NaN, an unknown value, are false.
    if (least[row] < blocks.least[block]) blocks.least[block] = least[row];
    if (most[row] > blocks.most[block]) blocks.most[block] = most[row];
  }
  return blocks;
}

const known = new WeakMap<Numbers, Extremes>();

/** The extremes of a column, which are computed once. */
export function extremesOf(column: Numbers): Extremes {
  let found = known.get(column);
  if (!found) known.set(column, (found = new Extremes(column)));
  return found;
}
