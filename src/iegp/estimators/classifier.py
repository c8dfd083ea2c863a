"""Online ensemble GP classification as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from iegp.core.kernels import Kernel
from iegp.core.likelihoods import Likelihood
from iegp.estimators import parameters
from iegp.estimators.classifier_base import LabelEstimator
from iegp.estimators.defaults import CLASS_N_FREQUENCIES, CLASS_STACKING_RATE, SHARPNESS


class IEGPClassifier(LabelEstimator):
    """Gaussian-process classification that learns from a stream, row by row, and predicts class probabilities.

    An ensemble of random-feature GP experts predicts each row before its label is used; the weights of the experts
    follow from their predictions. Two classes share one latent function, K classes have one each (and share an expert's
    features and covariance). Labels enter by Laplace's approximation: cost per row and memory are constant.

    Parameters
    ----------
    kernels : list of kernels, default=None
        From :mod:`iegp.kernels`, as for :class:`IEGPRegressor`. ``None`` is the default dictionary
        (``docs/explanation/labels.md``).
    n_frequencies : int, default=100
        Random frequencies per expert; the expert has twice as many features, F. Cost per row is O(F²) per expert.
    features : {"orthogonal", "random"}, default="orthogonal"
        How frequencies are drawn; ``"random"`` is the paper's.
    drift_var : float, sequence or None, default=None
        Variance of the random walk of an expert's latent function (its log odds), per row, in ``drift_units``; 0 is a
        static expert. With a sequence every kernel is combined with every drift. ``None`` is (0, 1e-3) in units of the
        prior and (0, 1e-3, 1e-2, 1e-1) in units of the target.
    drift_units : {"target", "prior"} or None, default=None
        Whether ``drift_var`` is a variance of the log odds, or a share of each term's initial prior variance, per row.
        ``None`` is ``"prior"`` for the default model (``kernels=None`` with stacking weights), else ``"target"``.
    drift_per : {"row", "time"}, default="row"
        Whether experts drift with every row, or with the time that elapses between rows: then ``drift_var`` is per
        median gap of the warm-up rows (without a warm-up, per unit of time), gaps widen intervals, and rows at the same
        time do not drift apart. The learning methods need times: ``time=`` or ``time_column``.
    time_column : str or int, default=None
        With ``drift_per="time"``: the column of X, by name or place, that holds the times (numbers, or datetimes of a
        pandas frame). It is no input of the kernels, and ``columns`` of a kernel count the others; to use it as an
        input too, pass ``time=`` and keep it in X.
    weights : {"stacking", "bayes", "switching", "exponentiated-gradient"}, default="stacking"
        How experts are weighted: the best mixture, the posterior probability, a Markov chain over experts, or the best
        mixture by exponentiated gradients.
    switch_prob, stacking_rate, shutdown
        As for :class:`IEGPRegressor`; ``stacking_rate`` is 0.2 by default.
    prior_var : "evidence" or float, default="evidence"
        Variance of an expert's latent function; by Laplace evidence on the warm-up rows, between 1e-4 and 1e4.
    sharpness : float or sequence, default=(1.0, 1.5, 3.0)
        Powers to which an expert's class probabilities are raised, each a further expert that costs almost nothing; a
        mixture of calibrated probabilities is underconfident without them. 1 leaves them as they are (the paper).
    link : {"logit", "probit"}, default="logit"
        From latent function to probability, for two classes; more classes use softmax.
    integration : {"quadrature", "probit", "monte-carlo"}, default="quadrature"
        How probabilities are integrated over the latent function: by quadrature, by the paper's probit approximation,
        or by 256 fixed draws.
    likelihood : str or Likelihood, default=None
        A user-defined likelihood of classes (:mod:`iegp.likelihoods`), or its name if it is registered, in place of
        ``link``.
    warmup : int, default=1000
        Rows from which scaling and hyperparameters are found; they are refitted at 32, 64, 128, ... rows on the way.
    learn_warmup : bool, default=True
        Whether :meth:`warm_up` also learns its rows (the paper does not).
    delay : int, default=0
        How many later rows are predicted before the label of a row is known: row t is predicted from the labels of rows
        up to t - 1 - delay. A target k rows ahead is a delay of k - 1.
    lags : int, sequence of int, "auto" or None, default=None
        Labels of earlier rows as further inputs, as indicators of their classes: a number asks for so many of the
        newest that are known when a row is predicted, a sequence such as (1, 2, 24) names them by how many rows they
        are back (more than ``delay``). ``"auto"`` is 3, and seasonal lags that are found in the warm-up rows
        (``lags_``). Terms of kernels see lags unless they say ``lags=False``. ``None`` is 3 for the default model
        (``kernels=None`` with stacking weights), else 0.
    standardize : bool, default=True
        Whether columns are brought to mean 0 and variance 1 by the warm-up rows.
    random_state : int, RandomState or None, default=None
        Seed of the frequencies. Nothing is drawn at random after the first row.
    n_jobs : int or None, default=None
        Threads over which kernels are spread when many rows are learned at once; results do not depend on it.

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
