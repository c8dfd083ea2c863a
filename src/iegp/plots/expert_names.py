"""Short names of experts, for legends and axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def expert_names(experts: Sequence[Any]) -> list[str]:
    """Return a unique short name for each expert of ``experts_``, made of the properties in which experts differ.

    >>> from iegp import IEGPRegressor
    >>> from iegp.kernels import RBF
    >>> model = IEGPRegressor([RBF(2.0)], drift_var=(0.0, 0.01), n_frequencies=5, noise_forgetting=None)
    >>> expert_names(model.fit([[0.0], [1.0]], [1.0, 2.0]).experts_)
    ['RBF 2, static', 'RBF 2, drift 0.01']
    """
    parts = [
        (e.kernel.short(), _drift(e.drift_var), _noise(e.noise_forgetting), f"sharpness {e.sharpness:g}")
        for e in experts
    ]
    # The kernel is always named.
    named = [place for place in range(4) if place == 0 or len({part[place] for part in parts}) > 1]
    names = [", ".join(part[place] for place in named) for part in parts]
    return [name if names.count(name) == 1 else f"{name} (#{i})" for i, name in enumerate(names)]


def _drift(drift_var: float) -> str:
    return "static" if drift_var == 0 else f"drift {drift_var:g}"


def _noise(forgetting: float | tuple[float, float] | None) -> str:
    if forgetting is None:
        return "fixed noise"
    return f"noise {forgetting[0]:g} t{forgetting[1]:g}" if isinstance(forgetting, tuple) else f"noise {forgetting:g}"
