"""Glitches among warm-up rows: errors are those of fits without each row; glitches of any size are found, few alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import batch

from iegp import IEGPRegressor
from iegp.core.expert.sweep import kernel_features
from iegp.core.fitting.usual_labels import usual_labels
from iegp.kernels import RBF, Linear

NOISE = 0.1


def rows(n=200, n_outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    y = np.sin(x[:, :1] + np.arange(n_outputs)) + NOISE * rng.normal(size=(n, n_outputs))
    return x, y - y.mean(axis=0)


def fitted(x, y):
    """Experts fitted to all rows, which are not standardised and none of which is left out."""
    kernels = [RBF(3.0), RBF(1.0) + Linear()]
    settings = {"n_frequencies": 12, "drift_var": 0.0, "standardize": False, "robust": False, "warmup": len(x)}
    return IEGPRegressor(kernels, **settings).warm_up(x, y).model_.experts.ensemble


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_predictions_are_those_of_a_loop_that_leaves_out_each_row(n_outputs):
    x, y = rows(40, n_outputs)
    ensemble = fitted(x, y)
    found = []
    for kernel in range(2):
        phi, ratio = kernel_features(ensemble, kernel, x), ensemble.prior_ratio[kernel * ensemble.n_drifts]
        others = [np.arange(len(x)) != t for t in range(len(x))]
        means = [
            [batch.rf_predictor(phi[o], y[o, d], phi[t : t + 1], ratio, 1.0)[0][0] for d in range(n_outputs)]
            for t, o in enumerate(others)
        ]
        found.append(np.array(means))
    sizes = [np.median(np.abs(y - means).max(axis=1)) for means in found]
    assert_allclose(usual_labels(ensemble, x, y)[1], found[int(np.argmin(sizes))], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("size", [3.0, -10.0, 1e3, 1e6])
def test_a_glitch_is_found_and_nothing_else(size):
    x, y = rows()
    assert usual_labels(fitted(x, y), x, y)[0].all()
    glitch = y.copy()
    glitch[70] += size
    is_usual, means = usual_labels(fitted(x, glitch), x, glitch)
    assert np.flatnonzero(~is_usual).tolist() == [70]
    if abs(size) <= 10.0:
        assert abs(means[70, 0] - y[70, 0]) < 10.0 * NOISE


def test_more_than_a_few_are_no_glitches():
    x, y = rows()
    y[:: len(y) // 4] += 10.0
    assert usual_labels(fitted(x, y), x, y)[0].all()
