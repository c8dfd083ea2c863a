"""Exact Gaussian-process regression with known noise: the comparator of Theorem 1, and the evidence without features.

``iegp.evaluate.regret.best_function`` is for any likelihood and takes eigenvalues; for Gaussian labels one Cholesky
factor gives the same function about ten times as fast, and the evidence with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import logsumexp

from iegp.typing import Float


class ExactGP(NamedTuple):
    """A GP of one kernel on T rows."""

    losses: Float
    """(T,), of the labels given the posterior mean: the best function of the RKHS, eq:f_star."""
    penalty: float
    """Half its squared RKHS norm."""
    log_evidence: float
    """Of all labels: minus the sum of the exact online losses."""

    @property
    def objective(self) -> float:
        return float(self.losses.sum()) + self.penalty


def exact_gp(gram: Float, y: Float, noise_var: float) -> ExactGP:
    """Fit a GP; ``gram`` (T, T) includes its prior variance. O(T³)."""
    factor = cho_factor(gram + noise_var * np.eye(len(y)), lower=True)
    alpha = cho_solve(factor, y)
    constant = 0.5 * np.log(2.0 * np.pi * noise_var)
    losses = 0.5 * noise_var * alpha**2 + constant
    log_evidence = -0.5 * float(y @ alpha) - float(np.log(np.diag(factor[0])).sum()) - 0.5 * len(y) * np.log(2 * np.pi)
    return ExactGP(losses, 0.5 * float(alpha @ (y - noise_var * alpha)), float(log_evidence))


def ensemble_loss(experts: list[ExactGP]) -> float:
    """Compute the total online loss of an ensemble of exact GPs with equal prior weights."""
    return float(np.log(len(experts)) - logsumexp([own.log_evidence for own in experts]))
