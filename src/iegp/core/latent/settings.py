"""Settings of a latent variable model, checked and in plain types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from iegp.core.frequencies import METHODS
from iegp.core.kernels import Stationary, kernel_from_config
from iegp.core.settings import check_choice, check_kernels, check_range, check_whole
from iegp.core.weights import RULES, rule_named, transition_matrix
from iegp.errors import InputError
from iegp.typing import Float


@dataclass(frozen=True)
class LatentSettings:
    """Checked settings; the estimator's documentation says what each one means."""

    n_components: int
    kernels: tuple[Stationary, ...]
    n_frequencies: int
    features: str
    warmup: int
    weights: str
    switch_prob: float | tuple[tuple[float, ...], ...]
    stacking_rate: float
    shutdown: float
    forgetting: float
    latent_var: float
    start_spread: float
    chain: bool
    n_neighbors: int
    n_steps: int
    warmup_iter: int
    max_stored: int | None
    seed: int
    drift_var: float = 0.0
    weigh_warmup: bool = False
    max_iter: int | None = None

    def __post_init__(self) -> None:
        check_kernels(self.kernels)
        for kernel in self.kernels:
            if not isinstance(kernel, Stationary) or not kernel.is_drawn or kernel.columns is not None:
                raise InputError(
                    f"kernels contains {kernel!r}; a map needs stationary kernels of one term with random features "
                    "over the whole latent space, such as RBF(0.5)"
                )
            if kernel.is_fitted_to_data:
                raise InputError(
                    f"kernels contains {kernel!r}, but its length scale is fitted to labels, and a map has none; "
                    "give numbers, in units of the latent space, such as RBF(0.5) and RBF(2.0)"
                )
        check_choice("features", self.features, METHODS)
        check_choice("weights", self.weights, RULES)
        for name, least in _WHOLE.items():
            check_whole(name, getattr(self, name), least)
        for name, most in _MOST.items():
            if getattr(self, name) > most:
                raise InputError(f"{name}={getattr(self, name)} is more than {most}; a handful is enough")
        check_range("stacking_rate", self.stacking_rate, 0.0, 1.0, "in (0, 1]", "(]")
        check_range("shutdown", self.shutdown, 0.0, 1.0, "in [0, 1)", "[)")
        # Between two refreshes an inverse is divided by it up to 64 times, which overflows for much smaller ones.
        check_range("forgetting", self.forgetting, 1e-3, 1.0, "in [0.001, 1], 1 to forget nothing")
        check_range("drift_var", self.drift_var, 0.0, 1e6, "a number, 0 to 1e6, 0 for coefficients that stay")
        if self.drift_var > 0.0 and self.forgetting < 1.0:
            raise InputError(
                f"drift_var={self.drift_var} and forgetting={self.forgetting} are two ways to follow data that drift; "
                "use drift_var=0.0 or forgetting=1.0"
            )
        if self.max_iter is not None:
            check_whole("max_iter", self.max_iter, 1)
            if self.max_iter > _MOST["n_steps"]:
                raise InputError(f"max_iter={self.max_iter} is more than {_MOST['n_steps']}; positions converge before")
        for name in ("latent_var", "start_spread"):
            check_range(name, getattr(self, name), 1e-6, 1e6, "a positive number, 1e-6 to 1e6")
        if self.max_stored is not None:
            check_whole("max_stored", self.max_stored, 2)
            if self.max_stored < max(self.warmup, 2 * self.n_neighbors):
                raise InputError(
                    f"max_stored={self.max_stored} is less than warmup={self.warmup} or twice n_neighbors="
                    f"{self.n_neighbors}; the warm-up rows are all kept at first: raise max_stored or lower warmup"
                )

    def transitions(self) -> Float:
        """Probabilities of switching between experts; one number where nothing switches."""
        if not rule_named(self.weights).has_transitions:
            return np.ones((1, 1))
        switch = np.array(self.switch_prob) if isinstance(self.switch_prob, tuple) else self.switch_prob
        return transition_matrix(switch, len(self.kernels))

    def to_config(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {**self.__dict__, "kernels": [kernel.to_config() for kernel in self.kernels]}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LatentSettings:
        """Make settings from the output of :meth:`to_config`."""
        config = dict(config)
        switch = config["switch_prob"]
        config["kernels"] = tuple(kernel_from_config(kernel) for kernel in config["kernels"])
        config["switch_prob"] = tuple(map(tuple, switch)) if isinstance(switch, list) else switch
        return cls(**config)


_WHOLE = {"n_components": 1, "n_frequencies": 1, "warmup": 1, "n_neighbors": 1, "n_steps": 0, "warmup_iter": 0}
# Each of them costs memory and time per row, and a model file may contain any number.
_MOST = {"n_neighbors": 1000, "n_steps": 1000, "n_frequencies": 5000, "n_components": 1000}
