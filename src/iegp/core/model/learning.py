"""Passes over rows: predict each one, then learn it; or learn without keeping predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from iegp.core import changes as chg
from iegp.core import ensemble as ens
from iegp.core.batch_view import batch_view
from iegp.core.clock import checked_times
from iegp.core.compute.tolerances import FEW_ROWS, MOST_UNFOLLOWED
from iegp.core.delay import learn_delayed
from iegp.core.expert.sweep import Rows
from iegp.core.followers import Followers
from iegp.core.likelihoods import named
from iegp.core.model.online import (
    Online,
    catch_up,
    check_shapes,
    known_latest,
    move_clock,
    parts_of_latest,
    release_times,
    standardised_rows,
    standardised_waiting,
)
from iegp.core.model.warmup import keep_rows, rows_to_last_refit, rows_to_refit
from iegp.core.predictions import Predictions, in_user_units
from iegp.core.weighted import Weighted, learn_labelled
from iegp.errors import InputError
from iegp.typing import Float


def learn(
    model: Online,
    x: Float,
    y: Float | Weighted,
    n_threads: int = 1,
    level: float | None = None,
    time: Float | None = None,
) -> Predictions:
    """Predict every row, then learn it, in order. ``model`` is changed only if every row went well.

    ``y`` may come with the weights of the rows. ``level`` asks for central intervals. ``time`` (n,) is needed where
    drift is per unit of time.
    """
    return Predictions.concatenate(list(_pass(model, x, _labelled(model, y), n_threads, level, time)))


def fit(model: Online, x: Float, y: Float, n_threads: int = 1, time: Float | None = None) -> None:
    """Learn the first rows of a model in order, and how well it predicts many rows at once.

    Where drift is per unit of time, ``time`` says how far ahead a row is that is predicted, and there is no such view.
    """
    absorb(model, x, y, n_threads, time)
    view_batch(model, x, y)


def view_batch(model: Online, x: Float, y: Float) -> None:
    """Learn how well many rows at once are predicted, from all rows that the model has learned."""
    if model.clock is None:
        model.batch = batch_view(model.ensemble, standardised_rows(model, x), model.scaling.standardise_y(y))


def absorb(model: Online, x: Float, y: Float | Weighted, n_threads: int = 1, time: Float | None = None) -> None:
    """Learn the rows in order and keep nothing of what was predicted: memory does not grow with their number."""
    labels = _labelled(model, y)
    y = labels.y
    if labels.weights is None and _is_quick(model, len(x)):
        check_shapes(model, x, y)
        _absorb_few(model, x, y, checked_times(model.clock, time, len(x)))
        return
    is_followed = model.waiting is not None or model.clock is not None or model.conformal is not None
    if not model.is_warming_up or is_followed:
        for _ in _pass(model, x, labels, n_threads, None, time):
            pass
        return
    check_shapes(model, x, y)
    draft = replace(model, state=model.state.copy(), batch=None)
    # A refit replays all rows of the warm-up: what a refit before it finds is of use only where rows are predicted.
    n_kept = rows_to_last_refit(draft, len(x))
    if n_kept:
        # Values that cannot be learned are refused before anything is fitted to them.
        standardised_rows(draft, x[:n_kept])
        draft.scaling.standardise_y(y[:n_kept])
        keep_rows(draft, x[:n_kept], labels.part(0, n_kept))
        _count_weights(draft, labels.part(0, n_kept))
    if n_kept < len(x):
        for _ in _pass(draft, x[n_kept:], labels.part(n_kept, len(x)), n_threads, None, time):
            pass
    model.__dict__.update(draft.__dict__)


def _absorb_few(model: Online, x: Float, y: Float, times: Float | None) -> None:
    """Learn a handful of rows as in a pass, without predictions in the user's units."""
    steps = _steps(model, times)
    rows = Rows(
        standardised_rows(model, x), model.scaling.standardise_y(y), np.ones(len(x)) if steps is None else steps
    )
    n_before = model.state.rows[0]
    try:
        weighed = ens.Weighed(*ens.learn_few(model.ensemble, model.state, rows), rows.y)
    finally:
        # An interruption comes before the call or after it, and the clock follows.
        if model.clock is not None and times is not None and model.state.rows[0] > n_before:
            model.clock = model.clock.after_learned(times)
    model.batch = None
    if model.conformal is not None or model.changes is not None:
        model.unfollowed = (*model.unfollowed, weighed)
        if times is not None:
            model.unfollowed_times = (*model.unfollowed_times, times)
    if len(model.unfollowed) >= MOST_UNFOLLOWED:
        catch_up(model)


def _labelled(model: Online, y: Float | Weighted) -> Weighted:
    """Labels with weights, if there are any."""
    labels = y if isinstance(y, Weighted) else Weighted(y, None)
    if labels.weights is not None and model.waiting is not None:
        raise InputError(
            f"weights of rows are not available with delay={model.settings.delay}: rows that wait for their labels "
            "have none. Leave out one of them; the model is unchanged."
        )
    return labels


def _is_quick(model: Online, n_rows: int) -> bool:
    """Whether rows are learned in one compiled call, which cannot fail halfway."""
    return n_rows <= FEW_ROWS and not model.is_warming_up and _cannot_fail(model) and model.waiting is None


