"""What a test-then-train pass of a classifier returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.evaluate.classification import brier, error_rate, expected_calibration_error
from iegp.evaluate.metrics import pnll
from iegp.typing import Float


@dataclass(frozen=True, repr=False)
class ClassificationRun:
    """One entry per row, each made before the label of that row was used.

    ``proba`` (n, K) are class probabilities in the order of ``classes``; ``log_score`` (n,) is the log probability of
    the label; ``weights`` (n, n_experts) are those used for the prediction of that row; ``y`` are the labels.
    ``predicted`` is the most probable class; ``error``, ``log_loss``, ``brier`` and ``calibration_error`` sum the run
    up. :meth:`concatenate` joins the pieces of a live loop.
    """

    proba: Float
    log_score: Float
    weights: Float
    y: NDArray[Any]
    classes: NDArray[Any]

    @classmethod
    def concatenate(cls, runs: Sequence[ClassificationRun]) -> ClassificationRun:
        """One run out of consecutive ones, such as those of a live loop."""
        proba, log_score, weights, y = (
            np.concatenate([getattr(run, name) for run in runs]) for name in ("proba", "log_score", "weights", "y")
        )
        return cls(proba, log_score, weights, y, runs[0].classes)

    def __len__(self) -> int:
        return len(self.log_score)

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
        """Mean squared distance of the probabilities from what happened."""
        return brier(self.y, self.proba, self.classes)

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: how far confidence and accuracy are apart, averaged over ten bins."""
        return expected_calibration_error(self.y, self.proba, self.classes)

    def __repr__(self) -> str:
        count = f"{len(self)} row" + ("" if len(self) == 1 else "s")
        if not len(self):
            return f"ClassificationRun({count})"
        parts = f"error {self.error:.4g}, log loss {self.log_loss:.4g}, calibration error {self.calibration_error:.3g}"
        return f"ClassificationRun({count}: {parts})"
