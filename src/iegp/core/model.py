"""An ensemble that starts from nothing: warm-up, scaling and experts around the rows it is given, in the user's units.

Until ``warmup`` rows have been seen they are kept. At 1, 2 and 4 rows the scaling is refreshed; at 8, 12, 16, ..., 32,
then at 64, 128, ... and finally at ``warmup`` rows, scaling and hyperparameters are refitted (from 32 rows on where
labels are not Gaussian, whose evidence says nothing of fewer). Each time beliefs are
rebuilt by replaying the rows. Weights are those of the replay, in which each row was predicted before it was learned,
except where weights are posterior probabilities of Gaussian experts: an in-sample replay would shut experts down, so
they start equal. All this depends on the number of rows alone, never on how they were cut into calls. After ``warmup``
rows nothing is kept and memory is flat.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from iegp.core import changes as chg
from iegp.core import conformal as conf
from iegp.core import ensemble as ens
from iegp.core import functions
from iegp.core import scaling as scale
from iegp.core.batch_view import BatchView, batch_view
from iegp.core.clock import Clock, checked_times, new_clock, times_to_predict
from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import (
    FARTHEST_LINEAR,
    FARTHEST_USUAL,
    FASTEST_REPLAY,
    FEW_ROWS,
    FIRST_FIT,
    FIRST_STEP,
    MANY_ROWS,
    MOST_UNFOLLOWED,
    MOST_UNUSUAL,
    PREDICT_ROWS,
    REPLAY_ROWS,
)
from iegp.core.delay import Waiting, learn_delayed, none_waiting, with_all_arrived
from iegp.core.expert.sweep import Rows
from iegp.core.fitting.experts import Experts, default_experts, fit_experts
from iegp.core.fitting.seasonal import with_seasons
from iegp.core.kernels import Inputs
from iegp.core.lags import NO_LAGS, label_numbers, lags_from, remember, with_lags
from iegp.core.late import Asked, Label, ask_rows, learn_asked_row
from iegp.core.late import mixture as late_mixture
from iegp.core.likelihoods import named
from iegp.core.likelihoods.mixture import LatentMixture
from iegp.core.predictions import Predictions, in_user_units
from iegp.core.predictive.components import Components
from iegp.core.predictive.counts import CountMixture
from iegp.core.predictive.mixture import Mixture
from iegp.core.scaling import Scaling
from iegp.core.settings import Settings, check_whole
from iegp.core.state import Ensemble, State
from iegp.core.weighted import Weighted, WeightedRows
from iegp.core.weighted import learn_chunks as learn_weighted
from iegp.errors import InputError
from iegp.typing import Bool, Float


class Latest(NamedTuple):
    """A state in which the labels of rows that wait have arrived, all but those of the last ``n_missing`` rows."""

    state: State
    of: tuple[State, Waiting, Experts, Scaling]
    """The parts of the model that it belongs to."""
    n_missing: int


@dataclass
class Online:
    """A model in the middle of a stream. ``kept_x`` and ``kept_y`` hold the rows of an unfinished warm-up.

    ``column_keys`` identify the columns: their frequencies are drawn by these numbers (0, 1, ... by default). With
    ``fills_gaps`` a NaN in x is a value that is absent: it counts as the centre of its column, zero once standardised.
    """

    settings: Settings
    scaling: Scaling
    experts: Experts
    state: State
    kept_x: Float
    kept_y: Float
    is_warming_up: bool
    column_keys: tuple[int, ...]
    fills_gaps: bool = False
    n_warmup_learned: int = 0
    """Rows of the warm-up that beliefs hold and weights do not: these started anew after it."""
    waiting: Waiting | None = None
    """With a delay: rows whose labels have not arrived, in the user's units."""
    clock: Clock | None = None
    """Where drift is per unit of time: when rows came."""
    batch: BatchView | None = None
    """Weights and noise for predicting many rows at once, from :func:`fit` until something else is learned."""
    conformal: conf.Conformal | None = None
    """Where intervals keep their level: what is tracked."""
    changes: chg.Changes | None = None
    """Of Gaussian labels: changes of the stream that were noticed; None where nothing is watched, as in a fleet."""
    unfollowed: tuple[ens.Weighed, ...] = field(default=(), repr=False, compare=False)
    """Single rows that ``conformal`` and ``changes`` do not know yet: together they take less time. Never stored; see
    :func:`followed`."""
    n_passed: int = 0
    """Rows that passed without a label (:func:`pass_rows`): steps of the walk beside those of the rows learned."""
    kept_weights: Float | None = None
    """(n,): weights of the rows that are kept; None if all count alike."""
    extra_weight: float | None = None
    """By how much the weights of rows exceeded one, in sum; None if there never were weights."""
    rows_bring_lags: bool = False
    """Whether rows bring their lags (:func:`bringing_lags`), because the rows before them are of other keys."""
    latest: Latest | None = field(default=None, repr=False, compare=False)
    """With a delay: what :func:`latest_state` found; never stored."""

    @property
    def n_seen(self) -> int:
        """Rows seen so far, those that wait for their labels included."""
        return int(self.state.rows[0]) + (0 if self.waiting is None else len(self.waiting.x))

    @property
    def n_columns(self) -> int:
        return len(self.scaling.x_mean)

    @property
    def n_row_columns(self) -> int:
        """Columns of the rows that it is given: lags follow, where rows bring them."""
        return self.n_columns + (self.experts.ensemble.lags.n_columns if self.rows_bring_lags else 0)

    @property
    def ensemble(self) -> Ensemble:
        """The experts as rows are predicted and learned: lags that rows bring are columns like any others."""
        ensemble = self.experts.ensemble
        return ensemble._replace(lags=NO_LAGS) if self.rows_bring_lags else ensemble

    @property
    def inputs(self) -> Inputs:
        """What kernels have to know of the columns."""
        return Inputs.of(self.column_keys, self.scaling.x_scale, self.experts.ensemble.lags)

    @property
    def n_outputs(self) -> int:
        """Outputs of a regression, classes of a classification, 1 for counts."""
        return self.experts.ensemble.n_classes or self.state.vector.shape[1]


def label_columns(settings: Settings, n_outputs: int) -> int:
    """Columns of y: the outputs, a class number, or a count and its exposure."""
    return n_outputs if settings.likelihood == "gaussian" else named(settings.likelihood).label_columns


def begin(
    settings: Settings,
    n_columns: int,
    n_outputs: int,
    column_keys: Sequence[int] | None = None,
    fills_gaps: bool = False,
) -> Online:
    """A model that has seen nothing; ``n_outputs`` is the number of classes where labels are classes."""
    keys = tuple(range(n_columns)) if column_keys is None else tuple(column_keys)
    n_labels = label_columns(settings, n_outputs)
    scaling = scale.identity(n_columns, n_labels)
    lags = lags_from(settings.lags, settings.likelihood, np.empty((0, n_labels)), n_outputs)
    experts = default_experts(settings, Inputs.of(keys, scaling.x_scale, lags), n_outputs)
    warms_up = settings.warmup > 0 and not settings.has_nothing_to_fit
    return Online(
        settings=settings,
        scaling=scaling,
        experts=experts,
        state=ens.start(experts.ensemble),
        kept_x=np.empty((0, n_columns)),
        kept_y=np.empty((0, n_labels)),
        is_warming_up=warms_up,
        column_keys=keys,
        fills_gaps=fills_gaps,
        waiting=none_waiting(experts.ensemble, n_columns, n_labels) if settings.delay else None,
        clock=new_clock(warms_up) if settings.drift_per == "time" else None,
        conformal=conf.begin(settings.conformal, n_outputs) if settings.conformal else None,
        changes=chg.begin(n_outputs) if settings.likelihood == "gaussian" else None,
    )


def bringing_lags(model: Online) -> Online:
    """The same model, which has seen nothing, for rows of many keys that bring their lags.

    These are further columns of x, in the order of :class:`~iegp.core.lags.Lags`: labels of earlier rows of the key, in
    the units of y, NaN where there is none. Labels are Gaussian and come without delay.
    """
    if model.settings.auto_lags:
        raise InputError("lags='auto' looks for seasons in rows of one key; name the lags, such as lags=(1, 2, 3, 24)")
    if model.n_seen or model.waiting is not None or model.settings.likelihood != "gaussian":
        raise InputError("rows bring their lags to a new model of numbers whose labels come without delay")
    model = replace(model, rows_bring_lags=True)
    return replace(model, kept_x=np.empty((0, model.n_row_columns)))


