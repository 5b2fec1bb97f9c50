// Colours: Paul Tol's "vibrant" set, which stays distinct for the colour-blind; shapes tell the same things apart in print.
// The same as in `lasthop.plots.style`.

export const BLACK = "#222222";
export const GREY = "#8A8A8A";
export const BLUE = "#0077BB";
export const CYAN = "#33BBEE";
export const TEAL = "#009988";
export const ORANGE = "#EE7733";
export const RED = "#CC3311";
export const MAGENTA = "#EE3377";
export const PURPLE = "#AA4499";

/** Tints behind the curves, by phase of the sender. */
export const SHADES: Record<string, string> = {
  slow_start: "#E3F4FC",
  congestion_avoidance: "#F1F5EC",
  fast_recovery: "#FCE9DC",
  after_timeout: "#FBDDE7",
};
