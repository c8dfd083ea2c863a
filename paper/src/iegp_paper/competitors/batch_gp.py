"""Exact GP regression on all rows so far (the paper's section 2, eq:plain_gpp)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from iegp.core.compute.tolerances import MAX_NOISE_VAR, MIN_NOISE_VAR
from iegp.core.fitting.length_scales import negative_log_evidence
from iegp.core.kernels import RBF, Kernel
from iegp.errors import InputError
from iegp.typing import Float
from iegp_paper.competitors import rows
from iegp_paper.competitors.base import Expected, RegressionBaseline

_FARTHEST = 7.0
_LOG_SIGNAL_BOUNDS = (np.log(1e-4), np.log(1e5))
_LOG_NOISE_BOUNDS = (np.log(MIN_NOISE_VAR), np.log(MAX_NOISE_VAR))


@dataclass(eq=False, repr=False, kw_only=True)
class BatchGP(RegressionBaseline):
    """Exact GP regression, for reference: memory O(n²), time O(n²) per row.

    Prequential predictions need no refitting: row t of the Cholesky factor of the covariance of all rows holds the
    prediction of row t from those before it.

    Parameters
    ----------
    kernel : kernel or None, default=None
        With fixed length scales; ``None`` fits an RBF with one length scale per column (ARD).
    prior_var, noise_var : float or None, default=None
        Signal and noise variance; ``None`` is maximum evidence. Give all three, or none.
    n_steps : int, default=100
        Steps of the optimiser of the evidence.
    begin : ndarray (d + 2,) or None, default=None
        ``hyper_`` of a model that was fitted: the optimiser starts there, which saves most of its steps where models
        are fitted anew every few hundred rows.
    max_rows : int, default=5000
        More raise an error: the factor has the square of them.
    warmup : int, default=1000
        Rows for scaling and hyperparameters.
    standardize, learn_warmup : bool
        As in :class:`~iegp_paper.competitors.ISSGPR`.
    """

    kernel: Kernel | None = None
    prior_var: float | None = None
    noise_var: float | None = None
    n_steps: int = 100
    begin: Float | None = None
    max_rows: int = 5000
    learn_warmup: bool = False

    hyper_: Float = field(init=False)
    """Logs of length scales, signal and noise variance, where they were fitted."""
    _kernel: Kernel = field(init=False)
    _signal: float = field(init=False)
    _noise: float = field(init=False)
    _x: Float = field(init=False)
    _lower: Float = field(init=False)
    _white: Float = field(init=False)

    def _start(self, x: Float, y: Float) -> None:
        given = [self.kernel is not None, self.prior_var is not None, self.noise_var is not None]
        if any(given) and not all(given):
            raise InputError("give kernel, prior_var and noise_var together, or none of them to fit all three")
        if self.kernel is not None and self.prior_var is not None and self.noise_var is not None:
            self._kernel = self.kernel
            self._signal = rows.positive(self.prior_var, "prior_var")
            self._noise = rows.positive(self.noise_var, "noise_var")
        else:
            self.hyper_ = _fit(x, y, rows.whole(self.n_steps, "n_steps"), self.begin)
            best = np.exp(self.hyper_)
            self._kernel = RBF(tuple(best[:-2].tolist()))
            self._signal, self._noise = float(best[-2]), float(best[-1])
        self._x, self._lower, self._white = x[:0], np.zeros((0, 0)), np.zeros(0)

    def _step(self, x: Float, y: Float) -> Expected:
        before, n = len(self._x), len(self._x) + len(x)
        if n > self.max_rows:
            raise InputError(
                f"{n} rows are more than max_rows={self.max_rows}; exact GP regression needs the square of them in "
                "memory. Raise max_rows, or use a random-feature method"
            )
        cross, corner = self._project(x)
        lower = np.zeros((n, n))
        lower[:before, :before] = self._lower
        lower[before:, :before] = cross.T
        lower[before:, before:] = cholesky(corner + self._noise * np.eye(len(x)), lower=True)
        self._white = np.concatenate([
            self._white,
            solve_triangular(lower[before:, before:], y - cross.T @ self._white, lower=True),
        ])  # fmt: skip
        self._x, self._lower = np.concatenate([self._x, x]), lower
        diagonal = np.diagonal(lower)[before:]
        # y_t = sum of lower[t, s] white[s]; the last term is the innovation of row t.
        mean = lower[before:] @ self._white - diagonal * self._white[before:]
        return Expected(mean, diagonal**2, np.ones((len(x), 1)))

    def _expect(self, x: Float) -> Expected:
        cross, _ = self._project(x)
        variance = self._signal - (cross**2).sum(axis=0) + self._noise
        return Expected(cross.T @ self._white, variance, np.ones((len(x), 1)))

    def _project(self, x: Float) -> tuple[Float, Float]:
        """Compute the whitened covariance with the rows so far (n, k), and the conditional covariance (k, k)."""
        cross = self._signal * self._kernel(self._x, x) if len(self._x) else np.zeros((0, len(x)))
        if len(cross):
            cross = solve_triangular(self._lower, cross, lower=True)
        return cross, self._signal * self._kernel(x) - cross.T @ cross


def _fit(x: Float, y: Float, n_steps: int, begin: Float | None) -> Float:
    """Find logs of ARD length scales, signal and noise variance of greatest evidence, from sqrt(d), 1 and 0.1."""
    n_columns = x.shape[1]
    centre = 0.5 * np.log(n_columns)
    if begin is None:
        begin = np.concatenate([np.full(n_columns, centre), [0.0, np.log(0.1)]])
    bounds = [(centre - _FARTHEST, centre + _FARTHEST)] * n_columns + [_LOG_SIGNAL_BOUNDS, _LOG_NOISE_BOUNDS]
    found = minimize(
        lambda p: negative_log_evidence(RBF(), x, y[:, None], p),
        begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": n_steps},
    )  # fmt: skip
    return np.asarray(found.x, dtype=np.float64)
