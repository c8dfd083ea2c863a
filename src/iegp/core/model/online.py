"""The model of a stream: its parts, and rows and labels in standardised units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from iegp.core import changes as chg
from iegp.core import conformal as conf
from iegp.core import ensemble as ens
from iegp.core import scaling as scale
from iegp.core.batch_view import BatchView
from iegp.core.clock import Clock, new_clock
from iegp.core.compute.tolerances import FARTHEST_LINEAR, FARTHEST_USUAL
from iegp.core.delay import Waiting, none_waiting, with_all_arrived
from iegp.core.fitting.experts import Experts, default_experts
from iegp.core.followers import Followers
from iegp.core.kernels import Inputs
from iegp.core.lags import NO_LAGS, lags_from, remember
from iegp.core.likelihoods import named
from iegp.core.scaling import Scaling
from iegp.core.settings import Settings
from iegp.core.state import Ensemble, State
from iegp.errors import InputError
from iegp.typing import Float, Int


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
    """Changes of a stream of Gaussian labels that were noticed; None where nothing is watched, as in a fleet."""
    unfollowed: tuple[ens.Weighed, ...] = field(default=(), repr=False, compare=False)
    """Single rows that ``conformal`` and ``changes`` do not know yet: together they take less time. Never stored; see
    :func:`followed`."""
    unfollowed_times: tuple[Float, ...] = field(default=(), repr=False, compare=False)
    """Their times, where drift is per unit of time."""
    n_passed: int = 0
    """Rows that passed without a label (:func:`pass_rows`): steps of the walk beside those of the rows learned."""
    kept_weights: Float | None = None
    """(n,): weights of the rows that are kept; None if all count alike."""
    extra_weight: float | None = None
    """By how much the weights of rows exceeded one, in sum; None if there never were weights."""
    kept_known: Int | None = None
    """(n,): of each row that is kept, how many labels were known when it was predicted; None if those of all before."""
    warmup_labels: Float | None = None
    """After a warm-up with late labels: these in the order of arrival, which rows that still wait may have seen."""
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
        remember(lags, state.recent, usual_labels(model, labels))
    return replace(model, state=state, rows_bring_lags=False, kept_x=model.kept_x[:, : model.n_columns])


def rows_before_a_label(model: Online, n_rows: int) -> int:
    """How many of the next ``n_rows`` rows are predicted before any label is known."""
    if not model.is_warming_up:
        return 0
    return min(max(model.settings.delay + 1 - model.n_seen, 0), n_rows)


def latest_state(model: Online) -> State:
    """The state in which every label given so far has arrived; kept, so that the next one adds new rows."""
    if model.waiting is None:
        return model.state
    n_waiting, known = len(model.waiting.x), known_latest(model)
    if known is None or known.n_missing > n_waiting:
        known = Latest(model.state, parts_of_latest(model), n_waiting)
    if known.n_missing or known.state is model.state:
        rows = standardised_waiting(model, model.waiting).part(n_waiting - known.n_missing, n_waiting)
        model.latest = known._replace(state=with_all_arrived(model.ensemble, known.state, rows), n_missing=0)
        return model.latest.state
    return known.state


def parts_of_latest(model: Online) -> tuple[State, Waiting, Experts, Scaling]:
    """The parts of a model with waiting rows that its latest state follows from."""
    assert model.waiting is not None
    return model.state, model.waiting, model.experts, model.scaling


def known_latest(model: Online) -> Latest | None:
    """What :func:`latest_state` found, if it is of the model as it is."""
    if model.latest is None:
        return None
    now = parts_of_latest(model)
    return model.latest if all(one is other for one, other in zip(now, model.latest.of, strict=True)) else None


def standardised_waiting(model: Online, waiting: Waiting) -> Waiting:
    """Rows that wait for their labels, in standardised units."""
    steps = waiting.steps
    if model.clock is not None:
        held = model.clock.held
        steps = model.clock.steps(held[len(held) - len(waiting.x) :], model.clock.last)
    return waiting._replace(
        x=standardised_rows(model, waiting.x), y=model.scaling.standardise_y(waiting.y), steps=steps
    )


def standardised_rows(model: Online, x: Float) -> Float:
    """Rows as the ensemble takes them; where rows bring their lags, these come last."""
    if not model.rows_bring_lags:
        return model.scaling.standardise_x(x, model.fills_gaps)
    d = model.n_columns
    # Columns of lags: all offsets of an output, then those of the next.
    labels = x[:, d:].reshape(-1, model.n_outputs, len(model.experts.ensemble.lags.offsets)).swapaxes(1, 2)
    lags = usual_labels(model, labels).swapaxes(1, 2).reshape(len(x), -1)
    return np.concatenate([model.scaling.standardise_x(x[:, :d], model.fills_gaps), lags], axis=1)


def usual_labels(model: Online, labels: Float) -> Float:
    """Standardised labels (..., outputs) as rows see them: a glitch as the farthest usual one, NaN as the mean."""
    farthest = FARTHEST_USUAL if model.settings.robust else FARTHEST_LINEAR
    with np.errstate(over="ignore"):
        standardised = (labels - model.scaling.y_mean) / model.scaling.y_scale
    return np.nan_to_num(np.clip(standardised, -farthest, farthest), nan=0.0)


def check_shapes(model: Online, x: Float, y: Float | None = None) -> None:
    """Compiled code does not check its arrays: whatever way rows came here, their shape must be right."""
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


def followed(model: Online) -> tuple[conf.Conformal | None, chg.Changes | None]:
    """``conformal`` and ``changes`` after all rows that were learned. Changes nothing."""
    if not model.unfollowed:
        return model.conformal, model.changes
    rows = ens.Weighed.concatenate(model.unfollowed)
    times = np.concatenate(model.unfollowed_times) if model.unfollowed_times else None
    span = chg.Span(model.n_seen - len(rows.y), times)
    followers = Followers(model.conformal, model.changes, span)
    ens.completed(model.ensemble, *rows, ens.PassOptions(followers=followers))
    return followers.conformal, followers.changes


def catch_up(model: Online) -> None:
    """Let ``conformal`` and ``changes`` follow the rows that they do not know yet."""
    (model.conformal, model.changes), model.unfollowed, model.unfollowed_times = followed(model), (), ()


def move_clock(model: Online, times: Float | None) -> None:
    """The clock after rows were learned, or wait for their labels."""
    if model.clock is not None and times is not None:
        model.clock = model.clock.after(times, 0 if model.waiting is None else len(model.waiting.x))


def release_times(model: Online) -> None:
    """Only rows that are kept or wait have times that are needed again."""
    if model.clock is not None:
        n_waiting = 0 if model.waiting is None else len(model.waiting.x)
        model.clock = model.clock.holding(len(model.kept_x) + n_waiting)
