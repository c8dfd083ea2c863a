"""A forecaster as the parts of a model file, and back."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from iegp.core.compute.tolerances import LARGEST_IN_SERIES
from iegp.core.settings import check_whole
from iegp.errors import InputError, ModelFileError
from iegp.estimators import parameters
from iegp.estimators.checks import check_level
from iegp.estimators.forecast_answers import PastAnswers, answers_schema
from iegp.estimators.forecast_checks import offsets
from iegp.estimators.forecast_inputs import Lookback
from iegp.estimators.regressor import IEGPRegressor
from iegp.storage.memory_limit import check_bytes
from iegp.storage.schema import Field, check_arrays, count, part_of, prefixed
from iegp.typing import Arrays

if TYPE_CHECKING:
    from iegp.estimators.forecaster import IEGPForecaster

# Times increase.
_LEAST_STEP = float(np.finfo(np.float64).smallest_subnormal)


def to_parts(forecaster: IEGPForecaster) -> tuple[dict[str, Any], Arrays]:
    """Plain data for the header of a model file, and arrays; not copies."""
    arrays = {"recent": forecaster._recent, **forecaster._answers._asdict()}
    if forecaster._clock is not None:
        arrays["clock"] = forecaster._clock
    headers = []
    for k, model in enumerate(forecaster.models_):
        own, its = model.to_parts()
        headers.append(own)
        arrays |= prefixed(f"model{k}", its)
    lookback = {name: list(value) for name, value in forecaster._lookback._asdict().items()}
    return {
        "n_seen": forecaster._n_seen,
        "n_columns": forecaster._n_columns,
        "lookback": lookback,
        "models": headers,
    }, arrays


def parameters_from(header: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the constructor, from the header of a model file."""
    own = dict(header["parameters"])
    if own["regressor"] is not None:
        own["regressor"] = IEGPRegressor(**parameters.from_config(own["regressor"]))
    for name in ("lags", "season"):
        own[name] = tuple(own[name]) if isinstance(own[name], list) else own[name]
    return own


def restore(forecaster: IEGPForecaster, header: dict[str, Any], arrays: Arrays) -> None:
    """Restore what :func:`to_parts` gave, after checking that it fits together."""
    horizon = len(header["models"])
    if horizon != forecaster.horizon:
        raise ModelFileError(f"there are {horizon} models for horizon={forecaster.horizon}")
    forecaster._n_seen, forecaster._n_columns = (
        count("n_seen", header["n_seen"]),
        count("n_columns", header["n_columns"]),
    )
    lags, season = (offsets(name, header["lookback"][name], 0, 1) for name in ("lags", "season"))
    forecaster._lookback = Lookback(lags, season)
    check_level(forecaster.level)
    check_random_state(forecaster.random_state)
    n_recent = min(forecaster._n_seen, horizon + forecaster._lookback.n_rows + 1)
    schema = {
        "recent": Field((n_recent,), -LARGEST_IN_SERIES, LARGEST_IN_SERIES),
        **answers_schema(horizon, forecaster._n_seen),
    }
    if "clock" in arrays:
        schema["clock"] = Field((2,), (-LARGEST_IN_SERIES, _LEAST_STEP), 2.0 * LARGEST_IN_SERIES)
    check_arrays(schema, arrays)
    forecaster._recent, forecaster._clock = arrays["recent"], arrays.get("clock")
    forecaster._answers = PastAnswers(*(arrays[name] for name in PastAnswers._fields))
    models = []
    for k, own in enumerate(header["models"]):
        model = IEGPRegressor(**parameters.from_config(own["parameters"]))
        model.restore(own, part_of(arrays, f"model{k}"))
        models.append(model)
        _check_model(forecaster, model, k)
    _check_memory(horizon, [model for model in models if not hasattr(model, "model_")])
    forecaster.models_ = models


def check_unfitted(forecaster: IEGPForecaster) -> None:
    """Refuse a forecaster that would begin with more memory than a file may ask for."""
    # Arguments that are refused when it begins may be in a file.
    with contextlib.suppress(InputError):
        check_whole("horizon", forecaster.horizon, 1)
        n_bytes, words = forecaster._template(forecaster._asked_lookback())._requested_memory()
        check_bytes(n_bytes * forecaster.horizon, f"horizon={forecaster.horizon} of models of {words}")


def _check_memory(horizon: int, waiting: list[IEGPRegressor]) -> None:
    """Refuse models that wait for their first row, if all together would begin with more memory than a file may ask."""
    if waiting:
        asked = [model._requested_memory() for model in waiting]
        words = f"horizon={horizon}, of which {len(waiting)} models have not begun, with {max(asked)[1]}"
        check_bytes(sum(n_bytes for n_bytes, _ in asked), words)


def _check_model(forecaster: IEGPForecaster, model: IEGPRegressor, delay: int) -> None:
    """Refuse a stored model that is not the one of this horizon: others would fail when they are used."""
    has_begun = hasattr(model, "model_")
    if has_begun != (forecaster._n_seen > delay + 1):
        raise ModelFileError(f"model {delay} has {'' if has_begun else 'not '}begun after {forecaster._n_seen} rows")
    if not has_begun:
        return
    n_inputs = forecaster._n_inputs(delay + 1)
    if model.n_features_in_ != n_inputs or model.has_encoded_columns or not model.single_output_:
        raise ModelFileError(f"model {delay} is not one of {n_inputs} inputs and one number")
    if model.model_.settings.delay != delay or model.model_.settings.drift_per != "row":
        raise ModelFileError(f"model {delay} is not one of labels {delay} rows late")
