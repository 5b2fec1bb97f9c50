// The stretch of time that all panels show together.

export class TimeRange {
  from: number;
  to: number;
  private readonly watchers: (() => void)[] = [];
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
