"""Statistics of replications and of samples: quantiles, intervals, fairness, variation. Pure functions of numbers."""

from lasthop.stats.alike import are_alike
from lasthop.stats.convergence import convergence_time
from lasthop.stats.fairness import jain_index, max_min_index, product_index
from lasthop.stats.intervals import mean_interval, median_interval, student_t, two_medians_interval
from lasthop.stats.precision import is_narrow
from lasthop.stats.quantiles import QUANTILE_RULE, quantile
from lasthop.stats.recovery_time import time_to_recover
from lasthop.stats.replications import Spread, spread
from lasthop.stats.variation import rate_variation

__all__ = [
    "QUANTILE_RULE",
    "Spread",
    "are_alike",
    "convergence_time",
    "is_narrow",
    "jain_index",
    "max_min_index",
    "mean_interval",
    "median_interval",
    "product_index",
    "quantile",
    "rate_variation",
    "spread",
    "student_t",
    "time_to_recover",
    "two_medians_interval",
]
