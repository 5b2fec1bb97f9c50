// The results of the page, kept in the browser (IndexedDB): what lists show, and the records, which are read one by
// one.

import type { Run } from "../model.ts";
import type { File } from "./core.ts";

/** A result as lists show it. */
export interface Entry {
  name: string;
  /** Milliseconds since 1970. */
  changed: number;
  summary: Summary;
  recorded: boolean;
}

/** The object that `lasthop run --json` prints. */
export type Summary = Run["summary"] & { scenario: string; seed: number; clock: string };

/** The records of a result. */
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

let opened: Promise<IDBDatabase> | null = null;

function database(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => {
      for (const store of ["entries", "records"]) request.result.createObjectStore(store, { keyPath: "name" });
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

/** The records of a result; none if there is no such result. */
export async function records(name: string): Promise<Records | undefined> {
  return done((await database()).transaction("records").objectStore("records").get(name));
}

/** Keeps a result, and forgets the oldest of too many. */
export async function keep(entry: Entry, found: Records): Promise<void> {
  const old = (await entries()).slice(KEPT - 1).map(({ name }) => name);
  const transaction = (await database()).transaction(["entries", "records"], "readwrite");
  const [some, others] = [transaction.objectStore("entries"), transaction.objectStore("records")];
  some.put(entry);
  others.put(found);
  for (const name of old) {
    some.delete(name);
    others.delete(name);
  }
  await new Promise<void>((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
}
