"""Right-hand sides as the paper prints them, where they differ from what holds. docs/regret.md shows each failing."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from iegp.evaluate.regret.bounds import lemma1


def printed_lemma1(
    *, theta_norm_squared: float, prior_var: float, n_rows: int, n_frequencies: int, n_experts: int
) -> float:
    """Lemma 1 as printed, without the constant ``c`` of its proof: true only where ``c <= 1``."""
    return lemma1(
        theta_norm_squared=theta_norm_squared,
        prior_var=prior_var,
        n_rows=n_rows,
        n_frequencies=n_frequencies,
        n_experts=n_experts,
        curvature=1.0,
    )


def printed_lemma2(*, n_rows: int, n_experts: int, n_switches: int) -> float:
    """Lemma 2 as printed: ``log M + S log T - S log S + S``. Lacks ``S log(M - 1)``: true only for M <= 2."""
    s = n_switches
    return math.log(n_experts) + (s * (math.log(n_rows) - math.log(s) + 1.0) if s else 0.0)


def printed_lemma3(
    *, theta_norms_squared: ArrayLike, prior_vars: ArrayLike, n_rows: int, n_frequencies: int, curvature: float
) -> float:
    """Lemma 3 as printed, one entry for each *expert*: true if expert m learns only the rows of its own segments.

    In SIE-GP every expert learns every row, and then it is not.
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
    """Theorem 2 as printed, ``alpha_norm`` being C', the largest over experts. A claim: Lemmas 2 and 3 as printed."""
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
