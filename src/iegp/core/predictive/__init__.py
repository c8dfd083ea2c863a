"""Predictive distributions: mixtures of Gaussians, Student-t and counts, with their quantiles and scores."""
