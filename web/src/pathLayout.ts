// Positions of the nodes of a path: in columns by their distance from the senders, from left to right.

import type { Crossings } from "./model.ts";

export interface Place {
  name: string;
  x: number;
  y: number;
}

/** Places between 0 and 1 in both directions, by name. */
export function placesOf(links: Crossings["links"]): Map<string, Place> {
  const names = [...new Set(links.flatMap((link) => [link.from, link.to]))];
  const distance = distances(names, links);
  const columns = new Map<number, string[]>();
  for (const name of names) {
    const column = distance.get(name)!;
    columns.set(column, [...(columns.get(column) ?? []), name]);
  }
  const last = Math.max(...columns.keys(), 1);
  const places = new Map<string, Place>();
  for (const [column, members] of columns) {
    members.forEach((name, row) => places.set(name, { name, x: column / last, y: (row + 1) / (members.length + 1) }));
  }
  return places;
}

/** Steps from the first node that a "down" direction leaves and none enters. */
function distances(names: string[], links: Crossings["links"]): Map<string, number> {
  const down = links.filter((link) => link.direction === "down");
  const edges = down.length ? down : links;
  const entered = new Set(edges.map((link) => link.to));
  const roots = names.filter((name) => !entered.has(name) && edges.some((link) => link.from === name));
  const distance = new Map<string, number>((roots.length ? roots : names.slice(0, 1)).map((name) => [name, 0]));
  const queue = [...distance.keys()];
  const neighbours = (name: string) =>
    links
      .filter((link) => link.from === name || link.to === name)
      .map((link) => (link.from === name ? link.to : link.from));
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    for (const other of neighbours(name)) {
      if (distance.has(other)) continue;
      distance.set(other, distance.get(name)! + 1);
      queue.push(other);
    }
  }
  for (const name of names) if (!distance.has(name)) distance.set(name, 0);
  return distance;
}
