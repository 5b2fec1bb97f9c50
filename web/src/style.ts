// Colours: Paul Tol's "vibrant" set, which stays distinct for the colour-blind; shapes distinguish the same things in
// print. The same as in `lasthop.plots.style`.

export const BLACK = "#222222";
export const GREY = "#8A8A8A";
export const BLUE = "#0077BB";
export const CYAN = "#33BBEE";
export const TEAL = "#009988";
export const ORANGE = "#EE7733";
export const RED = "#CC3311";
export const MAGENTA = "#EE3377";
export const PURPLE = "#AA4499";

/** Colours of flows, in the order of the run; a flow has its own in every run. */
export const SERIES = [BLUE, ORANGE, TEAL, MAGENTA, CYAN, RED, BLACK];

/** Change of a colour's lightness in the second and in further runs. */
const SHADE_STEPS = [0, 0.45, -0.4, 0.7];

/** A colour in another shade for each step; the first is its own. */
export function shaded(colour: string, step: number): string {
  const change = SHADE_STEPS[step % SHADE_STEPS.length];
  const towards = change > 0 ? 255 : 0;
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return `rgb(${parts.map((part) => Math.round(part + (towards - part) * Math.abs(change))).join(" ")})`;
}

/** Tints behind the curves, by phase of the sender. */
export const SHADES: Record<string, string> = {
  slow_start: "#E3F4FC",
  congestion_avoidance: "#F1F5EC",
  fast_recovery: "#FCE9DC",
  after_timeout: "#FBDDE7",
  startup: "#E3F4FC",
  drain: "#FCE9DC",
  probe_bw: "#F1F5EC",
  probe_bw_down: "#F3ECDD",
  probe_bw_cruise: "#F1F5EC",
  probe_bw_refill: "#E1EFE4",
  probe_bw_up: "#CFE8DA",
  probe_rtt: "#EADDF3",
};
