"""Raker: online multi-kernel learning with random features, for streams that do not change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from iegp.core.kernels import Stationary
from iegp.errors import InputError
from iegp.typing import Float
from iegp_paper.competitors import rows
from iegp_paper.competitors.base import Baseline, Expected, RegressionBaseline
from iegp_paper.competitors.base_classifier import ClassificationBaseline
from iegp_paper.competitors.descent import (
    LOGISTIC,
    LOSS,
    RANGE,
    SQUARED,
    Answers,
    Learner,
    Rules,
    functions,
    mixture,
    raker_rows,
)
from iegp_paper.competitors.dictionary import PAPER_KERNELS, dictionary_rows, draw_dictionary

HEDGES = {"loss": LOSS, "range": RANGE}
# Rows with features held in memory at once.
CHUNK_ROWS = 256


@dataclass(eq=False, repr=False, kw_only=True)
class MultiKernel(Baseline):
    """Base class of Raker and AdaRaker: the dictionary and the rules of a learner."""

    kernels: Sequence[Stationary] = field(default=PAPER_KERNELS, kw_only=False)
    n_frequencies: int = 50
    features: str = "random"
    penalty: float = 2e-4
    hedge: str = "range"
    base: float = 0.5
    learn_warmup: bool = False
    random_state: int | None = None

    _loss = SQUARED
    _frequencies: Float = field(init=False)
    _rules: Rules = field(init=False)

    def _start(self, x: Float, y: Float) -> None:
        del y
        if self.hedge not in HEDGES:
            raise InputError(
                f"hedge={self.hedge!r} is not known; use 'range' (the authors' code) or 'loss' (the paper)"
            )
        if not 0.0 < self.base < 1.0:
            raise InputError(f"base={self.base!r} must lie between 0 and 1, so that losing costs weight; try 0.5")
        n_frequencies = rows.whole(self.n_frequencies, "n_frequencies")
        seed = rows.seed_of(self.random_state)
        self._frequencies = draw_dictionary(tuple(self.kernels), n_frequencies, x.shape[1], self.features, seed)
        self._rules = Rules(self._loss, HEDGES[self.hedge], float(self.penalty), float(self.base))
        self._reset(len(self._frequencies), 2 * n_frequencies)

    def _reset(self, n_kernels: int, n_features: int) -> None:
        raise NotImplementedError

    def _learn_chunk(self, phi: Float, y: Float, answers: Answers) -> None:
        raise NotImplementedError

    def _values(self, phi: Float) -> tuple[Float, Float]:
        raise NotImplementedError

    def _step(self, x: Float, y: Float) -> Expected:
        n = len(x)
        f, weights = np.empty(n), np.empty((n, len(self._frequencies)))
        for i in range(0, n, CHUNK_ROWS):
            some = slice(i, i + CHUNK_ROWS)
            phi = dictionary_rows(x[some], self._frequencies)
            self._learn_chunk(phi, y[some], Answers(f[some], weights[some]))
        return self._expected(f, weights)

    def _expect(self, x: Float) -> Expected:
        return self._expected(*self._values(dictionary_rows(x, self._frequencies)))

    def _expected(self, f: Float, weights: Float) -> Expected:
        mean = f if self._loss == SQUARED else np.asarray(expit(f))
        return Expected(mean, np.full(len(f), np.nan), weights)


@dataclass(eq=False, repr=False, kw_only=True)
class _Raker(MultiKernel):
    learning_rate: float = 0.25
    _learner: Learner = field(init=False)

    def _reset(self, n_kernels: int, n_features: int) -> None:
        rows.positive(self.learning_rate, "learning_rate")
        self._learner = Learner(np.zeros((n_kernels, n_features)), np.zeros(n_kernels))

    def _learn_chunk(self, phi: Float, y: Float, answers: Answers) -> None:
        raker_rows(self._learner, phi, y, float(self.learning_rate), self._rules, answers)

    def _values(self, phi: Float) -> tuple[Float, Float]:
        theta, log_weights = self._learner
        n, values = len(phi), np.empty(len(theta))
        weights = np.exp(log_weights) / np.exp(log_weights).sum()
        f = np.empty(n)
        for t in range(n):
            functions(theta, phi[t], values)
            f[t] = mixture(log_weights, values)
        return f, np.tile(weights, (n, 1))


@dataclass(eq=False, repr=False, kw_only=True)
class Raker(RegressionBaseline, _Raker):
    """Raker of Shen, Chen and Giannakis (2019) for regression: squared loss, no uncertainty.

    Every kernel has a linear function of its random features, moved by online gradient descent; the prediction is
    their mean under multiplicative weights. A row costs O(kernels x features).

    Parameters
    ----------
    kernels : sequence of kernels
        The dictionary; default RBF with variances 10^k, k = -4..6, the IE-GP paper's.
    n_frequencies : int, default=50
        Random frequencies per kernel, the paper's D; features are twice as many (IE-GP paper: 100 in all).
    features : {"random", "orthogonal"}, default="random"
        The Raker paper has both.
    learning_rate : float, default=0.25
        ``eta``, the step of descent. The analysis of Raker takes 1 / sqrt(T) for losses in [0, 1]; features have norm
        one and targets variance one here, and 0.5 would fit every row exactly.
    penalty : float, default=2e-4
        ``lambda``, the weight of half the squared norm. The authors' code has 0.01 for 50 frequencies with features
        that are not divided by their norm: 0.01 / 50 here.
    hedge : {"range", "loss"}, default="range"
        How losses become weights: mapped to -1..1 over the kernels of each row and multiplied as ``base`` to that
        power (the authors' code), or ``exp(-eta loss)`` (their paper, which assumes losses in [0, 1]).
    base : float, default=0.5
        Of the multiplicative weights under ``"range"``; the authors' 0.5.
    warmup : int, default=1000
        Rows that set the scaling.
    standardize : bool, default=True
        Whether columns and targets are brought to mean 0 and variance 1 by the warm-up rows.
    learn_warmup : bool, default=False
        Whether these rows are learned too; the IE-GP paper does not.
    random_state : int or None
        Seed of the frequencies.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp_paper.competitors import Raker
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(600, 2))
    >>> model = Raker(warmup=100, random_state=0).warm_up(X[:100], X[:100, 0])
    >>> model.prequential(X[100:], X[100:, 0]).nmse < 0.2
    True
    """


@dataclass(eq=False, repr=False, kw_only=True)
class RakerClassifier(ClassificationBaseline, _Raker):
    """Raker for two classes: logistic loss, probabilities from the logistic of the prediction.

    Parameters are those of :class:`Raker`, with ``n_frequencies=15`` (IE-GP paper), a larger ``learning_rate`` (the
    logistic loss is flatter) and ``penalty=3e-5`` (the authors' 5e-4 for features of norm one).
    """

    _loss = LOGISTIC

    n_frequencies: int = 15
    learning_rate: float = 1.0
    penalty: float = 3e-5
