"""The encoder of columns as a transformer of scikit-learn."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from iegp._docstrings import entries, fill_docstrings
from iegp.errors import InputError
from iegp.preprocessing.encoder import Encoder
from iegp.preprocessing.tables import check_records, column_names
from iegp.readers import Batch
from iegp.typing import Float

DOCS = entries("""
X : array-like or data frame (n, d)
    Rows: numbers, text, dates; ``None`` or NaN where a value is missing.
y : None
    Not used.
""") | {
    "returns_self": """\
Returns
-------
self
    This transformer.""",
}


@fill_docstrings(DOCS)
class StreamEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Rows of numbers from columns of numbers, text and dates with gaps, for models that learn from a stream.

    Numbers stay as they are; text becomes one column of zeros and ones per category, 50 at most; a date becomes time of
    day and day of week on their circles and days since its first value; gaps are filled with the mean so far. The first
    call of :meth:`fit` or :meth:`partial_fit` settles the columns. A category first seen later, or a column that had no
    value until then, takes the next of ``n_late`` columns that are zero until they are needed, so that the number of
    columns and the memory stay constant.

    Parameters
    ----------
    n_late : int, default=10
        Columns that are reserved for what comes after the first call.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        As in scikit-learn, of the columns of X.
    encoder_, n_settled_
        What is known of the columns, and how many of them the first call has settled.

    Examples
    --------
    >>> from iegp.preprocessing import StreamEncoder
    >>> encoder = StreamEncoder(n_late=1).fit([["red", 1.0], ["blue", None], ["red", 3.0]])
    >>> encoder.get_feature_names_out().tolist()
    ['x0=red', 'x0=blue', 'x1', 'late0']
    >>> encoder.partial_fit([["green", 5.0]]).transform([["green", None], ["white", 1.0]]).tolist()
    [[0.0, 0.0, 3.0, 1.0], [0.0, 0.0, 1.0, 0.0]]
    """

    encoder_: Encoder

    def __init__(self, n_late: int = 10) -> None:
        self.n_late = n_late

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Forget everything, then settle the columns by these rows.

        {parameters}

        {returns_self}
        """
        del y
        if type(self.n_late) is not int or self.n_late < 0:
            raise InputError(f"n_late={self.n_late!r} must be a whole number of at least 0")
        records = check_records(self, X, {}, reset=True)
        encoder = Encoder(n_open=len(records), most_late=self.n_late)
        encoder.learn(records, 0)
        encoder.sort(column_names(self))
        self.encoder_, self.n_settled_ = encoder, len(encoder.columns)
        return self

    def partial_fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn more rows: categories and columns that are new, and means. The first call is :meth:`fit`.

        Later calls may cut the rows anywhere.

        {parameters}

        {returns_self}
        """
        if not hasattr(self, "encoder_"):
            return self.fit(X, y)
        encoder = copy.deepcopy(self.encoder_)
        encoder.learn(check_records(self, X, encoder.kinds), encoder.n_open)
        self.encoder_ = encoder
        return self

    def transform(self, X: ArrayLike) -> Float:
        """Rows of numbers. Changes nothing.

        {parameters}

        Returns
        -------
        ndarray (n, number of columns)
            Encoded rows: the columns settled by ``fit`` and ``n_late`` more. A category that is not known is
            zero in all columns of its own.
        """
        check_is_fitted(self)
        encoder = self.encoder_
        records: Batch = check_records(self, X, encoder.kinds)
        rows, means = encoder.raw(records), encoder.sums / np.maximum(encoder.counts, 1.0)
        unused = np.zeros((len(rows), self.n_settled_ + encoder.most_late - len(means)))
        return np.hstack([np.where(np.isnan(rows), means, rows), unused])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the encoded columns.

        Parameters
        ----------
        input_features : None
            Not used.

        Returns
        -------
        ndarray of str
            Such as ``"colour=red"``; those that are reserved are ``"late0"``, ``"late1"``, ... also once they are used.
        """
        del input_features
        check_is_fitted(self)
        settled = [column.name for column in self.encoder_.columns[: self.n_settled_]]
        return np.array([*settled, *(f"late{i}" for i in range(self.encoder_.most_late))], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags
