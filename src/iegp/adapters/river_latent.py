"""The streaming latent variable model as a River transformer."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from river import base

from iegp.adapters.columns import Columns
from iegp.adapters.river_base import Features, Read, check_seed, frame, frozen
from iegp.core.kernels import RBF, Kernel
from iegp.estimators.latent import IEGPLVM
from iegp.typing import Bool, Float

if TYPE_CHECKING:
    import pandas as pd


class RiverIEGPLVM(base.MiniBatchTransformer):
    """A map of rows that keeps learning from a stream, for River.

    The model of :class:`iegp.IEGPLVM`. Until ``warmup`` rows have been learned there is no map, and every row lies at
    the origin. A feature that a row does not have is missing: what was observed decides where the row lies. A feature
    that appears during the warm-up joins the others; one that appears later is left out, because a map cannot grow
    columns. Rows are divided by one scale for all features: put a ``StandardScaler`` before it where units differ.

    Parameters
    ----------
    n_components
        Dimensions of the map.
    kernels
        One expert each; ``None`` is the paper's dictionary. All arguments are those of :class:`iegp.IEGPLVM`.
    n_frequencies
        Random frequencies per expert.
    warmup
        Rows that are laid out together before the map exists.
    weights
        How experts are weighed: ``"bayes"``, ``"switching"`` or ``"stacking"``.
    switch_prob
        Only with ``weights="switching"``.
    stacking_rate
        Only with ``weights="stacking"``.
    forgetting
        Weight that what was learned keeps per row.
    init
        ``"tsne"`` or ``"pca"``: the first picture of the warm-up rows.
    max_stored
        Most rows that are remembered as neighbours; ``None`` remembers all.
    seed
        Seed of the frequencies.

    Examples
    --------
    >>> import math
    >>> from iegp.adapters import RiverIEGPLVM
    >>> from iegp.kernels import RBF
    >>> model = RiverIEGPLVM(n_components=1, kernels=[RBF(1.0)], n_frequencies=10, warmup=50, init="pca", seed=0)
    >>> model.transform_one({"a": 0.5, "b": 0.5})
    {'z0': 0.0}
    >>> for i in range(80):
    ...     model.learn_one({"a": math.cos(i / 20), "b": math.sin(i / 20), "c": i / 50})
    >>> sorted(model.transform_one({"a": math.cos(1), "b": math.sin(1)}))
    ['z0']
    """

    def __init__(
        self,
        n_components: int = 2,
        kernels: Sequence[Kernel] | None = None,
        n_frequencies: int = 50,
        warmup: int = 500,
        weights: str = "bayes",
        switch_prob: float | ArrayLike = 0.01,
        stacking_rate: float = 0.1,
        forgetting: float = 1.0,
        init: str = "tsne",
        max_stored: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernels = frozen(kernels)
        self.n_frequencies = n_frequencies
        self.warmup = warmup
        self.weights = weights
        self.switch_prob = frozen(switch_prob)
        self.stacking_rate = stacking_rate
        self.forgetting = forgetting
        self.init = init
        self.max_stored = max_stored
        self.seed = seed
        check_seed(seed)
        self._columns = Columns()
        self._model = self._begin()
        # Wrong arguments are an error where they were written.
        self._model._settings()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"kernels": (RBF(1.0), RBF(3.0)), "n_frequencies": 5, "warmup": 32, "init": "pca", "seed": 1}

    # -- learning --------------------------------------------------------------------------------------------------

    def learn_one(self, x: Features) -> None:
        """Learn a row."""
        self._learn(Columns.read_row, x)

    def learn_many(self, X: pd.DataFrame) -> None:
        """Learn rows in order, as if one by one but quicker."""
        if len(X):
            self._learn(Columns.read_frame, X)

    # -- looking ---------------------------------------------------------------------------------------------------

    def transform_one(self, x: Features) -> dict[Hashable, float]:
        """Where a row lies on the map: ``{"z0": ..., "z1": ...}``; the origin while there is no map."""
        return dict(zip(self._names, self._positions(Columns.read_row, x)[0].tolist(), strict=True))

    def transform_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Where the rows lie."""
        return frame(self._positions(Columns.read_frame, X), self._names, X)

    def score_one(self, x: Features) -> float:
        """Log predictive density of a row over its observed features: low for odd rows; 0 while there is no map."""
        rows, _ = Columns.read_row(self._columns, x)
        return float(self._model.score_samples(rows)[0]) if self.has_map and _observed(rows).any() else 0.0

    @property
    def has_map(self) -> bool:
        """Whether the warm-up is over."""
        return self.n_samples_seen >= self.warmup

    @property
    def n_samples_seen(self) -> int:
        """Rows learned so far."""
        return self._model.n_samples_seen_ if self._model.__sklearn_is_fitted__() else 0

    # -- private ---------------------------------------------------------------------------------------------------

    def _begin(self) -> IEGPLVM:
        arguments = {name: value for name, value in self._get_params().items() if name != "seed"}
        return IEGPLVM(**arguments, random_state=self.seed)

    @property
    def _names(self) -> list[Hashable]:
        return [f"z{number}" for number in range(self.n_components)]

    def _learn(self, read: Read, x: Any) -> None:
        columns, model = self._columns, self._model
        rows, new = read(columns, x)
        if new and not self.has_map:
            n_known, n_seen = len(columns.names), self.n_samples_seen
            columns = columns.with_names(new)
            rows, _ = read(columns, x)
            if n_seen:
                # The rows so far are kept anyway; they are given again, with a gap where the new features stand.
                gaps = np.full((n_seen, len(columns.names) - n_known), np.nan)
                rows = np.concatenate([np.hstack([model._model.kept, gaps]), rows])
                model = self._begin()
        usable = np.ascontiguousarray(rows[_observed(rows)])
        if len(usable):
            model.partial_fit(usable)
        self._columns, self._model = columns, model

    def _positions(self, read: Read, x: Any) -> Float:
        rows, _ = read(self._columns, x)
        positions = np.zeros((len(rows), self.n_components))
        observed = _observed(rows)
        if self.has_map and observed.any():
            positions[observed] = self._model.transform(rows[observed])
        return positions


def _observed(rows: Float) -> Bool:
    """(n,): rows with at least one value; one without any lies nowhere."""
    return np.asarray(~np.isnan(rows).all(axis=1))
