// The states of a run in real time as curves over its time: the last minute of them.

/** State of a run, as `lasthop.real_time.watching` has it. */
export interface RunState {
  elapsed_s: number;
  links: {
    name: string;
    bytes_out: number;
    packets_out: number;
    drops: number;
    waiting: number;
    waiting_bytes: number;
  }[];
  connections: { flow: string; port: number; state: string; cwnd: number; srtt_ms: number; retransmissions: number }[];
  late_p99_ms: number;
  late_max_ms: number;
  changes: { at_s: number; set: string[] }[];
}

export type Measure = "rate" | "queue" | "cwnd" | "round trip" | "drops";

export interface Curve {
  name: string;
  values: (number | null)[];
}

/** States that are kept: a minute of them. */
const KEPT = 600;

/** Curves of each measure: a curve for each direction of a link, or for each connection. */
export class LiveSeries {
  readonly times: number[] = [];
  latest: RunState | null = null;
  private readonly curvesOf: Record<Measure, Map<string, (number | null)[]>> = {
    rate: new Map(),
    queue: new Map(),
    cwnd: new Map(),
    "round trip": new Map(),
    drops: new Map(),
  };

  add(state: RunState): void {
    const before = this.latest;
    this.latest = state;
    this.times.push(state.elapsed_s);
    const seconds = state.elapsed_s - (before?.elapsed_s ?? 0);
    for (const link of state.links) {
      const bytes = link.bytes_out - (before?.links.find(({ name }) => name === link.name)?.bytes_out ?? 0);
      this.put("rate", link.name, seconds > 0 ? (8 * bytes) / seconds : 0);
      this.put("queue", link.name, link.waiting);
      this.put("drops", link.name, link.drops);
    }
    for (const { flow, port, cwnd, srtt_ms } of this.connections(state, before)) {
      this.put("cwnd", `${flow} :${port}`, cwnd);
      this.put("round trip", `${flow} :${port}`, srtt_ms / 1000);
    }
    this.fill();
  }

  curves(measure: Measure): Curve[] {
    return [...this.curvesOf[measure]].map(([name, values]) => ({ name, values }));
  }

  /** The connections of a state; those of the state before it where the sampler was at work. */
  private connections(state: RunState, before: RunState | null): RunState["connections"] {
    if (!state.connections.length && before) state.connections = before.connections;
    return state.connections;
  }

  private put(measure: Measure, name: string, value: number): void {
    const curves = this.curvesOf[measure];
    if (!curves.has(name))
      curves.set(
        name,
        this.times.slice(1).map(() => null),
      );
    curves.get(name)!.push(value);
  }

  /** Gives curves without a value at this time a gap, and forgets what is older than a minute. */
  private fill(): void {
    const all = Object.values(this.curvesOf).flatMap((curves) => [...curves.values()]);
    for (const values of all) if (values.length < this.times.length) values.push(null);
    if (this.times.length > KEPT) for (const values of [this.times, ...all]) values.shift();
  }
}