def without_brought_lags(model: Online, labels: Float) -> Online:
    """A copy, past its warm-up, for the rows of one key: ``labels`` (n, outputs) are its last ones, oldest first."""
    state = model.state.copy()
    lags = model.experts.ensemble.lags
    state.recent[:] = 0.0
    if len(labels):
        remember(lags, state.recent, _usual_labels(model, labels))
    return replace(model, state=state, rows_bring_lags=False, kept_x=model.kept_x[:, : model.n_columns])


def warmed_up(settings: Settings, x: Float, y: Float, n_outputs: int | None = None) -> Online:
    """A model whose scaling and hyperparameters come from these rows; it learns them if the settings say so.

    ``n_outputs`` is the number of classes, if labels are classes.
    """
    return warm_up(begin(settings, x.shape[1], n_outputs or y.shape[1]), x, y)


def warm_up(model: Online, x: Float, y: Float, time: Float | None = None) -> Online:
    """The same for a model that has seen nothing."""
    settings, times = model.settings, checked_times(model.clock, time, len(x))
    _move_clock(model, times)
    model = _refit(model, x, y, fit=True, is_last=True)
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


def rows_before_a_label(model: Online, n_rows: int) -> int:
    """How many of the next ``n_rows`` rows are predicted before any label is known."""
    if not model.is_warming_up:
        return 0
    return min(max(model.settings.delay + 1 - model.n_seen, 0), n_rows)


def latest_state(model: Online) -> State:
    """The state in which every label that was handed over has arrived; kept, so that the next one adds new rows."""
    if model.waiting is None:
        return model.state
    n_waiting, known = len(model.waiting.x), _known_latest(model)
    if known is None or known.n_missing > n_waiting:
        known = Latest(model.state, _parts_of_latest(model), n_waiting)
    if known.n_missing or known.state is model.state:
        rows = _standardised(model, model.waiting).part(n_waiting - known.n_missing, n_waiting)
        model.latest = known._replace(state=with_all_arrived(model.ensemble, known.state, rows), n_missing=0)
        return model.latest.state
    return known.state


def _parts_of_latest(model: Online) -> tuple[State, Waiting, Experts, Scaling]:
    assert model.waiting is not None
    return model.state, model.waiting, model.experts, model.scaling


def _known_latest(model: Online) -> Latest | None:
    """What :func:`latest_state` found, if it is of the model as it is."""
    if model.latest is None:
        return None
    now = _parts_of_latest(model)
    return model.latest if all(one is other for one, other in zip(now, model.latest.of, strict=True)) else None


def _standardised(model: Online, waiting: Waiting) -> Waiting:
    steps = waiting.steps
    if model.clock is not None:
        held = model.clock.held
        steps = model.clock.steps(held[len(held) - len(waiting.x) :], model.clock.last)
    return waiting._replace(x=_x(model, waiting.x), y=model.scaling.standardise_y(waiting.y), steps=steps)


def _view(model: Online, n_rows: int, horizon: int | None, time: Float | None) -> tuple[State, int, Float | None]:
    """The state that predicts, how many rows ahead, and how much time (n,) if it is known."""
    if horizon is not None and time is not None:
        raise InputError(
            f"horizon={horizon!r} and times are given (time, or the column that time_column names), which both say how "
            "far ahead rows are; leave one of them out"
        )
    elapsed = _elapsed(model, time, n_rows)
    if horizon is not None:
        check_whole("horizon", horizon, 1)
        return latest_state(model), int(horizon), None
    if model.batch is not None:
        return model.batch.of(latest_state(model)), model.batch.n_steps, None
    return latest_state(model), model.settings.delay + 1, elapsed


def _elapsed(model: Online, time: Float | None, n_rows: int) -> Float | None:
    """(n,): steps from the last row to those that are to be predicted; None if these come as rows do."""
    if time is None:
        return None
    times = times_to_predict(model.clock, time, n_rows)
    assert model.clock is not None
    return model.clock.steps_since(np.full(n_rows, model.clock.newest), times)


