"""Online ensemble GP classification of ordered classes as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from iegp._docstrings import entries, fill_docstrings
from iegp.core.kernels import Kernel
from iegp.errors import InputError
from iegp.estimators.base import Checked
from iegp.estimators.classifier_base import LabelEstimator
from iegp.estimators.shared_docs import CLASSIFIER_CONSTRUCTOR, CONSTRUCTOR, LATENT_CONSTRUCTOR
from iegp.labels import ClassLabels

DOCS = (
    CONSTRUCTOR
    | LATENT_CONSTRUCTOR
    | CLASSIFIER_CONSTRUCTOR
    | entries("""
order : sequence of labels, default=None
    The classes from lowest to highest. ``None`` takes the order of a pandas Series of ordered categories, and
    otherwise sorts them: right for numbers, rarely for words. ``classes=`` has the same meaning. scikit-learn's
    scorers that take probabilities expect sorted classes: number the levels for them.
link : {"logit", "probit"}, default="logit"
    Distribution function that turns cut-points into probabilities: logistic or normal.
""")
)


@fill_docstrings(DOCS)
@dataclass(eq=False, repr=False, kw_only=True)
class IEGPOrdinalClassifier(LabelEstimator):
    """Gaussian-process classification of *ordered* classes (grades, levels, ratings) that learns from a stream.

    Increasing cut-points divide the range of one latent function into the classes (cumulative logit or probit). The
    cut-points are fitted by Laplace evidence on the warm-up rows, together with ``prior_var``. Everything else is as in
    :class:`IEGPClassifier`.

    {parameters}

    Attributes
    ----------
    classes_ : ndarray (K,)
        The labels, from lowest to highest.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp import IEGPOrdinalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(500, 1))
    >>> level = X[:, 0] + 0.3 * rng.standard_normal(500)
    >>> y = np.array(["low", "mid", "high"])[np.searchsorted([-0.7, 0.7], level)]
    >>> model = IEGPOrdinalClassifier(order=["low", "mid", "high"], random_state=0).fit(X, y)
    >>> model.predict([[-1.5], [0.0], [1.5]])
    array(['low', 'mid', 'high'], dtype='<U4')
    """

    _likelihoods = ("ordinal-logit", "ordinal-probit")

    order: Sequence[Any] | None = field(default=None, kw_only=False)
    kernels: Sequence[Kernel] | None = None

    def _likelihood(self, n_outputs: int) -> str:
        del n_outputs
        return f"ordinal-{self._checked_link()}"

    def _begin(self, X: ArrayLike, y: ArrayLike, extra: Any, time: ArrayLike | None = None) -> Checked:
        categories = getattr(y, "cat", None)
        if extra is None and self.order is None and getattr(categories, "ordered", False):
            extra = categories.categories.tolist()  # type: ignore[union-attr]
        return super()._begin(X, y, extra, time)

    def _declared(self, classes: Any) -> ClassLabels | None:
        given = {"order": self.order, "classes": classes}
        found = [
            ClassLabels.declared(labels, argument, is_ordered=True, is_fixed=True)
            for argument, labels in given.items()
            if labels is not None
        ]
        if len(found) == 2 and found[0].classes != found[1].classes:
            order, asked = (list(codec.classes) for codec in found)
            raise InputError(f"classes={asked!r:.200} contradict order={order!r:.200}; leave classes out")
        return found[0] if found else None
