"""What the tests of merging and histories share: static models that can be merged, and how close two models are."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp import IEGPRegressor
from iegp.kernels import RBF

Array = NDArray[np.float64]

STATIC: dict[str, Any] = {
    "kernels": [RBF(0.7), RBF(1.0), RBF(1.5)],
    "n_frequencies": 10,
    "drift_var": 0.0,
    "weights": "bayes",
    "shutdown": 0.0,
    "noise_forgetting": None,
    "prior_var": 1.0,
    "noise_var": 0.5,
    "learn_warmup": False,
    "warmup": 64,
    "random_state": 0,
}


def stream(n: int, seed: int = 0, n_outputs: int | None = None) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
    if n_outputs is None:
        return X, y + 0.5 * rng.normal(size=n)
    return X, np.column_stack([(k + 1) * y for k in range(n_outputs)]) + 0.5 * rng.normal(size=(n, n_outputs))


def warmed_up(y_like: Array | None = None, **changes: Any) -> IEGPRegressor:
    """A static model after a warm-up of 64 rows that it did not learn (unless told to)."""
    n_outputs = None if y_like is None or y_like.ndim == 1 else y_like.shape[1]
    return IEGPRegressor(**(STATIC | changes)).warm_up(*stream(64, seed=99, n_outputs=n_outputs))


def taught(base: IEGPRegressor, X: Array, y: Array) -> IEGPRegressor:
    """A copy of ``base`` that has learned these rows (none is fine)."""
    model = deepcopy(base)
    return model.partial_fit(X, y) if len(X) else model


def assert_same_model(got: IEGPRegressor, wanted: IEGPRegressor, tolerance: float = 1e-8) -> None:
    """Predictions, log weights (where they matter), noise and row count."""
    X = stream(50, seed=7)[0]
    ours, theirs = got.predict_dist(X, check_input=False), wanted.predict_dist(X, check_input=False)
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(ours.std, theirs.std, rtol=tolerance)
    np.testing.assert_allclose(got.expert_weights_, wanted.expert_weights_, rtol=0, atol=tolerance)
    log_weights = [model.model_.state.log_weights for model in (got, wanted)]
    np.testing.assert_allclose(*log_weights, rtol=tolerance, atol=10 * tolerance)
    np.testing.assert_allclose(got.model_.state.noise_scale, wanted.model_.state.noise_scale, rtol=tolerance)
    np.testing.assert_allclose(got.model_.state.noise_shape, wanted.model_.state.noise_shape, rtol=tolerance)
    assert got.n_samples_seen_ == wanted.n_samples_seen_