def predict(model: Online, x: Float, horizon: int | None = None, time: Float | None = None) -> Mixture:
    """Predictive distribution of each row, were it so many rows ahead, or came at its ``time`` (n,). Changes nothing.

    By default it is the next one whose label can be known; after a fit, one of many rows that are predicted at once.
    """
    _check_shapes(model, x)
    ensemble, (state, n_steps, elapsed) = model.ensemble, _view(model, len(x), horizon, time)
    if len(x) <= FEW_ROWS:
        return to_user_mixture(model.scaling, ens.predict(ensemble, state, _x(model, x), n_steps, elapsed))
    with one_blas_thread():
        parts = [
            ens.predict(ensemble, state, _x(model, x[some]), n_steps, None if elapsed is None else elapsed[some])
            for some in _parts(len(x))
        ]
    return to_user_mixture(model.scaling, Mixture.concatenate(parts))


def interval(model: Online, dist: Mixture, level: float) -> tuple[Float, Float]:
    """Ends (n, D) of the intervals of rows that come next, whose distribution is ``dist``."""
    components = Components(dist.weights, dist.loc, dist.scale, dist.dof)
    conformal, _ = followed(model)
    if conformal is None:
        lower, upper = replace(dist, single_output=False).interval(level)
        return lower, upper
    return conf.next_interval(conformal, components, level, model.settings.delay)


def _parts(n: int) -> list[slice]:
    return [slice(i, i + PREDICT_ROWS) for i in range(0, n, PREDICT_ROWS)]


def predict_classes(model: Online, x: Float, horizon: int | None = None, time: Float | None = None) -> Float:
    """Class probabilities (n, K) of each row, as :func:`predict`. Changes nothing."""
    _check_shapes(model, x)
    ensemble, (state, n_steps, elapsed) = model.ensemble, _view(model, len(x), horizon, time)
    if len(x) <= FEW_ROWS:
        return ens.predict_classes(ensemble, state, _x(model, x), n_steps, elapsed)
    with one_blas_thread():
        parts = [
            ens.predict_classes(
                ensemble, state, _x(model, x[some]), n_steps, None if elapsed is None else elapsed[some]
            )
            for some in _parts(len(x))
        ]
    return np.concatenate(parts)


def predict_counts(
    model: Online, x: Float, exposure: Float, horizon: int | None = None, time: Float | None = None
) -> CountMixture | LatentMixture:
    """Predictive distribution of each row's count under its exposure (n,), as :func:`predict`. Changes nothing."""
    _check_shapes(model, x)
    ensemble, (state, n_steps, elapsed) = model.ensemble, _view(model, len(x), horizon, time)
    found: CountMixture | LatentMixture
    if len(x) <= FEW_ROWS:
        found = ens.predict_counts(ensemble, state, _x(model, x), exposure, n_steps, elapsed)
        return found
    with one_blas_thread():
        found = ens.predict_counts(ensemble, state, _x(model, x), exposure, n_steps, elapsed)
        return found


def covariance(model: Online, x: Float, horizon: int | None, with_noise: bool) -> Float:
    """Covariance (n, n, D) between the labels of rows, or between values of the function, as :func:`predict`."""
    _check_shapes(model, x)
    state, n_steps, _ = _view(model, len(x), horizon, None)
    with one_blas_thread():
        found = functions.covariance(model.experts.ensemble, state, _x(model, x), n_steps, with_noise)
    return found * model.scaling.y_scale**2


def function_std(model: Online, x: Float, horizon: int | None) -> Float:
    """Standard deviation (n, D) of the function, without the noise of the labels, as :func:`predict`."""
    _check_shapes(model, x)
    state, n_steps, _ = _view(model, len(x), horizon, None)
    with one_blas_thread():
        parts = [
            functions.function_variance(model.experts.ensemble, state, _x(model, x[some]), n_steps)
            for some in _parts(len(x))
        ]
    return np.sqrt(np.concatenate(parts)) * model.scaling.y_scale


def draw(model: Online, size: int, horizon: int | None, rng: np.random.Generator) -> functions.Draws:
    """Functions that the model believes in, for standardised rows and in standardised units."""
    state, n_steps, _ = _view(model, 0, horizon, None)
    with one_blas_thread():
        return functions.draw(model.experts.ensemble, state, n_steps, size, rng)


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
        model.batch = batch_view(model.ensemble, _x(model, x), model.scaling.standardise_y(y))


