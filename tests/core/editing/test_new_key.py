"""What a new key starts from: the means of the template, and its information counted as a few rows."""

from __future__ import annotations

import numpy as np
import pytest

from iegp import IEGPRegressor
from iegp.core.editing.new_key import for_new_keys
from iegp.core.expert.belief import is_moving, moments
from iegp.core.state import belief_at, drift_at
from iegp.kernels import RBF, Constant, Linear

N = 120


@pytest.fixture(scope="module")
def learned():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2))
    y = np.stack([np.sin(x[:, 0]), x[:, 1]], axis=1) + 0.3 * rng.normal(size=(N, 2))
    kernels = [RBF(1.0) + Linear() + Constant(), Constant(prior_var=1.0)]
    model = IEGPRegressor(kernels, n_frequencies=6, drift_var=(0.0, 1e-3), drift_units="prior", random_state=0)
    return model.warm_up(x, y).model_


def beliefs(model):
    ensemble = model.experts.ensemble
    for b, ratio in enumerate(ensemble.prior_ratio):
        drift = drift_at(ensemble, b)
        yield *moments(belief_at(ensemble.layout, model.state, b), drift), float(ratio), is_moving(drift)


@pytest.mark.parametrize("n_rows", [1.0, 30.0])
def test_means_stay_and_what_was_learned_counts_as_so_many_rows(learned, n_rows):
    kinds = set()
    new = for_new_keys(learned, n_rows)
    for (mean, cov, ratio, moves), (new_mean, new_cov, _, _) in zip(beliefs(learned), beliefs(new), strict=True):
        np.testing.assert_allclose(new_mean, mean, 1e-7, 1e-9)
        # A walk leaves directions that rows hardly teach with more than the prior variance, which counts as none.
        information = np.linalg.inv(cov) - np.eye(len(cov)) / ratio
        if np.linalg.eigvalsh(information)[0] < -1e-8:
            continue
        kinds.add(moves)
        first = ratio if moves else max(ratio, 10.0)
        wanted = np.linalg.inv(np.eye(len(cov)) / first + n_rows / N * information)
        np.testing.assert_allclose(new_cov, wanted, 1e-6, 1e-8 * np.abs(wanted).max())
    assert kinds == {True, False}


def test_noise_weights_and_the_model_itself_stay(learned):
    before = learned.state.copy()
    new = for_new_keys(learned, 1.0)
    for name in ("noise_shape", "noise_scale", "log_weights", "rows", "recent", "far", "spread"):
        np.testing.assert_array_equal(getattr(new.state, name), getattr(learned.state, name))
    for now, then in zip(learned.state, before, strict=True):
        np.testing.assert_array_equal(now, then)
    assert np.abs(new.state.matrix - learned.state.matrix).max() > 0.1
