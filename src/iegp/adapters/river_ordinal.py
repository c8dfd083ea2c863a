"""Online ensemble GP classification of ordered classes as a River model."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Hashable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from iegp.adapters.river_base import frozen
from iegp.adapters.river_labels import Classes, RiverLabelModel, numbered
from iegp.core.editing.new_level import add_level, mirrored
from iegp.core.kernels import Kernel
from iegp.core.model import Online
from iegp.errors import InputError
from iegp.estimators.classifier import check_link
from iegp.estimators.defaults import CLASS_N_FREQUENCIES, CLASS_STACKING_RATE, DRIFT_VAR, SHARPNESS


class RiverOrdinalClassifier(RiverLabelModel):
    """Gaussian-process classification of *ordered* classes that learns row by row, for River.

    The model of :class:`iegp.IEGPOrdinalClassifier` with ``features="random"``. Features may appear and vanish, as for
    :class:`RiverRegressor`. Without ``order``, labels sort, and a label that was never seen takes its place among the
    others: a piece of what lay between its neighbours, or at the end.

    Parameters
    ----------
    order
        The labels from lowest to highest; another label is then an error. ``None`` sorts them as they come: right for
        numbers, rarely for words.
    kernels
        From :mod:`iegp.kernels`; ``None`` is a dictionary that works well untuned.
    n_frequencies
        Random frequencies per expert.
    drift_var
        Variance of the random walk of an expert's latent function, per row.
    weights
        How experts are weighed: ``"stacking"``, ``"bayes"`` or ``"switching"``.
    switch_prob
        Only with ``weights="switching"``.
    stacking_rate
        Only with ``weights="stacking"``.
    shutdown
        Only with ``weights="bayes"``.
    prior_var
        Variance of an expert's latent function.
    sharpness
        Powers to which an expert's class probabilities are raised.
    link
        ``"logit"`` or ``"probit"``.
    integration
        ``"quadrature"``, ``"probit"`` or ``"monte-carlo"``.
    warmup
        Rows from which scaling, hyperparameters and cut-points are found.
    standardize
        Whether features are brought to mean 0 and variance 1 by the warm-up rows.
    seed
        Seed of the frequencies.

    Examples
    --------
    >>> from iegp.adapters import RiverOrdinalClassifier
    >>> from iegp.kernels import RBF
    >>> model = RiverOrdinalClassifier(kernels=[RBF(1.0)], n_frequencies=10, warmup=50, seed=0)
    >>> for i in range(100):
    ...     model.learn_one({"heat": i % 10}, (i % 10) // 4)
    >>> [model.predict_one({"heat": heat}) for heat in (1, 5, 9)]
    [0, 1, 2]
    """

    def __init__(
        self,
        order: Sequence[Any] | None = None,
        kernels: Sequence[Kernel] | None = None,
        n_frequencies: int = CLASS_N_FREQUENCIES,
        drift_var: float | Sequence[float] = DRIFT_VAR,
        weights: str = "stacking",
        switch_prob: float | ArrayLike = 0.01,
        stacking_rate: float = CLASS_STACKING_RATE,
        shutdown: float = 1e-16,
        prior_var: float | str = "evidence",
        sharpness: float | Sequence[float] = SHARPNESS,
        link: str = "logit",
        integration: str = "quadrature",
        warmup: int = 1000,
        standardize: bool = True,
        seed: int | None = None,
    ) -> None:
        self.order = frozen(order)
        self.kernels = frozen(kernels)
        self.n_frequencies = n_frequencies
        self.drift_var = frozen(drift_var)
        self.weights = weights
        self.switch_prob = frozen(switch_prob)
        self.stacking_rate = stacking_rate
        self.shutdown = shutdown
        self.prior_var = prior_var
        self.sharpness = frozen(sharpness)
        self.link = link
        self.integration = integration
        self.warmup = warmup
        self.standardize = standardize
        self.seed = seed
        self._classes = numbered(self.order, "order")
        if len(self._classes) == 1:
            raise InputError(
                f"order={self.order!r} has one label; name at least two, or None to sort them as they come"
            )
        self._reset()

    def _likelihood(self) -> str:
        check_link(self.link)
        return f"ordinal-{self.link}"

    def _with_class(self, model: Online, classes: Classes, label: Hashable) -> tuple[Online, Classes]:
        if self.order is not None:
            raise InputError(
                f"y is {label!r}, which is none of the labels in order={self.order!r:.200}. Name it there, or leave "
                "order out to have labels sorted as they come; the model is unchanged."
            )
        known: list[Any] = list(classes)
        place = _place(known, label)
        if len(known) == 1 and place == 0:
            # The level that has no name yet was thought to lie above the only one seen; it lies below.
            model = mirrored(model)
        elif len(known) > 1:
            model = add_level(model, place)
        return model, {name: number for number, name in enumerate([*known[:place], label, *known[place:]])}


def _place(known: list[Any], label: Any) -> int:
    """Where a label belongs among those that are sorted already."""
    try:
        return bisect(known, label)
    except TypeError as error:
        raise InputError(
            f"y is {label!r}, which cannot be compared with {known[0]!r}: ordered labels must be all text or all "
            "numbers, or be named in order=[...]; the model is unchanged."
        ) from error
