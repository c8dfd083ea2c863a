"""Many independent models with the same experts: their states stacked, one compiled loop over the keys of a call.

A *page* is a :class:`State` whose arrays have one more axis in front, one entry per key. Rows come sorted by key; each
key's rows go through exactly what a single model does with them. The GIL is released, so pages, or parts of them, may
be worked on in several threads as long as no key is in two of them. Labels are Gaussian.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.tolerances import CHUNK_ROWS, FEW_ROWS, SPAN_AFTER_GLITCH
from iegp.core.ensemble import (
    ExpertPredictions,
    expand_components,
    expert_predictions,
    keep_experts,
    learn_rows_without_glitches,
    note_outliers,
    predict_into,
    remember_prediction,
    rows_ahead,
    skip_row,
    weigh,
)
from iegp.core.expert.sweep import Rows, Span, allocate_workspace, sweep_kernel, sweep_rows
from iegp.core.lags import with_lags
from iegp.core.predictions import Predictions, allocate_like, some_rows
from iegp.core.predictive.components import Components
from iegp.core.state import Ensemble, State, active_experts, copied, restore
from iegp.typing import Float, Int


class RowsByKey(NamedTuple):
    """Rows sorted by key: those from ``edges[i]`` to ``edges[i + 1]`` belong to the key at ``slots[i]`` of a page."""

    slots: Int
    """(k,)"""
    edges: Int
    """(k + 1,)"""
    x: Float
    """(n, d), standardised."""
    y: Float
    """(n, D), standardised; without meaning where rows are only predicted."""


@compiled
def learn_keys(ensemble: Ensemble, page: State, rows: RowsByKey, out: Predictions, mixture: Components) -> None:
    """Predict then learn each key's rows; ``page`` is updated. ``mixture`` is filled in, unless it has no rows."""
    for i in range(rows.slots.size):
        _learn_key(ensemble, _state_at(page, rows.slots[i]), rows, i, out, mixture)


@compiled
def learn_keys_in_float32(
    ensemble: Ensemble, page: State, rows: RowsByKey, out: Predictions, mixture: Components
) -> None:
    """As :func:`learn_keys` for beliefs stored as float32: computed with in float64 and rounded once per call."""
    for i in range(rows.slots.size):
        stored = _state_at(page, rows.slots[i])
        state = copied(stored)
        _learn_key(ensemble, state, rows, i, out, mixture)
        restore(stored, state)


@compiled
def predict_keys(ensemble: Ensemble, page: State, rows: RowsByKey, mixture: Components) -> None:
    """Predict each key's rows; nothing is changed."""
    for i in range(rows.slots.size):
        a, b = rows.edges[i], rows.edges[i + 1]
        # A copy only where beliefs are float32; float64 ones are copied too, which is little beside predicting.
        state = copied(_state_at(page, rows.slots[i]))
        predict_into(ensemble, state, rows.x[a:b], _some_components(mixture, a, b), rows_ahead(b - a, 1))


@compiled
def _learn_key(
    ensemble: Ensemble, state: State, rows: RowsByKey, i: int, out: Predictions, mixture: Components
) -> None:
    # As a single model does: experts that were shut down are left out from the next chunk on.
    for begin in range(rows.edges[i], rows.edges[i + 1], CHUNK_ROWS):
        stop = min(rows.edges[i + 1], begin + CHUNK_ROWS)
        predictions = some_rows(out, begin, stop)
        x, y = rows.x[begin:stop], rows.y[begin:stop]
        if ensemble.glitch < math.inf:
            experts = _learn_without_glitches(ensemble, state, x, y, predictions)
        else:
            experts = _learn_chunk(ensemble, state, x, y, predictions)
        if mixture.weights.shape[0] > 0:
            expand_components(experts, _some_components(mixture, begin, stop))


@compiled
def _learn_without_glitches(
    ensemble: Ensemble, state: State, x: Float, y: Float, predictions: Predictions
) -> ExpertPredictions:
    """As :func:`_learn_chunk` without learning glitches: again up to the first, if there is one."""
    n = x.shape[0]
    if n <= FEW_ROWS:
        return learn_rows_without_glitches(ensemble, state, Rows(x, y, np.ones(n)), predictions)
    work = allocate_workspace(ensemble, active_experts(ensemble, state), x, y, n - n)
    experts = expert_predictions(work)
    start, span = n - n, n
    while start < n:
        stop = min(start + span, n)
        before = copied(state)
        own = some_rows(predictions, start, stop)
        keep_experts(experts, start, _learn_chunk(ensemble, state, x[start:stop], y[start:stop], own))
        n_good = note_outliers(ensemble, state, y[start:stop], own)
        if n_good == stop - start:
            start, span = stop, 2 * span
            continue
        # Predictions stay those of the first time, which know nothing of later labels, not even to the last bit.
        restore(state, before)
        end = start + n_good
        if n_good > 0:
            again = allocate_like(predictions, n_good)
            _learn_chunk(ensemble, state, x[start:end], y[start:end], again)
            note_outliers(ensemble, state, y[start:end], again)
        skip_row(ensemble, state, 1.0, y[end] - own.mean[n_good])
        remember_prediction(ensemble, state, own.mean[n_good : n_good + 1])
        start, span = end + 1, SPAN_AFTER_GLITCH
    return experts


@compiled
def _learn_chunk(ensemble: Ensemble, state: State, x: Float, y: Float, predictions: Predictions) -> ExpertPredictions:
    n = x.shape[0]
    # Not the literal 0, which is a type of its own to Numba: all blocks would be compiled a second time.
    zero = n - n
    inputs = with_lags(ensemble.lags, state.recent, x, y)
    work = allocate_workspace(ensemble, active_experts(ensemble, state), inputs, y, zero)
    if n <= FEW_ROWS:
        sweep_rows(ensemble, state, None, work)
    else:
        for kernel in range(ensemble.layout.beliefs.size - 1):
            sweep_kernel(ensemble, state, None, work, Span(kernel, zero, n))
    weigh(ensemble, state, None, work, predictions)
    return expert_predictions(work)


@compiled
def _state_at(page: State, s: int) -> State:
    """The state of one key: views."""
    return State(
        page.matrix[s],
        page.vector[s],
        page.noise_shape[s],
        page.noise_scale[s],
        page.log_weights[s],
        page.rows[s],
        page.recent[s],
        page.far[s],
        page.spread[s],
    )


@compiled
def _some_components(mixture: Components, begin: int, stop: int) -> Components:
    return Components(
        mixture.weights[begin:stop], mixture.loc[begin:stop], mixture.scale[begin:stop], mixture.dof[begin:stop]
    )
