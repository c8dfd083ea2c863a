"""What the experts are and what they have learned: the data that core functions share.

Experts are ordered kernel by kernel, then drift, then noise model. The noise models of a (kernel, drift) pair share one
belief; the drifts of a kernel share its features. Labels that are not Gaussian have no noise to learn: their beliefs
are in units of the latent function, as if the noise were one, and noise models are degrees of sharpness.

Kernels may have different numbers of features, so beliefs lie one after another in flat arrays, and a :class:`Layout`
says where each begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.expert.belief import Belief
from iegp.core.features import Basis, joined
from iegp.core.lags import NO_LAGS, Lags
from iegp.core.likelihoods import GAUSSIAN, likelihood_of
from iegp.core.likelihoods.sites import INTEGRATIONS, LabelModel, label_model_of
from iegp.core.weights import WeightRule, is_dropped
from iegp.typing import Bool, Float, Int

_NOTHING: Float = np.zeros((0, 0))
_ONE: Float = np.ones(1)


class Layout(NamedTuple):
    """Where kernels and beliefs begin in the arrays that hold them one after another; the last entry is the end."""

    beliefs: Int
    """(n_kernels + 1,): first belief of each kernel."""
    waves: Int
    """(n_kernels + 1,): first wave of each kernel, a row of ``Basis.frequencies``."""
    affine: Int
    """(n_kernels + 1,): first affine feature of each kernel, an entry of ``Basis.slopes``."""
    features: Int
    """(n_beliefs + 1,): first row of each belief in ``State.vector``."""
    matrix: Int
    """(n_beliefs + 1,): first entry of each belief in ``State.matrix``."""

    @property
    def n_kernels(self) -> int:
        return len(self.beliefs) - 1

    @property
    def n_beliefs(self) -> int:
        return len(self.features) - 1

    @property
    def n_features(self) -> Int:
        """(n_beliefs,): F of each belief."""
        return np.diff(self.features)

    @property
    def kernel_of(self) -> Int:
        """(n_beliefs,): kernel of each belief."""
        return np.repeat(np.arange(self.n_kernels), np.diff(self.beliefs))

    def feature_counts(self) -> str:
        """F of the beliefs in words: one number, or the least and the most."""
        return " to ".join(str(n) for n in sorted({int(self.n_features.min()), int(self.n_features.max())}))


def layout_of(n_waves: Sequence[int], n_drifts: int, n_affine: Sequence[int] | None = None) -> Layout:
    """Layout of kernels with these numbers of waves and affine features, each with a belief for every drift.

    >>> layout_of([2, 3], 1, [0, 1]).n_features
    array([4, 7])
    """
    waves = np.asarray(n_waves, dtype=np.int64)
    affine = np.zeros_like(waves) if n_affine is None else np.asarray(n_affine, dtype=np.int64)
    n_features = np.repeat(2 * waves + affine, n_drifts)
    beliefs = np.arange(len(waves) + 1, dtype=np.int64) * n_drifts
    return Layout(beliefs, _starts(waves), _starts(affine), _starts(n_features), _starts(n_features**2))


def _starts(sizes: Int) -> Int:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)])


class Ensemble(NamedTuple):
    """What the experts are."""

    basis: Basis
    """Bases of all kernels, one after another, in standardised inputs. Amplitudes and slopes hold the share of each
    term in the prior variance of its kernel, so that all features of a belief have the same prior variance."""
    layout: Layout
    drift: Float
    """(sum of F over beliefs,): random-walk variance per row and feature over the noise variance; 0 is static."""
    prior_ratio: Float
    """(n_beliefs,): prior variance over the noise variance."""
    noise_var: Float
    """(n_beliefs, D): noise variance to start from."""
    forgetting: Float
    """(n_noise,): forgetting per row of each noise model; NaN keeps the noise fixed."""
    tails: Float
    """(n_noise,): degrees of freedom of heavy-tailed noise; NaN for the other noise models."""
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
    """(n_noise,): power to which an expert's class probabilities are raised."""
    nodes: Float = _NOTHING
    """(n_latents, draws): standard normal draws for Monte Carlo integration, if asked for."""
    glitch: float = np.inf
    """A label farther from its prediction than this many standard deviations is a glitch or the beginning of a change;
    see :mod:`iegp.core.glitches`."""
    lags: Lags = NO_LAGS
    """Labels of rows before that a row sees."""
    switch_prob: float = np.nan
    """Probability in ``transitions`` if it is the same everywhere; see :class:`iegp.core.weights.WeightRule`."""
    learns_spread: bool = False
    """Whether the spread of the mixture is learned; see :mod:`iegp.core.spread`."""

    @property
    def n_kernels(self) -> int:
        return self.layout.n_kernels

    @property
    def n_beliefs(self) -> int:
        return len(self.prior_ratio)

    @property
    def drifts(self) -> Bool:
        """(n_beliefs,): whether a belief drifts, in some feature at least."""
        return np.logical_or.reduceat(self.drift > 0.0, self.layout.features[:-1])

    @property
    def n_drifts(self) -> int:
        return self.n_beliefs // self.n_kernels

    @property
    def n_experts(self) -> int:
        return len(self.prior_ratio) * len(self.forgetting)

    @property
    def is_ordinal(self) -> bool:
        return self.likelihood != GAUSSIAN and likelihood_of(self.likelihood).is_ordinal

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 where labels are numbers."""
        return 0 if self.likelihood == GAUSSIAN else likelihood_of(self.likelihood).n_classes(self.link.shape[1])

    @property
    def belief_of(self) -> Int:
        """(n_experts,): belief of each expert."""
        return _places(len(self.prior_ratio), len(self.forgetting))[0]

    @property
    def noise_of(self) -> Int:
        """(n_experts,): noise model of each expert."""
        return _places(len(self.prior_ratio), len(self.forgetting))[1]

    def kernel_basis(self, kernel: int) -> Basis:
        """Basis of one kernel: views."""
        basis: Basis = basis_at(self.layout, self.basis, kernel)
        return basis

    def part(self, kernels: Int) -> Ensemble:
        """Some kernels with all their experts. Without a meaning for the weights, which need all experts."""
        layout = self.layout
        beliefs = np.concatenate([np.arange(layout.beliefs[k], layout.beliefs[k + 1]) for k in kernels])
        features = np.concatenate([np.arange(layout.features[b], layout.features[b + 1]) for b in beliefs])
        n_waves, n_affine = np.diff(layout.waves)[kernels], np.diff(layout.affine)[kernels]
        return self._replace(
            basis=joined([self.kernel_basis(k) for k in kernels]),
            layout=layout_of(n_waves.tolist(), self.n_drifts, n_affine.tolist()),
            drift=self.drift[features],
            prior_ratio=self.prior_ratio[beliefs],
            noise_var=self.noise_var[beliefs],
            link=self.link[beliefs] if len(self.link) else self.link,
            transitions=np.ones((1, 1)),
        )


@compiled
def basis_at(layout: Layout, basis: Basis, kernel: int) -> Basis:
    """The basis of one kernel: views."""
    first, last = layout.waves[kernel], layout.waves[kernel + 1]
    begin, end = layout.affine[kernel], layout.affine[kernel + 1]
    return Basis(
        basis.frequencies[first:last],
        basis.amplitudes[first:last],
        basis.columns[begin:end],
        basis.slopes[begin:end],
        basis.curves[begin:end],
    )


@compiled
def drift_at(ensemble: Ensemble, number: int) -> Float:
    """Drift of each feature of one belief: a view."""
    return ensemble.drift[ensemble.layout.features[number] : ensemble.layout.features[number + 1]]


@lru_cache(maxsize=32)
def _places(n_beliefs: int, n_noise: int) -> tuple[Int, Int]:
    """Belief and noise model of every expert."""
    return np.repeat(np.arange(n_beliefs), n_noise), np.tile(np.arange(n_noise), n_beliefs)


def label_model(ensemble: Ensemble) -> LabelModel:
    """What the labels of an ensemble are; its ``link`` has a row per belief."""
    likelihood, integration = likelihood_of(ensemble.likelihood), INTEGRATIONS[ensemble.integration]
    return label_model_of(likelihood, integration, ensemble.link, ensemble.nodes)


@compiled
def weight_rule(ensemble: Ensemble) -> WeightRule:
    """How the weights of an ensemble follow the scores."""
    return WeightRule(ensemble.rule, ensemble.transitions, ensemble.rate, ensemble.shutdown, ensemble.switch_prob)


class State(NamedTuple):
    """What the experts have learned. A fleet stacks the states of its keys: each array has one more axis in front."""

    matrix: Float
    """(sum of F² over beliefs,): matrices of the beliefs, one after another; see :func:`belief_at`."""
    vector: Float
    """(sum of F over beliefs, D): vectors of the beliefs, one below another."""
    noise_shape: Float
    """(n_noise,)"""
    noise_scale: Float
    """(n_experts, D)"""
    log_weights: Float
    """(n_experts,)"""
    rows: Float
    """(2,): rows seen so far, counted where they are learned, so that no interruption can come between; and how many
    of the last ones, two at most, have labels far from their predictions."""
    recent: Float
    """(longest lag, V): the last labels as the numbers that later rows see, newest last; zeros before the first."""
    far: Float
    """(2 + D,): by how much changes have been more frequent than glitches among labels far from their predictions; how
    large changes have been; and the error of the last row if its label is such a one, else zeros."""
    spread: Float
    """(D,): factor on the squared scales of all experts; see :mod:`iegp.core.spread`."""

    def copy(self) -> State:
        return State(*(array.copy() for array in self))


@compiled
def copied(state: State) -> State:
    """:meth:`State.copy` for compiled code, which knows no loops over tuples; float32 becomes float64."""
    return State(
        state.matrix.astype(np.float64),
        state.vector.astype(np.float64),
        state.noise_shape.copy(),
        state.noise_scale.copy(),
        state.log_weights.copy(),
        state.rows.copy(),
        state.recent.copy(),
        state.far.copy(),
        state.spread.copy(),
    )


@compiled
def restore(state: State, before: State) -> None:
    """Write the numbers of an earlier state into the arrays of this one."""
    state.matrix[:] = before.matrix
    state.vector[:] = before.vector
    state.noise_shape[:] = before.noise_shape
    state.noise_scale[:] = before.noise_scale
    state.log_weights[:] = before.log_weights
    state.rows[:] = before.rows
    state.recent[:] = before.recent
    state.far[:] = before.far
    state.spread[:] = before.spread


@compiled
def belief_at(layout: Layout, state: State, number: int) -> Belief:
    """One belief of a state: a view, so that what is written to it is written to the state."""
    first, end = layout.features[number], layout.features[number + 1]
    n = end - first
    matrix = state.matrix[layout.matrix[number] : layout.matrix[number + 1]].reshape((n, n))
    return Belief(matrix, state.vector[first:end])


class Active(NamedTuple):
    """Experts and beliefs that are at work."""

    experts: Bool
    """(n_experts,): not shut down."""
    beliefs: Bool
    """(n_beliefs,): shared by at least one such expert."""


@compiled
def active_experts(ensemble: Ensemble, state: State) -> Active:
    """Experts that have not been shut down, which only some weight rules do."""
    n_beliefs, n_noise = ensemble.prior_ratio.size, ensemble.forgetting.size
    experts = np.ones(n_beliefs * n_noise, np.bool_)
    beliefs = np.zeros(n_beliefs, np.bool_)
    for b in range(n_beliefs):
        for e in range(b * n_noise, (b + 1) * n_noise):
            if is_dropped(ensemble.rule, state.log_weights[e]):
                experts[e] = False
            beliefs[b] = beliefs[b] or experts[e]
    return Active(experts, beliefs)
