"""Online ensemble GP regression of counts as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import column_or_1d

from iegp._docstrings import entries, fill_docstrings
from iegp.core import model as online
from iegp.core.likelihoods import Likelihood
from iegp.core.likelihoods.mixture import LatentMixture
from iegp.core.model import Online
from iegp.core.predictive.counts import CountMixture
from iegp.errors import InputError
from iegp.estimators import parameters
from iegp.estimators.defaults import COUNT_STACKING_RATE, COUNTS
from iegp.estimators.regressor_base import NumberEstimator
from iegp.estimators.shared_docs import CONSTRUCTOR, LATENT_CONSTRUCTOR, METHODS
from iegp.evaluate.runs import LEVEL, PrequentialRun
from iegp.labels import CountLabels, Labels, as_exposure
from iegp.typing import Float

DOCS = (
    CONSTRUCTOR
    | LATENT_CONSTRUCTOR
    | METHODS
    | entries("""
n_frequencies : int, default=75
    Random frequencies per expert.
drift_var : float, sequence or None, default=None
    Variance of the random walk of an expert's log rate, per row, in ``drift_units``; 0 is a static expert. ``None``
    is (0, 1e-4, 1e-3) in units of the prior and (0, 1e-3, 1e-2) in units of the log rate.
stacking_rate : float, default=0.1
    With stacking and exponentiated gradients: how fast weights move, in (0, 1]; 1 is Bayes with stacking.
prior_var : "evidence" or float, default="evidence"
    Variance of an expert's log rate; by Laplace evidence on the warm-up rows, as is the average rate.
standardize : bool, default=True
    Whether columns are brought to mean 0 and variance 1 by the warm-up rows; counts are never scaled.
overdispersion : "evidence" or float, default="evidence"
    Variance of the log-normal noise that multiplies each rate, on the log scale; fitted by evidence on the warm-up
    rows, or a number. 0 is Poisson.
integration : {"quadrature", "monte-carlo"}, default="quadrature"
    How the score of a row integrates over the log rate: by quadrature, or by 256 fixed draws.
likelihood : str or Likelihood, default="poisson"
    Distribution of y given the latent function: ``"poisson"``, or a user-defined likelihood of numbers
    (:mod:`iegp.likelihoods`), or its name if it is registered. The likelihood then decides which y are allowed;
    there are no intervals.
y : array-like (n,)
    Counts, or other numbers that the likelihood allows.
exposure : array-like (n,), default=None
    Exposure of each row; ``None`` is 1.
level : float, default=0.95
    Probability of the central interval. Its ends are whole numbers, so that it covers at least as much.
return_std : bool, default=False
    Also return the standard deviation of the count.
