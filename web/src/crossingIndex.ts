// Packets in transit at a time, and the time of the next event.

import type { Crossings, Numbers } from "./model.ts";
import { lowerBound } from "./search.ts";

/** Time for which a lost packet is shown after its loss, as a share of the shortest crossing. */
const LINGER = 0.6;

/** Times are whole nanoseconds, which seconds hold nearly. */
const HALF_NS = 0.5e-9;

export class CrossingIndex {
  /** End of each crossing: the arrival, or the loss. */
  readonly end: Numbers;
  /** Times of entry, transmission, arrival and loss, sorted. */
  readonly events: Numbers;
  /** Times of losses, sorted. */
  readonly losses: Numbers;
  /** Time for which a lost packet is shown, in seconds of the run. */
  readonly linger: number;
  /** The latest end among the crossings up to each. */
  private readonly latest: Numbers;

  constructor(private readonly crossings: Crossings) {
    const { time, transmitted, delivered } = crossings;
    this.end = time.map((entered, row) => firstKnown(delivered[row], transmitted[row], entered));
    this.linger = LINGER * shortest(time, delivered);
    let most = -Infinity;
    this.latest = this.end.map((end, row) => (most = Math.max(most, end + (this.isLost(row) ? this.linger : 0))));
    this.losses = this.end.filter((_, row) => this.isLost(row)).sort();
    this.events = sorted([time, transmitted, delivered]);
  }

  isLost(row: number): boolean {
    return Number.isNaN(this.crossings.delivered[row]);
  }

  /** Rows of the packets that are on a link, or were lost a moment ago, in the order of entry. */
  underWay(at: number): number[] {
    const found: number[] = [];
    let row = lowerBound(this.crossings.time, at + HALF_NS) - 1;
    for (; row >= 0 && this.latest[row] >= at; row--) {
      if (this.end[row] + (this.isLost(row) ? this.linger : 0) >= at) found.push(row);
    }
    return found.reverse();
  }

  nextEvent(at: number): number | null {
    return next(this.events, at);
  }

  nextLoss(at: number): number | null {
    return next(this.losses, at);
  }

  previousEvent(at: number): number | null {
    const place = lowerBound(this.events, at) - 1;
    return place >= 0 ? this.events[place] : null;
  }
}

/** The known numbers of some columns, sorted. */
function sorted(columns: Numbers[]): Numbers {
  const all = new Float64Array(columns.reduce((length, column) => length + column.length, 0));
  let count = 0;
  for (const column of columns) for (const value of column) if (!Number.isNaN(value)) all[count++] = value;
  return all.subarray(0, count).sort();
}

function firstKnown(...values: number[]): number {
  return values.find((value) => !Number.isNaN(value))!;
}

/** The first value after `at`, as far as a nanosecond. */
function next(sorted: Numbers, at: number): number | null {
  const place = lowerBound(sorted, at + HALF_NS);
  return place < sorted.length ? sorted[place] : null;
}

function shortest(time: Numbers, delivered: Numbers): number {
  let least = Infinity;
  for (let row = 0; row < time.length; row++) {
    const length = delivered[row] - time[row];
    if (length > 0 && length < least) least = length;
  }
  return Number.isFinite(least) ? least : 0.01;
}
