"""What experts say of several rows together: covariances, and draws of whole functions.

For Gaussian labels, in standardised units. An expert's function is linear in its coefficients, so that the joint
distribution of any rows follows from their posterior. Where an expert does not know the noise variance, its function
and the noise share the unknown factor, as in its predictive Student-t distribution. Heavy-tailed noise is drawn anew
for every row, and the function is Gaussian with the covariance that the predictive distribution gives it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from iegp.core import ensemble as ens
from iegp.core.expert import noise
from iegp.core.expert.belief import moments
from iegp.core.expert.sweep import kernel_features
from iegp.core.lags import with_known_lags
from iegp.core.predictive.distribution import pick_experts
from iegp.core.predictive.mixture import Mixture
from iegp.core.state import Ensemble, State, active_experts, belief_at, drift_at
from iegp.typing import Float, Int


def coefficients(ensemble: Ensemble, state: State, b: int, n_steps: int = 0) -> tuple[Float, Float]:
    """Mean (F, D) and covariance (F, F), over the noise variance, of a belief's coefficients so many rows ahead."""
    drift = drift_at(ensemble, b)
    mean, covariance = moments(belief_at(ensemble.layout, state, b), drift)
    return mean, covariance + n_steps * np.diag(drift)


def covariance(ensemble: Ensemble, state: State, x: Float, n_steps: int, with_noise: bool) -> Float:
    """Covariance (n, n, D) of the labels of rows, or of the function; its diagonal is the variance of the mixture."""
    mixture = ens.predict(ensemble, state, x, n_steps)
    offsets = mixture.loc - np.einsum("im,imd->id", mixture.weights, mixture.loc)[:, None]
    total: Float = np.einsum("im,imd,jmd->ijd", mixture.weights, offsets, offsets)
    for b, phi, own in _beliefs(ensemble, state, x, n_steps):
        joint = phi @ own @ phi.T
        spread = np.sqrt(1.0 + np.diag(joint))
        share = (joint + np.eye(len(x)) if with_noise else joint) / np.outer(spread, spread)
        for e in _experts_of(ensemble, b):
            deviation = _deviation(mixture, e)
            total += mixture.weights[0, e] * share[:, :, None] * deviation[:, None] * deviation[None]
    return total


def function_variance(ensemble: Ensemble, state: State, x: Float, n_steps: int) -> Float:
    """Variance (n, D) of the function, without the noise: the diagonal of :func:`covariance`."""
    mixture = ens.predict(ensemble, state, x, n_steps)
    offsets = mixture.loc - np.einsum("im,imd->id", mixture.weights, mixture.loc)[:, None]
    total: Float = np.einsum("im,imd->id", mixture.weights, offsets**2)
    for b, phi, own in _beliefs(ensemble, state, x, n_steps):
        joint = np.einsum("if,if->i", phi @ own, phi)
        for e in _experts_of(ensemble, b):
            total += mixture.weights[0, e] * (joint / (1.0 + joint))[:, None] * _deviation(mixture, e) ** 2
    return total


class Draws(NamedTuple):
    """Draws of functions, each with its own expert."""

    ensemble: Ensemble
    recent: Float
    """Labels that rows see as lags."""
    n_steps: int
    experts: Int
    """(size,)"""
    vectors: list[Float]
    """Coefficients (F, D) of every draw."""
    scales: Float
    """(size, D): scale of the noise in every draw."""

    def values(self, x: Float) -> Float:
        """The functions at rows x: (size, n, D)."""
        rows = with_known_lags(self.ensemble.lags, self.recent, x, self.n_steps)
        kernels = self.ensemble.layout.kernel_of[self.ensemble.belief_of[self.experts]]
        phi = {kernel: kernel_features(self.ensemble, kernel, rows) for kernel in np.unique(kernels).tolist()}
        return np.stack([phi[k] @ vector for k, vector in zip(kernels.tolist(), self.vectors, strict=True)])

    def noise(self, n_rows: int, rng: np.random.Generator) -> Float:
        """Noise of the labels of so many rows: (size, n, D)."""
        size, n_outputs = self.scales.shape
        normal = rng.standard_normal((size, n_rows, n_outputs))
        tails = self.ensemble.tails[self.ensemble.noise_of[self.experts]][:, None, None]
        heavy = np.isfinite(tails)
        chi = rng.chisquare(np.broadcast_to(np.where(heavy, tails, 1.0), normal.shape))
        return self.scales[:, None] * normal * np.where(heavy, np.sqrt(np.where(heavy, tails, 1.0) / chi), 1.0)


