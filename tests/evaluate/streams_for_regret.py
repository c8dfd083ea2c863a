"""Streams, and ensembles of fixed hyperparameters on them, for the tests of regret."""

from __future__ import annotations

import numpy as np

from iegp import IEGPRegressor
from iegp.evaluate.regret import RegretLedger
from iegp.kernels import RBF

PRIOR_VAR = 1.3


def ensemble(scales, n_frequencies, noise_var, switch_prob=0.0, prior_var=PRIOR_VAR):
    """IE-GP, or SIE-GP with a ``switch_prob``, exactly as in the lemmas: all settings fixed, no expert shut down."""
    return IEGPRegressor(
        [RBF(scale) for scale in scales],
        n_frequencies=n_frequencies,
        features="random",
        drift_var=0.0,
        weights="switching" if switch_prob else "bayes",
        switch_prob=switch_prob,
        shutdown=0.0,
        prior_var=prior_var,
        noise_var=noise_var,
        noise_forgetting=None,
        warmup=0,
        standardize=False,
        random_state=0,
    )


def followed(model, x, y, switch_prob=0.0):
    """The ledger of a run, with every expert scored on its own, and the features (T, F) of each."""
    run = model.prequential(x, y)
    features = features_of(model, x)
    scores = expert_log_scores(features, y, model.noise_var, model.prior_var)
    return RegretLedger.from_run(run, scores, switch_prob=switch_prob), features


def features_of(model, x):
    return [phi_of(x, expert.frequencies) for expert in model.experts_]


def phi_of(x, frequencies):
    angles = x @ frequencies.T
    return np.hstack([np.sin(angles), np.cos(angles)]) / np.sqrt(len(frequencies))


def expert_log_scores(features, y, noise_var, prior_var):
    """Every expert on its own: one-step-ahead log densities by recursive least squares, (T, M)."""
    scores = np.empty((len(y), len(features)))
    for m, phi in enumerate(features):
        mean, cov = np.zeros(phi.shape[1]), prior_var * np.eye(phi.shape[1])
        for t, row in enumerate(phi):
            gain = cov @ row
            variance = row @ gain + noise_var
            error = y[t] - row @ mean
            scores[t, m] = -0.5 * (np.log(2 * np.pi * variance) + error**2 / variance)
            mean, cov = mean + gain * error / variance, cov - np.outer(gain, gain) / variance
    return scores


def adversary(kind, n, rng):
    """Streams that follow no model of the library."""
    x = rng.standard_normal((n, 1))
    if kind == "noise":
        y = rng.standard_normal(n)
    elif kind == "smooth":
        y = np.sin(2 * x[:, 0]) + 0.1 * rng.standard_normal(n)
    elif kind == "outliers":
        y = np.sin(x[:, 0]) + 20.0 * (rng.random(n) < 0.05)
    elif kind == "flip":
        y = np.where(np.arange(n) < n // 2, 3.0, -3.0)
    else:  # a sawtooth of growing size
        y = np.arange(n) % 2 * np.arange(n) / n * 10.0
    return x, y
