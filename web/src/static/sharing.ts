// Runs as one file that opens anywhere: the page of `lasthop report`, with the runs' data inside.

import { Refused } from "../laboratory/refused.ts";
import { isPacked } from "../model.ts";

/** A run as the report's page has it: what it shows, with places in the columns. */
export interface Shown {
  index: Record<string, unknown>;
  columns: Uint8Array<ArrayBuffer>;
}

/** Marks in `report.html`, as `static_page.py` writes them. */
const MARKS = /@lasthop-(title|runs|columns)@/g;

/** The page of some runs. */
export async function reportOf(runs: Shown[], title: string): Promise<Blob> {
  const answer = await fetch("report.html");
  if (!answer.ok) throw new Refused({ message: `report.html: the server answers ${answer.status}`, help: null });
  const indices: unknown[] = [];
  let bytes = 0;
  for (const { index, columns } of runs) {
    indices.push(shifted(index, bytes));
    bytes += columns.length;
  }
  const contents: Record<string, string> = {
    title: title.replaceAll(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`),
    // Neither "</script>" nor "<!--<script>" in a text ends, or prolongs, the script element around it.
    runs: JSON.stringify(indices).replaceAll("<", "\\u003c"),
    columns: await deflated(new Blob(runs.map(({ columns }) => columns))),
  };
  const page = (await answer.text()).replaceAll(MARKS, (_, part: string) => contents[part]);
  return new Blob([page], { type: "text/html" });
}

/** A tree of the page's JSON whose columns follow `bytes` of others. */
export function shifted(tree: unknown, bytes: number): unknown {
  if (Array.isArray(tree)) return tree.map((one) => shifted(one, bytes));
  if (tree === null || typeof tree !== "object") return tree;
  if (isPacked(tree)) return { ...tree, at: tree.at + bytes };
  return Object.fromEntries(Object.entries(tree).map(([key, one]) => [key, shifted(one, bytes)]));
}

/** Packed columns, deflated (RFC 1950) and in base64. */
async function deflated(columns: Blob): Promise<string> {
  const stream = columns.stream().pipeThrough(new CompressionStream("deflate"));
  const blob = await new Response(stream).blob();
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",")[1] ?? "");
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
