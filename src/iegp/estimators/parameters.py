"""Constructor arguments: to checked settings, and to plain data and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from iegp.core.compute.tolerances import MAX_LAG
from iegp.core.kernels import Kernel, kernel_from_config
from iegp.core.likelihoods import BUILT_IN, LIKELIHOODS, Likelihood, named, register
from iegp.core.settings import Settings, check_whole
from iegp.errors import InputError
from iegp.estimators.defaults import AUTO_LAGS, CONFORMAL_LEVELS, LIGHT_KERNELS, Default


def settings_from(parameters: dict[str, Any], default: Default, likelihood: str = "gaussian") -> Settings:
    """Checked settings from an estimator's ``get_params()``; arguments that it does not have keep their defaults."""
    if parameters["kernels"] is not None or parameters["weights"] != "stacking":
        # Posterior probabilities, and kernels of the user, are of models without lags unless they are asked for.
        default = default._replace(drift_units="target", lags=0)
    asked = _asked_lags(parameters.get("lags"), default.lags, parameters["warmup"])
    lags = _lags(asked, _plain(parameters.get("delay", 0)))
    drift_units = parameters.get("drift_units")
    drift_units = default.drift_units if drift_units is None else drift_units
    drift_var = parameters["drift_var"]
    drift_var = default.drift_vars.get(drift_units, ()) if drift_var is None else _as_tuple(drift_var)
    kernels = parameters["kernels"]
    robust, spread = _robust(parameters.get("robust", False), parameters["weights"]), parameters.get("spread")
    return Settings(
        kernels=_default_kernels(default, lags, drift_var) if kernels is None else _given_kernels(kernels, lags),
        n_frequencies=_plain(parameters["n_frequencies"]),
        features=parameters["features"],
        drift_var=drift_var,
        weights=parameters["weights"],
        switch_prob=_switch(parameters["switch_prob"]),
        stacking_rate=_plain(parameters["stacking_rate"]),
        shutdown=_plain(parameters["shutdown"]),
        prior_var=_variance("prior_var", parameters["prior_var"]),
        noise_var=_variance("noise_var", parameters.get("noise_var", 1.0)),
        noise_forgetting=_as_tuple(parameters.get("noise_forgetting")),
        warmup=_plain(parameters["warmup"]),
        learn_warmup=_flag("learn_warmup", parameters["learn_warmup"]),
        standardize=_flag("standardize", parameters["standardize"]),
        seed=_seed(parameters["random_state"]),
        likelihood=likelihood,
        integration=parameters.get("integration", "quadrature"),
        sharpness=_as_tuple(parameters.get("sharpness", 1.0)),
        overdispersion=_variance("overdispersion", parameters.get("overdispersion", "evidence")),
        drift_units=drift_units,
        robust=robust,
        spread=robust if spread is None else _flag("spread", spread),
        delay=_plain(parameters.get("delay", 0)),
        lags=lags,
        drift_per=parameters.get("drift_per", "row"),
        conformal=_conformal(parameters.get("conformal"), parameters.get("conformal_levels", ())),
        auto_lags=_is_auto(asked),
        leaves_out_linear=kernels is None or _kernels(kernels) in LIGHT_KERNELS,
    )


def latent_arguments(parameters: dict[str, Any], default_kernels: tuple[Kernel, ...]) -> dict[str, Any]:
    """Arguments of the settings of a latent variable model, in plain types, from ``get_params()``."""
    kernels = parameters["kernels"]
    special = {
        "kernels": default_kernels if kernels is None else _kernels(kernels),
        "switch_prob": _switch(parameters["switch_prob"]),
        "chain": _flag("chain", parameters["chain"]),
        "weigh_warmup": _flag("weigh_warmup", parameters["weigh_warmup"]),
        "seed": _seed(parameters["random_state"]),
    }
    plain = {name: _plain(value) for name, value in parameters.items() if name not in (*special, "random_state")}
    return plain | special


