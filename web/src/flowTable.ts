// The flows of a run as a table: a few as they are, many with a search and their first rows only.

import type { Row } from "./model.ts";
import { element } from "./panel.ts";
import { amount, duration, number } from "./units.ts";

/** Columns of a table: the summary's key, what a reader calls it, and its unit. */
export type Column = [key: string, words: string, unit?: "s" | "bit/s"];

/** Rows that a table has at once; a page with thousands of them would be slow. */
const MOST_ROWS = 100;
/** Rows from which a table can be searched. */
const SEARCHED_FROM = 15;

/** A table without anything to choose or to search. */
export function table(columns: Column[], rows: Row[]): HTMLTableElement {
  const used = usedColumns(columns, rows);
  const made = element("table") as HTMLTableElement;
  made.append(head(used), ...rows.map((row) => line(used, row)));
  return made;
}

/** The rows in which every word of `wanted` occurs, in any case. */
export function matching(rows: Row[], keys: string[], wanted: string): Row[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (row: Row) =>
    keys
      .map((key) => String(row[key] ?? ""))
      .join(" ")
      .toLowerCase();
  return words.length ? rows.filter((row) => words.every((word) => text(row).includes(word))) : rows;
}

/** The table of flows; `choose` is called with a flow that is clicked, if its name is among `shown`. */
export function flowTable(
  columns: Column[],
  rows: Row[],
  shown: Set<string>,
  choose: (name: string) => void,
): HTMLElement {
  const section = element("section", "flows");
  const used = usedColumns(columns, rows);
  const made = element("table");
  const count = element("p", "facts");
  const fill = (found: Row[]) => {
    const lines = found.slice(0, MOST_ROWS).map((row) => chosen(line(used, row), String(row.flow), shown, choose));
    made.replaceChildren(head(used), ...lines);
    const more = found.length > MOST_ROWS ? `; the first ${MOST_ROWS} are shown` : "";
    count.textContent = `${number(found.length)} of ${number(rows.length)} connections${more}`;
  };
  fill(rows);
  if (rows.length >= SEARCHED_FROM) {
    const search = document.createElement("input");
    search.type = "search";
    search.placeholder = "Search: address, port …";
    search.addEventListener("input", () => fill(matching(rows, ["flow", "from", "to"], search.value)));
    section.append(search, count);
  }
  const framed = element("div", rows.length >= SEARCHED_FROM ? "rows" : "");
  framed.append(made);
  section.append(framed);
  return section;
}

function chosen(row: HTMLElement, name: string, shown: Set<string>, choose: (name: string) => void): HTMLElement {
  if (shown.has(name)) {
    row.className = "drawn";
    row.addEventListener("click", () => choose(name));
    const button = element("button", "", name) as HTMLButtonElement;
    button.type = "button";
    button.title = "Show it in the diagrams";
    row.firstElementChild!.replaceChildren(button);
  }
  return row;
}

function usedColumns(columns: Column[], rows: Row[]): Column[] {
  return columns.filter(([key], place) => place < 2 || rows.some((row) => hasValue(row[key])));
}

function head(used: Column[]): HTMLElement {
  const made = element("tr");
  made.append(...used.map(([, words]) => element("th", "", words)));
  return made;
}

function line(used: Column[], row: Row): HTMLElement {
  const made = element("tr");
  made.append(
    ...used.map(([key, , unit]) => element("td", typeof row[key] === "number" ? "number" : "", cell(row[key], unit))),
  );
  return made;
}

function hasValue(value: unknown): boolean {
  return value !== null && value !== undefined && value !== 0;
}

function cell(value: unknown, unit?: "s" | "bit/s"): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  if (unit === "s") return duration(value);
  return unit === "bit/s" ? amount(value * 8, "bit/s") : number(value);
}
