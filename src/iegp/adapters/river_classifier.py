"""Online ensemble GP classification as a River model."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from iegp.adapters.river_base import frozen
from iegp.adapters.river_labels import Classes, RiverLabelModel, numbered
from iegp.core.editing.new_class import add_class
from iegp.core.kernels import Kernel
from iegp.core.model import Online
from iegp.estimators.defaults import CLASS_N_FREQUENCIES, CLASS_STACKING_RATE, DRIFT_VAR, SHARPNESS


class RiverClassifier(RiverLabelModel):
    """Gaussian-process classification that learns row by row, with honest probabilities, for River.

    The model of :class:`iegp.IEGPClassifier` with ``features="random"``, for two classes or more. Features may appear
    and vanish, as for :class:`RiverRegressor`, and so may labels appear: a label that was never seen becomes a class
    that starts from the prior. The odds between the others stay as they were.

    Parameters
    ----------
    classes
        Labels that are known beforehand. They have a probability before they are seen, and before any label is.
    kernels
        From :mod:`iegp.kernels`; ``None`` is a dictionary that works well untuned.
    n_frequencies
        Random frequencies per expert.
    drift_var
        Variance of the random walk of an expert's latent functions, per row.
    weights
        How experts are weighed: ``"stacking"``, ``"bayes"`` or ``"switching"``.
    switch_prob
        Only with ``weights="switching"``.
    stacking_rate
        Only with ``weights="stacking"``.
    shutdown
        Only with ``weights="bayes"``.
    prior_var
        Variance of an expert's latent functions.
    sharpness
        Powers to which an expert's class probabilities are raised.
    integration
        ``"quadrature"``, ``"probit"`` or ``"monte-carlo"``.
    warmup
        Rows from which scaling and hyperparameters are found.
    standardize
        Whether features are brought to mean 0 and variance 1 by the warm-up rows.
    seed
        Seed of the frequencies.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from iegp.adapters import RiverClassifier
    >>> from iegp.kernels import RBF
    >>> model = RiverClassifier(kernels=[RBF("dimension")], n_frequencies=20, warmup=50, seed=0)
    >>> evaluate.progressive_val_score(datasets.Phishing().take(300), model, metrics.Accuracy())
    Accuracy: 8...
    >>> x, y = next(iter(datasets.Phishing()))
    >>> sorted(model.predict_proba_one(x))
    [False, True]
    """

    def __init__(
        self,
        classes: Sequence[Any] | None = None,
        kernels: Sequence[Kernel] | None = None,
        n_frequencies: int = CLASS_N_FREQUENCIES,
        drift_var: float | Sequence[float] = DRIFT_VAR,
        weights: str = "stacking",
        switch_prob: float | ArrayLike = 0.01,
        stacking_rate: float = CLASS_STACKING_RATE,
        shutdown: float = 1e-16,
        prior_var: float | str = "evidence",
        sharpness: float | Sequence[float] = SHARPNESS,
        integration: str = "quadrature",
        warmup: int = 1000,
        standardize: bool = True,
        seed: int | None = None,
    ) -> None:
        self.classes = frozen(classes)
        self.kernels = frozen(kernels)
        self.n_frequencies = n_frequencies
        self.drift_var = frozen(drift_var)
        self.weights = weights
        self.switch_prob = frozen(switch_prob)
        self.stacking_rate = stacking_rate
        self.shutdown = shutdown
        self.prior_var = prior_var
        self.sharpness = frozen(sharpness)
        self.integration = integration
        self.warmup = warmup
        self.standardize = standardize
        self.seed = seed
        self._classes = numbered(self.classes, "classes")
        self._reset()

    def _likelihood(self) -> str:
        return "bernoulli-logit" if self._n_outputs() == 2 else "categorical"

    def _with_class(self, model: Online, classes: Classes, label: Hashable) -> tuple[Online, Classes]:
        if len(classes) == model.n_outputs:
            model = add_class(model)
        return model, classes | {label: len(classes)}
