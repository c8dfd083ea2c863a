"""River's own regressors, several reasonable settings of each, for ``river_models.py``.

Inputs are standardised for all of them; the target too for those that take gradient steps or have a prior.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from river import (
    dummy,
    ensemble,
    feature_extraction,
    forest,
    linear_model,
    neighbors,
    optim,
    preprocessing,
    rules,
    stats,
    tree,
)

SCALER = preprocessing.StandardScaler


def _scaled(model: Any) -> Any:
    return SCALER() | model


def _scaled_target(model: Any) -> Any:
    return SCALER() | preprocessing.TargetStandardScaler(regressor=model)


def _linear(optimizer: Any, clip_gradient: float = 1e12) -> Any:
    return linear_model.LinearRegression(optimizer=optimizer, clip_gradient=clip_gradient)


def _kernel_linear() -> Any:
    """The model of River closest to iegp: one set of random Fourier features under Bayesian linear regression."""
    features = feature_extraction.RBFSampler(gamma=0.1, n_components=50, seed=0)
    return SCALER() | features | preprocessing.TargetStandardScaler(linear_model.BayesianLinearRegression())


def _experts() -> Any:
    steps = (1e-3, 1e-2, 1e-1)
    return ensemble.EWARegressor([_linear(optim.SGD(step)) for step in steps], learning_rate=0.1)


PEERS: dict[str, Callable[[], Any]] = {
    "last label": lambda: dummy.StatisticRegressor(stats.EWMean(1.0)),
    "mean of last labels": lambda: dummy.StatisticRegressor(stats.EWMean(0.5)),
    "LinearRegression SGD 0.01": lambda: _scaled_target(_linear(optim.SGD(0.01))),
    "LinearRegression SGD clipped": lambda: _scaled_target(_linear(optim.SGD(0.03), clip_gradient=1.0)),
    "LinearRegression Adam": lambda: _scaled_target(_linear(optim.Adam(0.01))),
    "PARegressor C 0.01": lambda: _scaled_target(linear_model.PARegressor(C=0.01, mode=2)),  # type: ignore[no-untyped-call]
    "PARegressor C 1": lambda: _scaled_target(linear_model.PARegressor(C=1.0, mode=2)),  # type: ignore[no-untyped-call]
    "BayesianLinear": lambda: _scaled_target(linear_model.BayesianLinearRegression()),
    "BayesianLinear 0.99": lambda: _scaled_target(linear_model.BayesianLinearRegression(smoothing=0.99)),
    "RBFSampler + BayesianLinear": _kernel_linear,
    "EWARegressor of SGD": lambda: _scaled_target(_experts()),
    "KNNRegressor 5": lambda: _scaled(neighbors.KNNRegressor(n_neighbors=5)),
    "KNNRegressor 10 weighted": lambda: _scaled(
        neighbors.KNNRegressor(n_neighbors=10, aggregation_method="weighted_mean")
    ),
    "KNNRegressor 3, window 300": lambda: _scaled(
        neighbors.KNNRegressor(n_neighbors=3, engine=neighbors.LazySearch(window_size=300))
    ),
    "HoeffdingTree": lambda: _scaled(tree.HoeffdingTreeRegressor()),
    "HoeffdingTree grace 50": lambda: _scaled(tree.HoeffdingTreeRegressor(grace_period=50)),
    "HoeffdingAdaptiveTree": lambda: _scaled(tree.HoeffdingAdaptiveTreeRegressor(seed=0)),
    "SGTRegressor": lambda: _scaled_target(tree.SGTRegressor()),
    "AMRules": lambda: _scaled(rules.AMRules()),
    "ARFRegressor": lambda: _scaled(forest.ARFRegressor(seed=0)),
    "AMFRegressor": lambda: _scaled(forest.AMFRegressor(seed=0)),
    "OXTRegressor": lambda: _scaled(forest.OXTRegressor(seed=0)),
    "SRPRegressor of 3": lambda: _scaled(
        ensemble.SRPRegressor(tree.HoeffdingTreeRegressor(grace_period=50), n_models=3, seed=0)
    ),
    "Bagging of 3 trees": lambda: _scaled(
        ensemble.BaggingRegressor(tree.HoeffdingAdaptiveTreeRegressor(grace_period=50, seed=0), n_models=3, seed=0)
    ),
}
