"""The experts' random features as a scikit-learn transformer, for linear models of any kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from iegp.core.features import fourier_rows
from iegp.core.fitting.experts import default_experts
from iegp.core.kernels import RBF, Inputs, Kernel, Stationary
from iegp.core.settings import Settings
from iegp.errors import InputError
from iegp.estimators.checks import check_x, unchanged_on_error
from iegp.estimators.regressor import IEGPRegressor
from iegp.typing import Float


@dataclass(eq=False, repr=False, kw_only=True)
class RandomFourierFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Map rows to the sines and cosines an expert works with, so that inner products approximate a kernel.

    ``transform(X) @ transform(Y).T`` approximates ``kernel(X, Y)``, the better the more frequencies; a linear model on
    these features approximates a kernel machine. Every row of features has norm exactly one (to rounding), so that the
    diagonal is exact. X is taken as it is: length scales are in its units, so put a ``StandardScaler`` in front.

    Parameters
    ----------
    kernel : kernel, default=None
        From :mod:`iegp.kernels`: ``RBF``, ``Matern``, ``Laplace``, ``Cauchy``; ``None`` is ``RBF(1.0)``. Its
        ``length_scale`` is a number, one per column, or ``"dimension"``, which is sqrt(number of columns). The words
        ``"evidence"`` and ``"per-dimension"`` need labels, which only the estimators have.
    n_frequencies : int, default=100
        Random frequencies; there are twice as many features.
    features : {"orthogonal", "random"}, default="orthogonal"
        How frequencies are drawn: orthogonal to each other, for a smaller error, or independently.
    random_state : int, RandomState or None, default=None
        Seed of the frequencies. With the same whole number, the first kernel of an estimator has the same ones.

    Attributes
    ----------
    frequencies_ : ndarray (n_frequencies, n_columns)
        Frequencies of the sines and cosines.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp import RandomFourierFeatures
    >>> from iegp.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> features = RandomFourierFeatures(RBF(2.0), n_frequencies=1000, random_state=0)
    >>> phi = features.fit_transform(X)
    >>> phi.shape, bool(np.abs(phi @ phi.T - RBF(2.0)(X)).max() < 0.1)
    ((50, 2000), True)

    Regression in a pipeline:

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> y = np.sin(X[:, 0])
    >>> model = make_pipeline(StandardScaler(), RandomFourierFeatures(random_state=0), Ridge(1e-3)).fit(X, y)
    >>> model.score(X, y) > 0.99
    True
    """

    kernel: Kernel | None = field(default=None, kw_only=False)
    n_frequencies: int = 100
    features: str = "orthogonal"
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Draw the frequencies for the columns of X; its values are not used.

        Parameters
        ----------
        X : array-like (n, d)
            Rows of finite numbers.
        y : object, default=None
            Ignored.

        Returns
        -------
        self
            This transformer.
        """
        del y
        with unchanged_on_error(self):
            n_columns = check_x(self, X, reset=True).shape[1]
            # Drawn as those of an expert, so that they are the same.
            inputs = Inputs(tuple(range(n_columns)), np.ones(n_columns))
            self.frequencies_: Float = default_experts(self._settings(), inputs, 1).ensemble.basis.frequencies
        return self

    def transform(self, X: ArrayLike) -> Float:
        """Compute the features of every row: all sines, then all cosines, with joint norm one.

        Parameters
        ----------
        X : array-like (n, d)
            Rows of finite numbers.

        Returns
        -------
        ndarray (n, 2 * n_frequencies)
            Features, float64.
        """
        check_is_fitted(self)
        rows = check_x(self, X)
        phi = fourier_rows(rows, self.frequencies_)
        if not np.isfinite(phi.sum()):
            row = int(np.flatnonzero(~np.isfinite(phi).all(axis=1))[0])
            raise InputError(
                f"X has {np.abs(rows[row]).max():g} at row {row}, too large to be multiplied with a frequency. Bring "
                "the columns to a common scale first, for example with sklearn.preprocessing.StandardScaler."
            )
        return phi

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the features: sin0, sin1, ..., cos0, cos1, ...

        Parameters
        ----------
        input_features : array-like of str, default=None
            Ignored.

        Returns
        -------
        ndarray of str (2 * n_frequencies,)
            Names.
        """
        del input_features
        check_is_fitted(self)
        numbers = range(len(self.frequencies_))
        return np.array([f"{wave}{number}" for wave in ("sin", "cos") for number in numbers], dtype=object)

    def _settings(self) -> Settings:
        """Settings of a regressor that has this kernel: the same checks, the same seed."""
        kernel = _checked(RBF(1.0) if self.kernel is None else self.kernel)
        alike = IEGPRegressor(
            (kernel,), n_frequencies=self.n_frequencies, features=self.features, random_state=self.random_state
        )
        return alike.settings(1)


def _checked(kernel: Any) -> Stationary:
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise InputError(f"kernel is the class {kernel.__name__}; did you mean {kernel.__name__}()?")
    if not isinstance(kernel, Kernel):
        raise InputError(f"kernel={kernel!r:.80} is not a kernel; give one of those in iegp.kernels, such as RBF(1.0)")
    if not isinstance(kernel, Stationary) or not kernel.is_drawn:
        raise InputError(f"kernel={kernel!r} has other than random features; give one term, such as RBF(1.0)")
    if kernel.is_fitted_to_data:
        raise InputError(
            f"kernel={kernel!r} has a length scale that is fitted to labels, which a transformer does not have; give a "
            "number, one per column, or 'dimension'. The estimators, such as IEGPRegressor, fit it."
        )
    return kernel
