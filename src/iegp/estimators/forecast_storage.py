"""A forecaster as the parts of a model file, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from iegp.errors import ModelFileError
from iegp.estimators import parameters
from iegp.estimators.forecast_answers import Answers, schema_shapes
from iegp.estimators.forecast_checks import offsets
from iegp.estimators.forecast_inputs import Lookback
from iegp.estimators.regressor import IEGPRegressor
from iegp.storage.schema import ANY_NUMBER, Field, check_arrays, count, part_of, prefixed
from iegp.typing import Arrays

if TYPE_CHECKING:
    from iegp.estimators.forecaster import IEGPForecaster


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
    n_recent = min(forecaster._n_seen, horizon + forecaster._lookback.n_rows + 1)
    schema = {name: Field(shape, **ANY_NUMBER) for name, shape in schema_shapes(horizon).items()}
    schema |= {
        "recent": Field((n_recent,)),
        "width": Field((horizon,), 1e-9, 1e9),
        "moments": Field((horizon,) * 2),
    }
    schema |= {"clock": Field((2,))} if "clock" in arrays else {}
    check_arrays(schema, arrays)
    forecaster._recent, forecaster._clock = arrays["recent"], arrays.get("clock")
    forecaster._answers = Answers(*(arrays[name] for name in Answers._fields))
    models = []
    for k, own in enumerate(header["models"]):
        model = IEGPRegressor(**parameters.from_config(own["parameters"]))
        model.restore(own, part_of(arrays, f"model{k}"))
        models.append(model)
    forecaster.models_ = models
