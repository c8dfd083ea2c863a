"""AdaRaker: Raker learners on intervals of many lengths at once, for streams that change."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from iegp.typing import Float
from iegp_paper.competitors import rows
from iegp_paper.competitors.ada_descent import Hierarchy, Rates, ada_raker_rows, look, start_intervals
from iegp_paper.competitors.base import RegressionBaseline
from iegp_paper.competitors.base_classifier import ClassificationBaseline
from iegp_paper.competitors.descent import LOGISTIC, Answers
from iegp_paper.competitors.intervals import MAX_LEVELS, n_active
from iegp_paper.competitors.raker import MultiKernel


@dataclass(eq=False, repr=False, kw_only=True)
class _AdaRaker(MultiKernel):
    eta_0: float = 1.0
    max_rate: float = 0.5
    restart: bool = False
    _state: Hierarchy = field(init=False)

    def _reset(self, n_kernels: int, n_features: int) -> None:
        rows.positive(self.eta_0, "eta_0")
        rows.positive(self.max_rate, "max_rate")
        self._state = Hierarchy(
            np.zeros((MAX_LEVELS, n_kernels, n_features)),
            np.zeros((MAX_LEVELS, n_kernels)),
            np.zeros(MAX_LEVELS),
            np.zeros(1, dtype=np.int64),
        )

    def _rates(self) -> Rates:
        return Rates(float(self.eta_0), float(self.max_rate), bool(self.restart))

    def _learn_chunk(self, phi: Float, y: Float, answers: Answers) -> None:
        ada_raker_rows(self._state, phi, y, self._rates(), self._rules, answers)

    def _values(self, phi: Float) -> tuple[Float, Float]:
        """Predict each row as if it came next, on a copy, because an interval may begin with it."""
        theta, log_kernel, log_interval, row = self._state
        state = Hierarchy(theta.copy(), log_kernel.copy(), log_interval.copy(), row.copy())
        t = int(state.row[0]) + 1
        start_intervals(state, t, self._rates())
        n_kernels = state.log_kernel.shape[1]
        values, own = np.empty((MAX_LEVELS, n_kernels)), np.empty(MAX_LEVELS)
        f, weights = np.empty(len(phi)), np.empty((len(phi), n_kernels))
        for i in range(len(phi)):
            f[i] = look(state, phi[i], values, own, weights[i], n_active(t))
        return f, weights


@dataclass(eq=False, repr=False, kw_only=True)
class AdaRaker(RegressionBaseline, _AdaRaker):
    """AdaRaker of Shen, Chen and Giannakis (2019) for regression: squared loss, no uncertainty.

    A Raker learner on every interval of the geometric covering (:mod:`iegp_paper.competitors.intervals`): row t is
    predicted by the floor(log2 t) + 1 learners whose interval holds it, long ones stepping slowly and short ones fast,
    mixed by weights that follow the smaller loss. A row costs O(log t x kernels x features).

    Parameters are those of :class:`~iegp_paper.competitors.Raker`, but for

    Parameters
    ----------
    eta_0, max_rate : float, default=1.0 and 0.5
        The learner of interval I steps with ``min(max_rate, eta_0 / sqrt|I|)``; the paper's formula has the cap 1/2.
        The steps of the authors' code amount to 0.35 and 0.25 for features of norm one, which is worse on SARCOS.
    restart : bool, default=False
        Whether an interval begins from nothing, as in strongly adaptive learning (Daniely et al. 2015). The authors'
        code does not: an interval takes over from the one before it of the same length.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp_paper.competitors import AdaRaker
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(600, 2))
    >>> model = AdaRaker(random_state=0).warm_up(X[:100], X[:100, 0])
    >>> model.prequential(X[100:], X[100:, 0]).nmse < 0.2
    True
    """


@dataclass(eq=False, repr=False, kw_only=True)
class AdaRakerClassifier(ClassificationBaseline, _AdaRaker):
    """AdaRaker for two classes: logistic loss, probabilities from the logistic of the prediction.

    Parameters are those of :class:`AdaRaker`, with ``n_frequencies=15`` (IE-GP paper) and ``penalty=3e-5`` (the
    authors' 5e-4 for features of norm one). Weights follow the logistic loss; in the authors' code the error, 0 or 1.
    The authors' code steps further, ``eta_0=10`` and ``max_rate=7.5`` for features of norm one, which is worse on
    Banana.
    """

    _loss = LOGISTIC

    n_frequencies: int = 15
    penalty: float = 3e-5