def draw(ensemble: Ensemble, state: State, n_steps: int, size: int, rng: np.random.Generator) -> Draws:
    """Functions: an expert by its weight, then coefficients from its belief."""
    weights = np.empty((1, ensemble.n_experts))
    ens.weights_ahead(ensemble, state, np.full(1, float(n_steps)), weights)
    experts = pick_experts(weights, rng.random((size, 1)))[:, 0]
    factors = {b: _factor(ensemble, state, b, n_steps) for b in np.unique(ensemble.belief_of[experts]).tolist()}
    vectors, scales = [], np.empty((size, state.vector.shape[1]))
    for i, e in enumerate(experts.tolist()):
        mean, factor = factors[int(ensemble.belief_of[e])]
        scales[i], function_scale = _scales(ensemble, state, e, rng)
        vectors.append(mean + function_scale * (factor @ rng.standard_normal(mean.shape)))
    return Draws(ensemble, state.recent.copy(), n_steps, experts, vectors, scales)


def _factor(ensemble: Ensemble, state: State, b: int, n_steps: int) -> tuple[Float, Float]:
    """Mean of the coefficients, and a square root of their covariance, which may be singular to rounding."""
    mean, covariance = coefficients(ensemble, state, b, n_steps)
    values, vectors = np.linalg.eigh(covariance)
    return mean, vectors * np.sqrt(np.maximum(values, 0.0))


def _scales(ensemble: Ensemble, state: State, e: int, rng: np.random.Generator) -> tuple[Float, Float]:
    """Scale of the noise (D,) and of the coefficients (D,) in a draw of one expert."""
    k = int(ensemble.noise_of[e])
    scale = np.sqrt([noise.squared_scale(value, state.noise_shape[k]) for value in state.noise_scale[e]])
    scale = scale * np.sqrt(state.spread)
    dof = noise.next_dof(state.noise_shape[k], ensemble.forgetting[k], ensemble.tails[k], 1.0)
    if not np.isfinite(dof):
        return scale, scale
    if np.isfinite(ensemble.tails[k]):
        return scale, scale * _inflation(np.array(dof))
    scale = scale * np.sqrt(dof / rng.chisquare(dof, size=scale.shape))
    return scale, scale


def _beliefs(ensemble: Ensemble, state: State, x: Float, n_steps: int) -> Iterator[tuple[int, Float, Float]]:
    """Every active belief with the features (n, F) of its rows and the covariance of its coefficients."""
    rows = with_known_lags(ensemble.lags, state.recent, x, n_steps)
    active = active_experts(ensemble, state).beliefs
    for kernel in range(ensemble.n_kernels):
        phi = kernel_features(ensemble, kernel, rows)
        for b in range(int(ensemble.layout.beliefs[kernel]), int(ensemble.layout.beliefs[kernel + 1])):
            if active[b]:
                yield b, phi, coefficients(ensemble, state, b, n_steps)[1]


def _experts_of(ensemble: Ensemble, b: int) -> list[int]:
    return np.flatnonzero(ensemble.belief_of == b).tolist()


def _deviation(mixture: Mixture, e: int) -> Float:
    """Standard deviation (n, D) of the labels under one expert."""
    return mixture.scale[:, e] * _inflation(mixture.dof[:, e])


def _inflation(dof: Float) -> Float:
    """Standard deviation of a Student-t variable over its scale."""
    finite = np.where(dof > 2.0, dof, np.inf)
    return np.sqrt(np.where(dof > 2.0, 1.0 / (1.0 - 2.0 / finite), np.inf))
