"""Models that a run starts with: settings by name and parameters, or what another program has learned."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from iegp import presets
from iegp.cli.flags import UsageError, as_usage
from iegp.cli.options import MODELS, StreamOptions
from iegp.core.kernels import kernel_from_config
from iegp.core.model import Online
from iegp.core.settings import Settings
from iegp.errors import IegpError
from iegp.estimators import IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, IEGPRegressor
from iegp.estimators.defaults import AUTO_LAGS, KEYED
from iegp.estimators.storage import load
from iegp.readers import Source

_DEFAULTS: dict[str, Any] = {
    "regression": IEGPRegressor,
    "classification": IEGPClassifier,
    "count": IEGPCountRegressor,
    "ordinal": IEGPOrdinalClassifier,
}
_PRESETS: dict[str, Any] = {
    name: getattr(presets, name.replace("-", "_")) for name in MODELS if hasattr(presets, name.replace("-", "_"))
}

_CONFIGURATION = "[parameters] of the configuration"
NO_FLAGS: Mapping[str, str] = MappingProxyType({})


def settings_of(
    model: str,
    task: str,
    seed: int,
    parameters: dict[str, Any],
    n_classes: int = 2,
    flags: Mapping[str, str] = NO_FLAGS,
) -> Settings:
    """Checked settings; a message says what to change. ``flags`` are those that say a parameter, as they were given."""
    if model not in ("default", *_PRESETS):
        raise UsageError(f"--model {model} is not known; use one of {', '.join(('default', *_PRESETS))}")
    arguments = dict(parameters)
    if "kernels" in arguments:
        arguments["kernels"] = _kernels(arguments["kernels"])
    try:
        if model == "default":
            estimator = _DEFAULTS[task](random_state=seed, **arguments)
        elif model == "light":
            estimator = presets.light(task, random_state=seed, **arguments)  # type: ignore[call-overload]
        elif task in ("regression", "classification"):
            estimator = _PRESETS[model](task, random_state=seed, **arguments)
        else:
            raise UsageError(f"--model {model} knows regression and classification; for {task} use --model default")
        return estimator.settings(max(2, n_classes))  # type: ignore[no-any-return]
    except TypeError as error:
        raise UsageError(f"{_CONFIGURATION}: {error}") from error
    except UsageError:
        raise
    except IegpError as error:
        named = [flag for name, flag in flags.items() if f"{name}=" in str(error)]
        raise UsageError(f"{' '.join(named) or _CONFIGURATION}: {error}") from error


def keyed_parameters(model: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of one model per key: weights and noise of the default and the light one follow faster."""
    if model in ("default", "light") and "kernels" not in parameters:
        # Seasons are looked for in rows of one series.
        parameters = {"lags": AUTO_LAGS} | parameters
    own = "kernels" in parameters or parameters.get("weights", "stacking") != "stacking"
    return parameters if own or model not in ("default", "light") else KEYED | parameters


def _kernels(tables: Any) -> list[Any]:
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError('kernels must be tables, as [[parameters.kernels]] with kernel = "RBF", length_scale = 1.0')
    try:
        return [kernel_from_config(table) for table in tables]
    except (IegpError, TypeError) as error:
        raise UsageError(f"[[parameters.kernels]]: {error}") from error


# Options that say what a model is, or what its columns are: a model that exists has its own.
_SETTLED = ("model", "parameters", "seed", "delay", "lags", "conformal", "drift_per", "key", "features", "time")


class StartModel(NamedTuple):
    """A model that has learned, and the names of its columns in order."""

    model: Online
    columns: tuple[str, ...]


def read_start(options: StreamOptions, task: str, source: Source) -> StartModel:
    """The model of ``--start-from``; an error that says why it cannot continue with this source."""
    path = options.start_from or ""
    settled = [f"--{name.replace('_', '-')}" for name in _SETTLED if name in options.given]
    if settled:
        raise UsageError(f"--start-from {path} has its own settings and columns: leave out {', '.join(settled)}")
    estimator = as_usage(lambda: load(path))
    if not isinstance(estimator, IEGPRegressor) or not estimator.labels_.single_output or task != "regression":
        kind = type(estimator).__name__
        raise UsageError(f"--start-from {path} is an {kind}, and the task is {task}; both must be of single numbers")
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise UsageError(f"--start-from {path} has learned an array without names of columns; fit it on a table")
    if estimator.has_encoded_columns:
        raise UsageError(
            f"--start-from {path} has learned columns of text, dates or objects, whose meaning only Python goes on "
            "with; fit it on columns of numbers, or go on in Python"
        )
    start = StartModel(estimator.model_, tuple(map(str, names)))
    _check(start, options, source)
    return start


def _check(start: StartModel, options: StreamOptions, source: Source) -> None:
    path, settings = options.start_from, start.model.settings
    missing = [name for name in start.columns if source.names and name not in source.names]
    if missing:
        raise UsageError(f"--start-from {path} has learned columns that the source lacks: {', '.join(missing)}")
    if options.target in start.columns:
        raise UsageError(f"--start-from {path} has {options.target} as an input, so it cannot be the target")
    if settings.drift_per == "time":
        raise UsageError(f"--start-from {path} drifts with time, which files of Python do not say; continue in Python")
    if settings.conformal and options.level not in settings.conformal:
        raise UsageError(f"--level {options.level:g} is none of the levels that {path} keeps: {settings.conformal}")
