"""Square-root information ``[R z]`` as something that can be added up and taken apart.

``R'R`` is the information of an expert and ``R' z`` what it says about the mean, so independent pieces of evidence add
up by stacking their factors and taking them away is a downdate. Nothing here ever forms ``R'R``: condition numbers are
not squared. Everything is in units of the noise, as in ``belief.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from iegp.typing import Float


class Factor(NamedTuple):
    """One expert's information: upper triangular R (F, F) and z (F, D) with ``R @ mean = z``."""

    matrix: Float
    vector: Float

    def log_det(self) -> float:
        return float(np.log(np.abs(np.diagonal(self.matrix))).sum())


class Removed(NamedTuple):
    """What is left after a removal."""

    factor: Factor
    misfit: Float
    """(D,): squared normalised innovations of what was removed, given what is left."""
    share_left: float
    """The smallest share of its information that any direction keeps; zero or less: more was removed than there was."""


def stack(first: Factor, second: Factor) -> tuple[Factor, Float]:
    """The sum of two pieces of information, by QR of the stacked factors, and how much they disagree (D,).

    The disagreement is ``|z_1|² + |z_2|² - |z|²``, read off the QR: it is never computed as a difference. O(F³).
    """
    n_features = len(first.matrix)
    stacked = np.block([[first.matrix, first.vector], [second.matrix, second.vector]])
    triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
    triangle[:n_features] *= np.where(np.diagonal(triangle)[:n_features] < 0.0, -1.0, 1.0)[:, None]
    disagreement = (triangle[n_features:, n_features:] ** 2).sum(axis=0)
    matrix = np.ascontiguousarray(np.triu(triangle[:n_features, :n_features]))
    return Factor(matrix, np.ascontiguousarray(triangle[:n_features, n_features:])), disagreement


def remove(whole: Factor, rows: Float, targets: Float) -> Removed:
    """Take ``rows`` (n, F) with ``targets`` (n, D) out of ``whole``: other rows, or the R and z of an ancestor.

    With ``W = rows inv(R)`` the new factor is ``C R`` where ``C'C = I - W'W``. The eigenvalues of ``C'C`` are the
    shares of information left, so the smallest one says how many digits this costs. O(n F² + F³).
    """
    whitened = solve_triangular(whole.matrix, rows.T, trans="T", check_finite=False).T
    left = np.eye(len(whole.matrix)) - whitened.T @ whitened
    share_left = float(np.linalg.eigvalsh(left)[0])
    if not share_left > 0.0:
        return Removed(whole, np.zeros(targets.shape[1]), share_left)
    shrink = np.linalg.cholesky(left).T
    vector = solve_triangular(shrink, whole.vector - whitened.T @ targets, trans="T", check_finite=False)
    residual = targets - whitened @ solve_triangular(shrink, vector, check_finite=False)
    misfit = (residual**2).sum(axis=0) - ((whitened.T @ residual) ** 2).sum(axis=0)
    factor = Factor(np.ascontiguousarray(np.triu(shrink @ whole.matrix)), np.ascontiguousarray(vector))
    return Removed(factor, np.maximum(misfit, 0.0), share_left)


def share_of(part: Factor, whole: Factor) -> float:
    """The largest share, over all directions, that ``part`` has in the information of ``whole``: at most 1 if in it."""
    whitened = solve_triangular(whole.matrix, part.matrix.T, trans="T", check_finite=False).T
    return float(np.linalg.norm(whitened, 2) ** 2)