def _labelled(model: Online, y: Float | Weighted) -> Weighted:
    """Labels with weights, if there are any."""
    labels = y if isinstance(y, Weighted) else Weighted(y, None)
    if labels.weights is not None and model.waiting is not None:
        raise InputError(
            f"weights of rows are not available with delay={model.settings.delay}: rows that wait for their labels "
            "have none. Leave out one of them; the model is unchanged."
        )
    return labels


def absorb(model: Online, x: Float, y: Float | Weighted, n_threads: int = 1, time: Float | None = None) -> None:
    """Learn the rows in order and keep nothing of what was predicted: memory does not grow with their number."""
    labels = _labelled(model, y)
    y = labels.y
    if labels.weights is None and time is None and model.clock is None and _is_quick(model, len(x)):
        _check_shapes(model, x, y)
        # As in a pass, without predictions in the user's units.
        rows = Rows(_x(model, x), model.scaling.standardise_y(y), np.ones(len(x)))
        weighed = ens.Weighed(*ens.learn_few(model.ensemble, model.state, rows), rows.y)
        model.batch = None
        if model.conformal is not None or model.changes is not None:
            model.unfollowed = (*model.unfollowed, weighed)
        if len(model.unfollowed) >= MOST_UNFOLLOWED:
            _catch_up(model)
        return
    is_followed = model.waiting is not None or model.clock is not None or model.conformal is not None
    if not model.is_warming_up or is_followed:
        for _ in _pass(model, x, labels, n_threads, None, time):
            pass
        return
    _check_shapes(model, x, y)
    draft = replace(model, state=model.state.copy(), batch=None)
    # A refit replays all rows of the warm-up: what a refit before it finds is of use only where rows are predicted.
    n_kept = _rows_to_last_refit(draft, len(x))
    if n_kept:
        # Values that cannot be learned are refused before anything is fitted to them.
        _x(draft, x[:n_kept])
        draft.scaling.standardise_y(y[:n_kept])
        _keep(draft, x[:n_kept], labels.part(0, n_kept))
        _count_weights(draft, labels.part(0, n_kept))
    if n_kept < len(x):
        for _ in _pass(draft, x[n_kept:], labels.part(n_kept, len(x)), n_threads, None, time):
            pass
    model.__dict__.update(draft.__dict__)


def _is_quick(model: Online, n_rows: int) -> bool:
    """Whether rows are learned in one compiled call, which cannot fail halfway."""
    return n_rows <= FEW_ROWS and not model.is_warming_up and _cannot_fail(model) and model.waiting is None


def _pass(
    model: Online, x: Float, labels: Weighted, n_threads: int, level: float | None, time: Float | None
) -> Iterator[Predictions]:
    """Predictions of consecutive rows; the model takes over what was learned after the last one."""
    _check_shapes(model, x, labels.y)
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
                _move_clock(model, times)
                _let_go_of_times(model)
        return
    known = None if model.waiting is None else _known_latest(model)
    draft = replace(model, state=model.state.copy(), batch=None, latest=None)
    if known is not None:
        draft.latest = known._replace(of=_parts_of_latest(draft))
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
        _move_clock(draft, rows_time)
        if draft.is_warming_up:
            _keep(draft, rows_x, own)
        _let_go_of_times(draft)
        if position >= len(x):
            break
    _count_weights(draft, labels)
    model.__dict__.update(draft.__dict__)


def _count_weights(model: Online, labels: Weighted) -> None:
    """A state may have learned so much more than its number of rows says."""
    if labels.weights is not None:
        model.extra_weight = (model.extra_weight or 0.0) + float(np.maximum(labels.weights - 1.0, 0.0).sum())


def _cannot_fail(model: Online) -> bool:
    """Whether rows that passed the checks are always learned to the end; a user's likelihood may raise an error."""
    return model.settings.likelihood == "gaussian" or named(model.settings.likelihood).is_trusted


def _move_clock(model: Online, times: Float | None) -> None:
    """The clock after rows were learned, or wait for their labels."""
    if model.clock is not None and times is not None:
        model.clock = model.clock.after(times, 0 if model.waiting is None else len(model.waiting.x))


def _let_go_of_times(model: Online) -> None:
    """Only rows that are kept or wait have times that are needed again."""
    if model.clock is not None:
        n_waiting = 0 if model.waiting is None else len(model.waiting.x)
        model.clock = model.clock.holding(len(model.kept_x) + n_waiting)


