"""The paper's settings for regression, by name; keywords override.

An RBF dictionary with variances 10^k, k = -4..6, 50 plain random frequencies, evidence on 1,000 warm-up rows, fixed
noise. The paper's protocol is ``model.warm_up(X[:1000], y[:1000])``, whose rows are not learned, then
``model.prequential(X[1000:], y[1000:])``. D adds a random walk to every expert, S a Markov chain over experts.

>>> from iegp.presets import dsie_gp
>>> model = dsie_gp(random_state=0)
>>> model.weights, model.drift_var, len(model.kernels)
('switching', 0.001, 11)
"""

from __future__ import annotations

from typing import Any

from iegp.errors import InputError
from iegp.estimators import IEGPRegressor
from iegp.kernels import RBF

__all__ = ["die_gp", "dsie_gp", "ie_gp", "sie_gp"]

DRIFT_VAR = 1e-3
SWITCH_PROB = 0.01


def ie_gp(task: str = "regression", **overrides: Any) -> IEGPRegressor:
    """IE-GP: static experts, Bayes weights, shutdown at 1e-16."""
    return _paper(task, {"weights": "bayes", "drift_var": 0.0}, overrides)


def die_gp(task: str = "regression", **overrides: Any) -> IEGPRegressor:
    """DIE-GP: every expert follows a random walk."""
    return _paper(task, {"weights": "bayes", "drift_var": DRIFT_VAR}, overrides)


def sie_gp(task: str = "regression", **overrides: Any) -> IEGPRegressor:
    """SIE-GP: the active expert follows a Markov chain."""
    return _paper(task, {"weights": "switching", "drift_var": 0.0}, overrides)


def dsie_gp(task: str = "regression", **overrides: Any) -> IEGPRegressor:
    """DSIE-GP: both."""
    return _paper(task, {"weights": "switching", "drift_var": DRIFT_VAR}, overrides)


def _paper(task: str, variant: dict[str, Any], overrides: dict[str, Any]) -> IEGPRegressor:
    if task != "regression":
        raise InputError(f"task={task!r} is not known; this version has 'regression'")
    settings: dict[str, Any] = {
        "kernels": tuple(RBF(10.0 ** (k / 2)) for k in range(-4, 7)),
        "n_frequencies": 50,
        "features": "random",
        "switch_prob": SWITCH_PROB,
        "shutdown": 1e-16,
        "noise_forgetting": None,
        "warmup": 1000,
        "learn_warmup": False,
    }
    return IEGPRegressor(**(settings | variant | overrides))
