"""Negative log-likelihood of a row as a function of the latent value, and the constants of (as1) and (as2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from iegp.errors import InputError
from iegp.typing import Float


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
