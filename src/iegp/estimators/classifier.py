"""Online ensemble GP classification as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass

from iegp._docstrings import entries, fill_docstrings
from iegp.core.likelihoods import Likelihood
from iegp.estimators import parameters
from iegp.estimators.classifier_base import LabelEstimator
from iegp.estimators.shared_docs import CLASSIFIER_CONSTRUCTOR, CONSTRUCTOR, LATENT_CONSTRUCTOR

DOCS = (
    CONSTRUCTOR
    | LATENT_CONSTRUCTOR
    | CLASSIFIER_CONSTRUCTOR
    | entries("""
link : {"logit", "probit"}, default="logit"
    From latent function to probability, for two classes; more classes use softmax.
likelihood : str or Likelihood, default=None
    A user-defined likelihood of classes (:mod:`iegp.likelihoods`), or its name if it is registered, in place of
    ``link``.
""")
)


@fill_docstrings(DOCS)
@dataclass(eq=False, repr=False, kw_only=True)
class IEGPClassifier(LabelEstimator):
    """Gaussian-process classification that learns from a stream, row by row, and predicts class probabilities.

    An ensemble of random-feature GP experts predicts each row before its label is used; the weights of the experts
    follow from their predictions. Two classes share one latent function, K classes have one each (and share an expert's
    features and covariance). Labels enter by Laplace's approximation: cost per row and memory are constant.

    {parameters}

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

    likelihood: str | Likelihood | None = None

    def _likelihood(self, n_outputs: int) -> str:
        link = self._checked_link()
        if self.likelihood is not None:
            return parameters.own_likelihood(self.likelihood, (), n_outputs)
        return f"bernoulli-{link}" if n_outputs == 2 else "categorical"
