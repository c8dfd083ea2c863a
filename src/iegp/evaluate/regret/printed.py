"""Bounds as the paper prints them, where they differ from those that hold. docs/regret.md shows each failing."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from iegp.evaluate.regret.bounds import lemma1


def printed_lemma1(
    *, theta_norm_squared: float, prior_var: float, n_rows: int, n_frequencies: int, n_experts: int
) -> float:
    """Compute Lemma 1 as printed, without the constant ``c`` of its proof: true only where ``c <= 1``.

    Parameters
    ----------
    theta_norm_squared : float
        Squared norm of the parameter compared with.
    prior_var : float
        Prior variance of its expert.
    n_rows : int
        Number of rows T.
    n_frequencies : int
        Number of random frequencies of every expert.
    n_experts : int
        Number of experts M.

    Returns
    -------
    float
        Printed bound in nats.
    """
    return lemma1(
        theta_norm_squared=theta_norm_squared,
        prior_var=prior_var,
        n_rows=n_rows,
        n_frequencies=n_frequencies,
        n_experts=n_experts,
        curvature=1.0,
    )


def printed_lemma2(*, n_rows: int, n_experts: int, n_switches: int) -> float:
    """Compute Lemma 2 as printed: ``log M + S log T - S log S + S``.

    It lacks ``S log(M - 1)``: true only for M <= 2.

    Parameters
    ----------
    n_rows : int
        Number of rows T.
    n_experts : int
        Number of experts M.
    n_switches : int
        Number of switches S.

    Returns
    -------
    float
        Printed bound in nats.
    """
    s = n_switches
    return math.log(n_experts) + (s * (math.log(n_rows) - math.log(s) + 1.0) if s else 0.0)


def printed_lemma3(
    *, theta_norms_squared: ArrayLike, prior_vars: ArrayLike, n_rows: int, n_frequencies: int, curvature: float
) -> float:
    """Compute Lemma 3 as printed: true if expert m learns only the rows of its own segments.

    In SIE-GP every expert learns every row, and then it does not hold.

    Parameters
    ----------
    theta_norms_squared : array-like (M,)
        Squared norm of the parameter of each *expert*.
    prior_vars : array-like (M,)
        Prior variance of each expert.
    n_rows : int
        Number of rows T.
    n_frequencies : int
        Number of random frequencies of every expert.
    curvature : float
        Largest second derivative c of the loss in the latent value (as1).

    Returns
    -------
    float
        Printed bound in nats.
    """
    norms, priors = np.asarray(theta_norms_squared, dtype=np.float64), np.asarray(prior_vars, dtype=np.float64)
    per_expert = n_frequencies * len(norms)
    cost = per_expert * math.log1p(n_rows * curvature * float(priors.max()) / (2.0 * per_expert))
    return float(np.sum(norms / (2.0 * priors))) + cost


def printed_theorem2(
    *,
    alpha_norm: float,
    prior_vars: ArrayLike,
    epsilon: float,
    derivative_bound: float,
    n_rows: int,
    n_switches: int,
    n_frequencies: int,
    curvature: float,
) -> float:
    """Compute Theorem 2 as printed, from Lemmas 2 and 3 as printed. It is not proved.

    Parameters
    ----------
    alpha_norm : float
        C', the largest of the experts' ``prior_var sum |alpha|``.
    prior_vars : array-like (M,)
        Prior variance of each expert.
    epsilon : float
        Largest error of the random-feature kernels.
    derivative_bound : float
        Largest derivative L of the loss in the latent value (as2).
    n_rows : int
        Number of rows T.
    n_switches : int
        Number of switches S.
    n_frequencies : int
        Number of random frequencies of every expert.
    curvature : float
        Largest second derivative c of the loss in the latent value (as1).

    Returns
    -------
    float
        Printed bound in nats.
    """
    priors = np.asarray(prior_vars, dtype=np.float64)
    segments = printed_lemma3(
        theta_norms_squared=np.full(len(priors), (1.0 + epsilon) * alpha_norm**2),
        prior_vars=priors,
        n_rows=n_rows,
        n_frequencies=n_frequencies,
        curvature=curvature,
    )
    sequence = printed_lemma2(n_rows=n_rows, n_experts=len(priors), n_switches=n_switches)
    return sequence + segments + epsilon * derivative_bound * n_rows * alpha_norm