def _kernels(kernels: Any) -> tuple[Kernel, ...]:
    if isinstance(kernels, Kernel):
        return (kernels,)
    if isinstance(kernels, type) and issubclass(kernels, Kernel):
        raise InputError(f"kernels is the class {kernels.__name__}; did you mean [{kernels.__name__}()]?")
    if not _is_several(kernels):
        raise InputError(f"kernels={kernels!r} must be a kernel or a list of kernels from iegp.kernels")
    return tuple(kernels)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    """One value or several; an entry may itself be a pair."""
    return tuple(map(_plain, value)) if _is_several(value) else (_plain(value),)


def _is_several(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)


def _plain(value: Any) -> Any:
    """NumPy numbers as Python's, sequences as tuples."""
    if _is_several(value):
        return tuple(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value


def _switch(value: Any) -> Any:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        wanted = "a probability, or a matrix with a row of probabilities per expert"
        raise InputError(f"switch_prob={value!r:.80} is not made of numbers; give {wanted}") from error
    if array.ndim not in (0, 2):
        raise InputError(f"switch_prob has shape {array.shape}; give a probability, or a matrix with a row per expert")
    return tuple(map(tuple, array.tolist())) if array.ndim else float(array)


def _variance(name: str, value: Any) -> float | None:
    if isinstance(value, str):
        if value != "evidence":
            raise InputError(f"{name}={value!r} is not known; use 'evidence' or a positive number")
        return None
    if value is None:
        raise InputError(f"{name}=None is not known; use 'evidence' or a positive number")
    return _plain(value)  # type: ignore[no-any-return]


def _seed(random_state: Any) -> int:
    """One seed, drawn once: nothing is random afterwards."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError as error:
        raise InputError(
            f"random_state={random_state!r} cannot be a seed; give a whole number of at least 0, a RandomState or None"
        ) from error


def _default_kernels(default: Default, lags: tuple[int, ...], drift_var: tuple[Any, ...]) -> tuple[Kernel, ...]:
    """The default kernels that can be used with these lags; a static model has no drifting level."""
    kernels = default.kernels if lags else _without_lags(default.kernels)
    if drift_var == (0.0,):
        kernels = tuple(k for k in kernels if all(term.drift_var is None for term in k.terms))
    return kernels


def _given_kernels(kernels: Any, lags: tuple[int, ...]) -> tuple[Kernel, ...]:
    """All kernels of the caller; if they are those of a light model, the ones that can be used with these lags."""
    given = _kernels(kernels)
    return _without_lags(given) if not lags and given in LIGHT_KERNELS else given


def _without_lags(kernels: tuple[Kernel, ...]) -> tuple[Kernel, ...]:
    return tuple(kernel for kernel in kernels if all(term.lags != "only" for term in kernel.terms))


def _asked_lags(value: Any, default: int | str, warmup: Any) -> Any:
    """What the caller asks for, or the default; which looks for no seasons where there is no warm-up."""
    if value is not None:
        return value
    return AUTO_LAGS if _is_auto(default) and _plain(warmup) == 0 else default


def _lags(value: Any, delay: Any) -> tuple[int, ...]:
    """Offsets in rows; a number asks for as many of the newest labels that are known."""
    if _is_auto(value):
        value = AUTO_LAGS
    if isinstance(value, str):
        raise InputError(f"lags={value!r} is not known; use a number such as 3, offsets such as (1, 2, 24), or 'auto'")
    if _is_several(value):
        offsets = _plain(value)
        return tuple(sorted(offsets)) if all(isinstance(offset, int) for offset in offsets) else offsets
    check_whole("lags", _plain(value), 0)
    check_whole("delay", delay, 0)
    return tuple(range(delay + 1, delay + 1 + min(_plain(value), MAX_LAG + 1)))


def _conformal(kind: Any, levels: Any) -> tuple[float, ...]:
    """Levels that intervals keep, in order."""
    if kind not in (None, "online"):
        raise InputError(f"conformal={kind!r} is not known; use 'online', or None for the intervals of the ensemble")
    if kind is None:
        return ()
    several = _as_tuple(levels)
    if not several or not all(isinstance(level, int | float) for level in several):
        raise InputError(f"conformal_levels={levels!r} must be a number such as 0.95, or several")
    return tuple(sorted(map(float, several)))


def _is_auto(lags: Any) -> bool:
    return isinstance(lags, str) and lags == "auto"


def _robust(value: Any, weights: Any) -> bool:
    """``None`` is true with stacking: posterior probabilities are those of rows that are all learned."""
    return weights == "stacking" if value is None else _flag("robust", value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name}={value!r} must be True or False")
    return bool(value)


def from_settings(settings: Settings, names: Iterable[str]) -> dict[str, Any]:
    """Constructor arguments with these names that lead to ``settings``: the inverse of :func:`settings_from`."""
    given = dict(vars(settings)) | {"random_state": settings.seed, "switch_prob": settings.switch_array()}
    given["conformal"] = "online" if settings.conformal else None
    given["conformal_levels"] = settings.conformal or CONFORMAL_LEVELS
    for name in ("prior_var", "noise_var", "overdispersion"):
        given[name] = "evidence" if given[name] is None else given[name]
    if settings.auto_lags:
        given["lags"] = "auto"
    if settings.leaves_out_linear and settings.kernels not in LIGHT_KERNELS:
        given["kernels"] = None
    if settings.likelihood in (*BUILT_IN, "gaussian"):
        del given["likelihood"]  # it follows from the estimator and its other arguments
    return {name: given[name] for name in names if name in given}


def to_config(parameters: dict[str, Any]) -> dict[str, Any]:
    """Constructor arguments as plain data. A random generator cannot be stored: its seed lies in the settings."""
    config = dict(parameters)
    kernels = config["kernels"]
    config["kernels"] = None if kernels is None else [kernel.to_config() for kernel in _kernels(kernels)]
    for name in ("drift_var", "noise_forgetting", "sharpness", "order", "conformal_levels", "lags"):
        if name in config:
            config[name] = _plain(config[name])
    if not all(isinstance(label, bool | int | float | str) for label in config.get("order") or ()):
        raise InputError(
            f"order={config['order']!r:.200} cannot be stored in a model file; use text or numbers as labels"
        )
    if isinstance(config.get("likelihood"), Likelihood):
        config["likelihood"] = config["likelihood"].name
    config["switch_prob"] = np.asarray(config["switch_prob"]).tolist()
    if not isinstance(config.get("init", ""), str):
        config["init"] = np.asarray(config["init"], dtype=np.float64).tolist()
    if not isinstance(config["random_state"], int | np.integer):
        config["random_state"] = None
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in config.items()}


def from_config(config: dict[str, Any]) -> dict[str, Any]:
    """The inverse of :func:`to_config`; lists come back as tuples."""
    parameters = {name: _plain(value) for name, value in config.items()}
    if config["kernels"] is not None:
        parameters["kernels"] = tuple(kernel_from_config(kernel) for kernel in config["kernels"])
    if isinstance(config["switch_prob"], list):
        parameters["switch_prob"] = np.array(config["switch_prob"])
    return parameters


def own_likelihood(given: str | Likelihood, built_in: tuple[str, ...], n_classes: int = 0) -> str:
    """The name of a likelihood that a user gave, by its name or as such; then it is registered.

    ``n_classes`` is 0 where labels must be numbers.
    """
    if isinstance(given, Likelihood) and LIKELIHOODS.get(given.name) is not given:
        register(given)
    name = given.name if isinstance(given, Likelihood) else given
    if name in built_in:
        return name
    likelihood = named(name)
    if name in BUILT_IN:
        raise InputError(
            f"likelihood={name!r} belongs to another estimator; this one takes yours, see iegp.likelihoods"
        )
    if likelihood.has_classes != (n_classes > 0):
        kind = "classes: use IEGPClassifier" if likelihood.has_classes else "numbers: use IEGPCountRegressor"
        raise InputError(f"the labels of the likelihood {name!r} are {kind}")
    if n_classes and likelihood.n_classes(likelihood.n_link(n_classes)) != n_classes:
        raise InputError(f"y has {n_classes} classes, but the likelihood {name!r} is not for so many")
    return name
