// The JSON schema of scenarios, as fields of a form.

import type { Entry, Library, Path, Value } from "./server.ts";

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  const?: Value;
  enum?: Value[];
  default?: Value;
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  required?: string[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  $defs?: Record<string, Schema>;
}

/** Input of a value. `text` is a text; `toml` is anything else, written as TOML. */
export type Field =
  | { kind: "choice"; choices: { value: string; words: string }[] }
  | { kind: "boolean" }
  | { kind: "number"; minimum?: number; maximum?: number }
  | { kind: "text"; pattern?: string }
  | { kind: "table"; properties: Record<string, Schema>; required: string[] }
  | { kind: "map"; of: Schema }
  | { kind: "list"; of: Schema }
  | { kind: "toml"; registry: string };

/** Schemas by reference, for one document. */
export class Definitions {
  constructor(private readonly root: Schema) {}

  /** The schema without references and without the alternative "null"; its own description comes first. */
  resolved(schema: Schema): Schema {
    const description = schema.description;
    if (schema.$ref) return { ...this.resolved(this.definition(schema.$ref)), ...(description ? { description } : {}) };
    const others = schema.anyOf?.filter((one) => one.type !== "null");
    if (others?.length === 1) return { ...this.resolved(others[0]), ...(description ? { description } : {}) };
    return schema;
  }

  field(schema: Schema): Field {
    const found = this.resolved(schema);
    const choices = choicesOf(found);
    if (choices) return { kind: "choice", choices };
    const type = [found.type ?? []].flat().filter((one) => one !== "null");
    if (type.length !== 1) return { kind: "toml", registry: this.registry(schema) };
    return this.ofType(type[0], found) ?? { kind: "toml", registry: this.registry(schema) };
  }

  private ofType(type: string, found: Schema): Field | null {
    switch (type) {
      case "boolean":
        return { kind: "boolean" };
      case "integer":
      case "number":
        return { kind: "number", minimum: found.minimum, maximum: found.maximum };
      case "string":
        return { kind: "text", pattern: found.pattern };
      case "array":
        return found.items ? { kind: "list", of: found.items } : null;
      case "object":
        if (found.properties) return { kind: "table", properties: found.properties, required: found.required ?? [] };
        return typeof found.additionalProperties === "object" ? { kind: "map", of: found.additionalProperties } : null;
      default:
        return null;
    }
  }

  private definition(reference: string): Schema {
    return this.root.$defs![reference.replace("#/$defs/", "")];
  }

  /** The name of the definition that a field refers to, such as "queue": entries of a registry have it as a prefix. */
  private registry(schema: Schema): string {
    const reference = schema.$ref ?? schema.anyOf?.find((one) => one.$ref)?.$ref ?? "";
    return reference.replace("#/$defs/", "");
  }
}

/** Entries of the registry that a field chooses from; none where it is no choice of a registry. */
export function entriesOf(library: Library, registry: string): Entry[] {
  return library.registries
    .flatMap((one) => one.entries)
    .filter((entry) => entry.definition.startsWith(`${registry}.`));
}

function choicesOf(schema: Schema): { value: string; words: string }[] | null {
  const all = schema.oneOf ?? schema.enum?.map((value): Schema => ({ const: value }));
  if (!all?.length || !all.every((one) => typeof one.const === "string")) return null;
  return all.map((one) => ({ value: String(one.const), words: one.description ?? "" }));
}

/** The name of a key as errors give it: an element of a list by its name, or its number. */
export function dotted(path: Path, root: Value): string {
  let at: Value | undefined = root;
  return path
    .map((key) => {
      at = (at as Record<string, Value> | null)?.[key as string];
      const named = typeof key === "number" ? (at as Record<string, Value> | null)?.name : undefined;
      return String(named ?? key);
    })
    .join(".");
}

/** A value as inline TOML. */
export function toml(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  if (value !== null && typeof value === "object") {
    return `{ ${Object.entries(value)
      .map(([key, one]) => `${bare(key)} = ${toml(one)}`)
      .join(", ")} }`;
  }
  return JSON.stringify(value);
}

function bare(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key);
}

/** Every key of a file with a single value, as `--sweep` names it, and the value as TOML. */
export function keysOf(value: Value, root: Value = value, path: Path = []): { key: string; value: string }[] {
  if (value !== null && typeof value === "object") {
    const parts: [string | number, Value][] = Array.isArray(value)
      ? value.map((one, place) => [place, one])
      : Object.entries(value);
    return parts.flatMap(([key, one]) => keysOf(one, root, [...path, key]));
  }
  return [{ key: dotted(path, root), value: typeof value === "string" ? value : toml(value) }];
}
