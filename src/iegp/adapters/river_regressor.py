"""Online ensemble GP regression as a River model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from river import base

from iegp.adapters import targets
from iegp.adapters.columns import Columns
from iegp.adapters.predicted import Predicted
from iegp.adapters.river_base import Features, RiverModel, frozen, series
from iegp.core import model as online
from iegp.core.kernels import Kernel
from iegp.core.predictive.mixture import Mixture
from iegp.core.settings import Rung
from iegp.estimators.defaults import DRIFT_VAR, KERNELS, LIGHT, N_FREQUENCIES, NOISE_FORGETTING

if TYPE_CHECKING:
    import pandas as pd


class RiverRegressor(RiverModel, base.MiniBatchRegressor):
    """Gaussian-process regression that learns row by row, with honest uncertainty, for River.

    The model of :class:`iegp.IEGPRegressor` with ``features="random"``. Features may appear and vanish: an absent one
    counts as the centre of its column. Scaling is built in, a scaler before it does no harm.

    Parameters
    ----------
    kernels
        From :mod:`iegp.kernels`; ``None`` is a dictionary that works well untuned. All arguments are those of
        :class:`iegp.IEGPRegressor`.
    n_frequencies
        Random frequencies per expert. Cost per row grows with the square.
    drift_var
        Variance of the random walk of an expert's parameters, per row; 0 is a static expert.
    weights
        How experts are weighed: ``"stacking"``, ``"bayes"`` or ``"switching"``.
    switch_prob
        Only with ``weights="switching"``: probability of leaving the active expert at each row.
    stacking_rate
        Only with ``weights="stacking"``: how fast weights move.
    shutdown
        Only with ``weights="bayes"``: an expert whose weight falls below is dropped for good.
    prior_var
        Variance of an expert's function, in units of the standardised target.
    noise_var
        Variance of the noise, in the same units.
    noise_forgetting
        How the noise is learned.
    warmup
        Rows from which scaling and hyperparameters are found.
    standardize
        Whether features and targets are brought to mean 0 and variance 1 by the warm-up rows.
    seed
        Seed of the frequencies; the same seed and the same features give the same model.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from iegp.adapters import RiverRegressor
    >>> from iegp.kernels import RBF
    >>> model = RiverRegressor(kernels=[RBF("dimension")], n_frequencies=20, warmup=50, seed=0)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval().take(200), model, metrics.MAE())
    MAE: 0...
    >>> x, y = next(iter(datasets.TrumpApproval()))
    >>> dist = model.predict_one(x, with_dist=True)
    >>> low, high = dist.interval(0.95)
    >>> low < dist.mu < high
    True
    """

    def __init__(
        self,
        kernels: Sequence[Kernel] | None = None,
        n_frequencies: int = N_FREQUENCIES,
        drift_var: float | Sequence[float] = DRIFT_VAR,
        weights: str = "stacking",
        switch_prob: float | ArrayLike = 0.01,
        stacking_rate: float = 0.1,
        shutdown: float = 1e-16,
        prior_var: float | str = "evidence",
        noise_var: float | str = "evidence",
        noise_forgetting: Rung | Sequence[Rung] = NOISE_FORGETTING,
        warmup: int = 1000,
        standardize: bool = True,
        seed: int | None = None,
    ) -> None:
        self.kernels = frozen(kernels)
        self.n_frequencies = n_frequencies
        self.drift_var = frozen(drift_var)
        self.weights = weights
        self.switch_prob = frozen(switch_prob)
        self.stacking_rate = stacking_rate
        self.shutdown = shutdown
        self.prior_var = prior_var
        self.noise_var = noise_var
        self.noise_forgetting = frozen(noise_forgetting)
        self.warmup = warmup
        self.standardize = standardize
        self.seed = seed
        self._reset()

    @classmethod
    def light(cls, seed: int | None = None, **overrides: Any) -> Self:
        """A small model that is quick from the first row on, as :func:`iegp.presets.light`; keywords override.

        >>> from iegp.adapters import RiverRegressor
        >>> model = RiverRegressor.light(seed=0)
        >>> model.n_frequencies, model.warmup
        (50, 256)
        """
        return cls(**(LIGHT | overrides), seed=seed)

    def learn_one(self, x: Features, y: float) -> None:
        """Learn a row."""
        self._learn_numbers(Columns.read_row, x, np.array([[targets.number(y)]]))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn rows in order, as if one by one but quicker."""
        if len(X):
            self._learn_numbers(Columns.read_frame, X, targets.numbers(y, len(X)))

    @overload
    def predict_one(self, x: Features, with_dist: Literal[False] = ...) -> float: ...
    @overload
    def predict_one(self, x: Features, with_dist: Literal[True]) -> Predicted: ...
    def predict_one(self, x: Features, with_dist: bool = False) -> float | Predicted:
        """Predictive mean; ``with_dist`` gives the whole distribution of y. Before any label, the prior's."""
        if self._model is None and not with_dist:
            self._columns.read_row(x)  # to be checked all the same
            return 0.0
        dist = online.predict(*self._asked(Columns.read_row, x))
        if not with_dist:
            return float(dist.mean[0, 0])
        return Predicted(Mixture.trusted(dist.weights, dist.loc, dist.scale, dist.dof, single_output=True))

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Predictive means of the rows, each as if it came next."""
        return series(online.predict(*self._asked(Columns.read_frame, X)).mean[:, 0], X)

    def _likelihood(self) -> str:
        return "gaussian"

    def _default_kernels(self) -> tuple[Kernel, ...]:
        return KERNELS
