"""Some kernels of an ensemble with all their beliefs: what one process keeps, predicts and learns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp.core.ensemble import FEW_ROWS, replay_beliefs
from iegp.core.expert import gaussian_block as blocks
from iegp.typing import Bool, Float


class Shard(NamedTuple):
    """Beliefs are ordered kernel by kernel, then drift, as in the ensemble they are taken from."""

    frequencies: Float
    """(n_kernels, n_frequencies, d)"""
    drift_ratio: Float
    """(n_beliefs,)"""
    matrix: Float
    """(n_beliefs, F, F), updated in place."""
    vector: Float
    """(n_beliefs, F, D), updated in place."""

    def learn(self, x: Float, y: Float, active: Bool) -> tuple[Float, Float]:
        """One-step-ahead means (active beliefs, n, D) and variances (active beliefs, n) of rows that are then learned.

        Row for row, and block for block, what one process with all experts does.
        """
        means, variances = self._room(len(x))
        what = self.frequencies, self.drift_ratio, active, self.matrix, self.vector
        if len(x) <= FEW_ROWS:
            blocks.step_rows(x, y, *what, means, variances)
        else:
            replay_beliefs(x, y, *what, means, variances)
        return means[active], variances[active]

    def predict(self, x: Float, active: Bool) -> tuple[Float, Float]:
        """The same for rows each of which might come next; nothing is learned."""
        means, variances = self._room(len(x))
        blocks.predict_rows(x, self.frequencies, self.drift_ratio, active, self.matrix, self.vector, means, variances)
        return means[active], variances[active]

    def _room(self, n: int) -> tuple[Float, Float]:
        n_beliefs, _, n_outputs = self.vector.shape
        return np.zeros((n_beliefs, n, n_outputs)), np.ones((n_beliefs, n))


def rehearse(shard: Shard) -> None:
    """Call all that a worker will call, on a copy of one kernel: compiled here, once, workers find it in the cache."""
    n_drifts = len(shard.drift_ratio) // len(shard.frequencies)
    one = Shard(*(part[:n].copy() for part, n in zip(shard, (1, n_drifts, n_drifts, n_drifts), strict=True)))
    active = np.ones(n_drifts, dtype=bool)
    for n in (1, FEW_ROWS + 1):
        x, y = np.zeros((n, shard.frequencies.shape[2])), np.zeros((n, shard.vector.shape[2]))
        one.predict(x, active)
        one.learn(x, y, active)
