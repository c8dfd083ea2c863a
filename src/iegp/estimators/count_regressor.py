"""Online ensemble GP regression of counts as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from iegp.core import model as online
from iegp.core.kernels import Kernel
from iegp.core.model import Online
from iegp.core.predictive.counts import CountMixture
from iegp.core.settings import Settings
from iegp.errors import InputError, ModelFileError
from iegp.estimators import parameters
from iegp.estimators.base import StreamEstimator
from iegp.estimators.checks import check_level, check_x, check_xy, unchanged_on_error
from iegp.estimators.defaults import CLASS_KERNELS, COUNT_DRIFT_VAR, N_FREQUENCIES
from iegp.evaluate.runs import LEVEL, PrequentialRun
from iegp.typing import Float


class IEGPCountRegressor(RegressorMixin, StreamEstimator):  # type: ignore[misc]
    """Gaussian-process regression of counts that learns from a stream, row by row, with honest uncertainty.

    The log of the rate is a random-feature GP, the count is Poisson around it, overdispersed as the data are.
    ``predict`` gives the mean count, ``predict_dist`` the whole distribution. y may hold any non-negative numbers (then
    a quasi-likelihood), and each row may have an *exposure*: the time, area or population over which it was counted, 1
    if not given.

    Parameters
    ----------
    kernels : list of kernels, default=None
        From :mod:`iegp.kernels`, as for :class:`IEGPRegressor`. ``None`` is a dictionary that works well untuned.
    n_frequencies : int, default=75
        Random frequencies per expert.
    features : {"orthogonal", "random"}, default="orthogonal"
        How frequencies are drawn; ``"random"`` is the paper's.
    drift_var : float or sequence, default=(0.0, 1e-3, 1e-2)
        Variance of the random walk of an expert's log rate, per row; 0 is a static expert.
    weights, switch_prob, stacking_rate, shutdown
        As for :class:`IEGPRegressor`.
    prior_var : "evidence" or float, default="evidence"
        Variance of an expert's log rate; by Laplace evidence on the warm-up rows, as is the average rate.
    overdispersion : "evidence" or float, default="evidence"
        Real counts scatter more than Poisson's: each rate is multiplied by log-normal noise with this log variance. By
        evidence on the warm-up rows, or a number; 0 is Poisson.
    integration : {"quadrature", "monte-carlo"}, default="quadrature"
        How the log rate is averaged over in the score of a row: accurately, or by 256 fixed draws.
    warmup, learn_warmup, standardize, random_state, n_jobs
        As for :class:`IEGPRegressor` (the counts themselves are never scaled).

    Examples
    --------
    >>> import numpy as np
    >>> from iegp import IEGPCountRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(500, 1))
    >>> y = rng.poisson(np.exp(1 + X[:, 0]))
    >>> model = IEGPCountRegressor(random_state=0).fit(X, y)
    >>> bool(abs(model.predict([[0.0]])[0] - np.e) < 0.5)
    True
    >>> lower, upper = model.predict_dist([[0.0]]).interval(0.95)
    >>> float(lower[0]), float(upper[0])
    (0.0, 6.0)
    """

    _has_exposure: bool

    def __init__(
        self,
        kernels: Sequence[Kernel] | None = None,
        *,
        n_frequencies: int = N_FREQUENCIES,
        features: str = "orthogonal",
        drift_var: float | Sequence[float] = COUNT_DRIFT_VAR,
        weights: str = "stacking",
        switch_prob: float | ArrayLike = 0.01,
        stacking_rate: float = 0.1,
        shutdown: float = 1e-16,
        prior_var: float | str = "evidence",
        overdispersion: float | str = "evidence",
        integration: str = "quadrature",
        warmup: int = 1000,
        learn_warmup: bool = True,
        standardize: bool = True,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernels = kernels
        self.n_frequencies = n_frequencies
        self.features = features
        self.drift_var = drift_var
        self.weights = weights
        self.switch_prob = switch_prob
        self.stacking_rate = stacking_rate
        self.shutdown = shutdown
        self.prior_var = prior_var
        self.overdispersion = overdispersion
        self.integration = integration
        self.warmup = warmup
        self.learn_warmup = learn_warmup
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike, exposure: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows in order."""
        with unchanged_on_error(self):
            rows, labels = self._begin(X, y, exposure)
            self._absorb(rows, labels)
        return self

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, exposure: ArrayLike | None = None, check_input: bool = True
    ) -> Self:
        """Learn more rows, in order. Any way of cutting a stream into calls gives the same model (to 1e-8).

        ``check_input=False`` skips all checks, for callers that have made them: X must be a C-contiguous float64 array
        (n, d), y and exposure (n,), on a model that has learned before.
        """
        with unchanged_on_error(self):
            rows, labels = self._continue(X, y, exposure, check_input)
            self._absorb(rows, labels)
        return self

    def prequential(
        self,
        X: ArrayLike,
        y: ArrayLike,
        exposure: ArrayLike | None = None,
        level: float = LEVEL,
        check_input: bool = True,
    ) -> PrequentialRun:
        """Predict each row, then learn it: one pass over a stream, as it would have happened.

        Returns an object with ``mean``, ``std``, ``lower``, ``upper`` (central 95 %), ``log_score`` (log probability of
        the count) and ``weights``: one entry per row, each made before the label of that row was used. ``level`` is
        that of the interval; its ends are whole numbers, so that it covers at least as much.
        """
        check_level(level)
        with unchanged_on_error(self):
            rows, labels = self._continue(X, y, exposure, check_input)
            n_blind = 1 if self._online.n_seen == 0 and self._online.is_warming_up else 0
            predictions = self._learn(rows, labels, float(level))
        return PrequentialRun.of_predictions(predictions, labels[:, :1], True, level=float(level), n_blind=n_blind)

    def warm_up(self, X: ArrayLike, y: ArrayLike, exposure: ArrayLike | None = None) -> Self:
        """Forget everything, then set scaling and hyperparameters from these rows, once.

        The rows are also learned, unless ``learn_warmup=False`` (the paper's protocol). The warm-up is over afterwards.
        """
        with unchanged_on_error(self):
            rows, labels = self._begin(X, y, exposure)
            self._warm_up(rows, labels)
        return self

    @overload
    def predict(
        self,
        X: ArrayLike,
        exposure: ArrayLike | None = ...,
        return_std: Literal[False] = ...,
        check_input: bool = ...,
    ) -> Float: ...
    @overload
    def predict(
        self, X: ArrayLike, exposure: ArrayLike | None = ..., *, return_std: Literal[True], check_input: bool = ...
    ) -> tuple[Float, Float]: ...
    def predict(
        self, X: ArrayLike, exposure: ArrayLike | None = None, return_std: bool = False, check_input: bool = True
    ) -> Float | tuple[Float, Float]:
        """Mean count of each row under its exposure (default 1); with ``return_std`` also its standard deviation."""
        dist = self.predict_dist(X, exposure, check_input)
        return (dist.mean, dist.std) if return_std else dist.mean

    def predict_dist(self, X: ArrayLike, exposure: ArrayLike | None = None, check_input: bool = True) -> CountMixture:
        """The whole predictive distribution of each row's count: mean, std, pmf, cdf, quantile, interval, sample."""
        check_is_fitted(self)
        rows = check_x(self, X) if check_input else np.asarray(X)
        return online.predict_counts(self._online, rows, check_exposure(exposure, len(rows)))

    # -- private ---------------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _own_header(self) -> dict[str, Any]:
        return {"has_exposure": self._has_exposure}

    def _restore_own(self, model: Online, header: dict[str, Any]) -> None:
        del model
        if type(header["has_exposure"]) is not bool:
            raise ModelFileError(f"has_exposure is {header['has_exposure']!r}")
        self._has_exposure = header["has_exposure"]

    def _likelihoods(self) -> tuple[str, ...]:
        return ("poisson",)

    def _settings(self, n_outputs: int) -> Settings:
        del n_outputs
        if self.integration == "probit":
            raise InputError("integration='probit' is for probabilities; counts have 'quadrature' or 'monte-carlo'")
        return parameters.settings_from(self.get_params(deep=False), CLASS_KERNELS, "poisson")

    def _begin(self, X: ArrayLike, y: ArrayLike, exposure: ArrayLike | None) -> tuple[Float, Float]:
        rows, labels = self._check(X, y, exposure, reset=True)
        self._has_exposure = bool(np.any(labels[:, 1] != 1.0))
        self._start(rows.shape[1], 1)
        return rows, labels

    def _continue(
        self, X: ArrayLike, y: ArrayLike, exposure: ArrayLike | None, check_input: bool
    ) -> tuple[Float, Float]:
        if not self.__sklearn_is_fitted__():
            return self._begin(X, y, exposure)
        self._refuse_forgotten(exposure)
        if not check_input:
            counts = np.asarray(y, dtype=np.float64)
            shares = np.ones(len(counts)) if exposure is None else np.asarray(exposure)
            return np.asarray(X), np.column_stack([counts, shares])
        return self._check(X, y, exposure, reset=False)

    def _refuse_forgotten(self, exposure: ArrayLike | None) -> None:
        if exposure is None and self._has_exposure:
            raise InputError(
                "exposure is missing, but this model has learned with exposures; give them for these rows too (1.0 if "
                "that is what they had); the model is unchanged"
            )

    def _check(self, X: ArrayLike, y: ArrayLike, exposure: ArrayLike | None, reset: bool) -> tuple[Float, Float]:
        """Rows (n, d) and labels (n, 2): counts and exposures."""
        rows, counts, single = check_xy(self, X, y, reset)
        if not single:
            counts = column_or_1d(counts, warn=True)[:, None]
        negative = counts[:, 0] < 0.0
        if negative.any():
            row = int(np.flatnonzero(negative)[0])
            raise InputError(
                f"Negative values in data passed to {type(self).__name__}: y has {counts[row, 0]:g} at row {row}, but "
                "a count cannot be negative. For numbers of either sign use IEGPRegressor; the model is unchanged."
            )
        return rows, np.column_stack([counts, check_exposure(exposure, len(rows))])


def check_exposure(exposure: ArrayLike | None, n: int) -> Float:
    """Exposures (n,), ones if not given; each must be positive and finite."""
    if exposure is None:
        return np.ones(n)
    shares = np.asarray(exposure)
    if shares.dtype.kind not in "biuf":
        raise InputError(
            f"exposure has {_first_word(shares)!r:.80}, which is not a number; give one positive number per row"
        )
    if shares.ndim == 0:
        shares = np.full(n, shares)
    if shares.shape != (n,):
        raise InputError(f"there are {n} rows, but exposure has shape {shares.shape}; give one number per row")
    shares = shares.astype(np.float64)
    wrong = ~(np.isfinite(shares) & (shares > 0.0))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"exposure has {shares[row]} at row {row}; it must be a positive finite number, the time or amount over "
            "which the row was counted. Drop rows without exposure; the model is unchanged."
        )
    return np.ascontiguousarray(shares)


def _first_word(values: Any) -> object:
    """The first entry that is not a real number."""
    for value in values.ravel().tolist():
        try:
            float(value)
        except (TypeError, ValueError):
            return value
    return values.ravel().tolist()[0]