def _steps(model: Online, times: Float | None) -> Float | None:
    """(n,): steps between the next rows; None where they are one each."""
    return None if model.clock is None or times is None else model.clock.steps(times, model.clock.newest)


def _learn_rows(
    model: Online, x: Float, labels: Weighted, n_threads: int, level: float | None, times: Float | None
) -> Iterator[Predictions]:
    x, y, weights = _x(model, x), model.scaling.standardise_y(labels.y), labels.weights
    followers = _followers(model, times)
    if followers is not None and weights is not None:
        followers.ignored = weights == 0.0
    options = ens.PassOptions(n_threads, level, not model.is_warming_up, followers=followers)
    steps = _steps(model, times)
    for predictions in _chunks(model.ensemble, model.state, x, Weighted(y, weights), options, steps):
        _keep_followers(model, followers)
        yield in_user_units(predictions, model.ensemble, model.scaling)


def _chunks(
    ensemble: Ensemble, state: State, x: Float, labels: Weighted, options: ens.PassOptions, steps: Float | None
) -> Iterator[Predictions]:
    """A pass over standardised rows, with or without weights."""
    if labels.weights is None:
        return ens.learn_chunks(ensemble, state, x, labels.y, options, steps)
    rows = WeightedRows(x, labels.y, np.ones(len(x)) if steps is None else steps, labels.weights)
    return learn_weighted(ensemble, state, rows, options)


def followed(model: Online) -> tuple[conf.Conformal | None, chg.Changes | None]:
    """``conformal`` and ``changes`` after all rows that were learned. Changes nothing."""
    if not model.unfollowed:
        return model.conformal, model.changes
    rows = ens.Weighed.concatenate(model.unfollowed)
    span = chg.Span(model.n_seen - len(rows.y))
    followers = ens.Followers(model.conformal, model.changes, span)
    ens.completed(model.ensemble, *rows, ens.PassOptions(followers=followers))
    return followers.conformal, followers.changes


def _catch_up(model: Online) -> None:
    (model.conformal, model.changes), model.unfollowed = followed(model), ()


def _followers(model: Online, times: Float | None) -> ens.Followers | None:
    """What follows the next rows."""
    _catch_up(model)
    if model.conformal is None and model.changes is None:
        return None
    span = chg.Span(model.n_seen, times, model.settings.delay)
    # Before the first label has come there is a refit to come, and nothing before it.
    is_blind = model.is_warming_up and not len(model.kept_x)
    return ens.Followers(model.conformal, model.changes, span, is_blind, model.is_warming_up)


def _keep_followers(model: Online, followers: ens.Followers | None) -> None:
    if followers is not None:
        model.conformal, model.changes = followers.conformal, followers.changes


def _learn_late(
    model: Online, x: Float, y: Float, level: float | None, times: Float | None
) -> tuple[Predictions, Float, Float]:
    """Predict rows whose labels come late; also returns the rows that arrived meanwhile, in the user's units."""
    assert model.waiting is not None
    ensemble, before = model.experts.ensemble, model.waiting
    steps = _steps(model, times)
    new = Rows(_x(model, x), model.scaling.standardise_y(y), np.ones(len(x)) if steps is None else steps)
    followers, known = _followers(model, times), _known_latest(model)
    options = ens.PassOptions(level=level, is_timed=steps is not None, followers=followers)
    found, after = learn_delayed(
        ensemble, model.state, _standardised(model, before), new, model.settings.delay, options
    )
    _keep_followers(model, followers)
    rows_x, rows_y = np.concatenate([before.x, x]), np.concatenate([before.y, y])
    n_arrived = len(rows_x) - len(after.x)
    model.waiting = after._replace(x=rows_x[n_arrived:].copy(), y=rows_y[n_arrived:].copy())
    if known is not None:
        model.latest = known._replace(of=_parts_of_latest(model), n_missing=known.n_missing + len(x))
    return in_user_units(found, ensemble, model.scaling), rows_x[:n_arrived], rows_y[:n_arrived]


