"""Results of a prequential pass: for every row, the prediction made before its label was used.

A run is a view of the core's :class:`~iegp.core.predictions.Predictions` in the shape of the caller's labels, with the
labels and scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import nan
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from iegp._imports import on_demand, optional
from iegp.core.changes import Change
from iegp.core.predictions import Predictions
from iegp.evaluate.classification import brier, error_rate, expected_calibration_error
from iegp.evaluate.metrics import coverage, mean_crps, nmse, normal_crps, pnll
from iegp.typing import Float

LEVEL = 0.95

# Fields of the whole run; all others have one entry per row, or are None.
_WHOLE_RUN = ("level", "n_blind", "classes", "n_before", "targets")


class Run:
    """Base of all runs; a subclass is a frozen dataclass with these fields and its own."""

    log_score: Float
    """(n,): log predictive density or probability of the label, summed over outputs."""
    weights: Float
    """(n, n_experts): weights of the experts in the prediction of that row."""
    y: NDArray[Any]
    """Labels."""
    pit: Float | None
    """Shape of y: predicted probability of a smaller label, half of the label's own probability added where labels are
    counts or ordered classes; None for unordered classes, and where it was not computed."""
    index: Any = None
    """Index of the rows, where they came as a data frame; else None."""
    n_before: int = 0
    """Rows that the model had seen before the first of these."""

    @classmethod
    def concatenate(cls, runs: Sequence[Self]) -> Self:
        """Join consecutive runs, such as those of the blocks of a stream.

        Parameters
        ----------
        runs : sequence of runs
            At least one, all of the same class.

        Returns
        -------
        run
            Of that class, with all rows.
        """
        joined: dict[str, Any] = {}
        for field in fields(cls):  # type: ignore[arg-type] # subclasses are dataclasses
            parts = [value for run in runs if (value := getattr(run, field.name)) is not None]
            is_joined = parts and field.name not in _WHOLE_RUN
            joined[field.name] = _joined(parts) if is_joined else getattr(runs[0], field.name)
        return cls(**joined)

    def to_frame(self) -> Any:
        """Return the labels, predictions and scores as a pandas data frame, a row for each row of the run.

        Returns
        -------
        pandas.DataFrame
            With the index of the rows, where they came as a data frame; else numbered from the first row of the stream.
        """
        index = range(self.n_before, self.n_before + len(self)) if self.index is None else self.index
        return optional("pandas", "to_frame").DataFrame(self._columns(), index=index)

    def plot(self, **options: Any) -> Any:
        """Draw labels, predictions and the running score.

        Parameters
        ----------
        **options : object
            As in :meth:`iegp.plots.PrequentialDisplay.plot`.

        Returns
        -------
        PrequentialDisplay
            With ``figure_``.
        """
        # Figures lie above runs; they are imported where one is asked for.
        return on_demand("iegp.plots").PrequentialDisplay.from_run(self, **({"first_row": self.n_before} | options))

    def _columns(self) -> dict[str, NDArray[Any]]:
        """Columns of the data frame."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.log_score)

    def _count(self) -> str:
        rows = f"{len(self)} row" + ("" if len(self) == 1 else "s")
        return rows + (f" after {self.n_before} that the model had seen" if self.n_before else "")


class Summary(dict[str, float]):
    """Scores by name; printed as a table."""

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:<{width}}  {value:.4g}" for name, value in self.items())


