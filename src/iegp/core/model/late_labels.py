"""Rows that are predicted first and learned when their labels come, in any order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from iegp.core import changes as chg
from iegp.core import conformal as conf
from iegp.core import ensemble as ens
from iegp.core.clock import Clock, checked_times
from iegp.core.lags import with_lags_seen
from iegp.core.late import Asked, Label, ask_rows, learn_asked_row
from iegp.core.late import mixture as late_mixture
from iegp.core.model.online import (
    Online,
    catch_up,
    check_shapes,
    move_clock,
    release_times,
    standardised_rows,
    usual_labels,
)
from iegp.core.model.warmup import keep_rows
from iegp.core.predictive.components import Components
from iegp.core.weighted import Weighted
from iegp.typing import Float


def ask(model: Online, x: Float, n_steps: int, time: Float | None = None) -> Asked:
    """Predict consecutive rows, the first of them so many rows after the last that was learned. Changes nothing.

    ``time`` (n,) is needed where drift is per unit of time.
    """
    check_shapes(model, x)
    units = np.stack([model.scaling.y_mean, model.scaling.y_scale])
    n, times = len(x), checked_times(model.clock, time, len(x))
    lead = ens.Lead(n_steps + np.arange(float(n)), np.ones(n), 1)
    if model.clock is not None and times is not None:
        elapsed = model.clock.steps_since(np.full(n, model.clock.last), times)
        lead = lead._replace(walk=elapsed, noise=elapsed)
    rows = standardised_rows(model, x)
    asked = ask_rows(model.ensemble, model.state, rows, lead, units)
    return asked._replace(lags=rows[:, model.n_columns :].copy()) if model.rows_bring_lags else asked


def learn_asked(model: Online, x: Float, label: Label, time: Float | None = None) -> None:
    """Learn a row (1, d) that was predicted earlier, with its label. ``model`` is changed if all went well.

    ``time`` (1,) is needed where drift is per unit of time.
    """
    check_shapes(model, x, label.y)
    draft = replace(model, state=model.state.copy())
    catch_up(draft)
    if draft.clock is not None:
        label, time = _spaced(draft.clock, label, time)
    elif label.n_steps > 0:
        pass_rows(draft, label.n_steps - 1)
    else:
        label = label._replace(walk=float(-label.n_steps))
    label = label._replace(lags=_lags_seen(model, label))
    learn_asked_row(
        draft.ensemble, draft.state, standardised_rows(model, x), model.scaling.standardise_y(label.y), label
    )
    _follow_late(draft, label)
    move_clock(draft, time)
    if draft.is_warming_up:
        keep_rows(draft, x, Weighted(label.y, None), label.n_known)
    release_times(draft)
    model.__dict__.update(draft.__dict__)


def note_asked(model: Online) -> int | None:
    """Rows were predicted in the warm-up that may be labelled later: how many labels they know of.

    None where that is of no use later: the lags of rows are stored with their answers once experts do not change any
    more, and rows that bring their lags keep them.
    """
    if not model.is_warming_up or not len(model.ensemble.lags.offsets) or model.waiting is not None:
        return None
    n = len(model.kept_x)
    if model.kept_known is None:
        model.kept_known = np.arange(n)
    return n


def _lags_seen(model: Online, label: Label) -> Float | None:
    """(1, columns): lags that a row was predicted with, as the experts of now see them; None if that is not known."""
    if model.rows_bring_lags:
        return np.empty((1, 0))
    if label.lags is not None or label.asked is not None or label.n_known is None:
        return label.lags if label.asked is None else label.asked.lags
    known = model.kept_y if model.is_warming_up else model.warmup_labels
    if known is None:
        return None
    y = known[: label.n_known]
    y = usual_labels(model, y) if model.settings.likelihood == "gaussian" else y
    return with_lags_seen(model.ensemble.lags, np.empty((1, 0)), y, np.array([label.n_known]))


def _follow_late(model: Online, label: Label) -> None:
    """What follows the labels of rows, where one comes late: judged by the answer that was given."""
    if label.asked is None or (model.conformal is None and model.changes is None):
        return
    dist = late_mixture(model.ensemble, label.asked)
    pit = dist.cdf(label.y).reshape(label.y.shape)
    if model.conformal is not None and label.interval is not None:
        components = Components(dist.weights, dist.loc, dist.scale, dist.dof)
        score = float(conf.scores_of(components, label.y, pit)[0, 0])
        model.conformal = conf.learn_late(model.conformal, score, label.interval, float(label.y[0, 0]))
    if model.changes is not None and not model.is_warming_up:
        centre, scale = label.asked.units
        predicted = (dist.mean.reshape(pit.shape) - centre) / scale
        new = np.concatenate([chg.scores_from(pit), predicted], axis=1)
        model.changes = chg.watch(model.changes, new, chg.Span(model.n_seen - 1, overlap=label.delay + 1))


def _spaced(clock: Clock, label: Label, time: Float | None) -> tuple[Label, Float]:
    """A label with the steps between its row and the last that was learned, and the time to which the clock moves."""
    newest = np.array([clock.newest])
    times = checked_times(clock, None if time is None else np.fmax(time, newest), 1)
    assert time is not None
    assert times is not None
    if label.n_steps > 0:
        steps = float(clock.steps_since(newest, times)[0])
        return label._replace(walk=steps, noise=steps), times
    # The noise is of now, and no time has passed since the last row.
    return label._replace(walk=float(clock.steps_since(time, newest)[0]), noise=0.0), times


def pass_rows(model: Online, n_rows: int) -> None:
    """So many rows pass without labels: what is learned next lies behind them. Changes the state in place.

    Where drift is per unit of time, the time of that row says so.
    """
    if model.clock is None and n_rows > 0:
        ens.walk(model.experts.ensemble, model.state, float(n_rows))
        model.n_passed += n_rows
