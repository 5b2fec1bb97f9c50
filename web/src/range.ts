// The stretch of time that all panels show together, and how they show it.

import type { Numbers } from "./model.ts";

/** A time, or a length of time, in seconds of the run. */
type Seconds = number;

/** The times of a flow's first and last packets, with some room on both sides. */
export function spanOf(flow: { sent: { time: Numbers }; acks: { time: Numbers } }): [Seconds, Seconds] {
  const times = [flow.sent.time, flow.acks.time].filter((time) => time.length > 0);
  const first = Math.min(...times.map((time) => time[0]));
  const last = Math.max(...times.map((time) => time[time.length - 1]));
  if (times.length === 0) return [0, 0];
  const room = 0.02 * (last - first);
  return [first - room, last + room];
}

export class TimeRange {
  from: Seconds;
  to: Seconds;
  /** The time that the player shows. */
  moment: Seconds | null = null;
  /** The time that the axes call 0. */
  origin: Seconds = 0;
  /** Whether dragging with the mouse moves the picture; else it chooses the part to zoom to. */
  drags = false;
  hasCrosshairs = false;
  /** Number of jumps to another place, after which panels follow the height of what is in sight again. */
  jumps = 0;
  private readonly watchers: (() => void)[] = [];
  private readonly momentWatchers: (() => void)[] = [];
  private readonly seekWatchers: ((moment: Seconds) => void)[] = [];
  private pending = false;

  constructor(
    private readonly first: number,
    private readonly last: number,
  ) {
    [this.from, this.to] = [first, last];
  }

  /** Calls `watcher` when the range changes, at most once a frame. */
  watch(watcher: () => void): void {
    this.watchers.push(watcher);
  }

  /** Calls `watcher` when the player shows another time. */
  watchMoment(watcher: () => void): void {
    this.momentWatchers.push(watcher);
  }

  /** Marks a time in all panels. */
  mark(moment: number | null): void {
    this.moment = moment;
    for (const watcher of this.momentWatchers) watcher();
  }

  /** Calls `watcher` with a time that the player is to show. */
  watchSeek(watcher: (moment: Seconds) => void): void {
    this.seekWatchers.push(watcher);
  }

  /** Marks a time in all panels, and has the player show it. */
  seek(moment: Seconds): void {
    this.mark(moment);
    for (const watcher of this.seekWatchers) watcher(moment);
  }

  /** Shows these times, and in each panel the height of what is in sight then. */
  jump(from: Seconds, to: Seconds): void {
    this.jumps++;
    this.set(from, to);
  }

  /** Shows these times, as far as there is anything; a microsecond is the least. */
  set(from: number, to: number): void {
    const length = Math.min(Math.max(to - from, 1e-6), this.last - this.first);
    this.from = Math.min(Math.max(from, this.first), this.last - length);
    this.to = this.from + length;
    this.announce();
  }

  /** Shows all there is. */
  reset(): void {
    this.jump(this.first, this.last);
  }

  /** Has all panels draw again. */
  announce(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      for (const watcher of this.watchers) watcher();
    });
  }
}
