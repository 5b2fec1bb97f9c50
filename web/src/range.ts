// The stretch of time that all panels show together.

export class TimeRange {
  from: number;
  to: number;
  /** The time that the player shows. */
  moment: number | null = null;
  private readonly watchers: (() => void)[] = [];
  private readonly momentWatchers: (() => void)[] = [];
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

  /** Shows these times, as far as there is anything; a microsecond is the least. */
  set(from: number, to: number): void {
    const length = Math.min(Math.max(to - from, 1e-6), this.last - this.first);
    this.from = Math.min(Math.max(from, this.first), this.last - length);
    this.to = this.from + length;
    this.announce();
  }

  /** Shows all there is. */
  reset(): void {
    this.set(this.first, this.last);
  }

  private announce(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      for (const watcher of this.watchers) watcher();
    });
  }
}
