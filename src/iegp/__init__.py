"""Incremental ensemble Gaussian processes: online learning with uncertainty you can trust."""