def ask(model: Online, x: Float, n_steps: int, time: Float | None = None) -> Asked:
    """Predict consecutive rows, the first of them so many rows after the last that was learned. Changes nothing.

    ``time`` (n,) is needed where drift is per unit of time.
    """
    _check_shapes(model, x)
    units = np.stack([model.scaling.y_mean, model.scaling.y_scale])
    n, times = len(x), checked_times(model.clock, time, len(x))
    lead = ens.Lead(n_steps + np.arange(float(n)), np.ones(n), 1)
    if model.clock is not None and times is not None:
        elapsed = model.clock.steps_since(np.full(n, model.clock.last), times)
        lead = lead._replace(walk=elapsed, noise=elapsed)
    rows = _x(model, x)
    asked = ask_rows(model.ensemble, model.state, rows, lead, units)
    return asked._replace(lags=rows[:, model.n_columns :].copy()) if model.rows_bring_lags else asked


def learn_asked(model: Online, x: Float, label: Label, time: Float | None = None) -> None:
    """Learn a row (1, d) that was asked before, now that its label has come. ``model`` is changed if all went well.

    ``time`` (1,) is needed where drift is per unit of time.
    """
    _check_shapes(model, x, label.y)
    draft = replace(model, state=model.state.copy())
    _catch_up(draft)
    if draft.clock is not None:
        label, time = _spaced(draft.clock, label, time)
    elif label.n_steps > 0:
        pass_rows(draft, label.n_steps - 1)
    else:
        label = label._replace(walk=float(-label.n_steps))
    if model.rows_bring_lags and label.asked is not None:
        label = label._replace(asked=label.asked._replace(lags=np.empty((1, 0))))
    learn_asked_row(draft.ensemble, draft.state, _x(model, x), model.scaling.standardise_y(label.y), label)
    _follow_late(draft, label)
    _move_clock(draft, time)
    if draft.is_warming_up:
        _keep(draft, x, Weighted(label.y, None))
    _let_go_of_times(draft)
    model.__dict__.update(draft.__dict__)


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
        model.changes = chg.watch(model.changes, new, chg.Span(model.n_seen - 1))


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


def _check_shapes(model: Online, x: Float, y: Float | None = None) -> None:
    """Compiled code trusts its arrays: whatever way rows came here, their shape must be right."""
    if x.ndim != 2 or x.shape[1] != model.n_row_columns:
        raise InputError(f"X has shape {x.shape}, but the model has {model.n_row_columns} columns")
    n_labels = len(model.scaling.y_mean)
    if y is not None and y.shape != (len(x), n_labels):
        raise InputError(f"y has shape {y.shape}, but {len(x)} rows of {n_labels} outputs are expected")
    if y is not None:
        check_label_range(model, y)


def check_label_range(model: Online, y: Float) -> None:
    """Class numbers index arrays of compiled code, and rates are logs of counts: neither may be out of range."""
    if model.settings.likelihood != "gaussian":
        named(model.settings.likelihood).check(y, model.experts.ensemble.n_classes)


def rows_to_refit(model: Online) -> int:
    """How many rows until the next refit, which waits for their labels; more than any call brings if there is none."""
    if not model.is_warming_up:
        return int(np.iinfo(np.int64).max)
    seen = len(model.kept_x)
    n_first = 0 if model.waiting is None else model.settings.delay - len(model.waiting.x)
    return min(_next_refit(model.settings, seen), model.settings.warmup) - seen + n_first


def _rows_to_last_refit(model: Online, n: int) -> int:
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


def _keep(model: Online, x: Float, labels: Weighted) -> None:
    """Keep rows for the warm-up; refit if a milestone is reached, and let go of them if it was the last."""
    if model.kept_weights is not None or labels.weights is not None:
        known = ((model.kept_weights, len(model.kept_x)), (labels.weights, len(x)))
        model.kept_weights = np.concatenate([np.ones(n) if own is None else own for own, n in known])
    model.kept_x, model.kept_y = np.concatenate([model.kept_x, x]), np.concatenate([model.kept_y, labels.y])
    n = len(model.kept_x)
    is_last = n >= model.settings.warmup
    if is_last or (n > 0 and _next_refit(model.settings, n - 1) == n):
        model.__dict__.update(
            _refit(
                model, model.kept_x, model.kept_y, fit=is_last or n >= _first_fit(model.settings), is_last=is_last
            ).__dict__
        )
    if is_last:
        model.kept_x, model.kept_y = model.kept_x[:0].copy(), model.kept_y[:0].copy()
        model.kept_weights = None
        model.is_warming_up = False
        model.n_warmup_learned = n


