"""Base class of the regressors, of numbers and of counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array

from iegp._writers import one_writer
from iegp.core import model as online
from iegp.errors import InputError
from iegp.estimators.base import StreamEstimator
from iegp.estimators.checks import check_level, is_float_array, named_cells, unchanged_on_error
from iegp.evaluate.runs import PrequentialRun, target_names
from iegp.labels import CountLabels, Labels, NumberLabels, weighted


class NumberEstimator(RegressorMixin, StreamEstimator):  # type: ignore[misc]
    """Base of the regressors."""

    labels_: NumberLabels | CountLabels

    @one_writer
    def _run(
        self,
        X: ArrayLike,
        y: ArrayLike,
        extra: Any,
        level: float,
        check_input: bool,
        time: ArrayLike | None,
        sample_weight: ArrayLike | None,
    ) -> PrequentialRun:
        check_level(level)
        with unchanged_on_error(self):
            rows, columns, times = self._continue(X, y, extra, check_input, time)
            n_blind = online.rows_before_a_label(self.model_, len(rows))
            n_before = self.model_.n_seen
            predictions = self._predict_and_learn(rows, weighted(columns, sample_weight), times, float(level))
        targets = columns[:, : self.labels_.n_outputs]
        single = self.labels_.single_output
        own = {"level": float(level), "n_blind": n_blind, "index": getattr(X, "index", None), "n_before": n_before}
        own["targets"] = target_names(y)
        own["changes"] = () if self.model_.changes is None else tuple(self.model_.changes.since(n_before))
        return PrequentialRun.of_predictions(predictions, targets, single, **own)

    def _read(self, y: ArrayLike, extra: Any, reset: bool) -> Labels:
        del extra, reset
        if is_float_array(y) and np.ndim(y) in (1, 2):
            return np.asarray(y)
        with named_cells(y, "y"):
            labels = check_array(y, dtype=np.float64, ensure_2d=False, ensure_all_finite=False, input_name="y")
        if labels.ndim not in (1, 2) or labels.shape[1:] == (0,):
            raise InputError(f"y has shape {labels.shape}; pass {self._label} per row of X")
        return np.asarray(labels)