""")
)


@fill_docstrings(DOCS)
@dataclass(eq=False, repr=False, kw_only=True)
class IEGPCountRegressor(NumberEstimator):
    """Gaussian-process regression of counts that learns from a stream, row by row, and predicts distributions.

    The log of the rate is a random-feature GP; the count is Poisson with that rate, with fitted overdispersion.
    ``predict`` gives the mean count, ``predict_dist`` the whole distribution. y may hold any non-negative numbers (then
    a quasi-likelihood), and each row may have an *exposure*: the time, area or population over which it is counted, 1
    if not given.

    {parameters}

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

    _codec, _label = CountLabels, "one count"
    _likelihoods, _default = ("poisson",), COUNTS

    stacking_rate: float = COUNT_STACKING_RATE
    overdispersion: float | str = "evidence"
    integration: str = "quadrature"
    likelihood: str | Likelihood = "poisson"
    labels_: CountLabels = field(init=False)

    def fit(self, X: ArrayLike, y: ArrayLike, exposure: ArrayLike | None = None, time: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows in order.

        {parameters}

        {returns_self}
        """
        return self._fit(X, y, exposure, time)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        exposure: ArrayLike | None = None,
        check_input: bool = True,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn more rows, in order. Splitting a stream into calls differently gives the same model (to 1e-8).

        Parameters
        ----------
        {X}
        {y}
        {exposure}
        check_input : bool, default=True
            ``False`` skips all checks, on a model that has learned before: X is a C-contiguous float64 array (n, d), y
            and exposure float64 arrays (n,).
        {time}
        {sample_weight}

        {returns_self}
        """
        return self._partial_fit(X, y, exposure, check_input, time, sample_weight)

    def prequential(
        self,
        X: ArrayLike,
        y: ArrayLike,
        exposure: ArrayLike | None = None,
        level: float = LEVEL,
        check_input: bool = True,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> PrequentialRun:
        """Predict each row, then learn it (test-then-train): one pass over a stream.

        The prediction of a row does not use its label.

        {parameters}

        Returns
        -------
        PrequentialRun
            With ``mean``, ``std``, ``lower``, ``upper`` and ``log_score`` (log probability of the count), all (n,), and
            ``weights`` (n, n_experts).
        """
        return self._run(X, y, exposure, level, check_input, time, sample_weight)

    def warm_up(
        self, X: ArrayLike, y: ArrayLike, exposure: ArrayLike | None = None, time: ArrayLike | None = None
    ) -> Self:
        """Forget everything, then set scaling and hyperparameters from these rows, once.

        The rows are also learned, unless ``learn_warmup=False`` (the paper's protocol). The warm-up is over afterwards.

        {parameters}

        {returns_self}
        """
        return self._warm_up(X, y, exposure, time)

    @overload
    def predict(
        self,
        X: ArrayLike,
        exposure: ArrayLike | None = ...,
        return_std: Literal[False] = ...,
        check_input: bool = ...,
        time: ArrayLike | None = ...,
        *,
        horizon: int | None = ...,
    ) -> Float: ...
    @overload
    def predict(
        self,
        X: ArrayLike,
        exposure: ArrayLike | None = ...,
        *,
        return_std: Literal[True],
        check_input: bool = ...,
        time: ArrayLike | None = ...,
        horizon: int | None = ...,
    ) -> tuple[Float, Float]: ...
    def predict(
        self,
        X: ArrayLike,
        exposure: ArrayLike | None = None,
        return_std: bool = False,
        check_input: bool = True,
        time: ArrayLike | None = None,
        *,
        horizon: int | None = None,
    ) -> Float | tuple[Float, Float]:
        """Predict the count of each row under its exposure. Changes nothing.

        {parameters: time_to_predict}

        Returns
        -------
        ndarray (n,), or a pair of them
            Mean counts, and standard deviations if ``return_std``.
        """
        dist = self.predict_dist(X, exposure, check_input, time, horizon=horizon)
        return (dist.mean, dist.std) if return_std else dist.mean

    def predict_dist(
        self,
        X: ArrayLike,
        exposure: ArrayLike | None = None,
        check_input: bool = True,
        time: ArrayLike | None = None,
        *,
        horizon: int | None = None,
    ) -> CountMixture | LatentMixture:
        """Predict the whole distribution of each row's count. Changes nothing.

        {parameters: time_to_predict}

        Returns
        -------
        CountMixture or LatentMixture
            One distribution per row, with mean, std, pmf, cdf, quantile, interval and sample; with a user-defined
            likelihood a ``LatentMixture``, with mean, std and logpdf.
        """
        rows, times = self._rows_to_predict(X, check_input, time)
        return online.predict_counts(self.model_, rows, as_exposure(exposure, len(rows)), horizon, times)

    # -- private ---------------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _likelihood(self, n_outputs: int) -> str:
        del n_outputs
        if self.integration == "probit":
            raise InputError("integration='probit' is for probabilities; counts have 'quadrature' or 'monte-carlo'")
        return parameters.own_likelihood(self.likelihood, self._likelihoods)

    def _restore_own(self, model: Online, header: dict[str, Any]) -> None:
        super()._restore_own(model, header)
        self.labels_ = replace(self.labels_, allows_negative=model.settings.likelihood != "poisson")

    def _read(self, y: ArrayLike, extra: Any, reset: bool) -> Labels:
        return np.asarray(column_or_1d(super()._read(y, extra, reset), warn=True))

    def _first_codec(self, labels: Labels, extra: Any) -> CountLabels:
        has_exposure = bool(np.any(as_exposure(extra, len(labels)) != 1.0))
        return CountLabels(has_exposure, allows_negative=self._likelihood(1) != "poisson")

    def _encode(self, labels: Labels, extra: Any, unchecked: bool = False) -> Float:
        return self.labels_.encode_unchecked(labels, extra) if unchecked else self.labels_.encode(labels, extra)