def _refit(model: Online, x: Float, y: Float, fit: bool, is_last: bool) -> Online:
    """Scaling (and hyperparameters, if ``fit``) from these rows, beliefs and stacked weights by replaying them."""
    settings = model.settings
    scaling = model.scaling
    if settings.standardize:
        scaling = scale.from_rows(x[:, : model.n_columns], y, settings.robust, model.kept_weights)
        if settings.likelihood != "gaussian":
            scaling = scaling._replace(y_mean=np.zeros(y.shape[1]), y_scale=np.ones(y.shape[1]))
    x, y = _x(replace(model, scaling=scaling), x), scaling.standardise_y(y)
    n_outputs = model.n_outputs
    lags = lags_from(settings.lags, settings.likelihood, y, n_outputs)
    if is_last and settings.auto_lags:
        offsets = with_seasons(settings.lags, settings.delay, x, label_numbers(lags, y))
        lags = lags._replace(offsets=np.array(offsets, dtype=np.int64))
    inputs = Inputs.of(model.column_keys, scaling.x_scale, lags)
    used = _rows_to_fit(model, y)
    if fit and used.any():
        rows = x if model.rows_bring_lags else _lagged(settings, inputs, x, y)
        experts = fit_experts(settings, inputs, rows[used], y[used], n_outputs)
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
    steady = ensemble._replace(shutdown=0.0, rate=_replay_rate(settings, len(x)))
    labels = Weighted(y, model.kept_weights)
    for _ in _chunks(steady, state, x, labels, ens.PassOptions(is_live=False), steps):
        pass
    if settings.likelihood == "gaussian" and not (settings.weights == "stacking" and settings.learn_warmup):
        state = state._replace(log_weights=equal_weights)
    waiting = None if model.waiting is None else model.waiting.forgotten(experts.ensemble)
    return replace(model, scaling=scaling, experts=experts, state=state, waiting=waiting, clock=clock)


def _replay_rate(settings: Settings, n_rows: int) -> float:
    """How fast stacked weights move in the replay of so few rows that they would hardly leave their start otherwise."""
    if settings.likelihood != "gaussian":
        return settings.stacking_rate
    return max(settings.stacking_rate, min(FASTEST_REPLAY, REPLAY_ROWS / n_rows))


def _lagged(settings: Settings, inputs: Inputs, x: Float, y: Float) -> Float:
    """The first rows of a stream with their lags, for fitting: a glitch counts as the farthest usual label."""
    lags = inputs.lags
    if settings.robust and settings.likelihood == "gaussian":
        y = np.clip(y, -FARTHEST_USUAL, FARTHEST_USUAL)
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


def _x(model: Online, x: Float) -> Float:
    if not model.rows_bring_lags:
        return model.scaling.standardise_x(x, model.fills_gaps)
    d = model.n_columns
    # Columns of lags: all offsets of an output, then those of the next.
    labels = x[:, d:].reshape(-1, model.n_outputs, len(model.experts.ensemble.lags.offsets)).swapaxes(1, 2)
    lags = _usual_labels(model, labels).swapaxes(1, 2).reshape(len(x), -1)
    return np.concatenate([model.scaling.standardise_x(x[:, :d], model.fills_gaps), lags], axis=1)


def _usual_labels(model: Online, labels: Float) -> Float:
    """Standardised labels (..., outputs) as rows see them: a glitch as the farthest usual one, NaN as the mean."""
    farthest = FARTHEST_USUAL if model.settings.robust else FARTHEST_LINEAR
    with np.errstate(over="ignore"):
        standardised = (labels - model.scaling.y_mean) / model.scaling.y_scale
    return np.nan_to_num(np.clip(standardised, -farthest, farthest), nan=0.0)


def to_user_mixture(scaling: Scaling, mixture: Mixture) -> Mixture:
    """A prediction of standardised labels, in the units of y."""
    loc = scaling.y_mean + scaling.y_scale * mixture.loc
    single = mixture.single_output
    return Mixture.unchecked(mixture.weights, loc, scaling.y_scale * mixture.scale, mixture.dof, single)