def _cannot_fail(model: Online) -> bool:
    """Whether rows that passed the checks are always learned to the end; a user's likelihood may raise an error."""
    return model.settings.likelihood == "gaussian" or named(model.settings.likelihood).never_fails


def _pass(
    model: Online, x: Float, labels: Weighted, n_threads: int, level: float | None, time: Float | None
) -> Iterator[Predictions]:
    """Predictions of consecutive rows; the model takes over what was learned after the last one."""
    check_shapes(model, x, labels.y)
    if model.conformal is not None and level is not None:
        model.conformal.number_of(level)
    times = checked_times(model.clock, time, len(x))
    if labels.weights is None and _is_quick(model, len(x)):
        n_before = model.state.rows[0]
        try:
            # No copy is needed.
            yield from _learn_rows(model, x, labels, n_threads, level, times)
        finally:
            # An interruption comes before the call or after it, and the clock follows.
            if model.state.rows[0] > n_before:
                model.batch = None
                move_clock(model, times)
                release_times(model)
        return
    known = None if model.waiting is None else known_latest(model)
    draft = replace(model, state=model.state.copy(), batch=None, latest=None)
    if known is not None:
        draft.latest = known._replace(of=parts_of_latest(draft))
    position = 0
    while True:  # at least once, so that even no rows have predictions
        stop = min(len(x), position + rows_to_refit(draft))
        rows_x, own = x[position:stop], labels.part(position, stop)
        rows_time = None if times is None else times[position:stop]
        if draft.waiting is None:
            yield from _learn_rows(draft, rows_x, own, n_threads, level, rows_time)
        else:
            predictions, rows_x, rows_y = _learn_late(draft, rows_x, own.y, level, rows_time)
            own = Weighted(rows_y, None)
            yield predictions
        position = stop
        move_clock(draft, rows_time)
        if draft.is_warming_up:
            keep_rows(draft, rows_x, own)
        release_times(draft)
        if position >= len(x):
            break
    _count_weights(draft, labels)
    model.__dict__.update(draft.__dict__)


def _count_weights(model: Online, labels: Weighted) -> None:
    """A state may have learned so much more than its number of rows says."""
    if labels.weights is not None:
        model.extra_weight = (model.extra_weight or 0.0) + float(np.maximum(labels.weights - 1.0, 0.0).sum())


def _steps(model: Online, times: Float | None) -> Float | None:
    """(n,): steps between the next rows; None where they are one each."""
    return None if model.clock is None or times is None else model.clock.steps(times, model.clock.newest)


def _learn_rows(
    model: Online, x: Float, labels: Weighted, n_threads: int, level: float | None, times: Float | None
) -> Iterator[Predictions]:
    x, y, weights = standardised_rows(model, x), model.scaling.standardise_y(labels.y), labels.weights
    followers = _followers(model, times)
    if followers is not None and weights is not None:
        followers.ignored = weights == 0.0
    options = ens.PassOptions(n_threads, level, not model.is_warming_up, followers=followers)
    steps = _steps(model, times)
    for predictions in learn_labelled(model.ensemble, model.state, x, Weighted(y, weights), options, steps):
        _keep_followers(model, followers)
        yield in_user_units(predictions, model.ensemble, model.scaling)


def _followers(model: Online, times: Float | None) -> Followers | None:
    """What follows the next rows."""
    catch_up(model)
    if model.conformal is None and model.changes is None:
        return None
    delay = model.settings.delay
    span = chg.Span(model.n_seen, times, delay, delay + 1)
    # Before the first label has come there is a refit to come, and nothing before it.
    is_blind = model.is_warming_up and not len(model.kept_x)
    return Followers(model.conformal, model.changes, span, is_blind, model.is_warming_up)


def _keep_followers(model: Online, followers: Followers | None) -> None:
    if followers is not None:
        model.conformal, model.changes = followers.conformal, followers.changes


def _learn_late(
    model: Online, x: Float, y: Float, level: float | None, times: Float | None
) -> tuple[Predictions, Float, Float]:
    """Predict rows whose labels come late; also returns the rows that arrived meanwhile, in the user's units."""
    assert model.waiting is not None
    ensemble, before = model.experts.ensemble, model.waiting
    steps = _steps(model, times)
    new = Rows(standardised_rows(model, x), model.scaling.standardise_y(y), np.ones(len(x)) if steps is None else steps)
    followers, known = _followers(model, times), known_latest(model)
    options = ens.PassOptions(level=level, is_timed=steps is not None, followers=followers)
    found, after = learn_delayed(
        ensemble, model.state, standardised_waiting(model, before), new, model.settings.delay, options
    )
    _keep_followers(model, followers)
    rows_x, rows_y = np.concatenate([before.x, x]), np.concatenate([before.y, y])
    n_arrived = len(rows_x) - len(after.x)
    model.waiting = after._replace(x=rows_x[n_arrived:].copy(), y=rows_y[n_arrived:].copy())
    if known is not None:
        model.latest = known._replace(of=parts_of_latest(model), n_missing=known.n_missing + len(x))
    return in_user_units(found, ensemble, model.scaling), rows_x[:n_arrived], rows_y[:n_arrived]
