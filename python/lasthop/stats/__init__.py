"""Statistics of replications: quantiles, confidence intervals, fairness. Pure functions of numbers."""

from lasthop.stats.fairness import jain_index
from lasthop.stats.intervals import median_interval
from lasthop.stats.quantiles import QUANTILE_RULE, Spread, quantile, spread

__all__ = ["QUANTILE_RULE", "Spread", "jain_index", "median_interval", "quantile", "spread"]