def _joined(parts: list[Any]) -> Any:
    """Arrays, tuples, or indices of data frames, one after another."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if isinstance(parts[0], tuple):
        return tuple(entry for part in parts for entry in part)
    return parts[0].append(parts[1:]) if len(parts) > 1 else parts[0]


def target_names(y: Any) -> tuple[str, ...]:
    """Return the names of the columns of labels.

    Parameters
    ----------
    y : array-like
        Labels.

    Returns
    -------
    tuple of str
        Those of a pandas Series or data frame; empty for other labels and a Series without a name.
    """
    names = getattr(y, "columns", None)
    if names is None:
        name = getattr(y, "name", None)
        names = () if name is None else (name,)
    return tuple(str(name) for name in names)


class NumberRun(Run):
    """A run with labels that are numbers or counts."""

    mean: Float
    """Shape of y; likewise ``std``, and the ends ``lower`` and ``upper`` of the central interval."""
    std: Float
    lower: Float | None
    upper: Float | None
    level: float | None
    """Probability of the interval; None if there is none."""
    n_blind: int = 0
    """Rows at the start that scores leave out: predicted before the units of y were known."""

    @classmethod
    def of_predictions(cls, predictions: Predictions, y: Float, single_output: bool, **own: Any) -> Self:
        """Make a run of the core's predictions.

        Parameters
        ----------
        predictions : Predictions
            Of n rows, in the units of y.
        y : ndarray (n, D)
            Labels.
        single_output : bool
            Whether the fields of the run have shape (n,); else (n, D).
        **own : object
            Further fields of the class, ``level`` among them.

        Returns
        -------
        run
            Of this class; shares memory with the predictions.
        """

        def shaped(values: Float) -> Float:
            return values[:, 0] if single_output else values

        asked = () if own["level"] is None else ("lower", "upper", "pit")
        parts: dict[str, Any] = {"lower": None, "upper": None, "pit": None, **own}
        parts |= {name: shaped(getattr(predictions, name)) for name in ("mean", "std", *asked)}
        # The caller's y may be a buffer that is about to be overwritten.
        parts |= {"log_score": predictions.log_score, "weights": predictions.weights, "y": shaped(y).copy()}
        return cls(**parts)

    @property
    def _is_blind(self) -> bool:
        return len(self.y) <= self.n_blind

    @property
    def nmse(self) -> float:
        """Mean squared error over the variance of y; NaN if every row was predicted before any label."""
        return nan if self._is_blind else nmse(self.y[self.n_blind :], self.mean[self.n_blind :])

    @property
    def pnll(self) -> float:
        """Mean predictive negative log-likelihood; NaN if every row was predicted before any label."""
        return nan if self._is_blind else pnll(self.log_score[self.n_blind :])

    @property
    def coverage(self) -> float:
        """Share of labels inside the interval; NaN without a level, or if every row was predicted before any label."""
        if self.lower is None or self.upper is None or self._is_blind:
            return nan
        rows = slice(self.n_blind, None)
        return coverage(self.y[rows], self.lower[rows], self.upper[rows])

    def summary(self) -> Summary:
        """Return the scores of the run, without the rows that were predicted before any label.

        Returns
        -------
        Summary
            A dictionary that prints as a table: ``mae``, ``rmse`` and ``crps`` in the units of y, ``nmse``, the mean
            ``log_score`` in nats, and with intervals their ``coverage`` and mean ``width``; averages over outputs.
            Of predictions without uncertainty only ``mae``, ``rmse`` and ``nmse``.
            ``crps`` is that of normal distributions with the same means and standard deviations; for that of the
            predictive mixture see ``predict_dist(X).crps(y)``.
        """
        rows = slice(self.n_blind, None)
        y, mean, std = self.y[rows], self.mean[rows], self.std[rows]
        if self._is_blind:
            return Summary(mae=nan, rmse=nan, nmse=nan)
        found = Summary(mae=float(np.mean(np.abs(y - mean))), rmse=float(np.sqrt(np.mean((y - mean) ** 2))))
        found["nmse"] = self.nmse
        if np.isnan(std).all():
            return found
        found |= {"crps": mean_crps(normal_crps(y, mean, std)), "log_score": -self.pnll}
        if self.lower is not None and self.upper is not None:
            found |= {"coverage": self.coverage, "width": float(np.mean(self.upper[rows] - self.lower[rows]))}
        return found

    def _columns(self) -> dict[str, NDArray[Any]]:
        names = ("y", "mean", "std", "lower", "upper", "pit")
        parts = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.y.ndim == 1:
            return parts | {"log_score": self.log_score}
        each = {f"{name}_{d}": value[:, d] for name, value in parts.items() for d in range(self.y.shape[1])}
        return each | {"log_score": self.log_score}


@dataclass(frozen=True, repr=False)
class PrequentialRun(NumberRun):
    """Predictions of numbers or counts, one entry per row, each made before the label of that row was used.

    The properties ``nmse``, ``pnll`` and ``coverage`` are scores of the run, without its first ``n_blind`` rows.

    Parameters
    ----------
    mean, std : ndarray
        Predictive mean and standard deviation, in the shape and units of y.
    lower, upper : ndarray
        Ends of the central interval, in the shape and units of y.
    log_score : ndarray (n,)
        Log predictive density of the label (of a count, log probability), summed over outputs.
    weights : ndarray (n, n_experts)
        Weights of the experts in the prediction.
    y : ndarray (n,) or (n, D)
        Labels.
    level : float, default=0.95
        Probability of the interval.
    n_blind : int, default=0
        Rows at the start that were predicted before any label, when the units of y were unknown.
    pit : ndarray or None, default=None
        Predicted probability of a smaller label, for counts plus half of that of the label itself, in the shape of y.
    index : pandas.Index or None, default=None
        Index of the rows, where they came as a data frame.
    n_before : int, default=0
        Rows that the model had seen before the first of these.
    changes : tuple of Change, default=()
        Changes of the stream that were noticed in these rows, the last 100; rows are counted from the model's first.
    targets : tuple of str, default=()
        Names of the columns of y, where it came as a pandas Series or data frame.
    """

    mean: Float
    std: Float
    lower: Float
    upper: Float
    log_score: Float
    weights: Float
    y: Float
    level: float = LEVEL
    n_blind: int = 0
    pit: Float | None = None
    index: Any = None
    n_before: int = 0
    changes: tuple[Change, ...] = ()
    targets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        if len(self) <= self.n_blind:
            return f"PrequentialRun({self._count()}, predicted before anything was known)"
        parts = [f"mean log score {-self.pnll:.4g}", f"{100 * self.level:g} % coverage {100 * self.coverage:.1f} %"]
        if np.isnan(self.log_score[self.n_blind :]).all():
            parts = ["no uncertainty"]
        # One label, or labels all alike, have no variance to compare with.
        if np.ptp(self.y[self.n_blind :], axis=0).min() > 0.0:
            parts.insert(0, f"nMSE {self.nmse:.4g}")
        return f"PrequentialRun({self._count()}: {', '.join(parts)})"


@dataclass(frozen=True, repr=False)
class ClassificationRun(Run):
    """Class probabilities, one entry per row, each made before the label of that row was used.

    The property ``predicted`` is the most probable class; ``error``, ``log_loss``, ``brier`` and ``calibration_error``
    are scores of the run.

    Parameters
    ----------
    proba : ndarray (n, K)
        Class probabilities, in the order of ``classes``.
    log_score : ndarray (n,)
        Log probability of the label.
    weights : ndarray (n, n_experts)
        Weights of the experts in the prediction.
    y : ndarray (n,)
        Labels.
    classes : ndarray (K,)
        All classes.
    pit : ndarray (n,) or None, default=None
        Predicted probability of a smaller label plus half of that of the label itself; ``None`` for unordered classes.
    index : pandas.Index or None, default=None
        Index of the rows, where they came as a data frame.
    n_before : int, default=0
        Rows that the model had seen before the first of these.
    """

    proba: Float
    log_score: Float
    weights: Float
    y: NDArray[Any]
    classes: NDArray[Any]
    pit: Float | None = None
    index: Any = None
    n_before: int = 0

    @classmethod
    def of_predictions(cls, predictions: Predictions, y: NDArray[Any], classes: NDArray[Any], **own: Any) -> Self:
        """Make a run of the core's predictions.

        Parameters
        ----------
        predictions : Predictions
            Of n rows.
        y : ndarray (n,)
            Labels, each among ``classes``.
        classes : ndarray (K,)
            All classes.
        **own : object
            Further fields of the class.

        Returns
        -------
        ClassificationRun
            Shares memory with the predictions.
        """
        pit = predictions.pit[:, 0] if len(predictions.pit) else None
        return cls(predictions.proba, predictions.log_score, predictions.weights, y, classes, pit, **own)

    @property
    def predicted(self) -> NDArray[Any]:
        """The most probable class of each row."""
        return np.asarray(self.classes[np.argmax(self.proba, axis=1)])

    @property
    def error(self) -> float:
        """Share of wrong predictions: the paper's cumulative classification error at the end of the stream."""
        return error_rate(self.y, self.predicted)

    @property
    def log_loss(self) -> float:
        """Mean negative log probability of the labels; smaller is better."""
        return pnll(self.log_score)

    @property
    def brier(self) -> float:
        """Mean squared distance of the probabilities from the labels, one-hot encoded."""
        return brier(self.y, self.proba, self.classes)

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: how far confidence and accuracy are apart, averaged over ten bins."""
        return expected_calibration_error(self.y, self.proba, self.classes)

    def summary(self) -> Summary:
        """Return the scores of the run.

        Returns
        -------
        Summary
            A dictionary that prints as a table: ``error``, ``log_loss``, ``brier`` and ``calibration_error``.
        """
        names = ("error", "log_loss", "brier", "calibration_error")
        return Summary({name: getattr(self, name) for name in names})

    def _columns(self) -> dict[str, NDArray[Any]]:
        proba = {f"proba_{name}": self.proba[:, k] for k, name in enumerate(self.classes)}
        return {"y": self.y, "predicted": self.predicted, "log_score": self.log_score} | proba

    def __repr__(self) -> str:
        if not len(self):
            return f"ClassificationRun({self._count()})"
        parts = f"error {self.error:.4g}, log loss {self.log_loss:.4g}, calibration error {self.calibration_error:.3g}"
        return f"ClassificationRun({self._count()}: {parts})"
