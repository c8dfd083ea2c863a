"""Predictions of rows in the user's units; none of these functions changes a model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from iegp.core import conformal as conf
from iegp.core import ensemble as ens
from iegp.core import functions
from iegp.core.clock import times_to_predict
from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import FEW_ROWS, LONGEST_GAP, PREDICT_ROWS
from iegp.core.expected_lags import with_expected_lags
from iegp.core.lags import NO_LAGS
from iegp.core.likelihoods.mixture import LatentMixture
from iegp.core.model.online import Online, check_shapes, followed, latest_state, standardised_rows
from iegp.core.predictive.components import Components
from iegp.core.predictive.counts import CountMixture
from iegp.core.predictive.mixture import Mixture
from iegp.core.scaling import Scaling
from iegp.core.settings import check_whole
from iegp.core.state import Ensemble, State
from iegp.errors import InputError
from iegp.typing import Float


def predict(model: Online, x: Float, horizon: int | None = None, time: Float | None = None) -> Mixture:
    """Predictive distribution of each row, were it so many rows ahead, or came at its ``time`` (n,). Changes nothing.

    By default it is the next one whose label can be known; after a fit, one of many rows that are predicted at once.
    """
    return to_user_mixture(model.scaling, Mixture.concatenate(_in_parts(ens.predict, model, x, horizon, time)))


def interval(model: Online, dist: Mixture, level: float) -> tuple[Float, Float]:
    """Ends (n, D) of the intervals of rows that come next, whose distribution is ``dist``."""
    components = Components(dist.weights, dist.loc, dist.scale, dist.dof)
    conformal, _ = followed(model)
    if conformal is None:
        lower, upper = replace(dist, single_output=False).interval(level)
        return lower, upper
    return conf.next_interval(conformal, components, level, model.settings.delay)


def predict_classes(model: Online, x: Float, horizon: int | None = None, time: Float | None = None) -> Float:
    """Class probabilities (n, K) of each row, as :func:`predict`. Changes nothing."""
    parts = _in_parts(ens.predict_classes, model, x, horizon, time)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def predict_counts(
    model: Online, x: Float, exposure: Float, horizon: int | None = None, time: Float | None = None
) -> CountMixture | LatentMixture:
    """Predictive distribution of each row's count under its exposure (n,), as :func:`predict`. Changes nothing."""
    check_shapes(model, x)
    view = _view(model, len(x), horizon, time)
    with nullcontext() if len(x) <= FEW_ROWS else one_blas_thread():
        found: CountMixture | LatentMixture
        found = ens.predict_counts(view.ensemble, view.state, view.rows(model, x), exposure, view.n_steps, view.elapsed)
        return found


def covariance(model: Online, x: Float, horizon: int | None, with_noise: bool) -> Float:
    """Covariance (n, n, D) between the labels of rows, or between values of the function, as :func:`predict`."""
    check_shapes(model, x)
    # One set of weights for all rows: that of rows among those of a sorted fit, if all of them are.
    view = _view(model, len(x), horizon, None, all(is_past for is_past, _ in _runs(model, x, horizon)))
    with one_blas_thread():
        found = functions.covariance(view.ensemble, view.state, view.rows(model, x), view.n_steps, with_noise)
    return found * model.scaling.y_scale**2


def function_std(model: Online, x: Float, horizon: int | None) -> Float:
    """Standard deviation (n, D) of the function, without the noise of the labels, as :func:`predict`."""

    def predict_rows(ensemble: Ensemble, state: State, rows: Float, n_steps: int, _: Float | None) -> Float:
        return functions.function_variance(ensemble, state, rows, n_steps)

    parts = _in_parts(predict_rows, model, x, horizon, None)
    return np.asarray(np.sqrt(np.concatenate(parts)) * model.scaling.y_scale)


def draw(model: Online, size: int, horizon: int | None, rng: np.random.Generator) -> functions.Draws:
    """Functions drawn from the posterior, for rows of :func:`rows_to_predict` and in standardised units."""
    view = _view_of_functions(model, 0, horizon)
    with one_blas_thread():
        return functions.draw(view.ensemble, view.state, view.n_steps, size, rng)


def rows_to_predict(model: Online, x: Float, horizon: int | None) -> Float:
    """Standardised rows of the functions that :func:`draw` draws."""
    check_shapes(model, x)
    return _view_of_functions(model, len(x), horizon).rows(model, x)


