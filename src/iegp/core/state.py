"""What the experts are, what they have learned, and what a pass over rows showed: the data that core functions share.

Experts are ordered kernel by kernel, then drift, then rung of the noise ladder. The rungs of a (kernel, drift) pair
share one belief; the drifts of a kernel share its features. Labels that are not Gaussian have no noise to learn: their
beliefs are in units of the latent function, as if the noise were one, and rungs are the sharpness of probabilities.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.likelihoods import GAUSSIAN, likelihood_of
from iegp.core.likelihoods.sites import INTEGRATIONS, LabelModel, label_model_of
from iegp.core.weights import TABLE, WeightRule
from iegp.typing import Bool, Float, Int

_NOTHING: Float = np.zeros((0, 0))
_ONE: Float = np.ones(1)


class Ensemble(NamedTuple):
    """What the experts are."""

    frequencies: Float
    """(n_kernels, n_frequencies, d), in standardised inputs."""
    drift_ratio: Float
    """(n_beliefs,): random-walk variance per row over the noise variance; 0 is static."""
    prior_ratio: Float
    """(n_beliefs,): prior variance over the noise variance."""
    noise_var: Float
    """(n_beliefs, D): noise variance to start from."""
    forgetting: Float
    """(n_rungs,): noise forgetting per row; NaN keeps the noise fixed."""
    tails: Float
    """(n_rungs,): degrees of freedom of heavy-tailed noise; NaN on the other rungs."""
    rule: int
    transitions: Float
    rate: float
    shutdown: float
    likelihood: int = GAUSSIAN
    """What the labels are, a code of :mod:`iegp.core.likelihoods`."""
    integration: int = 0
    """How predictive probabilities are found, a code of :mod:`iegp.core.likelihoods.sites`."""
    link: Float = _NOTHING
    """(n_beliefs, P): parameters of the likelihood, such as cut-points; none for Gaussian labels."""
    sharpness: Float = _ONE
    """(n_rungs,): power to which an expert's class probabilities are raised."""
    nodes: Float = _NOTHING
    """(n_latents, draws): standard normal draws for Monte Carlo integration, if asked for."""

    @property
    def n_drifts(self) -> int:
        return len(self.drift_ratio) // len(self.frequencies)

    @property
    def n_experts(self) -> int:
        return len(self.drift_ratio) * len(self.forgetting)

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 where labels are numbers."""
        return 0 if self.likelihood == GAUSSIAN else likelihood_of(self.likelihood).n_classes(self.link.shape[1])

    @property
    def belief_of(self) -> Int:
        """Which belief an expert shares."""
        return places(len(self.drift_ratio), len(self.forgetting))[0]

    @property
    def rung_of(self) -> Int:
        """Which rung of the noise ladder an expert stands on."""
        return places(len(self.drift_ratio), len(self.forgetting))[1]


def label_model(ensemble: Ensemble) -> LabelModel:
    """What the labels of an ensemble are; its ``link`` has a row per belief."""
    likelihood, integration = likelihood_of(ensemble.likelihood), INTEGRATIONS[ensemble.integration]
    return label_model_of(likelihood, integration, ensemble.link, ensemble.nodes)


@compiled
def weight_rule(ensemble: Ensemble) -> WeightRule:
    """How the weights of an ensemble follow the scores."""
    return WeightRule(ensemble.rule, ensemble.transitions, ensemble.rate, ensemble.shutdown)


class State(NamedTuple):
    """What the experts have learned."""

    matrix: Float
    vector: Float
    noise_shape: Float
    noise_scale: Float
    log_weights: Float
    rows: Float
    """(1,): rows learned so far, counted where they are learned, so that no interruption can come between."""

    def copy(self) -> State:
        return State(*(array.copy() for array in self))


class Trace(NamedTuple):
    """What a pass over n rows showed: every row's prediction before it was learned, and its score."""

    mean: Float
    """(n, D); for classes their probabilities (n, K)."""
    std: Float
    """(n, D), observation noise included; (n, 0) for classes."""
    lower: Float
    """(n, D): lower end of the central interval; no rows if none was asked for."""
    upper: Float
    log_score: Float
    """(n,): log predictive density, summed over outputs."""
    weights: Float
    """(n, n_experts): as used for the prediction of that row."""
    pit: Float
    """(n, D): predicted probability of a smaller label; no rows without intervals, or for classes and counts."""

    @classmethod
    def concatenate(cls, traces: list[Trace]) -> Trace:
        """One trace out of consecutive ones."""
        return traces[0] if len(traces) == 1 else cls(*(np.concatenate(parts) for parts in zip(*traces, strict=True)))


class Who(NamedTuple):
    """Which belief and rung an expert has, which experts are alive, which beliefs have one."""

    belief_of: Int
    rung_of: Int
    alive: Bool
    active: Bool


def who_is_who(ensemble: Ensemble, state: State) -> Who:
    n_beliefs, n_rungs = len(ensemble.drift_ratio), len(ensemble.forgetting)
    if TABLE[ensemble.rule].drops_experts:
        alive = np.asarray(state.log_weights != -np.inf)
    else:
        alive = np.ones(n_beliefs * n_rungs, dtype=bool)
    active = alive if n_rungs == 1 else np.asarray(alive.reshape(n_beliefs, n_rungs).any(axis=1))
    return Who(*places(n_beliefs, n_rungs), alive, active)


@lru_cache(maxsize=32)
def places(n_beliefs: int, n_rungs: int) -> tuple[Int, Int]:
    """Belief and rung of every expert."""
    return np.repeat(np.arange(n_beliefs), n_rungs), np.tile(np.arange(n_rungs), n_beliefs)
