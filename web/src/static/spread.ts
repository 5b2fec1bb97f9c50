// The mean of replications with its 95 % confidence interval (`lasthop.stats`).

export interface Mean {
  mean: number;
  /** Unknown of one value, or of equal ones. */
  mean_ci95: [number, number] | null;
}

const CONFIDENCE = 0.95;

/**
 * Mean ± t·s/√n with Student's t of n − 1 degrees of freedom (Jain, The Art of Computer Systems Performance Analysis,
 * §13.2).
 */
export function meanOf(values: number[]): Mean {
  const count = values.length;
  const mean = sum(values) / count;
  if (count < 2 || values.every((value) => value === values[0])) return { mean, mean_ci95: null };
  const deviation = Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / (count - 1));
  const reach = (studentT(count - 1) * deviation) / Math.sqrt(count);
  return { mean, mean_ci95: [mean - reach, mean + reach] };
}

/** The two-sided quantile of Student's t at 95 %, by bisection of the angle whose tangent is t/√freedom. */
export function studentT(freedom: number): number {
  let [low, high] = [0, Math.PI / 2];
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (withinAngle(middle, freedom) < CONFIDENCE) low = middle;
    else high = middle;
  }
  return Math.sqrt(freedom) * Math.tan(low);
}

/** A(t|ν) of Abramowitz and Stegun, equations 26.7.3 and 26.7.4, for the angle of t. */
function withinAngle(angle: number, freedom: number): number {
  const [sine, square, odd] = [Math.sin(angle), Math.cos(angle) ** 2, freedom % 2];
  let [term, total] = [odd ? Math.cos(angle) : 1, 0];
  for (let place = 0; place < Math.floor(freedom / 2); place++) {
    total += term;
    term *= (square * (2 * place + 1 + odd)) / (2 * place + 2 + odd);
  }
  return odd ? (2 / Math.PI) * (angle + sine * total) : sine * total;
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
