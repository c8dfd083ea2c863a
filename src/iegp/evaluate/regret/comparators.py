"""Comparators of regret: the best function of an expert once all the data are known, for a loss given the latent value.

Both kinds minimise the sum of losses plus a penalty: half the squared norm in the expert's RKHS (eq:f_star), or
``|theta|² / (2 prior_var)`` for a random-feature parameter, which makes the right-hand side of Lemma 1 smallest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from iegp.errors import InputError
from iegp.typing import Float, Int

# Newton's method on a convex function: a handful of steps; halving a step this often means it has converged.
_MAX_STEPS, _MAX_HALVINGS = 100, 40
# Eigenvalues of a kernel matrix below this fraction of the largest are rounding.
_RANK = 1e-13


class Likelihood(NamedTuple):
    """Loss ``L(z; y)`` and its first two derivatives in z, row by row.

    Parameters
    ----------
    loss : callable
        Negative log likelihood of labels y given latent values z, ``loss(z, y)``.
    slope : callable
        First derivative in z.
    second : callable
        Second derivative in z.
    curvature : float
        Upper bound ``c`` on the second derivative (as1).
    """

    loss: Callable[[Float, Float], Float]
    slope: Callable[[Float, Float], Float]
    second: Callable[[Float, Float], Float]
    curvature: float


def gaussian(noise_var: float) -> Likelihood:
    """Make the loss of Gaussian labels; ``c = 1 / noise_var``.

    Its derivative is *not* bounded unless labels and functions are.

    Parameters
    ----------
    noise_var : float
        Noise variance, positive and finite.

    Returns
    -------
    Likelihood
        Loss of real labels.

    Examples
    --------
    >>> gaussian(0.25).curvature
    4.0
    """
    if not 0.0 < noise_var < np.inf:
        raise InputError(f"noise_var={noise_var!r} must be a positive finite number")
    return Likelihood(
        lambda z, y: 0.5 * ((y - z) ** 2 / noise_var + np.log(2.0 * np.pi * noise_var)),
        lambda z, y: (z - y) / noise_var,
        lambda z, _: np.full(np.shape(z), 1.0 / noise_var),
        1.0 / noise_var,
    )


def logistic() -> Likelihood:
    """Make the loss of labels -1 and +1; ``c = 1/4``.

    The derivative is bounded by 1, so (as2) holds with L = 1.

    Returns
    -------
    Likelihood
        Logistic loss.
    """
    return Likelihood(
        lambda z, y: np.logaddexp(0.0, -y * z),
        lambda z, y: -y * expit(-y * z),
        lambda z, _: expit(z) * expit(-z),
        0.25,
    )


def largest_slope(likelihood: Likelihood, y: Float, *values: Float) -> float:
    """Compute the L of (as2) that a finite stream needs: the largest derivative at any of the functions' values.

    The loss is convex, so between two functions its derivative lies between those at the two.

    Parameters
    ----------
    likelihood : Likelihood
        Loss of a label given the latent value.
    y : ndarray (T,)
        Labels.
    *values : ndarray (T,)
        Latent values of one function or more at the rows.

    Returns
    -------
    float
        Largest absolute derivative.
    """
    return max(float(np.abs(likelihood.slope(own, y)).max()) for own in values)


class Comparator(NamedTuple):
    """A fixed function: its values and losses on the rows, and the penalty for its complexity.

    Parameters
    ----------
    values : ndarray (T,)
        Latent values of the function at the rows.
    losses : ndarray (T,)
        Negative log likelihood of every row.
    penalty : float
        Half the squared RKHS norm, or ``|theta|² / (2 prior_var)``.
    coefficients : ndarray (T,) or (F,)
        ``alpha`` of ``sum alpha kappa(., x)``, or ``theta``.
    """

    values: Float
    losses: Float
    penalty: float
    coefficients: Float

    @property
    def objective(self) -> float:
        """Sum of losses plus penalty."""
        return float(self.losses.sum()) + self.penalty


def best_parameter(phi: Float, y: Float, prior_var: float, likelihood: Likelihood) -> Comparator:
    """Find the best random-feature parameter in hindsight. O(T F² + F³) per Newton step.

    Parameters
    ----------
    phi : ndarray (T, F)
        Random features of the rows.
    y, prior_var, likelihood : ndarray (T,), float, Likelihood
        Labels, prior variance of the expert, and loss of a label given the latent value.

    Returns
    -------
    Comparator
        Its coefficients are ``theta`` (F,).
    """
    theta = _minimise(phi, y, 1.0 / prior_var, likelihood)
    values = phi @ theta
    return Comparator(values, likelihood.loss(values, y), 0.5 * float(theta @ theta) / prior_var, theta)


def best_function(gram: Float, y: Float, likelihood: Likelihood) -> Comparator:
    """Find the best function of an RKHS in hindsight. O(T³).

    For Gaussian labels it is kernel ridge regression, the mean of the batch GP. ``alpha`` is minus the slope of the
    loss, because the objective is stationary.

    Parameters
    ----------
    gram : ndarray (T, T)
        Kernel matrix *with* its prior variance. A negative eigenvalue, beyond rounding, raises ``InputError``.
    y, likelihood : ndarray (T,), Likelihood
        Labels, and loss of a label given the latent value.

    Returns
    -------
    Comparator
        Its coefficients are ``alpha`` (T,).
    """
    eigenvalues, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    if eigenvalues[0] < -1e-6 * max(eigenvalues[-1], 1.0):
        raise InputError(f"gram has the eigenvalue {eigenvalues[0]:g}; a kernel matrix has none below zero")
    used = eigenvalues > _RANK * eigenvalues[-1]
    root = vectors[:, used] * np.sqrt(eigenvalues[used])
    theta = _minimise(root, y, 1.0, likelihood)
    values = root @ theta
    return Comparator(values, likelihood.loss(values, y), 0.5 * float(theta @ theta), -likelihood.slope(values, y))


def best_expert(comparators: Sequence[Comparator]) -> int:
    """Find m* of eq:f_star, the expert with the best function of all.

    Parameters
    ----------
    comparators : sequence of Comparator
        Best function of each expert.

    Returns
    -------
    int
        Index of the smallest objective.
    """
    return int(np.argmin([own.objective for own in comparators]))


def functions_on_own_rows(grams: Sequence[Float], y: Float, sequence: Int, likelihood: Likelihood) -> Comparator:
    """Make the comparator of Theorem 2: expert m is fitted to the rows where ``sequence`` names it, and scored there.

    Parameters
    ----------
    grams : sequence of ndarray (T, T)
        Kernel matrix of each expert, with its prior variance.
    y : ndarray (T,)
        Labels.
    sequence : ndarray (T,) of int
        Expert of each row.
    likelihood : Likelihood
        Loss of a label given the latent value.

    Returns
    -------
    Comparator
        Values, losses and ``alpha`` of all rows; the penalties are summed over experts.
    """
    values, alpha, penalty = np.empty(len(y)), np.empty(len(y)), 0.0
    for m in np.unique(sequence):
        own = np.flatnonzero(sequence == m)
        fitted = best_function(grams[m][np.ix_(own, own)], y[own], likelihood)
        values[own], alpha[own] = fitted.values, fitted.coefficients
        penalty += fitted.penalty
    return Comparator(values, likelihood.loss(values, y), penalty, alpha)


def random_feature_twin(phi: Float, alpha: Float, prior_var: float) -> Float:
    """Approximate an RKHS function in random features: ``theta* = prior_var sum alpha phi(x)`` (proof of Theorem 1).

    Parameters
    ----------
    phi : ndarray (T, F)
        Random features of the rows.
    alpha : ndarray (T,)
        Coefficients of the RKHS function.
    prior_var : float
        Prior variance of the expert.

    Returns
    -------
    ndarray (F,)
        Parameter ``theta*``.
    """
    return np.asarray(prior_var * (phi.T @ alpha))


def _minimise(phi: Float, y: Float, ridge: float, likelihood: Likelihood) -> Float:
    """Minimise ``sum L(phi·theta; y) + ridge |theta|² / 2`` by Newton's method with step halving."""

    def objective(theta: Float) -> float:
        return float(likelihood.loss(phi @ theta, y).sum()) + 0.5 * ridge * float(theta @ theta)

    theta = np.zeros(phi.shape[1])
    value = objective(theta)
    for _ in range(_MAX_STEPS):
        z = phi @ theta
        gradient = phi.T @ likelihood.slope(z, y) + ridge * theta
        hessian = (phi.T * likelihood.second(z, y)) @ phi + ridge * np.eye(len(theta))
        step = np.linalg.solve(hessian, gradient)
        for halving in range(_MAX_HALVINGS):
            candidate = theta - step / 2.0**halving
            reached = objective(candidate)
            if reached < value:
                break
        else:
            return theta
        done = value - reached <= 1e-13 * max(abs(value), 1.0)
        theta, value = candidate, reached
        if done:
            return theta
    return theta
