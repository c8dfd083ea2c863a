"""Base classes of the baselines: the warm-up, the units, and the order of predicting and learning.

A baseline implements three private methods, all on standardised rows: ``_start`` (hyperparameters from the warm-up
rows), ``_step`` (predict each row, then learn it) and ``_expect`` (predict, learn nothing).
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from iegp.core import scaling
from iegp.core.scaling import Scaling
from iegp.errors import InputError
from iegp.evaluate.runs import LEVEL, PrequentialRun
from iegp.typing import Float
from iegp_paper.competitors import rows


class Expected(NamedTuple):
    """Predictions of n rows in standardised units, and the weights of the experts that made them."""

    mean: Float
    variance: Float
    """(n,), noise included; NaN where a method has none."""
    weights: Float
    """(n, n_experts)."""


@dataclass(eq=False, repr=False, kw_only=True)
class Baseline:
    """A method that predicts a stream. Baselines are dataclasses: their fields are the arguments of the constructor.

    Those that may learn the rows of their warm-up make an argument of ``learn_warmup``.
    """

    warmup: int = 1000
    standardize: bool = True
    learn_warmup = False

    _scaling: Scaling | None = field(default=None, init=False)
    _kept_x: Float | None = field(default=None, init=False)
    _kept_y: Float | None = field(default=None, init=False)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's clone says it
        """Return the constructor's arguments and their values."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        changed = [f"{k}={v!r}" for k, v in self.get_params().items() if v is not defaults[k].default]
        return f"{type(self).__name__}({', '.join(changed)})"

    @property
    def is_ready(self) -> bool:
        """Whether the warm-up is over."""
        return self._scaling is not None

    @property
    def n_columns(self) -> int | None:
        """Columns of X, once they are known."""
        if self._scaling is not None:
            return len(self._scaling.x_mean)
        return None if self._kept_x is None else self._kept_x.shape[1]

    # -- what subclasses do ----------------------------------------------------------------------------------------

    def _start(self, x: Float, y: Float) -> None:
        raise NotImplementedError

    def _step(self, x: Float, y: Float) -> Expected:
        raise NotImplementedError

    def _expect(self, x: Float) -> Expected:
        raise NotImplementedError

    # -- warm-up ---------------------------------------------------------------------------------------------------

    def _begin(self, x: Float, y: Float) -> None:
        """Find scaling and hyperparameters from these rows; they are learned only with ``learn_warmup``."""
        if len(x) == 0 and self.standardize:
            raise InputError("no rows to warm up on; pass some, or standardize=False for data already standardised")
        scale = self._scale_of(x, y) if self.standardize else scaling.identity(x.shape[1], 1)
        x, y = scale.standardise_x(x), scale.standardise_y(y[:, None])[:, 0]
        self._start(x, y)
        self._scaling = scale
        self._kept_x = self._kept_y = None
        if self.learn_warmup and len(x):
            self._step(x, y)

    def _scale_of(self, x: Float, y: Float) -> Scaling:
        return scaling.from_rows(x, y[:, None])

    def _pass(self, x: Float, y: Float) -> tuple[int, Expected]:
        """Predict, then learn; return the number of warm-up rows, and the predictions of all rows, standardised.

        Rows of the warm-up have no prediction: NaN.
        """
        n_blind = 0 if self.is_ready else min(self._rows_to_start(), len(x))
        if n_blind or not self.is_ready:
            self._keep(x[:n_blind], y[:n_blind])
        if n_blind == len(x):
            return n_blind, _nothing(n_blind, 1)
        assert self._scaling is not None
        rest_x = self._scaling.standardise_x(x[n_blind:])
        seen = self._step(rest_x, self._scaling.standardise_y(y[n_blind:, None])[:, 0])
        blind = _nothing(n_blind, seen.weights.shape[1])
        return n_blind, Expected(*(np.concatenate(parts) for parts in zip(blind, seen, strict=True)))

    def _rows_to_start(self) -> int:
        kept = 0 if self._kept_x is None else len(self._kept_x)
        return rows.whole(self.warmup, "warmup", 0) - kept

    def _keep(self, x: Float, y: Float) -> None:
        # Copies, always: the caller's arrays may be buffers that the next rows are written to.
        x = np.concatenate([x[:0] if self._kept_x is None else self._kept_x, x])
        y = np.concatenate([y[:0] if self._kept_y is None else self._kept_y, y])
        self._kept_x, self._kept_y = x, y
        if len(x) >= self.warmup:
            self._begin(x, y)


class RegressionBaseline(Baseline):
    """Baseline for numeric labels."""

    def warm_up(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Reset the model, then set scaling and hyperparameters from these rows.

        They are not learned unless ``learn_warmup``.
        """
        x = rows.checked_x(X, None)
        self._begin(x, rows.checked_numbers(y, len(x)))
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn more rows, in order."""
        self.prequential(X, y)
        return self

    def prequential(self, X: ArrayLike, y: ArrayLike, level: float = LEVEL) -> PrequentialRun:
        """Predict each row, then learn it. ``level`` is that of the central interval.

        On a model that was not warmed up the first ``warmup`` rows are its warm-up: they are not predicted (NaN), and
        the sums of the run leave them out.
        """
        if not 0.0 < level < 1.0:
            raise InputError(f"level={level!r} must be a number between 0 and 1, such as 0.95")
        x = rows.checked_x(X, self.n_columns)
        labels = rows.checked_numbers(y, len(x))
        n_blind, seen = self._pass(x, labels)
        mean, std = self._in_units(seen)
        reach = std * ndtri(0.5 + 0.5 * level)
        score = -0.5 * ((labels - mean) / std) ** 2 - np.log(std) - 0.5 * np.log(2.0 * np.pi)
        return PrequentialRun(mean, std, mean - reach, mean + reach, score, seen.weights, labels.copy(), level, n_blind)

    def predict(self, X: ArrayLike, return_std: bool = False) -> Float | tuple[Float, Float]:
        """Return the predictive mean; with ``return_std`` also the standard deviation of y, noise included, or NaN."""
        if self._scaling is None:
            raise InputError(f"{type(self).__name__} knows nothing yet; call warm_up, partial_fit or prequential first")
        x = self._scaling.standardise_x(rows.checked_x(X, self.n_columns))
        mean, std = self._in_units(self._expect(x))
        return (mean, std) if return_std else mean

    def _in_units(self, seen: Expected) -> tuple[Float, Float]:
        if self._scaling is None:
            return seen.mean, seen.variance
        centre, size = float(self._scaling.y_mean[0]), float(self._scaling.y_scale[0])
        return centre + size * seen.mean, size * np.sqrt(seen.variance)


def _nothing(n: int, n_experts: int) -> Expected:
    return Expected(np.full(n, np.nan), np.full(n, np.nan), np.full((n, n_experts), np.nan))
