"""What a user asked for, checked once and in plain types. Everything a model needs to start from nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from iegp.core.compute.tolerances import LARGEST_LEVEL, LEAST_LEVEL, MAX_DELAY, MAX_LAG, MOST_SHOWN
from iegp.core.frequencies import METHODS
from iegp.core.kernels import Kernel, kernel_from_config
from iegp.core.likelihoods import named
from iegp.core.likelihoods.sites import INTEGRATIONS
from iegp.core.weights import RULES
from iegp.errors import InputError
from iegp.typing import Float

# A variance of the standardised target per row, or a share of a term's initial prior variance per row.
DRIFT_UNITS = ("target", "prior")

# What makes experts drift: every row, or the time that elapses between rows.
DRIFT_PER = ("row", "time")

# A noise model: fixed, a forgetting factor, or a forgetting factor with degrees of freedom.
NoiseSetting = float | tuple[float, float] | None


@dataclass(frozen=True)
class Settings:
    """Checked settings of an ensemble; ``None`` for a variance means: by maximum evidence."""

    kernels: tuple[Kernel, ...]
    n_frequencies: int
    features: str
    drift_var: tuple[float, ...]
    weights: str
    switch_prob: float | tuple[tuple[float, ...], ...]
    stacking_rate: float
    shutdown: float
    prior_var: float | None
    noise_var: float | None
    noise_forgetting: tuple[NoiseSetting, ...]
    warmup: int
    learn_warmup: bool
    standardize: bool
    seed: int
    likelihood: str = "gaussian"
    integration: str = "quadrature"
    sharpness: tuple[float, ...] = (1.0,)
    overdispersion: float | None = None
    drift_units: str = "target"
    robust: bool = False
    spread: bool = False
    delay: int = 0
    lags: tuple[int, ...] = ()
    drift_per: str = "row"
    conformal: tuple[float, ...] = ()
    """Levels that intervals keep; none: they are those of the ensemble."""
    auto_lags: bool = False
    """Whether the last refit of the warm-up adds seasonal lags to these."""
    leaves_out_linear: bool = False
    """Whether linear terms that would see too many columns are left out of kernels; else they are refused."""

    def __post_init__(self) -> None:
        self._check()
        for name in ("switch_prob", "stacking_rate", "shutdown", "prior_var", "noise_var", "overdispersion"):
            value = getattr(self, name)
            if isinstance(value, int | np.number) and not isinstance(value, bool):
                # Arrays made of other numbers would be compiled for anew, and refused in a model file.
                object.__setattr__(self, name, float(value))

    def _check(self) -> None:
        check_kernels(self.kernels)
        check_choice("features", self.features, METHODS)
        check_choice("weights", self.weights, RULES)
        if self.likelihood != "gaussian":
            named(self.likelihood)
        check_choice("drift_units", self.drift_units, DRIFT_UNITS)
        check_choice("drift_per", self.drift_per, DRIFT_PER)
        check_choice("integration", self.integration, INTEGRATIONS)
        check_whole("n_frequencies", self.n_frequencies, 1)
        check_whole("warmup", self.warmup, 0)
        check_whole("delay", self.delay, 0)
        if self.delay > MAX_DELAY:
            raise InputError(f"delay={self.delay} is more than {MAX_DELAY}: so many rows would be kept in memory")
        _check_lags(self.lags, self.delay)
        _check_levels(self.conformal, self.likelihood)
        if not isinstance(self.leaves_out_linear, bool):
            raise InputError(f"leaves_out_linear={self.leaves_out_linear!r} must be True or False")
        if self.auto_lags and not (self.lags and self.warmup):
            raise InputError(
                f"lags='auto' looks for seasons in the warm-up rows, and warmup={self.warmup}; give it rows, such as "
                "warmup=1000, or name the lags, such as lags=(1, 2, 3, 24)"
            )
        check_range("stacking_rate", self.stacking_rate, 0.0, 1.0, "in (0, 1]", "(]")
        check_range("shutdown", self.shutdown, 0.0, 1.0, "in [0, 1)", "[)")
        for name in ("prior_var", "noise_var"):
            if getattr(self, name) is not None:
                check_range(
                    name, getattr(self, name), 1e-100, 1e100, "'evidence' or a positive number, 1e-100 to 1e100"
                )
        if not self.drift_var:
            raise InputError("drift_var is empty; give a number such as 0.0 (static) or 1e-3, or several")
        for value in self.drift_var:
            check_range("drift_var", value, 0.0, 1e100, "a number of at least 0, up to 1e100")
        if not self.noise_forgetting:
            raise InputError("noise_forgetting is empty; give None (fixed noise), a number in (0, 1], or several")
        for forgetting in self.noise_forgetting:
            _check_noise_model(forgetting)
        if not self.sharpness:
            raise InputError("sharpness is empty; give 1.0 (probabilities as they are), or several such as (1.0, 2.0)")
        if self.overdispersion is not None:
            check_range("overdispersion", self.overdispersion, 0.0, 100.0, "'evidence' or a number from 0 to 100")
        if self.likelihood != "gaussian" and self.prior_var is not None:
            wanted = "'evidence' or a positive number, 1e-12 to 1e12 (a variance of log odds or log rates)"
            check_range("prior_var", self.prior_var, 1e-12, 1e12, wanted)
        for power in self.sharpness:
            check_range("sharpness", power, 0.0, 100.0, "a positive number up to 100", "(]")

    @property
    def has_nothing_to_fit(self) -> bool:
        """Whether the warm-up rows would decide nothing: no scaling, no evidence."""
        terms = [term for kernel in self.kernels for term in kernel.terms]
        fixed = self.prior_var is not None or all(term.prior_var is not None for term in terms)
        if self.likelihood == "gaussian":
            fixed = fixed and self.noise_var is not None
        else:
            fixed = fixed and not named(self.likelihood).has_free_link
        fixed = fixed and not self.standardize and not self.auto_lags
        return fixed and not any(kernel.is_fitted_to_data for kernel in self.kernels)

    @property
    def what_drifts(self) -> str:
        """For messages: ``drift_var``, if it is not zero, and terms that have a drift of their own."""
        terms = dict.fromkeys(repr(term) for kernel in self.kernels for term in kernel.terms if term.drift_var)
        return ", ".join([f"drift_var={self.drift_var}"] * any(self.drift_var) + list(terms))

    def switch_array(self) -> float | Float:
        """``switch_prob`` as :func:`iegp.core.weights.transition_matrix` takes it."""
        return np.array(self.switch_prob) if isinstance(self.switch_prob, tuple) else self.switch_prob

    def to_config(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        config = dict(self.__dict__)
        config["kernels"] = [kernel.to_config() for kernel in self.kernels]
        if not self.conformal:
            # So that files of models without it stay the same.
            del config["conformal"]
        if not self.leaves_out_linear:
            del config["leaves_out_linear"]
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Settings:
        """The inverse of :meth:`to_config`."""
        config = dict(config)
        switch = config["switch_prob"]
        config["kernels"] = tuple(kernel_from_config(kernel) for kernel in config["kernels"])
        config["lags"] = tuple(config.get("lags", ()))
        config["conformal"] = tuple(map(float, config.get("conformal", ())))
        config["drift_var"] = tuple(config["drift_var"])
        config["noise_forgetting"] = tuple(tuple(r) if isinstance(r, list) else r for r in config["noise_forgetting"])
        config["sharpness"] = tuple(config.get("sharpness", (1.0,)))
        config["switch_prob"] = tuple(map(tuple, switch)) if isinstance(switch, list) else switch
        return cls(**config)


def _check_levels(levels: tuple[float, ...], likelihood: str) -> None:
    wanted = f"numbers from {LEAST_LEVEL:g} to {LARGEST_LEVEL:g}, such as (0.8, 0.95)"
    for level in levels:
        check_range("conformal_levels", level, LEAST_LEVEL, LARGEST_LEVEL, wanted)
    if tuple(sorted(set(levels))) != levels:
        raise InputError(f"conformal_levels={levels!r} must increase, each once")
    if levels and likelihood != "gaussian":
        raise InputError(f"conformal is for labels that are numbers, not for those of the likelihood {likelihood!r}")


def _check_lags(lags: tuple[int, ...], delay: int) -> None:
    for offset in lags:
        check_whole("lags", offset, 1)
        if offset <= delay:
            raise InputError(
                f"lags={_shown(lags)}: with delay={delay} the label {offset} rows before is not known yet; the least "
                f"offset is {delay + 1}"
            )
        if offset > MAX_LAG:
            raise InputError(
                f"lags={_shown(lags)}: {offset} is more than {MAX_LAG} rows back, which would be kept in memory; ask "
                "for fewer labels, or name offsets up to that"
            )
    if tuple(sorted(set(lags))) != lags:
        raise InputError(f"lags={_shown(lags)} must increase, each once")


def _shown(lags: tuple[int, ...]) -> str:
    """Offsets in a message: thousands of them would hide what it says."""
    return repr(lags) if len(lags) <= MOST_SHOWN else f"({lags[0]}, {lags[1]}, ..., {lags[-1]})"


def check_kernels(kernels: tuple[Kernel, ...]) -> None:
    if not kernels:
        raise InputError("kernels is empty; give at least one, such as iegp.kernels.RBF(1.0), or None for the default")
    for kernel in kernels:
        if isinstance(kernel, type) and issubclass(kernel, Kernel):
            raise InputError(f"kernels contains the class {kernel.__name__}; did you mean {kernel.__name__}()?")
        if not isinstance(kernel, Kernel):
            raise InputError(
                f"kernels contains {kernel!r}, which is not a kernel; use those of iegp.kernels, as RBF(1.0)"
            )


def _check_noise_model(entry: object) -> None:
    wanted = (
        "None, a number in (0, 1], or, inside a list, a pair (number in (0, 1), degrees of freedom), "
        "as in [None, (0.75, 5.0)]"
    )
    if isinstance(entry, tuple):
        if len(entry) != 2:
            raise InputError(f"noise_forgetting contains {entry!r}; each entry must be {wanted}")
        check_range("noise_forgetting", entry[0], 0.0, 1.0, wanted, "()")
        check_range("noise_forgetting", entry[1], 0.0, np.inf, wanted, "()")
    elif entry is not None:
        check_range("noise_forgetting", entry, 0.0, 1.0, wanted, "(]")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name}={value!r} is not known; use one of {', '.join(map(repr, choices))}")


def check_whole(name: str, value: object, least: int) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InputError(f"{name}={value!r} must be a whole number of at least {least}")


def check_range(name: str, value: object, low: float, high: float, wanted: str, ends: str = "[]") -> None:
    """Refuse what is no number from ``low`` to ``high``; a round bracket in ``ends`` leaves that end out."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        number = float(value)
        above = number > low if ends[0] == "(" else number >= low
        below = number < high if ends[1] == ")" else number <= high
        if above and below:
            return
    raise InputError(f"{name}={value!r} must be {wanted}")
