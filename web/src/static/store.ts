// The results of the page, kept in the browser (IndexedDB): what lists show, and the records, which are read one by
// one.

import type { File, Specification, Summary } from "./core.ts";
import type { SweepOrder } from "./orders.ts";

/** A result as lists show it. */
export type Entry = RunEntry | SweepEntry;

interface Named {
  name: string;
  /** Milliseconds since 1970. */
  changed: number;
}

export interface RunEntry extends Named {
  kind: "run";
  summary: Summary;
  specification: Specification;
  recorded: boolean;
}

/** A sweep, whole or not. */
export interface SweepEntry extends Named {
  kind: "sweep";
  scenario: string;
  order: SweepOrder;
  /** The measures of each run; those of a case follow each other. Null for a run that is to be done. */
  runs: (Record<string, number> | null)[];
  /** Why runs failed. */
  failures: string[];
}

/** The records of a run. */
export interface Records {
  name: string;
  /** What the viewer shows, with the places of columns. */
  view: Record<string, unknown>;
  columns: Uint8Array<ArrayBuffer>;
  files: File[];
}

/** Results that are kept: the newest. */
const KEPT = 60;

const NAME = "lasthop";

/** Increased with the form of what is kept; results in an earlier form are forgotten. */
const VERSION = 2;

let opened: Promise<IDBDatabase> | null = null;

function database(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, VERSION);
    request.onupgradeneeded = () => {
      const { result } = request;
      for (const store of [...result.objectStoreNames]) result.deleteObjectStore(store);
      for (const store of ["entries", "records"]) result.createObjectStore(store, { keyPath: "name" });
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}

function done<Found>(request: IDBRequest<Found>): Promise<Found> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** All results, the newest first. */
export async function entries(): Promise<Entry[]> {
  const store = (await database()).transaction("entries").objectStore("entries");
  const found: Entry[] = await done(store.getAll());
  return found.sort((one, other) => other.changed - one.changed);
}

/** A result; none if there is none of that name. */
export async function entry(name: string): Promise<Entry | undefined> {
  return done((await database()).transaction("entries").objectStore("entries").get(name));
}

/** The records of a run; none if there is no such run. */
export async function records(name: string): Promise<Records | undefined> {
  return done((await database()).transaction("records").objectStore("records").get(name));
}

/** `wanted`, or `wanted-2`, …: the first name that no result has, and none of `ordered`. */
export async function freeName(wanted: string, ordered: string[] = []): Promise<string> {
  const taken = new Set([...ordered, ...(await entries()).map(({ name }) => name)]);
  let name = wanted;
  for (let number = 2; taken.has(name); number++) name = `${wanted}-${number}`;
  return name;
}

/** Keeps a run, and forgets the oldest of too many results. */
export async function keepRun(kept: RunEntry, found: Records): Promise<void> {
  await put(kept, found);
}

/** Keeps a sweep as far as it is, in place of what was kept of it. */
export async function keepSweep(kept: SweepEntry): Promise<void> {
  await put(kept, null);
}

async function put(kept: Entry, found: Records | null): Promise<void> {
  const others = (await entries()).filter(({ name }) => name !== kept.name);
  const transaction = (await database()).transaction(["entries", "records"], "readwrite");
  const [listed, recorded] = [transaction.objectStore("entries"), transaction.objectStore("records")];
  listed.put(kept);
  if (found) recorded.put(found);
  for (const { name } of others.slice(KEPT - 1)) {
    listed.delete(name);
    recorded.delete(name);
  }
  await new Promise<void>((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
}
