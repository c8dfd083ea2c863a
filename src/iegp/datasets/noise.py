"""Observation noise for simulated streams: Gaussian, heavy-tailed, or dependent on the inputs."""

from __future__ import annotations

from typing import Literal

import numpy as np

from iegp.errors import InputError
from iegp.typing import Float

NoiseKind = Literal["gaussian", "student", "heteroscedastic"]
STUDENT_DOF = 3.0  # the heaviest whole number of degrees of freedom that still has a variance to scale by


def observation_noise(kind: NoiseKind, std: float, X: Float, rng: np.random.Generator) -> Float:
    """Draw independent noise (n,) for the rows of X (n, d), of standard deviation ``std`` over the whole stream.

    ``"student"`` is Student's t with 3 degrees of freedom, scaled to that standard deviation. ``"heteroscedastic"`` is
    Gaussian with a standard deviation that grows with the rank of the first input: the noisiest row has seven times the
    standard deviation of the quietest.

    >>> X = np.linspace(0.0, 1.0, 1000)[:, None]
    >>> e = observation_noise("heteroscedastic", 0.5, X, np.random.default_rng(0))
    >>> bool(e[900:].std() > 4 * e[:100].std())
    True
    """
    if std < 0:
        raise InputError(f"noise={std}: a standard deviation cannot be negative; try noise=0.1.")
    if kind == "gaussian":
        return std * rng.standard_normal(len(X))
    if kind == "student":
        unit = np.sqrt((STUDENT_DOF - 2) / STUDENT_DOF)
        heavy: Float = std * unit * rng.standard_t(STUDENT_DOF, len(X))
        return heavy
    if kind == "heteroscedastic":
        return std * _relative_std(X[:, 0]) * rng.standard_normal(len(X))
    raise InputError(f"noise_kind={kind!r} is unknown; choose 'gaussian', 'student' or 'heteroscedastic'.")


def _relative_std(x: Float) -> Float:
    # Ranks instead of values: the spread of noise levels is then the same for every distribution of inputs.
    rank = np.argsort(np.argsort(x, kind="stable"), kind="stable") / max(len(x) - 1, 1)
    level = 1.0 + 6.0 * rank
    scaled: Float = level / np.sqrt(np.mean(level**2))
    return scaled
