"""Online ensemble GP classification, of classes and of ordered levels, as River models."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from inspect import Parameter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from river import base

from iegp._docstrings import fill_docstrings
from iegp._writers import one_writer
from iegp.adapters.columns import Columns
from iegp.adapters.river_base import FIXED, Features, Read, RiverEnsemble, as_draft, frame, series
from iegp.adapters.shared_docs import RIVER
from iegp.core import model as online
from iegp.core.weighted import Weighted
from iegp.estimators.classifier import IEGPClassifier
from iegp.estimators.defaults import LIGHT_CLASSES
from iegp.estimators.ordinal import IEGPOrdinalClassifier
from iegp.labels import ClassLabels, as_labels, grow, weighted
from iegp.typing import Float

if TYPE_CHECKING:
    import pandas as pd


@fill_docstrings(RIVER)
class LabelModel(RiverEnsemble, base.MiniBatchClassifier):
    """Base of the River classifiers: a label that was not seen before becomes a class."""

    _light = LIGHT_CLASSES

    @property
    def known_classes(self) -> tuple[Hashable, ...]:
        """Labels known so far, in the order of their class numbers."""
        return self._estimator.labels_.classes  # type: ignore[no-any-return]

    # -- learning --------------------------------------------------------------------------------------------------

    def _encoded(self, labels: Any) -> list[Any]:
        return as_labels(labels)

    @one_writer
    def _learn(self, read: Read, x: Any, found: list[Any], w: ArrayLike) -> None:
        x, times = self._split(x)
        model, columns, rows = self._ready(read, x)
        labels: ClassLabels = self._estimator.labels_
        counts = weighted(np.zeros(len(found)), w, "w")
        if len(found) > 1:
            model = as_draft(model)
        for start, stop, is_new in labels.segments(found):
            if is_new:
                model, labels = grow(model, labels, found[start], start)
            some_times = None if times is None else times[start:stop]
            y = labels.encode(found[start:stop])
            own = counts.part(start, stop)._replace(y=y) if isinstance(counts, Weighted) else y
            online.absorb(model, rows[start:stop], own, time=some_times)
        self._keep(model, columns)
        self._estimator.labels_ = labels

    # -- predicting ------------------------------------------------------------------------------------------------

    def predict_proba_one(self, x: Features) -> dict[Any, float]:  # type: ignore[override]
        """Predict the probability of every label known so far. Changes nothing.

        {parameters}

        Returns
        -------
        dict
            Probabilities by label; empty before the first label, unless ``classes`` or ``order`` was given.
        """
        return dict(zip(self.known_classes, self._probabilities(Columns.read_row, x)[0].tolist(), strict=True))

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Predict the probabilities of the labels, each row as if it came next. Changes nothing.

        {parameters}

        Returns
        -------
        pandas.DataFrame (n, K)
            A column for each label known so far, with the index of X.
        """
        return frame(self._probabilities(Columns.read_frame, X), list(self.known_classes), X)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Predict the most probable label of every row. Changes nothing.

        {parameters}

        Returns
        -------
        pandas.Series (n,)
            Labels, with the index of X; None before the first label.
        """
        if not self.known_classes:
            return series([None] * len(X), X)
        best = self._probabilities(Columns.read_frame, X).argmax(axis=1)
        return series(self._estimator.labels_.decode(best).tolist(), X)

    def _probabilities(self, read: Read, x: Any) -> Float:
        """(n, labels known so far)"""
        estimator, rows, times = self._asked(read, x)
        n_named = len(self.known_classes)
        if n_named < 2:
            return np.ones((len(rows), n_named))
        return estimator.predict_proba(rows, check_input=False, time=times)  # type: ignore[no-any-return]

    @property
    def _multiclass(self) -> bool:
        return True


# A model of two classes grows a third with the logistic link alone.
_FIXED_LINK = FIXED | {"link": "logit"}
_CLASSES = Parameter("classes", Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation="Sequence[Any] | None")


class RiverClassifier(LabelModel, estimator=IEGPClassifier, fixed=_FIXED_LINK, first=(_CLASSES,)):
    """Gaussian-process classification that learns row by row, with class probabilities, for River.

    The model of :class:`iegp.IEGPClassifier` with ``features="random"``, for two classes or more. Features may appear
    and vanish, as for :class:`RiverRegressor`. A label that was not seen before becomes a class that starts from the
    prior; the odds between the other classes do not change.

    Parameters
    ----------
    classes : sequence of labels, default=None
        Labels that are known beforehand. They have a probability before the first row with them is learned.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from iegp.adapters import RiverClassifier
    >>> from iegp.kernels import RBF
    >>> model = RiverClassifier(kernels=[RBF("dimension")], n_frequencies=20, warmup=50, seed=0)
    >>> evaluate.progressive_val_score(datasets.Phishing().take(300), model, metrics.Accuracy())
    Accuracy: 8...
    >>> x, y = next(iter(datasets.Phishing()))
    >>> sorted(model.predict_proba_one(x))
    [False, True]
    """

    classes: Sequence[Any] | None

    def _first_codec(self) -> ClassLabels:
        return ClassLabels.declared(() if self.classes is None else self.classes)


class RiverOrdinalClassifier(LabelModel, estimator=IEGPOrdinalClassifier):
    """Gaussian-process classification of *ordered* classes that learns row by row, for River.

    The model of :class:`iegp.IEGPOrdinalClassifier` with ``features="random"``. Features may appear and vanish, as for
    :class:`RiverRegressor`. Without ``order``, labels are sorted, and a label that was not seen before is
    inserted in sorted order: it takes a part of the interval between its neighbours, or an end.

    Parameters
    ----------
    order : sequence of labels, default=None
        The labels from lowest to highest; another label is then an error. ``None`` sorts them: right for numbers,
        rarely for words.

    Examples
    --------
    >>> from iegp.adapters import RiverOrdinalClassifier
    >>> from iegp.kernels import RBF
    >>> model = RiverOrdinalClassifier(kernels=[RBF(1.0)], n_frequencies=10, warmup=50, seed=0)
    >>> for i in range(100):
    ...     model.learn_one({"heat": i % 10}, (i % 10) // 4)
    >>> [model.predict_one({"heat": heat}) for heat in (1, 5, 9)]
    [0, 1, 2]
    """

    order: Sequence[Any] | None

    def _first_codec(self) -> ClassLabels:
        if self.order is None:
            return ClassLabels(is_ordered=True, argument="order")
        codec = ClassLabels.declared(self.order, "order", is_ordered=True, is_fixed=True)
        codec.require(2)
        return codec
