// The core in workers of the browser: one that reads texts while they are typed, and one for each run, which is
// cancelled by ending it.

import { type Fault, Refused } from "../laboratory/refused.ts";

/** A file of a result. */
export interface File {
  name: string;
  contents: Uint8Array<ArrayBuffer>;
}

/** What a worker says: `web/wasm/worker.js`. */
type Message<Answer> =
  { progress: number } | { failure: string } | { answer: Answer & { error?: Fault | null }; files: File[] };

/** An order that a worker carries out. */
export interface Pending<Answer> {
  ended: Promise<{ answer: Answer; files: File[] }>;
  cancel: () => void;
}

const LOADED_AGAIN = "reload the page; what you typed is kept";

let editor: Worker | null = null;

/** Reads or changes a text. */
export async function edited<Answer>(act: "check" | "change", order: unknown): Promise<Answer> {
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

/** Runs a scenario; `progress` gets its virtual time, in seconds. A run that is cancelled is refused. */
export function run<Answer>(order: unknown, progress: (seconds: number) => void): Pending<Answer> {
  const worker = begun();
  const { port1, port2 } = new MessageChannel();
  let cancel!: () => void;
  const ended = new Promise<{ answer: Answer; files: File[] }>((resolve, reject) => {
    port1.onmessage = ({ data }: MessageEvent<Message<Answer>>) => {
      if ("progress" in data) progress(data.progress);
      else if ("answer" in data && data.answer.error) reject(new Refused(data.answer.error));
      else settle(data, resolve, reject);
    };
    worker.onerror = () => reject(new Refused({ message: "the core did not load", help: LOADED_AGAIN }));
    cancel = () => reject(new Refused({ message: "the run was cancelled", help: null }));
    worker.postMessage({ act: "run", order, port: port2 }, [port2]);
  });
  const end = () => worker.terminate();
  void ended.then(end, end);
  return { ended, cancel };
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
