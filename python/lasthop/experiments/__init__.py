"""Experiments of several runs: replications, sweeps, comparisons, and real against virtual time."""
