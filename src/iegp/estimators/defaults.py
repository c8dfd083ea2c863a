"""The untuned model: why these numbers, see docs/default-model.md."""

from __future__ import annotations

from iegp.core.kernels import RBF, Cauchy, Laplace, Matern

KERNELS = (
    RBF("per-dimension"),
    Laplace("per-dimension", stretch=20.0),
    Laplace("per-dimension", stretch=10.0),
    Matern("per-dimension", nu=0.5, stretch=8.0),
    Laplace("dimension", stretch=20.0),
    Cauchy("dimension", stretch=16.0),
)
N_FREQUENCIES = 50
DRIFT_VAR = (0.0, 1e-3, 1e-2, 1e-1)
NOISE_FORGETTING = (None, 0.9, 0.98)
