"""Base class of baselines for two classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iegp.core import scaling
from iegp.core.scaling import Scaling
from iegp.errors import InputError
from iegp.evaluate.runs import ClassificationRun
from iegp.typing import Float
from iegp_paper.competitors import rows
from iegp_paper.competitors.base import Baseline, Expected


@dataclass(eq=False, repr=False, kw_only=True)
class ClassificationBaseline(Baseline):
    """Baseline for two classes. Labels are -1 and +1 inside, predictions P(+1) in ``mean``."""

    _classes: NDArray[Any] | None = field(default=None, init=False)

    def warm_up(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Reset the model, then set scaling and hyperparameters from these rows."""
        x = rows.checked_x(X, None)
        labels = rows.checked_classes(y, len(x))
        self._classes = rows.two_classes(labels, classes)
        self._begin(x, rows.signs(labels, self._classes))
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn more rows, in order; the first call needs both classes, in y or in ``classes``."""
        self.prequential(X, y, classes)
        return self

    def prequential(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> ClassificationRun:
        """Predict each row, then learn it.

        Without ``classes`` the set of labels (not their order) is taken from y. Rows of a warm-up get a probability of
        one half.
        """
        x = rows.checked_x(X, self.n_columns)
        labels = rows.checked_classes(y, len(x))
        if self._classes is None:
            self._classes = rows.two_classes(labels, classes)
        sign = rows.signs(labels, self._classes)
        _, seen = self._pass(x, sign)
        second = np.where(np.isnan(seen.mean), 0.5, seen.mean)
        proba = np.stack([1.0 - second, second], axis=1)
        with np.errstate(divide="ignore"):
            score = np.log(np.where(sign > 0.0, proba[:, 1], proba[:, 0]))
        return ClassificationRun(proba, score, seen.weights, labels.copy(), self._classes)

    def predict_proba(self, X: ArrayLike) -> Float:
        """Return the probability of each class, (n, 2)."""
        if self._scaling is None:
            raise InputError(f"{type(self).__name__} knows nothing yet; call warm_up, partial_fit or prequential first")
        second = self._expect(self._scaling.standardise_x(rows.checked_x(X, self.n_columns))).mean
        return np.stack([1.0 - second, second], axis=1)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the more probable class of each row."""
        proba = self.predict_proba(X)
        assert self._classes is not None
        return np.asarray(self._classes[np.argmax(proba, axis=1)])

    def _scale_of(self, x: Float, y: Float) -> Scaling:
        """Return a scaling that leaves the signs of labels as they are."""
        return scaling.from_rows(x, y[:, None])._replace(y_mean=np.zeros(1), y_scale=np.ones(1))


__all__ = ["ClassificationBaseline", "Expected"]
