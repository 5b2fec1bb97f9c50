// Nodes, links and flows for the picture of the path, of a file's values or of a resolved scenario
// (`lasthop.serve.scenarios`).

import type { Checked, Link, Value } from "../laboratory/server.ts";

type Table = Record<string, Value>;

export function drawn(values: Table): Pick<Checked, "nodes" | "links" | "flows"> {
  const hosts = named(values.hosts).map(([name, host]) => ({ name, kind: "host" as const, profile: profile(host) }));
  const routers = Array.isArray(values.routers) ? values.routers : [];
  const links = tables(values.links).filter((link) => Array.isArray(link.between)) as Link[];
  const flows = tables(values.flows).map(({ name, from, to }) => ({
    name: text(name),
    from: text(from),
    to: text(to),
  }));
  const nodes = [...hosts, ...routers.map((name) => ({ name: text(name), kind: "router" as const, profile: "" }))];
  return { nodes, links, flows };
}

function named(hosts: Value | undefined): [string, Value][] {
  if (Array.isArray(hosts)) return tables(hosts).map((host) => [text(host.name), host]);
  return hosts !== null && typeof hosts === "object" ? Object.entries(hosts) : [];
}

function tables(value: Value | undefined): Table[] {
  return Array.isArray(value) ? value.filter((one): one is Table => one !== null && typeof one === "object") : [];
}

function profile(host: Value): string {
  const { profile = "", stack = "" } = (host ?? {}) as Table;
  return text(profile || stack);
}

function text(value: Value | undefined): string {
  return value === undefined || value === null ? "" : String(value);
}
