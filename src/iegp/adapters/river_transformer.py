"""The streaming latent variable model as a River transformer."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from iegp._docstrings import fill_docstrings
from iegp._writers import one_writer
from iegp.adapters.columns import Columns
from iegp.adapters.river_base import Features, Read, RiverModel, frame
from iegp.adapters.shared_docs import RIVER
from iegp.core.kernels import RBF
from iegp.estimators.latent import IEGPLVM
from iegp.typing import Bool, Float

if TYPE_CHECKING:
    import pandas as pd


@fill_docstrings(RIVER)
class RiverIEGPLVM(RiverModel, base.MiniBatchTransformer, estimator=IEGPLVM, fixed={}, defaults={"n_frequencies": 50}):
    """A map of rows that keeps learning from a stream, for River.

    The model of :class:`iegp.IEGPLVM`. Until ``warmup`` rows have been learned there is no map, and every row is at
    the origin. A feature that a row does not have is missing: the observed features determine the position. A feature
    that first appears during the warm-up becomes a column; one that first appears later is ignored, because columns
    cannot be added to a map. Rows are divided by one scale for all features: put a ``StandardScaler`` before it where
    units differ.

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

    n_components: int
    warmup: int

    def _start(self) -> None:
        super()._start()
        self._fresh(seed=0).settings()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"kernels": (RBF(1.0), RBF(3.0)), "n_frequencies": 5, "warmup": 32, "init": "pca", "seed": 1}

    # -- learning --------------------------------------------------------------------------------------------------

    def learn_one(self, x: Features) -> None:
        """Learn a row.

        {parameters}
        """
        self._learn(Columns.read_row, x)

    def learn_many(self, X: pd.DataFrame) -> None:
        """Learn rows in order: the same model as with :meth:`learn_one`, in less time.

        {parameters}
        """
        if len(X):
            self._learn(Columns.read_frame, X)

    # -- predicting ------------------------------------------------------------------------------------------------

    def transform_one(self, x: Features) -> dict[Hashable, float]:
        """Compute the position of a row on the map. Changes nothing.

        {parameters}

        Returns
        -------
        dict
            Coordinates ``{"z0": ..., "z1": ...}``; zeros during the warm-up.
        """
        return dict(zip(self._names, self._positions(Columns.read_row, x)[0].tolist(), strict=True))

    def transform_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Compute the positions of rows on the map. Changes nothing.

        {parameters}

        Returns
        -------
        pandas.DataFrame (n, n_components)
            Columns ``z0``, ``z1``, ..., with the index of X.
        """
        return frame(self._positions(Columns.read_frame, X), self._names, X)

    def score_one(self, x: Features) -> float:
        """Compute the log predictive density of a row over its observed features: small for unusual rows.

        {parameters}

        Returns
        -------
        float
            Log density; 0 during the warm-up.
        """
        rows, _ = self._columns.read_row(x)
        return float(self._estimator.score_samples(rows)[0]) if self.has_map and _observed(rows).any() else 0.0

    @property
    def has_map(self) -> bool:
        """Whether the warm-up is over."""
        return self.n_samples_seen >= self.warmup

    # -- private ---------------------------------------------------------------------------------------------------

    @property
    def _names(self) -> list[Hashable]:
        return [f"z{number}" for number in range(self.n_components)]

    @one_writer
    def _learn(self, read: Read, x: Any) -> None:
        columns, estimator = self._columns, self._estimator
        rows, new = read(columns, x)
        if new and not self.has_map:
            n_known, n_seen = len(columns.names), self.n_samples_seen
            columns = columns.with_names(new)
            rows, _ = read(columns, x)
            if n_seen:
                # The rows so far are stored; they are learned again, with the new features missing.
                gaps = np.full((n_seen, len(columns.names) - n_known), np.nan)
                rows = np.concatenate([np.hstack([estimator.model_.kept, gaps]), rows])
                estimator = self._fresh(self.seed)
        usable = np.ascontiguousarray(rows[_observed(rows)])
        if len(usable):
            estimator.partial_fit(usable)
        self._columns, self._estimator = columns, estimator

    def _positions(self, read: Read, x: Any) -> Float:
        rows, _ = read(self._columns, x)
        positions = np.zeros((len(rows), self.n_components))
        observed = _observed(rows)
        if self.has_map and observed.any():
            positions[observed] = self._estimator.transform(rows[observed])
        return positions


def _observed(rows: Float) -> Bool:
    """(n,): rows with at least one value; a row without any has no position."""
    return np.asarray(~np.isnan(rows).all(axis=1))
