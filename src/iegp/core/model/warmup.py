"""The warm-up: rows are kept, and scaling and hyperparameters are fitted to them again and again.

Until ``warmup`` rows have been seen they are kept. At 1, 2 and 4 rows the scaling is refreshed; at 8, 12, 16, ..., 32,
then at 64, 128, ... and finally at ``warmup`` rows, scaling and hyperparameters are refitted (from 32 rows on where
labels are not Gaussian, whose evidence says nothing of fewer). Each time beliefs are rebuilt by replaying the rows.
Weights are those of the replay, in which each row was predicted before it was learned, except where weights are
posterior probabilities of Gaussian experts: an in-sample replay would shut experts down, so they start equal. All this
depends on the number of rows alone, never on how they were cut into calls. After ``warmup`` rows nothing is kept and
memory is flat.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from iegp.core import ensemble as ens
from iegp.core import scaling as scale
from iegp.core.clock import checked_times, new_clock
from iegp.core.compute.tolerances import (
    FARTHEST_USUAL,
    FASTEST_REPLAY,
    FIRST_FIT,
    FIRST_STEP,
    MANY_ROWS,
    MOST_UNUSUAL,
    REPLAY_ROWS,
)
from iegp.core.fitting.experts import Experts, default_experts, fit_experts
from iegp.core.fitting.seasonal import with_seasons
from iegp.core.fitting.usual_labels import usual_labels
from iegp.core.glitches import is_far, is_left_out
from iegp.core.kernels import Inputs
from iegp.core.lags import NO_LAGS, label_numbers, lags_from, remember, with_known_lags, with_lags, with_lags_seen
from iegp.core.model.online import Online, begin, move_clock, standardised_rows
from iegp.core.settings import Settings
from iegp.core.state import Ensemble, State
from iegp.core.weighted import Weighted, learn_labelled
from iegp.typing import Bool, Float, Int


def warmed_up(settings: Settings, x: Float, y: Float, n_outputs: int | None = None) -> Online:
    """A model whose scaling and hyperparameters come from these rows; it learns them if the settings say so.

    ``n_outputs`` is the number of classes, if labels are classes.
    """
    return warm_up(begin(settings, x.shape[1], n_outputs or y.shape[1]), x, y)


def warm_up(model: Online, x: Float, y: Float, time: Float | None = None) -> Online:
    """As :func:`warmed_up`, for a model that has begun and has seen nothing."""
    settings, times = model.settings, checked_times(model.clock, time, len(x))
    move_clock(model, times)
    model = refit(model, x, y, fit=True, is_last=True)
    if not settings.learn_warmup:
        model = replace(model, state=ens.start(model.experts.ensemble))
    if model.clock is not None:
        was = model.clock if settings.learn_warmup else new_clock(warms_up=True)._replace(unit=model.clock.unit)
        model.clock = was.holding(0)
    empty = np.empty((0, x.shape[1])), np.empty((0, y.shape[1]))
    n_learned = len(x) if settings.learn_warmup else 0
    model = replace(model, kept_x=empty[0], kept_y=empty[1], is_warming_up=False, n_warmup_learned=n_learned)
    if model.waiting is not None:
        model.waiting = model.waiting.forgotten(model.experts.ensemble)
    return model


def rows_to_refit(model: Online) -> int:
    """How many rows until the next refit, which waits for their labels; more than any call brings if there is none."""
    if not model.is_warming_up:
        return int(np.iinfo(np.int64).max)
    seen = len(model.kept_x)
    n_first = 0 if model.waiting is None else model.settings.delay - len(model.waiting.x)
    return min(_next_refit(model.settings, seen), model.settings.warmup) - seen + n_first


def rows_to_last_refit(model: Online, n: int) -> int:
    """How many of ``n`` rows come up to the last refit among them; 0 if there is none."""
    seen, settings, found = len(model.kept_x), model.settings, 0
    while found < settings.warmup:
        following = min(_next_refit(settings, max(seen, found)), settings.warmup)
        if following > seen + n:
            break
        found = following
    return max(found - seen, 0)


def _first_fit(settings: Settings) -> int:
    """Rows from which on hyperparameters are fitted."""
    return FIRST_FIT if settings.likelihood == "gaussian" else MANY_ROWS


def _next_refit(settings: Settings, seen: int) -> int:
    """How many rows there are at the first refit after ``seen`` rows."""
    if _first_fit(settings) <= seen < MANY_ROWS:
        return (seen // FIRST_STEP + 1) * FIRST_STEP
    return 1 << seen.bit_length()


def keep_rows(model: Online, x: Float, labels: Weighted, n_known: int | None = None) -> None:
    """Keep rows for the warm-up; refit if a milestone is reached, and drop them if it was the last.

    ``n_known`` is how many labels were known when a single row was predicted, if not those of all rows before it.
    """
    if model.kept_weights is not None or labels.weights is not None:
        known = ((model.kept_weights, len(model.kept_x)), (labels.weights, len(x)))
        model.kept_weights = np.concatenate([np.ones(n) if own is None else own for own, n in known])
    if model.kept_known is not None:
        following = np.arange(len(model.kept_x), len(model.kept_x) + len(x)) if n_known is None else np.array([n_known])
        model.kept_known = np.concatenate([model.kept_known, following])
    model.kept_x, model.kept_y = np.concatenate([model.kept_x, x]), np.concatenate([model.kept_y, labels.y])
    n = len(model.kept_x)
    is_last = n >= model.settings.warmup
    if is_last or (n > 0 and _next_refit(model.settings, n - 1) == n):
        model.__dict__.update(
            refit(
                model, model.kept_x, model.kept_y, fit=is_last or n >= _first_fit(model.settings), is_last=is_last
            ).__dict__
        )
    if is_last:
        if model.kept_known is not None:
            model.kept_known, model.warmup_labels = None, model.kept_y
        model.kept_x, model.kept_y = model.kept_x[:0].copy(), model.kept_y[:0].copy()
        model.kept_weights = None
        model.is_warming_up = False
        model.n_warmup_learned = n


def refit(model: Online, x: Float, y: Float, fit: bool, is_last: bool) -> Online:
    """Scaling (and hyperparameters, if ``fit``) from these rows, beliefs and stacked weights by replaying them."""
    settings = model.settings
    scaling = model.scaling
    if settings.standardize:
        scaling = scale.from_rows(x[:, : model.n_columns], y, settings.robust, model.kept_weights)
        if settings.likelihood != "gaussian":
            scaling = scaling._replace(y_mean=np.zeros(y.shape[1]), y_scale=np.ones(y.shape[1]))
    x, y = standardised_rows(replace(model, scaling=scaling), x), scaling.standardise_y(y)
    n_outputs = model.n_outputs
    lags = lags_from(settings.lags, settings.likelihood, y, n_outputs)
    if is_last and settings.auto_lags:
        offsets = with_seasons(settings.lags, settings.delay, x, label_numbers(lags, y))
        lags = lags._replace(offsets=np.array(offsets, dtype=np.int64))
    inputs = Inputs.of(model.column_keys, scaling.x_scale, lags)
    if fit and _rows_to_fit(model, y).any():
        experts = _fitted(model, inputs, x, y)
    else:
        experts = default_experts(settings, inputs, n_outputs, y)
    state = ens.start(experts.ensemble)
    equal_weights = state.log_weights.copy()
    clock, steps = model.clock, None
    if clock is not None:
        times = clock.held[: len(x)]
        clock = clock.fitted(times)
        steps = clock.steps(times, np.nan)
    # No expert may be shut down by rows that its hyperparameters were fitted to.
    ensemble = replace(model, experts=experts).ensemble
    steady = ensemble._replace(shutdown=0.0, rate=_replay_rate(settings, len(x)), learns_spread=False)
    labels = Weighted(y, model.kept_weights)
    if model.kept_known is None:
        for _ in learn_labelled(steady, state, x, labels, ens.PassOptions(is_live=False), steps):
            pass
    else:
        _replay_late(steady, state, x, labels, model.kept_known, steps)
    if settings.likelihood == "gaussian" and not (settings.weights == "stacking" and settings.learn_warmup):
        state = state._replace(log_weights=equal_weights)
    waiting = None if model.waiting is None else model.waiting.forgotten(experts.ensemble)
    return replace(model, scaling=scaling, experts=experts, state=state, waiting=waiting, clock=clock)


def _replay_rate(settings: Settings, n_rows: int) -> float:
    """How fast stacked weights move in the replay of so few rows that they would hardly leave their start otherwise."""
    if settings.likelihood != "gaussian":
        return settings.stacking_rate
    return max(settings.stacking_rate, min(FASTEST_REPLAY, REPLAY_ROWS / n_rows))


def _replay_late(
    ensemble: Ensemble, state: State, x: Float, labels: Weighted, n_known: Int, steps: Float | None
) -> None:
    """Learn rows in the order in which their labels came, each with the lags that it was predicted with."""
    is_late = n_known < np.arange(len(x))
    # Numbers of the last labels, after as many labels as were known to a row that came late.
    wanted, recent = set(n_known[is_late].tolist()), {0: state.recent.copy()}
    cuts = sorted({0, len(x), *wanted, *np.flatnonzero(is_late), *(np.flatnonzero(is_late) + 1)})
    for start, stop in pairwise(cuts):
        if start in wanted:
            recent[start] = state.recent.copy()
        some = labels.part(start, stop)
        own_steps = None if steps is None else steps[start:stop]
        if is_late[start]:
            _replay_late_row(ensemble, state, x[start:stop], some, recent[int(n_known[start])], own_steps)
        else:
            for _ in learn_labelled(ensemble, state, x[start:stop], some, ens.PassOptions(is_live=False), own_steps):
                pass


def _replay_late_row(
    ensemble: Ensemble, state: State, x: Float, labels: Weighted, recent: Float, steps: Float | None
) -> None:
    """Learn one row that saw these labels; later rows see its own, or its prediction if it is a glitch."""
    rows = with_known_lags(ensemble.lags, recent, x, 1)
    before = state._replace(rows=state.rows.copy(), far=state.far.copy())
    plain = ensemble._replace(lags=NO_LAGS)
    (own,) = learn_labelled(plain, state, rows, labels, ens.PassOptions(is_live=False), steps)
    is_glitch = (
        bool(own.mean.size)
        and is_far(ensemble.glitch, labels.y[0], own.mean[0], own.std[0])
        and is_left_out(before, labels.y[0] - own.mean[0])
    )
    remember(ensemble.lags, state.recent, own.mean if is_glitch else labels.y)


def _fitted(model: Online, inputs: Inputs, x: Float, y: Float) -> Experts:
    """Experts fitted to standardised rows; if some labels are glitches, to the others."""
    settings, used = model.settings, _rows_to_fit(model, y)
    rows = x if model.rows_bring_lags else _lagged(model, inputs, x, y)
    experts = fit_experts(settings, inputs, rows[used], y[used], model.n_outputs)
    if not settings.robust or settings.likelihood != "gaussian":
        return experts
    is_usual, means = usual_labels(experts.ensemble, rows[used], y[used])
    if is_usual.all():
        return experts
    glitches = np.flatnonzero(used)[~is_usual]
    used[glitches] = False
    if not model.rows_bring_lags:
        # Later rows see in place of a glitch what was expected, as after the warm-up.
        y = y.copy()
        y[glitches] = means[~is_usual]
        rows = _lagged(model, inputs, x, y)
    return fit_experts(settings, inputs, rows[used], y[used], model.n_outputs)


def _lagged(model: Online, inputs: Inputs, x: Float, y: Float) -> Float:
    """The first rows of a stream with their lags, for fitting: a glitch counts as the farthest usual label."""
    lags, settings = inputs.lags, model.settings
    if settings.robust and settings.likelihood == "gaussian":
        y = np.clip(y, -FARTHEST_USUAL, FARTHEST_USUAL)
    if model.kept_known is not None:
        return with_lags_seen(lags, x, y, model.kept_known)
    rows: Float = with_lags(lags, np.zeros((lags.n_recent, lags.table.shape[1])), x, y)
    return rows


def _rows_to_fit(model: Online, y: Float) -> Bool:
    """(n,): rows that hyperparameters are fitted to, all alike: usual ones, of those that count."""
    usual = _usual_rows(model.settings, y)
    if model.kept_weights is None:
        return usual
    counts = model.kept_weights > 0.0
    return usual & counts if (usual & counts).any() else counts


def _usual_rows(settings: Settings, y: Float) -> Bool:
    """(n,): rows with labels that hyperparameters may be fitted to; those far from all others are glitches."""
    if not settings.robust or settings.likelihood != "gaussian":
        return np.ones(len(y), dtype=bool)
    usual = np.all(np.abs(y) <= FARTHEST_USUAL, axis=1)
    return np.asarray(usual if usual.mean() >= 1.0 - MOST_UNUSUAL else np.ones(len(y), dtype=bool))
