// Numbers with their units, rounded for reading: "34 µs", "8.39 s", "1.2 MB".

/** Unit of an axis or a value. */
export type Unit = "bytes" | "seconds" | "bit/s" | "packets" | "datagrams";

const PREFIXES = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
] as const;

/** The unit of an axis up to `highest`: its name, and what one of it is. */
export function scaleOf(unit: Unit, highest: number): { name: string; divisor: number } {
  if (unit === "seconds") return highest >= 10 ? { name: "s", divisor: 1 } : { name: "ms", divisor: 1e-3 };
  if (unit !== "bytes" && unit !== "bit/s") return { name: unit, divisor: 1 };
  const [divisor, prefix] = PREFIXES.find(([least]) => highest >= least) ?? [1, ""];
  return { name: unit === "bytes" ? (prefix ? `${prefix}B` : "bytes") : `${prefix}bit/s`, divisor };
}

/** A length of time to three digits. */
export function duration(seconds: number): string {
  const least = Math.abs(seconds);
  if (least >= 1) return `${digits(seconds)} s`;
  return least >= 1e-3 || least === 0 ? `${digits(seconds * 1e3)} ms` : `${digits(seconds * 1e6)} µs`;
}

/** An amount to three digits, with the prefix that keeps it short. */
export function amount(value: number, unit: "bytes" | "bit/s"): string {
  const { name, divisor } = scaleOf(unit, Math.abs(value));
  return `${digits(value / divisor)} ${name}`;
}

/** How whole numbers are written, and others. To make such a format takes as long as to write a thousand numbers. */
const WHOLE = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 15 });
const BROKEN = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 6 });

/** A whole number with all its digits, another one with six. */
export function number(value: number): string {
  return (Number.isInteger(value) ? WHOLE : BROKEN).format(Number(value.toPrecision(9)));
}

/** Three digits, or all of a whole number. */
function digits(value: number): string {
  const rounded = Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
  return number(rounded);
}
