"""Results of a digest as plain numbers and arrays: the input of a report or of a progress line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from iegp.typing import Float, Int


class Score(NamedTuple):
    """Score of the model beside those of forecasts from earlier labels alone; NaN where there is none."""

    model: float
    naive: float
    """Mean of the labels so far; classes: the most frequent, log scores by how frequent each was."""
    last: float
    """The label before; has no log score. With models by key both look at the labels of the row's key alone."""


class Points(NamedTuple):
    """Every ``step``-th row: its number (n,) and named columns (n,)."""

    row: Int
    step: int
    columns: dict[str, Float]


class Table(NamedTuple):
    """Every ``step``-th row: its number (n,) and a row of shares (n, width), such as weights."""

    row: Int
    step: int
    values: Float


class Curves(NamedTuple):
    """Sums over the rows of equal intervals, up to the last interval that has any."""

    length: int
    """Rows of a interval; interval i holds rows ``i * length`` to ``(i + 1) * length - 1``."""
    sums: dict[str, Float]

    def so_far(self, name: str, count: str) -> Float:
        """Mean of a column over all rows up to the end of each interval; NaN before the first."""
        return _ratio(np.cumsum(self.sums[name]), np.cumsum(self.sums[count]))

    def recent(self, name: str, count: str, windows: int) -> tuple[Int, Float, Float]:
        """Mean of a column in each of about ``windows`` windows: first rows, means, and how many rows were averaged."""
        intervals = len(self.sums[count])
        joined = max(1, -(-intervals // windows))
        starts = np.arange(0, intervals, joined)
        total, n = (np.add.reduceat(self.sums[key], starts) if intervals else np.zeros(0) for key in (name, count))
        return starts * self.length, _ratio(total, n), n

    def mean(self, name: str, count: str) -> float:
        """Over the whole run; NaN if nothing was counted."""
        total, n = self.sums[name].sum(), self.sums[count].sum()
        return float(total / n) if n else float("nan")


class Surprise(NamedTuple):
    """A row with an unexpected label. ``columns`` are those of :class:`Results` ``predictions``."""

    row: int
    id: str | None
    key: str | None
    surprise: float
    """Numbers: distance from the predicted mean, in predicted standard deviations. Classes: probability of any other
    class than the true one."""
    columns: dict[str, float]


@dataclass(frozen=True)
class Results:
    """A run so far. Fields for numbers are empty for classes and the other way round."""

    task: str
    level: float
    n_rows: int
    n_labelled: int
    curves: Curves
    predictions: Points
    """Numbers: label, mean, std, lower, upper. Classes, by number: label, predicted, confidence, p_label. Of both the
    time in seconds since 1970, NaN where it is not known."""
    recent: Points
    """As ``predictions``, of the latest rows, every one of them."""
    surprises: tuple[Surprise, ...]
    """Rows with the least expected labels, the least expected first."""
    weights: Table
    label_variance: float
    """Variance of the scored labels: what squared errors are divided by in an nMSE."""
    pit: Float
    """Rows in each of 20 bins of the probability integral transform."""
    levels: Float
    inside: Float
    """Share of the scored rows inside their central interval of each of ``levels``."""
    residuals: Int
    """Standardised residuals between ``residual_edges``, with one bin below and one above."""
    residual_edges: Float
    classes: tuple[Any, ...]
    n_classes: int
    """One more than ``classes`` if there were more than can be distinguished."""
    strip: Table
    """Class probabilities."""
    confusion: Int
    """For ``n_classes`` classes (rows), how often each was predicted (columns)."""
    reliability: Float
    """For 10 bins of confidence: rows, mean confidence, share of right predictions."""
    delay: int = 0
    """Later rows that are predicted before a label is known."""
    by_key: bool = False
    """Whether there is one model per key; naive forecasts are then those of the row's key."""

    @property
    def is_number(self) -> bool:
        return self.task in ("regression", "count")

    @property
    def n_scored(self) -> int:
        return int(self.curves.sums["n"].sum())

    @property
    def loss(self) -> Score:
        """nMSE of numbers, share of wrong predictions of classes."""
        names = ("loss", "naive_loss", "last_loss")
        scale = self.loss_scale
        with np.errstate(divide="ignore", invalid="ignore"):
            return Score(*(float(np.divide(self.curves.mean(name, "n"), scale)) for name in names))

    @property
    def loss_scale(self) -> float:
        """What sums of losses are divided by; NaN if the scored labels are all alike, so that there is no nMSE."""
        if not self.is_number:
            return 1.0
        return self.label_variance if self.label_variance > 0.0 else float("nan")

    @property
    def mae(self) -> Score:
        """Mean absolute error of numbers, in units of the labels; NaN for classes."""
        if not self.is_number:
            return Score(*3 * (float("nan"),))
        return Score(*(self.curves.mean(name, "n") for name in ("absolute", "naive_absolute", "last_absolute")))

    @property
    def rmse(self) -> Score:
        """Root mean squared error of numbers, in units of the labels; NaN for classes."""
        if not self.is_number:
            return Score(*3 * (float("nan"),))
        return Score(*(math.sqrt(self.curves.mean(name, "n")) for name in ("loss", "naive_loss", "last_loss")))

    @property
    def log_score(self) -> Score:
        """Mean log score, over the rows that both the model and the naive forecast can score."""
        model, naive = (self.curves.mean(name, "n_log") for name in ("log", "naive_log"))
        return Score(model, naive, float("nan"))

    @property
    def coverage(self) -> float:
        """Share of the scored labels inside their interval; NaN for classes and where there are no intervals."""
        return self.curves.mean("covered", "bounded") if self.is_number else float("nan")


def _ratio(total: Float, n: Float) -> Float:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Float = np.where(n > 0.0, total / n, np.nan)
    return ratio
