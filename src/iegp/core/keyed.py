"""Many independent models with the same experts: their states stacked, one compiled loop over the keys of a call.

A *page* is a :class:`State` whose arrays have one more axis in front, one entry per key. Rows come sorted by key; each
key's rows go through exactly what a single model does with them. The GIL is released, so pages, or parts of them, may
be worked on in several threads as long as no key is in two of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.ensemble import CHUNK_ROWS, FEW_ROWS, Rows, predict_into, weigh
from iegp.core.expert import gaussian_block as blocks
from iegp.core.state import Ensemble, State, Who
from iegp.core.weights import is_dropped
from iegp.typing import Float, Int


class KeyedRows(NamedTuple):
    """Room for what n rows show, in the order they come in."""

    mean: Float
    """(n, D)"""
    std: Float
    log_score: Float
    """(n,)"""
    used: Float
    """(n, n_experts): weights before each row."""
    loc: Float
    """(n, n_experts, D): centres of every row's mixture, likewise ``scales``; no rows if nobody asks for them."""
    scales: Float
    dof: Float
    """(n, n_rungs)"""


@compiled
def learn_keys(
    ensemble: Ensemble, page: State, slots: Int, edges: Int, belief_of: Int, rung_of: Int, x: Float, y: Float,
    out: KeyedRows,
) -> None:  # fmt: skip
    """Predict then learn rows ``edges[i]`` to ``edges[i + 1]`` with the key at ``slots[i]``; ``page`` is updated."""
    for i in range(slots.size):
        s = slots[i]
        state = State(
            page.matrix[s],
            page.vector[s],
            page.noise_shape[s],
            page.noise_scale[s],
            page.log_weights[s],
            page.rows[s],
        )
        _learn_key(ensemble, state, belief_of, rung_of, x, y, edges[i], edges[i + 1], out)


@compiled
def learn_keys_in_float32(
    ensemble: Ensemble, page: State, slots: Int, edges: Int, belief_of: Int, rung_of: Int, x: Float, y: Float,
    out: KeyedRows,
) -> None:  # fmt: skip
    """The same where beliefs are stored as float32: they are computed with in float64 and rounded once per call."""
    for i in range(slots.size):
        s = slots[i]
        state = State(
            page.matrix[s].astype(np.float64),
            page.vector[s].astype(np.float64),
            page.noise_shape[s],
            page.noise_scale[s],
            page.log_weights[s],
            page.rows[s],
        )
        _learn_key(ensemble, state, belief_of, rung_of, x, y, edges[i], edges[i + 1], out)
        page.matrix[s] = state.matrix
        page.vector[s] = state.vector


@compiled
def _learn_key(
    ensemble: Ensemble, state: State, belief_of: Int, rung_of: Int, x: Float, y: Float, begin: int, end: int,
    out: KeyedRows,
) -> None:  # fmt: skip
    # As a single model does: who was shut down is asked once per chunk.
    for start in range(begin, end, CHUNK_ROWS):
        stop = min(end, start + CHUNK_ROWS)
        _learn_chunk(ensemble, state, belief_of, rung_of, x[start:stop], y[start:stop], start, stop, out)


@compiled
def _learn_chunk(
    ensemble: Ensemble, state: State, belief_of: Int, rung_of: Int, x: Float, y: Float, start: int, stop: int,
    out: KeyedRows,
) -> None:  # fmt: skip
    n, n_outputs = y.shape
    n_beliefs, n_experts = ensemble.drift_ratio.size, belief_of.size
    who = _who(ensemble, state, belief_of, rung_of)
    keeps = out.loc.shape[0] > 0
    rows = Rows(
        np.zeros((n_beliefs, n, n_outputs)),
        np.ones((n_beliefs, n)),
        np.empty((n, n_experts)),
        out.scales[start:stop] if keeps else np.empty((n, n_experts, n_outputs)),
        out.dof[start:stop],
        out.used[start:stop],
        out.log_score[start:stop],
        out.mean[start:stop],
        out.std[start:stop],
    )
    frequencies, drift_ratio = ensemble.frequencies, ensemble.drift_ratio
    if n <= FEW_ROWS:
        blocks.step_rows(
            x, y, frequencies, drift_ratio, who.active, state.matrix, state.vector, rows.means, rows.variances
        )
    else:
        n_drifts = n_beliefs // frequencies.shape[0]
        # Not the literal 0, which is a type of its own to Numba: all blocks would be compiled a second time.
        first = n - n
        for k in range(frequencies.shape[0]):
            a, b = k * n_drifts, (k + 1) * n_drifts
            blocks.replay_kernel(
                x,
                y,
                first,
                n,
                frequencies[k],
                drift_ratio[a:b],
                who.active[a:b],
                state.matrix[a:b],
                state.vector[a:b],
                rows.means[a:b],
                rows.variances[a:b],
            )
    weigh(ensemble, state, who, y, rows)
    if keeps:
        for e in range(n_experts):
            for t in range(n):
                for d in range(n_outputs):
                    out.loc[start + t, e, d] = rows.means[belief_of[e], t, d]


@compiled
def _who(ensemble: Ensemble, state: State, belief_of: Int, rung_of: Int) -> Who:
    """:func:`iegp.core.state.who_is_who` for compiled code."""
    alive = np.ones(belief_of.size, np.bool_)
    active = np.zeros(ensemble.drift_ratio.size, np.bool_)
    for e in range(belief_of.size):
        if is_dropped(ensemble.rule, state.log_weights[e]):
            alive[e] = False
        active[belief_of[e]] = active[belief_of[e]] or alive[e]
    return Who(belief_of, rung_of, alive, active)


@compiled
def predict_keys(
    ensemble: Ensemble, page: State, slots: Int, edges: Int, belief_of: Int, rung_of: Int, x: Float, used: Float,
    loc: Float, scales: Float, dof: Float,
) -> None:  # fmt: skip
    """Predict rows ``edges[i]`` to ``edges[i + 1]`` with the key at ``slots[i]``; nothing is changed."""
    for i in range(slots.size):
        s, a, b = slots[i], edges[i], edges[i + 1]
        # A copy only where beliefs are float32; float64 ones are copied too, which is little beside predicting.
        state = State(
            page.matrix[s].astype(np.float64),
            page.vector[s].astype(np.float64),
            page.noise_shape[s],
            page.noise_scale[s],
            page.log_weights[s],
            page.rows[s],
        )
        who = _who(ensemble, state, belief_of, rung_of)
        predict_into(ensemble, state, who, x[a:b], used[a:b], loc[a:b], scales[a:b], dof[a:b])
