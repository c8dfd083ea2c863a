"""Hyperparameters from the warm-up rows: evidence, length scales, and the experts of an ensemble."""
