"""Named settings: those of the paper, of a neighbouring method, and a small model. Keywords override single settings.

The paper's settings have an RBF dictionary with variances 10^k, k = -4..6, 50 plain random frequencies (15 for
classification), evidence on 1,000 warm-up rows, and fixed noise. The paper's protocol is
``model.warm_up(X[:1000], y[:1000])``, which does not learn its rows, then ``model.prequential(X[1000:], y[1000:])``.
D adds a random walk to every expert, S a Markov chain over experts.

>>> from iegp.presets import dsie_gp
>>> model = dsie_gp(random_state=0)
>>> model.weights, model.drift_var, len(model.kernels)
('switching', 0.001, 11)
>>> dsie_gp("classification").n_frequencies
15

``doebe`` is the dynamic online ensemble of basis expansions of Waxman and Djurić.

``light`` is the default model with fewer beliefs and frequencies, for rows that come one at a time: of
numbers, or of the kind of label that is named.

>>> from iegp.presets import light
>>> light(random_state=0).n_frequencies
50
>>> light("classification", random_state=0).warmup
256
"""

from __future__ import annotations

from typing import Any, Literal, overload

from iegp._docstrings import fill_docstrings
from iegp.core.settings import check_choice
from iegp.estimators import (
    IEGPLVM,
    IEGPClassifier,
    IEGPCountRegressor,
    IEGPOrdinalClassifier,
    IEGPRegressor,
)
from iegp.estimators.defaults import AUTO_LAGS, LIGHT, LIGHT_CLASSES, LIGHT_COUNTS
from iegp.kernels import HSGP, RBF

__all__ = [
    "die_gp",
    "die_gplvm",
    "doebe",
    "dsie_gp",
    "dsie_gplvm",
    "ie_gp",
    "ie_gplvm",
    "light",
    "sie_gp",
    "sie_gplvm",
]

DRIFT_VAR = 1e-3
SWITCH_PROB = 0.01
# The two bases of DOEBE.
HILBERT = tuple(HSGP("per-dimension", stretch=s, n_functions=None) for s in (0.5, 1.0, 2.0))
RANDOM = tuple(RBF("per-dimension", stretch=s) for s in (0.5, 1.0, 2.0))
DOCS = {
    "task_sections": """\
Parameters
----------
task : {"regression", "classification"}, default="regression"
    Kind of model.
**overrides : object
    Parameters of the estimator that replace those of the preset.

Returns
-------
IEGPRegressor or IEGPClassifier
    Unfitted model for the task.""",
    "map_sections": """\
Parameters
----------
**overrides : object
    Parameters of :class:`~iegp.IEGPLVM` that replace those of the preset.

Returns
-------
IEGPLVM
    Unfitted model.""",
}


@overload
def ie_gp(task: Literal["regression"] = ..., **overrides: Any) -> IEGPRegressor: ...
@overload
def ie_gp(task: Literal["classification"], **overrides: Any) -> IEGPClassifier: ...
@fill_docstrings(DOCS)
def ie_gp(task: str = "regression", **overrides: Any) -> IEGPRegressor | IEGPClassifier:
    """Make the paper's IE-GP: static experts, Bayes weights, shutdown at 1e-16.

    {task_sections}
    """
    return _paper(task, {"weights": "bayes", "drift_var": 0.0}, overrides)


@overload
def die_gp(task: Literal["regression"] = ..., **overrides: Any) -> IEGPRegressor: ...
@overload
def die_gp(task: Literal["classification"], **overrides: Any) -> IEGPClassifier: ...
@fill_docstrings(DOCS)
def die_gp(task: str = "regression", **overrides: Any) -> IEGPRegressor | IEGPClassifier:
    """Make the paper's DIE-GP: IE-GP with a random walk in the coefficients of every expert.

    {task_sections}
    """
    return _paper(task, {"weights": "bayes", "drift_var": DRIFT_VAR}, overrides)


@overload
def sie_gp(task: Literal["regression"] = ..., **overrides: Any) -> IEGPRegressor: ...
@overload
def sie_gp(task: Literal["classification"], **overrides: Any) -> IEGPClassifier: ...
@fill_docstrings(DOCS)
def sie_gp(task: str = "regression", **overrides: Any) -> IEGPRegressor | IEGPClassifier:
    """Make the paper's SIE-GP: IE-GP in which the active expert follows a Markov chain.

    {task_sections}
    """
    return _paper(task, {"weights": "switching", "drift_var": 0.0}, overrides)


@overload
def dsie_gp(task: Literal["regression"] = ..., **overrides: Any) -> IEGPRegressor: ...
@overload
def dsie_gp(task: Literal["classification"], **overrides: Any) -> IEGPClassifier: ...
@fill_docstrings(DOCS)
def dsie_gp(task: str = "regression", **overrides: Any) -> IEGPRegressor | IEGPClassifier:
    """Make the paper's DSIE-GP: a random walk in every expert and a Markov chain over experts.

    {task_sections}
    """
    return _paper(task, {"weights": "switching", "drift_var": DRIFT_VAR}, overrides)