def _view_of_functions(model: Online, n_rows: int, horizon: int | None) -> _View:
    """One for all rows: of a fit that was sorted, the one of rows among those of it."""
    is_sorted = horizon is None and model.batch is not None and model.batch.past is not None
    return _view(model, n_rows, horizon, None, is_sorted)


class _View(NamedTuple):
    """What predicts rows."""

    ensemble: Ensemble
    """Without lags where rows bring them."""
    state: State
    n_steps: int
    elapsed: Float | None = None
    """(n,): time to each row, if it is known."""
    lag_weights: Float | None = None
    """(n_beliefs,): of those that say what lags are; None where the state knows them."""

    def rows(self, model: Online, x: Float) -> Float:
        """Standardised rows, with what lags are."""
        rows, weights = standardised_rows(model, x), self.lag_weights
        return rows if weights is None else with_expected_lags(model.ensemble, self.state, rows, weights, self.n_steps)


def _view(model: Online, n_rows: int, horizon: int | None, time: Float | None, is_past: bool = False) -> _View:
    """What predicts rows; ``is_past`` if they lie among those of a fit, as :func:`_runs` says."""
    if horizon is not None and time is not None:
        raise InputError(
            f"horizon={horizon!r} and times are given (time, or the column that time_column names), which both say how "
            "far ahead rows are; leave one of them out"
        )
    elapsed, ensemble, state = _elapsed(model, time, n_rows), model.ensemble, latest_state(model)
    if horizon is not None:
        check_whole("horizon", horizon, 1)
        return _View(ensemble, state, min(int(horizon), int(LONGEST_GAP)))
    if model.batch is None:
        return _View(ensemble, state, model.settings.delay + 1, elapsed)
    batch = model.batch.of_past if is_past else model.batch
    assert batch is not None
    view = _View(ensemble, batch.of(state), batch.n_steps)
    if not batch.lag_weights.any():
        return view
    return view._replace(ensemble=ensemble._replace(lags=NO_LAGS), lag_weights=batch.lag_weights)


def _runs(model: Online, x: Float, horizon: int | None) -> list[tuple[bool, slice]]:
    """Rows that follow one another and lie all among those of a fit that were sorted, or all not; at least one run."""
    if model.batch is None or model.batch.past is None or horizon is not None:
        return [(False, slice(0, len(x)))]
    is_past = model.batch.past.among(standardised_rows(model, x))
    edges = [0, *(np.flatnonzero(np.diff(is_past)) + 1).tolist(), len(x)]
    return [(bool(is_past[a]) if a < b else False, slice(a, b)) for a, b in pairwise(edges)]


def _elapsed(model: Online, time: Float | None, n_rows: int) -> Float | None:
    """(n,): steps from the last row to those that are to be predicted; None if these come as rows do."""
    if time is None:
        return None
    times = times_to_predict(model.clock, time, n_rows)
    assert model.clock is not None
    return model.clock.steps_to(times)


def _in_parts(
    predict_rows: Callable[..., Any], model: Online, x: Float, horizon: int | None, time: Float | None
) -> list[Any]:
    """What a function of the ensemble predicts for rows, a limited number of them at once; at least one part."""
    check_shapes(model, x)

    def predicted(view: _View, some: slice) -> Any:
        elapsed = None if view.elapsed is None else view.elapsed[some]
        return predict_rows(view.ensemble, view.state, view.rows(model, x[some]), view.n_steps, elapsed)

    runs = _runs(model, x, horizon)
    views = {is_past: _view(model, len(x), horizon, time, is_past) for is_past, _ in runs}
    with nullcontext() if len(x) <= FEW_ROWS else one_blas_thread():
        return [predicted(views[is_past], some) for is_past, rows in runs for some in _parts(rows)]


def _parts(rows: slice) -> list[slice]:
    """A limited number of rows each; at least one part."""
    return [slice(i, min(i + PREDICT_ROWS, rows.stop)) for i in range(rows.start, max(rows.stop, 1), PREDICT_ROWS)]


def to_user_mixture(scaling: Scaling, mixture: Mixture) -> Mixture:
    """A prediction of standardised labels, in the units of y."""
    loc = scaling.y_mean + scaling.y_scale * mixture.loc
    single = mixture.single_output
    return Mixture.unchecked(mixture.weights, loc, scaling.y_scale * mixture.scale, mixture.dof, single)
