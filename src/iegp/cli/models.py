"""From a model's name and parameters to the settings of an ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from iegp import presets
from iegp.cli.flags import UsageError
from iegp.cli.options import MODELS
from iegp.core.kernels import kernel_from_config
from iegp.core.settings import Settings
from iegp.errors import IegpError
from iegp.estimators import IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, IEGPRegressor
from iegp.estimators.defaults import AUTO_LAGS, KEYED

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
    if "random_state" in arguments:
        raise UsageError(f"{_CONFIGURATION}: random_state={arguments['random_state']!r} is what --seed says; set seed")
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
