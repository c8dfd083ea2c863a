"""Some kernels of an ensemble with all their beliefs: what one process keeps, predicts and learns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp.core.compute.tolerances import FEW_ROWS
from iegp.core.ensemble import start
from iegp.core.expert.belief import Ahead
from iegp.core.expert.sweep import allocate_workspace, predict_rows, sweep_blocks, sweep_rows
from iegp.core.state import Active, Ensemble, State
from iegp.typing import Bool, Float


class Shard(NamedTuple):
    """Beliefs are ordered kernel by kernel, then drift, as in the ensemble they are taken from."""

    ensemble: Ensemble
    """Of these kernels alone; weights need all experts and are not kept here."""
    state: State
    """Its beliefs are updated in place; the rest is not used."""

    def learn(self, x: Float, y: Float, active: Bool) -> tuple[Float, Float]:
        """One-step-ahead means (active beliefs, n, D) and variances (active beliefs, n) of rows that are then learned.

        Row for row, and block for block, what one process with all experts does.
        """
        experts = np.repeat(active, len(self.ensemble.forgetting))
        work = allocate_workspace(self.ensemble, Active(experts, active), x, y, 0)
        if len(x) <= FEW_ROWS:
            sweep_rows(self.ensemble, self.state, None, work)
        else:
            sweep_blocks(self.ensemble, self.state, None, work)
        return work.means[active], work.variances[active]

    def predict(self, x: Float, active: Bool) -> tuple[Float, Float]:
        """The same for rows each of which might come next; nothing is learned."""
        n_beliefs, n_outputs = self.ensemble.noise_var.shape
        ahead = Ahead(np.zeros((n_beliefs, len(x), n_outputs)), np.ones((n_beliefs, len(x))))
        predict_rows(self.ensemble, self.state, active, x, ahead)
        return ahead.means[active], ahead.variances[active]


def rehearse(ensemble: Ensemble) -> None:
    """Call all that a worker will call, on one kernel: compiled here, once, workers find it in the cache."""
    one = ensemble.part(np.arange(1))
    shard = Shard(one, start(one))
    active = np.ones(one.n_beliefs, dtype=bool)
    for n in (1, FEW_ROWS + 1):
        x, y = np.zeros((n, one.basis.frequencies.shape[1])), np.zeros((n, one.noise_var.shape[1]))
        shard.predict(x, active)
        shard.learn(x, y, active)
