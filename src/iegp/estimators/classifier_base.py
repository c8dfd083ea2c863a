"""Base class of the classifiers, of ordered and of unordered classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from iegp._docstrings import entries, fill_docstrings
from iegp._writers import one_writer
from iegp.core import model as online
from iegp.core.settings import check_choice
from iegp.errors import InputError
from iegp.estimators.base import StreamEstimator
from iegp.estimators.checks import unchanged_on_error
from iegp.estimators.defaults import CLASS_N_FREQUENCIES, CLASS_STACKING_RATE, CLASSES, SHARPNESS
from iegp.estimators.shared_docs import METHODS
from iegp.evaluate.runs import ClassificationRun
from iegp.labels import ClassLabels, Labels, as_labels, sorted_labels, weighted
from iegp.typing import Float

DOCS = METHODS | entries("""
y : array-like (n,)
    Labels, such as text, integers or booleans.
classes : sequence of labels, default=None
    As in :meth:`partial_fit`.
""")
LINKS = ("logit", "probit")


@fill_docstrings(DOCS)
@dataclass(eq=False, repr=False, kw_only=True)
class LabelEstimator(ClassifierMixin, StreamEstimator):  # type: ignore[misc]
    """Base of the classifiers."""

    n_frequencies: int = CLASS_N_FREQUENCIES
    stacking_rate: float = CLASS_STACKING_RATE
    sharpness: float | Sequence[float] = SHARPNESS
    link: str = "logit"
    integration: str = "quadrature"
    labels_: ClassLabels = field(init=False)
    _codec, _label = ClassLabels, "one label"
    _default = CLASSES

    @property
    def classes_(self) -> Labels:
        """The labels, in the order of the columns of :meth:`predict_proba`."""
        return self.labels_.array

    def fit(self, X: ArrayLike, y: ArrayLike, time: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows in order. The classes are those of y.

        {parameters}

        {returns_self}
        """
        return self._fit(X, y, None, time)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: Sequence[Any] | ArrayLike | None = None,
        check_input: bool = True,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn more rows, in order. Splitting a stream into calls differently gives the same model (to 1e-8).

        The first call sets the classes. A label that is not among them is an error in later calls and leaves the model
        unchanged.

        Parameters
        ----------
        {X}
        {y}
        classes : sequence of labels, default=None
            All classes that may occur; ``None`` takes the labels of y. Later calls cannot change them.
        check_input : bool, default=True
            ``False`` skips all checks, on a model that has learned before: X is a C-contiguous float64 array (n, d), y
            a float64 array (n,) of class *numbers* (indices into ``classes_``).
        {time}
        {sample_weight}

        {returns_self}
        """
        return self._partial_fit(X, y, classes, check_input, time, sample_weight)

    @one_writer
    def prequential(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: Sequence[Any] | ArrayLike | None = None,
        check_input: bool = True,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> ClassificationRun:
        """Predict each row, then learn it (test-then-train): one pass over a stream.

        The prediction of a row does not use its label. On a new model without ``classes`` the *set* of labels is taken
        from y: the only information used ahead of time.

        {parameters}

        Returns
        -------
        ClassificationRun
            With ``proba`` (n, K) in the order of ``classes_``, ``predicted`` (n,), ``log_score`` (n,) and ``weights``
            (n, n_experts).

        Examples
        --------
        >>> import numpy as np
        >>> from iegp import IEGPClassifier
        >>> from iegp.kernels import RBF
        >>> X = np.random.default_rng(0).uniform(-2, 2, size=(300, 1))
        >>> y = X[:, 0] > 0.5
        >>> model = IEGPClassifier([RBF(1.0)], n_frequencies=10, warmup=50, random_state=0)
        >>> run = model.prequential(X, y)
        >>> run.proba.shape, run.error < 0.1
        ((300, 2), True)
        """
        with unchanged_on_error(self):
            rows, numbers, times = self._continue(X, y, classes, check_input, time)
            n_before, labels = self.model_.n_seen, weighted(numbers, sample_weight)
            predictions = self._predict_and_learn(rows, labels, times)
        truth = self.labels_.decode(numbers)
        return ClassificationRun.of_predictions(
            predictions, truth, self.classes_, index=getattr(X, "index", None), n_before=n_before
        )

    def warm_up(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: Sequence[Any] | ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> Self:
        """Forget everything, then set scaling and hyperparameters from these rows, once.

        The rows are also learned, unless ``learn_warmup=False`` (the paper's protocol). The warm-up is over afterwards.

        {parameters}

        {returns_self}
        """
        return self._warm_up(X, y, classes, time)

    def predict(
        self, X: ArrayLike, check_input: bool = True, time: ArrayLike | None = None, *, horizon: int | None = None
    ) -> Labels:
        """Predict the most probable class of each row. Changes nothing.

        {parameters: time_to_predict}

        Returns
        -------
        ndarray (n,)
            Labels.
        """
        best = np.argmax(self.predict_proba(X, check_input, time, horizon=horizon), axis=1)
        return self.labels_.decode(best)

    def predict_proba(
        self, X: ArrayLike, check_input: bool = True, time: ArrayLike | None = None, *, horizon: int | None = None
    ) -> Float:
        """Predict the probability of every class, each row as if it came next. Changes nothing.

        {parameters: time_to_predict}

        Returns
        -------
        ndarray (n, K)
            Probabilities, in the order of ``classes_``.
        """
        rows, times = self._rows_to_predict(X, check_input, time)
        return online.predict_classes(self.model_, rows, horizon, times)

    def predict_log_proba(
        self, X: ArrayLike, check_input: bool = True, time: ArrayLike | None = None, *, horizon: int | None = None
    ) -> Float:
        """Predict the logarithm of :meth:`predict_proba`. Changes nothing.

        {parameters: time_to_predict}

        Returns
        -------
        ndarray (n, K)
            Log probabilities, in the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X, check_input, time, horizon=horizon)))

    # -- private ---------------------------------------------------------------------------------------------------

    def _declared(self, classes: Any) -> ClassLabels | None:
        """The classes if the caller gave them; then any number may be a class."""
        return None if classes is None else ClassLabels.declared(classes, is_fixed=True).sorted()

    def _read(self, y: ArrayLike, extra: Any, reset: bool) -> Labels:
        if not reset and type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuU":
            # The codec says what is no class; scikit-learn's checks are slower than learning a row.
            return y
        labels: Labels = column_or_1d(_as_objects(y), warn=True)
        known = as_labels(labels)
        if labels.dtype.kind == "O":
            sorted_labels(known)
        any_number = not reset or self._declared(extra) is not None
        if not (any_number and labels.dtype.kind == "f"):
            check_classification_targets(labels)
        return labels

    def _first_codec(self, labels: Labels, extra: Any) -> ClassLabels:
        codec = self._declared(extra) or ClassLabels.declared(np.unique(labels), is_fixed=True)
        codec.require(2)
        return codec

    def _encode(self, labels: Labels, extra: Any, unchecked: bool = False) -> Float:
        if extra is not None and not unchecked:
            again = ClassLabels.declared(extra).classes
            if set(again) != set(self.labels_.classes):
                raise InputError(
                    f"classes={list(again)!r:.200} are not those this model started with "
                    f"({list(self.labels_.classes)!r:.200}); leave classes out, or call fit to start anew"
                )
        return super()._encode(labels, extra, unchecked)

    def _checked_link(self) -> str:
        """The link function, checked."""
        check_choice("link", self.link, LINKS)
        return self.link


def _as_objects(labels: Any) -> Any:
    """A list that NumPy would turn into text (a NaN among words, numbers among words) as objects, to be checked."""
    if isinstance(labels, list | tuple) and not all(isinstance(label, str) for label in labels):
        array = np.asarray(labels)
        return np.array(labels, dtype=object) if array.dtype.kind == "U" and array.ndim == 1 else array
    return labels
