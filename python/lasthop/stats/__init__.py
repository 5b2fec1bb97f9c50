"""Statistics of replications and of samples: quantiles, intervals, fairness, variation. Pure functions of numbers."""

from lasthop.stats.convergence import convergence_time
from lasthop.stats.fairness import jain_index
from lasthop.stats.intervals import mean_interval, median_interval, student_t
from lasthop.stats.precision import is_narrow
from lasthop.stats.quantiles import QUANTILE_RULE, Spread, quantile, spread
from lasthop.stats.variation import rate_variation

__all__ = [
    "QUANTILE_RULE",
    "Spread",
    "convergence_time",
    "is_narrow",
    "jain_index",
    "mean_interval",
    "median_interval",
    "quantile",
    "rate_variation",
    "spread",
    "student_t",
]
