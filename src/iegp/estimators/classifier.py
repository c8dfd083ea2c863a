"""Online ensemble GP classification as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from iegp._docstrings import fill_docstrings
from iegp.core.kernels import Kernel
from iegp.core.likelihoods import Likelihood
from iegp.estimators import parameters
from iegp.estimators.classifier_base import LabelEstimator
from iegp.estimators.defaults import CLASS_N_FREQUENCIES, CLASS_STACKING_RATE, SHARPNESS
from iegp.estimators.shared_docs import CLASSIFIER_CONSTRUCTOR, CONSTRUCTOR, LATENT_CONSTRUCTOR


@fill_docstrings(CONSTRUCTOR | LATENT_CONSTRUCTOR | CLASSIFIER_CONSTRUCTOR)
class IEGPClassifier(LabelEstimator):
    """Gaussian-process classification that learns from a stream, row by row, and predicts class probabilities.

    An ensemble of random-feature GP experts predicts each row before its label is used; the weights of the experts
    follow from their predictions. Two classes share one latent function, K classes have one each (and share an expert's
    features and covariance). Labels enter by Laplace's approximation: cost per row and memory are constant.

    Parameters
    ----------
    {kernels}
    {n_frequencies}
    {features}
    {drift_var}
    {drift_units}
    {drift_per}
    {time_column}
    {weights}
    {switch_prob}
    {stacking_rate}
    {shutdown}
    {prior_var}
    {sharpness}
    link : {"logit", "probit"}, default="logit"
        From latent function to probability, for two classes; more classes use softmax.
    {integration}
    likelihood : str or Likelihood, default=None
        A user-defined likelihood of classes (:mod:`iegp.likelihoods`), or its name if it is registered, in place of
        ``link``.
    {warmup}
    {learn_warmup}
    {delay}
    {lags}
    {standardize}
    {random_state}
    {n_jobs}

    Attributes
    ----------
    classes_ : ndarray (K,)
        The labels, sorted.
    expert_weights_, experts_, n_samples_seen_, n_features_in_, feature_names_in_
        As for :class:`IEGPRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp import IEGPClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(400, 2))
    >>> y = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 < 2, "inside", "outside")
    >>> model = IEGPClassifier(random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.5], [1.8, 1.5]])
    array(['inside', 'outside'], dtype='<U7')
    >>> bool(model.predict_proba([[0.0, 0.5]])[0, 0] > 0.95)
    True
    """

    _likelihoods = ("bernoulli-logit", "bernoulli-probit", "categorical")

    def __init__(
        self,
        kernels: Sequence[Kernel] | None = None,
        *,
        n_frequencies: int = CLASS_N_FREQUENCIES,
        features: str = "orthogonal",
        drift_var: float | Sequence[float] | None = None,
        drift_units: str | None = None,
        drift_per: str = "row",
        time_column: str | int | None = None,
        weights: str = "stacking",
        switch_prob: float | ArrayLike = 0.01,
        stacking_rate: float = CLASS_STACKING_RATE,
        shutdown: float = 1e-16,
        prior_var: float | str = "evidence",
        sharpness: float | Sequence[float] = SHARPNESS,
        link: str = "logit",
        integration: str = "quadrature",
        likelihood: str | Likelihood | None = None,
        warmup: int = 1000,
        learn_warmup: bool = True,
        delay: int = 0,
        lags: int | Sequence[int] | str | None = None,
        standardize: bool = True,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernels = kernels
        self.n_frequencies = n_frequencies
        self.features = features
        self.drift_var = drift_var
        self.drift_units = drift_units
        self.drift_per = drift_per
        self.time_column = time_column
        self.weights = weights
        self.switch_prob = switch_prob
        self.stacking_rate = stacking_rate
        self.shutdown = shutdown
        self.prior_var = prior_var
        self.sharpness = sharpness
        self.link = link
        self.integration = integration
        self.likelihood = likelihood
        self.warmup = warmup
        self.learn_warmup = learn_warmup
        self.delay = delay
        self.lags = lags
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _likelihood(self, n_outputs: int) -> str:
        link = self._checked_link()
        if self.likelihood is not None:
            return parameters.own_likelihood(self.likelihood, (), n_outputs)
        return f"bernoulli-{link}" if n_outputs == 2 else "categorical"
