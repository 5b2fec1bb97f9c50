"""Several runs, and what they have in common: replications, sweeps, comparisons, real beside virtual time."""
