"""Predictions of rows in the user's units; none of these functions changes a model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from iegp.core import conformal as conf
from iegp.core import ensemble as ens
from iegp.core import functions
from iegp.core.clock import times_to_predict
from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import FEW_ROWS, PREDICT_ROWS
from iegp.core.likelihoods.mixture import LatentMixture
from iegp.core.model.online import Online, check_shapes, followed, latest_state, standardised_rows
from iegp.core.predictive.components import Components
from iegp.core.predictive.counts import CountMixture
from iegp.core.predictive.mixture import Mixture
from iegp.core.scaling import Scaling
from iegp.core.settings import check_whole
from iegp.core.state import State
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
    ensemble, (state, n_steps, elapsed) = model.ensemble, _view(model, len(x), horizon, time)
    with nullcontext() if len(x) <= FEW_ROWS else one_blas_thread():
        found: CountMixture | LatentMixture
        found = ens.predict_counts(ensemble, state, standardised_rows(model, x), exposure, n_steps, elapsed)
        return found


def covariance(model: Online, x: Float, horizon: int | None, with_noise: bool) -> Float:
    """Covariance (n, n, D) between the labels of rows, or between values of the function, as :func:`predict`."""
    check_shapes(model, x)
    state, n_steps, _ = _view(model, len(x), horizon, None)
    with one_blas_thread():
        found = functions.covariance(model.experts.ensemble, state, standardised_rows(model, x), n_steps, with_noise)
    return found * model.scaling.y_scale**2


def function_std(model: Online, x: Float, horizon: int | None) -> Float:
    """Standard deviation (n, D) of the function, without the noise of the labels, as :func:`predict`."""
    check_shapes(model, x)
    state, n_steps, _ = _view(model, len(x), horizon, None)
    with one_blas_thread():
        parts = [
            functions.function_variance(model.experts.ensemble, state, standardised_rows(model, x[some]), n_steps)
            for some in _parts(len(x))
        ]
    return np.sqrt(np.concatenate(parts)) * model.scaling.y_scale


def draw(model: Online, size: int, horizon: int | None, rng: np.random.Generator) -> functions.Draws:
    """Functions drawn from the posterior, for standardised rows and in standardised units."""
    state, n_steps, _ = _view(model, 0, horizon, None)
    with one_blas_thread():
        return functions.draw(model.experts.ensemble, state, n_steps, size, rng)


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
    return model.clock.steps_to(times)


def _in_parts(
    predict_rows: Callable[..., Any], model: Online, x: Float, horizon: int | None, time: Float | None
) -> list[Any]:
    """What a function of the ensemble predicts for rows, a limited number of them at once; at least one part."""
    check_shapes(model, x)
    ensemble, (state, n_steps, elapsed) = model.ensemble, _view(model, len(x), horizon, time)
    if len(x) <= FEW_ROWS:
        return [predict_rows(ensemble, state, standardised_rows(model, x), n_steps, elapsed)]
    with one_blas_thread():
        return [
            predict_rows(
                ensemble,
                state,
                standardised_rows(model, x[some]),
                n_steps,
                None if elapsed is None else elapsed[some],
            )
            for some in _parts(len(x))
        ]


def _parts(n: int) -> list[slice]:
    return [slice(i, i + PREDICT_ROWS) for i in range(0, n, PREDICT_ROWS)]


def to_user_mixture(scaling: Scaling, mixture: Mixture) -> Mixture:
    """A prediction of standardised labels, in the units of y."""
    loc = scaling.y_mean + scaling.y_scale * mixture.loc
    single = mixture.single_output
    return Mixture.unchecked(mixture.weights, loc, scaling.y_scale * mixture.scale, mixture.dof, single)
