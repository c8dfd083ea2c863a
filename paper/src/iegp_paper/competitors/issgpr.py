"""I-SSGPR: one sparse-spectrum GP, updated by rank-one changes of a Cholesky factor."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from iegp._compile import compiled
from iegp.core.expert.belief import Ahead, Belief, predict_static, static_row
from iegp.core.features import fourier_rows
from iegp.core.frequencies import draw_frequencies
from iegp.core.kernels import RBF
from iegp.typing import Float
from iegp_paper.competitors import rows
from iegp_paper.competitors.base import Expected, RegressionBaseline
from iegp_paper.competitors.spectrum_evidence import fit_spectrum


@compiled
def _rows(belief: Belief, phi: Float, y: Float, ahead: Ahead) -> None:
    """Row by row: predict, then rotate the row into the Cholesky factor. O(F²) each."""
    means, variances = ahead
    for t in range(len(y)):
        variances[t] = static_row(belief, phi[t], y[t : t + 1], means[t])


@dataclass(eq=False, repr=False, kw_only=True)
class SpectrumGP(RegressionBaseline):
    """A random-feature GP with ARD length scales found on the warm-up rows, before it has learned any row."""

    n_frequencies: int = 50
    n_steps: int = 100
    learn_warmup: bool = False
    random_state: int | None = None

    _frequencies: Float = field(init=False)
    _prior_var: float = field(init=False)
    _noise_var: float = field(init=False)

    def _start(self, x: Float, y: Float) -> None:
        n_frequencies = rows.whole(self.n_frequencies, "n_frequencies")
        seed = rows.seed_of(self.random_state)
        draws = draw_frequencies(RBF(), n_frequencies, x.shape[1], "random", (seed, 0))
        scales, self._prior_var, self._noise_var = fit_spectrum(draws, x, y, rows.whole(self.n_steps, "n_steps"))
        self._frequencies = np.ascontiguousarray(draws / scales)
        self._forget()

    def _forget(self) -> None:
        raise NotImplementedError


@dataclass(eq=False, repr=False, kw_only=True)
class ISSGPR(SpectrumGP):
    """Incremental sparse-spectrum GP regression of Gijsberts and Metta (2013).

    A GP of ``n_frequencies`` random spectral points; ARD length scales, signal and noise variance maximise the evidence
    of the warm-up rows; afterwards every row is a rank-one change of a Cholesky factor, O(F²), exact.

    Parameters
    ----------
    n_frequencies : int, default=50
        Spectral points, F = 100 features (IE-GP paper).
    n_steps : int, default=100
        Steps of the optimiser of the evidence (the IE-GP paper used GPML's ``minimize``).
    warmup : int, default=1000
        Rows for scaling and hyperparameters (IE-GP paper).
    standardize : bool, default=True
        Whether columns and targets are brought to mean 0 and variance 1 by the warm-up rows.
    learn_warmup : bool, default=False
        Whether these rows are learned too; in the IE-GP paper they "were not used in the deployment phase".
    random_state : int or None
        Seed of the spectral points.
    """

    _belief: Belief = field(init=False)

    def _forget(self) -> None:
        n_features = 2 * len(self._frequencies)
        factor = np.sqrt(self._noise_var / self._prior_var) * np.eye(n_features)
        self._belief = Belief(factor, np.zeros((n_features, 1)))

    def _step(self, x: Float, y: Float) -> Expected:
        ahead = Ahead(np.empty((len(x), 1)), np.empty(len(x)))
        _rows(self._belief, fourier_rows(x, self._frequencies), y, ahead)
        return self._expected(*ahead)

    def _expect(self, x: Float) -> Expected:
        ahead = Ahead(np.empty((len(x), 1)), np.empty(len(x)))
        predict_static(self._belief, fourier_rows(x, self._frequencies), ahead, 1.0)
        return self._expected(*ahead)

    def _expected(self, means: Float, variances: Float) -> Expected:
        return Expected(means[:, 0], self._noise_var * variances, np.ones((len(means), 1)))
