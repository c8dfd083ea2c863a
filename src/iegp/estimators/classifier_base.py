"""What classifiers share, be their classes ordered or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from iegp.core import model as online
from iegp.core.model import Online
from iegp.errors import InputError, ModelFileError
from iegp.estimators import labels as lab
from iegp.estimators.base import StreamEstimator
from iegp.estimators.checks import check_x, unchanged_on_error
from iegp.estimators.labels import Labels
from iegp.evaluate.runs import ClassificationRun
from iegp.typing import Float


class LabelEstimator(ClassifierMixin, StreamEstimator):  # type: ignore[misc]
    """Learning, predicting and storing with class labels."""

    classes_: Labels

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget everything, then learn the rows in order. The classes are those of y."""
        with unchanged_on_error(self):
            rows, numbers = self._begin(X, y, None)
            self._absorb(rows, numbers)
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: Sequence[Any] | ArrayLike | None = None,
        check_input: bool = True,
    ) -> Self:
        """Learn more rows, in order. Any way of cutting a stream into calls gives the same model (to 1e-8).

        The first call decides the classes: ``classes`` if given, else the labels in y. A label that is none of them is
        an error later on, and leaves the model as it was. ``check_input=False`` skips all checks, for callers that have
        made them: X is then a C-contiguous float64 array (n, d) and y holds class *numbers* (n,), places in
        ``classes_``, as float64, on a model that has learned before.
        """
        with unchanged_on_error(self):
            rows, numbers = self._continue(X, y, classes, check_input)
            self._absorb(rows, numbers)
        return self

    def prequential(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: Sequence[Any] | ArrayLike | None = None,
        check_input: bool = True,
    ) -> ClassificationRun:
        """Predict each row, then learn it: one pass over a stream, as it would have happened.

        Returns an object with ``proba`` (rows x ``classes_``), ``predicted``, ``log_score`` and ``weights``: one entry
        per row, each made before the label of that row was used. On a fresh model without ``classes`` the *set* of
        labels is taken from y (never their order): the one thing it knows ahead. ``check_input`` as in
        :meth:`partial_fit`.
        """
        with unchanged_on_error(self):
            rows, numbers = self._continue(X, y, classes, check_input)
            predictions = self._learn(rows, numbers)
        truth = self.classes_[numbers[:, 0].astype(np.intp)]
        return ClassificationRun.of_predictions(predictions, truth, self.classes_.copy())

    def warm_up(self, X: ArrayLike, y: ArrayLike, classes: Sequence[Any] | ArrayLike | None = None) -> Self:
        """Forget everything, then set scaling and hyperparameters from these rows, once.

        The rows are also learned, unless ``learn_warmup=False`` (the paper's protocol). The warm-up is over afterwards.
        """
        with unchanged_on_error(self):
            rows, numbers = self._begin(X, y, classes)
            self._warm_up(rows, numbers)
        return self

    def predict(self, X: ArrayLike, check_input: bool = True) -> Labels:
        """The most probable class of each row."""
        best = np.argmax(self.predict_proba(X, check_input), axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: ArrayLike, check_input: bool = True) -> Float:
        """Probability of every class, (n, K) in the order of ``classes_``, if the row came next. Changes nothing."""
        check_is_fitted(self)
        rows = check_x(self, X) if check_input else np.asarray(X)
        return online.predict_classes(self._online, rows)

    def predict_log_proba(self, X: ArrayLike, check_input: bool = True) -> Float:
        """Logarithm of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X, check_input)))

    # -- private ---------------------------------------------------------------------------------------------------

    def _classes_of(self, labels: Labels, classes: Any) -> Labels:
        """The classes of a model that starts with these labels."""
        return lab.sorted_classes(labels) if classes is None else lab.declared_classes(classes, keep_order=False)

    def _are_declared(self, classes: Any) -> bool:
        """Whether somebody said what the classes are, so that any number may be one."""
        return classes is not None

    def _begin(self, X: ArrayLike, y: ArrayLike, classes: Any) -> tuple[Float, Float]:
        rows, labels = lab.check_labels(self, X, y, reset=True, any_number=self._are_declared(classes))
        known = self._classes_of(labels, classes)
        lab.require_two(known)
        numbers = lab.encode(labels, known)
        self.classes_ = known
        self._start(rows.shape[1], len(known))
        return rows, numbers

    def _continue(self, X: ArrayLike, y: ArrayLike, classes: Any, check_input: bool) -> tuple[Float, Float]:
        if not self.__sklearn_is_fitted__():
            return self._begin(X, y, classes)
        if not check_input:
            return np.asarray(X), np.asarray(y, dtype=np.float64).reshape(-1, 1)
        if classes is not None:
            again = lab.declared_classes(classes, keep_order=True).tolist()
            if set(again) != set(self.classes_.tolist()):
                raise InputError(
                    f"classes={again!r:.200} are not those this model started with "
                    f"({self.classes_.tolist()!r:.200}); leave classes out, or call fit to start anew"
                )
        rows, labels = lab.check_labels(self, X, y, reset=False, any_number=True)
        return rows, lab.encode(labels, self.classes_)

    def _own_header(self) -> dict[str, Any]:
        return {"classes": lab.to_config(self.classes_)}

    def _restore_own(self, model: Online, header: dict[str, Any]) -> None:
        classes = lab.from_config(header["classes"])
        if len(classes) != model.n_outputs:
            raise ModelFileError(f"there are {len(classes)} class labels but {model.n_outputs} classes")
        self.classes_ = classes
