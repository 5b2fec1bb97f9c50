// The commands that do the same as the page (`lasthop.serve.commands`).

import type { RunOrder, SweepOrder } from "./orders.ts";

export function runCommand({ name, out, seed, overrides = [] }: RunOrder): string {
  const set = overrides.flatMap((override) => ["--set", override]);
  return written(["lasthop", "run", `${name}.toml`, ...set, ...seeded(seed), "--out", out]);
}

export function sweepCommand({ name, out, axes, replications, seed }: SweepOrder): string {
  const varied = axes.flatMap(({ key, values }) => ["--sweep", `${key}=${values.join(",")}`]);
  const repeated = replications > 1 ? ["--replications", String(replications)] : [];
  return written(["lasthop", "run", `${name}.toml`, ...varied, ...repeated, ...seeded(seed), "--out", out]);
}

function seeded(seed: number | null): string[] {
  return seed === null ? [] : ["--seed", String(seed)];
}

function written(words: string[]): string {
  return words.map(quoted).join(" ");
}

/** A word for a shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}
