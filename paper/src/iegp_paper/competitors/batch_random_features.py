"""The batch random-feature GP at the end of the paper's section 2, solved again from all rows so far."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from iegp.core.features import fourier_rows
from iegp.typing import Float
from iegp_paper.competitors.base import Expected
from iegp_paper.competitors.issgpr import SpectrumGP


@dataclass(eq=False, repr=False, kw_only=True)
class BatchRandomFeatureGP(SpectrumGP):
    """The predictor that ends the paper's section 2, from the normal equations of all rows so far; for reference.

    The online methods reach the same numbers with less work: this one solves an F x F system for every row it predicts.
    Parameters are those of :class:`~iegp_paper.competitors.ISSGPR`.
    """

    _normal: Float = field(init=False)
    _target: Float = field(init=False)

    def _forget(self) -> None:
        n_features = 2 * len(self._frequencies)
        self._normal = self._noise_var / self._prior_var * np.eye(n_features)
        self._target = np.zeros(n_features)

    def _step(self, x: Float, y: Float) -> Expected:
        phi = fourier_rows(x, self._frequencies)
        mean, variance = np.empty(len(y)), np.empty(len(y))
        for t, row in enumerate(phi):
            mean[t : t + 1], variance[t : t + 1] = self._solve(row[None, :])
            self._normal += np.outer(row, row)
            self._target += y[t] * row
        return Expected(mean, variance, np.ones((len(y), 1)))

    def _expect(self, x: Float) -> Expected:
        return Expected(*self._solve(fourier_rows(x, self._frequencies)), np.ones((len(x), 1)))

    def _solve(self, phi: Float) -> tuple[Float, Float]:
        """Mean and variance (noise included) of rows: one solve for both."""
        solved = np.linalg.solve(self._normal, np.column_stack([self._target, phi.T]))
        spread = (phi.T * solved[:, 1:]).sum(axis=0)
        return phi @ solved[:, 0], self._noise_var * (1.0 + spread)
