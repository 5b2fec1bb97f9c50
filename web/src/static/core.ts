// The core in workers of the browser: one that reads texts while they are typed, and others for runs, which are
// cancelled by ending them.

import { type Fault, Refused } from "../laboratory/refused.ts";
import type { Row, Run } from "../model.ts";

/** A file of a result. */
export interface File {
  name: string;
  contents: Uint8Array<ArrayBuffer>;
}

/** The object that `lasthop run --json` prints. */
export type Summary = Run["summary"] & { scenario: string; seed: number; clock: string };

/** A resolved scenario, as far as the page reads it. */
export interface Specification {
  name: string;
  seed: number;
  hosts: Row[] | Record<string, Row>;
  routers?: string[];
  links: (Row & { name: string; between: [string, string] })[];
  flows: (Row & { name: string; from: string; to: string })[];
  cells?: (Row & { name: string; users: { link: string }[] })[];
  record: { tables: string[]; captures: string[] };
}

/** A run to do: `crates/wasm/src/run.rs`. */
export interface RunOrder {
  text: string;
  overrides: string[];
  seed: number | null;
  view?: boolean;
  summary_only?: boolean;
}

export interface RunAnswer {
  scenario: Specification;
  summary: Summary;
  view?: Record<string, unknown>;
}

/** A case of a sweep before it runs: `crates/wasm/src/case.rs`. */
export interface Case {
  scenario: Specification | null;
  unread: Fault[];
  error: Fault | null;
}

/** What a worker says: `web/wasm/worker.js`. */
type Message<Answer> =
  { progress: number } | { failure: string } | { answer: Answer & { error?: Fault | null }; files: File[] };

const LOADED_AGAIN = "reload the page; what you typed is kept";
const CANCELLED: Fault = { message: "the run was cancelled", help: null };

let editor: Worker | null = null;

/** Reads or changes a text, or reads a case of a sweep. */
export async function edited<Answer>(act: "check" | "change" | "case", order: unknown): Promise<Answer> {
  editor ??= begun();
  const worker = editor;
  const { port1, port2 } = new MessageChannel();
  const { answer } = await new Promise<{ answer: Answer }>((resolve, reject) => {
    port1.onmessage = ({ data }: MessageEvent<Message<Answer>>) => {
      if ("failure" in data) editor = null;
      settle(data, resolve, reject);
    };
    worker.onerror = () => reject(new Refused({ message: "the core did not load", help: LOADED_AGAIN }));
    worker.postMessage({ act, order, port: port2 }, [port2]);
  });
  return answer;
}

/** A worker for runs, one after the other. What it has compiled serves them all. */
export class Runner {
  private worker: Worker | null = null;

  /** A run that has not ended when `signal` is given is refused. */
  constructor(private readonly signal: AbortSignal) {
    signal.addEventListener("abort", () => this.end());
  }

  /** Runs a scenario; `progress` gets its virtual time, in seconds. */
  run(order: RunOrder, progress: (seconds: number) => void): Promise<{ answer: RunAnswer; files: File[] }> {
    const worker = (this.worker ??= begun());
    const { port1, port2 } = new MessageChannel();
    return new Promise((resolve, reject) => {
      if (this.signal.aborted) return reject(new Refused(CANCELLED));
      port1.onmessage = ({ data }: MessageEvent<Message<RunAnswer>>) => {
        if ("progress" in data) return progress(data.progress);
        // The memory of a core that has failed is not used again.
        if ("failure" in data) this.end();
        if ("answer" in data && data.answer.error) reject(new Refused(data.answer.error));
        else settle(data, resolve, reject);
      };
      worker.onerror = () => reject(new Refused({ message: "the core did not load", help: LOADED_AGAIN }));
      this.signal.addEventListener("abort", () => reject(new Refused(CANCELLED)));
      worker.postMessage({ act: "run", order, port: port2 }, [port2]);
    });
  }

  /** Ends the worker. */
  end(): void {
    this.worker?.terminate();
    this.worker = null;
  }
}

function begun(): Worker {
  return new Worker("worker.js", { type: "module" });
}

function settle<Answer>(
  message: Message<Answer>,
  resolve: (done: { answer: Answer; files: File[] }) => void,
  reject: (refused: Refused) => void,
): void {
  if ("failure" in message) reject(new Refused({ message: message.failure, help: LOADED_AGAIN }));
  else if ("answer" in message) resolve(message);
}
