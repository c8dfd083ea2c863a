"""Lags of rows so far ahead that no label before them is known.

An expert that sees lags has learned what follows the labels just before a row. The last known labels are no such labels
where rows are hundreds of rows ahead: if one of them is extreme, all of these experts are far off for as long as rows
are predicted. What experts without lags predict for a row is closer to the labels before it, because inputs change
slowly, and the mean where they do not.
"""

from __future__ import annotations

import numpy as np

from iegp.core.expert.belief import Ahead
from iegp.core.expert.sweep import predict_rows
from iegp.core.lags import label_numbers, with_known_lags
from iegp.core.state import Ensemble, State, active_experts
from iegp.typing import Bool, Float


def beliefs_without_lags(ensemble: Ensemble, n_columns: int) -> Bool:
    """(n_beliefs,): whether a belief sees nothing beyond the first so many columns."""
    bases = [ensemble.kernel_basis(kernel) for kernel in range(ensemble.n_kernels)]
    free = [not basis.frequencies[:, n_columns:].any() and np.all(basis.columns < n_columns) for basis in bases]
    return np.array(free, dtype=bool)[ensemble.layout.kernel_of]


def with_expected_lags(ensemble: Ensemble, state: State, x: Float, weights: Float, n_steps: int) -> Float:
    """(n, d + columns): rows ``x`` (n, d) and, as their lags, the mean that beliefs with ``weights`` predict for them.

    Beliefs (n_beliefs,) with a weight see no lags. What is missing to a sum of one is the weight of the last known
    labels, which are all that rows so many rows ahead know where there are no other weights.
    """
    rows = with_known_lags(ensemble.lags, state.recent, x, n_steps)
    if not weights.any():
        return np.asarray(rows)
    lags, shape = ensemble.lags, (ensemble.n_beliefs, len(x))
    ahead = Ahead(np.zeros((*shape, ensemble.noise_var.shape[1])), np.ones(shape))
    used = active_experts(ensemble, state).beliefs & (weights > 0.0)
    predict_rows(ensemble, state, used, rows, ahead, np.ones(len(x)))
    expected = label_numbers(lags, np.einsum("b,bnd->nd", weights, ahead.means))
    rows[:, x.shape[1] :] *= max(1.0 - weights.sum(), 0.0)
    rows[:, x.shape[1] :] += np.repeat(expected, len(lags.offsets), axis=1)
    return np.asarray(rows)