@overload
def doebe(task: Literal["regression"] = ..., **overrides: Any) -> IEGPRegressor: ...
@overload
def doebe(task: Literal["classification"], **overrides: Any) -> IEGPClassifier: ...
@fill_docstrings(DOCS)
def doebe(task: str = "regression", **overrides: Any) -> IEGPRegressor | IEGPClassifier:
    """Make a dynamic online ensemble of basis expansions (DOEBE): Hilbert-space bases beside random features.

    DIE-GP with other experts: additive :class:`~iegp.kernels.HSGP` terms and RBF kernels of as many features, with a
    length scale per column by evidence, and half and twice of it. ``drift_var=(0.0, 1e-3), weights="switching"`` is
    the variant with static experts beside dynamic ones, ``weights="exponentiated-gradient"`` online Bayesian stacking.

    {task_sections}

    Notes
    -----
    D. Waxman and P. M. Djurić (2024), Dynamic Online Ensembles of Basis Expansions, Transactions on Machine Learning
    Research. Theirs differs: length scales of each basis are trained by gradients and perturbed, intervals of the basis
    follow from all inputs, and an RBF network is a third basis.

    Examples
    --------
    >>> from iegp.presets import doebe
    >>> model = doebe(random_state=0)
    >>> model.kernels[0], model.drift_var, model.weights
    (HSGP('per-dimension', stretch=0.5, n_functions=None), 0.001, 'bayes')
    """
    return _paper(task, {"kernels": HILBERT + RANDOM, "weights": "bayes", "drift_var": DRIFT_VAR}, overrides)


_LIGHT: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "regression": (IEGPRegressor, LIGHT),
    "classification": (IEGPClassifier, LIGHT_CLASSES),
    "count": (IEGPCountRegressor, LIGHT_COUNTS),
    "ordinal": (IEGPOrdinalClassifier, LIGHT_CLASSES),
}


@overload
def light(task: Literal["regression"] = ..., **overrides: Any) -> IEGPRegressor: ...
@overload
def light(task: Literal["classification"], **overrides: Any) -> IEGPClassifier: ...
@overload
def light(task: Literal["count"], **overrides: Any) -> IEGPCountRegressor: ...
@overload
def light(task: Literal["ordinal"], **overrides: Any) -> IEGPOrdinalClassifier: ...
def light(task: str = "regression", **overrides: Any) -> Any:
    """Make a small model: few kernels of 50 frequencies, warm-up of 256 rows (docs/default-model.md, docs/labels.md).

    It costs about a fifth of the default per row, and its refits are short. ``RiverRegressor.light`` and those of the
    other River models are the same for River.

    Parameters
    ----------
    task : {"regression", "classification", "count", "ordinal"}, default="regression"
        Kind of label.
    **overrides : object
        Parameters of the estimator that replace those of the preset.

    Returns
    -------
    IEGPRegressor, IEGPClassifier, IEGPCountRegressor or IEGPOrdinalClassifier
        Unfitted model for the task.
    """
    check_choice("task", task, tuple(_LIGHT))
    estimator, settings = _LIGHT[task]
    if overrides.get("warmup") == 0:
        # No rows in which seasons could be looked for.
        settings = settings | {"lags": AUTO_LAGS}
    return estimator(**(settings | overrides))


@fill_docstrings(DOCS)
def ie_gplvm(**overrides: Any) -> IEGPLVM:
    """Make the paper's IE-GPLVM: RBF variances 2^k, k = -3..3, 50 frequencies, PCA start, latent prior N(0, I).

    The paper's warm-up is 10 % of the rows (5 % of MNIST): pass ``warmup``. Its output is ``stitched_embedding_``.

    {map_sections}
    """
    settings: dict[str, Any] = {
        "kernels": tuple(RBF(2.0 ** (k / 2)) for k in range(-3, 4)),
        "n_frequencies": 50,
        "init": "pca",
        "start_spread": 1.0,
        "latent_var": 1.0,
        "chain": False,
        "warmup_iter": 100,
    }
    return IEGPLVM(**(settings | overrides))


@fill_docstrings(DOCS)
def die_gplvm(**overrides: Any) -> IEGPLVM:
    """Make the dynamic IE-GPLVM of the paper's Remark 4: a random walk in the coefficients of every expert.

    {map_sections}

    Examples
    --------
    >>> from iegp.presets import die_gplvm
    >>> die_gplvm(warmup=100).drift_var
    0.001
    """
    return ie_gplvm(**({"drift_var": DRIFT_VAR} | overrides))


@fill_docstrings(DOCS)
def sie_gplvm(**overrides: Any) -> IEGPLVM:
    """Make an IE-GPLVM in which the active expert follows a Markov chain (Remark 4).

    {map_sections}
    """
    return ie_gplvm(**({"weights": "switching", "switch_prob": SWITCH_PROB} | overrides))


@fill_docstrings(DOCS)
def dsie_gplvm(**overrides: Any) -> IEGPLVM:
    """Make an IE-GPLVM with a random walk in every expert and a Markov chain over experts (Remark 4).

    {map_sections}
    """
    return sie_gplvm(**({"drift_var": DRIFT_VAR} | overrides))


def _paper(task: str, variant: dict[str, Any], overrides: dict[str, Any]) -> IEGPRegressor | IEGPClassifier:
    check_choice("task", task, ("regression", "classification"))
    settings: dict[str, Any] = {
        "kernels": tuple(RBF(10.0 ** (k / 2)) for k in range(-4, 7)),
        "features": "random",
        "switch_prob": SWITCH_PROB,
        "shutdown": 1e-16,
        "warmup": 1000,
        "learn_warmup": False,
    }
    if task == "regression":
        return IEGPRegressor(**(settings | {"n_frequencies": 50, "noise_forgetting": None} | variant | overrides))
    return IEGPClassifier(**(settings | {"n_frequencies": 15, "sharpness": 1.0} | variant | overrides))
