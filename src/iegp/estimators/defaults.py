"""Arguments that the estimators of labels share, and the untuned model: why these numbers, see docs/default-model.md.

The estimators are dataclasses, so that every argument is written once, with its type and its default. A subclass that
names an argument again replaces its default and keeps its place. A method of an estimator may rely on all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from iegp.core.kernels import RBF, Cauchy, Constant, Kernel, Laplace, Linear, Matern

# Drifts by their units.
DRIFT_VARS = {"target": (0.0, 1e-3, 1e-2, 1e-1), "prior": (0.0, 1e-4, 5e-3)}


class Default(NamedTuple):
    """What a model has where an argument of its constructor is None."""

    kernels: tuple[Kernel, ...]
    drift_units: str = "target"
    lags: int | str = 0
    drift_vars: dict[str, tuple[float, ...]] = DRIFT_VARS


# Levels that conformal intervals keep.
CONFORMAL_LEVELS = (0.95,)

# Some kernels learn a length scale per column from the warm-up rows, some treat all columns alike; some see the last
# labels, some do not. Which predict better differs from stream to stream, so all are kept and the weights decide. The
# stretched product kernels (Laplace, Cauchy) draw a few large frequencies among many small ones and so come close to
# sums of functions of few columns. The last three are small: linear functions around a level that wanders, linear
# functions of the last labels, and a level alone, which comes close to repeating the last label where that is best.
# Seasonal lags are seen by linear functions alone: further columns make functions of all of them hard to learn.
KERNELS: tuple[Kernel, ...] = (
    RBF("per-dimension", stretch=1.5, lags=False),
    Cauchy("per-dimension", stretch=4.0, lags=False),
    Laplace("per-dimension", stretch=10.0, lags=False),
    Cauchy("dimension", stretch=2.0, lags=False),
    Cauchy("per-dimension", stretch=4.0, lags="recent"),
    RBF("per-dimension", stretch=1.5, lags="recent") + Linear() + Constant(),
    RBF("per-dimension", stretch=1.5, lags=False) + Linear() + Constant(),
    Laplace("per-dimension", stretch=40.0, lags="recent") + Linear() + Constant(),
    Cauchy("dimension", stretch=2.0, lags="recent") + Linear() + Constant(),
    Linear() + Constant(prior_var=1.0, drift_var=0.1),
    Linear(lags="only") + Constant(),
    Constant(prior_var=100.0),
)
REGRESSION = Default(KERNELS, "prior", lags="auto")
# Lags to which seasonal ones are added.
AUTO_LAGS = 3
N_FREQUENCIES = 75
STACKING_RATE = 0.05
# One expert of each (kernel, drift) keeps its noise, one follows it quickly with heavy tails, one slowly with
# light ones.
NOISE_FORGETTING = (None, (0.75, 5.0), (0.96, 20.0))

# Light models. The warm-up is short: on a short stream its refits cost most of the time.
_LIGHT_SIZE: dict[str, Any] = {"drift_units": "prior", "lags": 3, "n_frequencies": 50, "warmup": 256}
# 12 large beliefs, of two thirds of the size, in place of 27. Each kernel stands for a family of those above.
LIGHT = _LIGHT_SIZE | {
    "lags": "auto",
    "kernels": (KERNELS[1], KERNELS[2], KERNELS[3], KERNELS[5], KERNELS[9], KERNELS[11]),
}

# One model per key (docs/stream.md): to the model that keys start from, the differences between them are noise. A key
# has few rows to find out how little of it is its own, so weights and noise follow its rows faster.
KEYED: dict[str, Any] = {"stacking_rate": 0.3, "noise_forgetting": ((0.75, 5.0), (0.9, 10.0))}
# What the shared model has learned counts as one row of a key: most of it is the average of keys that differ.
KEYED_TEMPLATE_ROWS = 1.0

# Labels that are not numbers (docs/explanation/labels.md). A short isotropic length scale among longer ones: borders
# between classes are sharper than functions are steep. Functions of the columns alone stand beside a sum of one and a
# linear function of the last labels, and a function of columns and last labels together. The last two are small where
# there are few columns: a linear function around a level that wanders, and a linear function of the last labels.
CLASS_KERNELS: tuple[Kernel, ...] = (
    RBF("dimension", stretch=0.5, lags=False),
    Matern("dimension", nu=1.5, stretch=1.5, lags=False),
    Cauchy("dimension", stretch=3.0, lags=False),
    RBF("per-dimension", stretch=1.5, lags=False) + Linear(lags=False) + Constant(),
    Matern("dimension", nu=1.5, stretch=1.5, lags=False) + Linear(lags="only") + Constant(),
    Cauchy("per-dimension", stretch=3.0),
    Linear() + Constant(prior_var=1.0, drift_var=0.1),
    Linear(lags="only") + Constant(),
)
CLASSES = Default(CLASS_KERNELS, "prior", 3, DRIFT_VARS | {"prior": (0.0, 1e-3)})
CLASS_N_FREQUENCIES = 100
CLASS_STACKING_RATE = 0.2
SHARPNESS = (1.0, 1.5, 3.0)
# Six large beliefs of half the size in place of twelve.
LIGHT_CLASSES = _LIGHT_SIZE | {
    "kernels": (CLASS_KERNELS[2], CLASS_KERNELS[3], CLASS_KERNELS[4], CLASS_KERNELS[6]),
    "drift_var": (0.0, 1e-3),
}

# Counts: their logs follow the last counts more closely than odds follow the last classes. In units of the target
# drifts are of a log rate, where 0.1 per row would be a factor of three within a hundred rows.
COUNT_KERNELS: tuple[Kernel, ...] = (
    RBF("dimension", stretch=0.5, lags=False),
    Cauchy("dimension", stretch=3.0, lags=False),
    Cauchy("per-dimension", stretch=3.0),
    RBF("per-dimension", stretch=1.5) + Linear() + Constant(),
    RBF("dimension", lags="only"),
    Linear() + Constant(prior_var=1.0, drift_var=0.1),
    Linear(lags="only") + Constant(),
)
COUNTS = Default(COUNT_KERNELS, "prior", 3, {"target": (0.0, 1e-3, 1e-2), "prior": (0.0, 1e-4, 1e-3)})
COUNT_STACKING_RATE = 0.1
LIGHT_COUNTS = _LIGHT_SIZE | {
    "kernels": (COUNT_KERNELS[0], COUNT_KERNELS[3], COUNT_KERNELS[5], COUNT_KERNELS[6]),
    "drift_var": (0.0, 1e-4),
}

# Without lags those that see nothing else are left out, as of the default models.
LIGHT_KERNELS: tuple[tuple[Kernel, ...], ...] = tuple(
    settings["kernels"] for settings in (LIGHT, LIGHT_CLASSES, LIGHT_COUNTS)
)

# Forecasts: drifts, noise and weights that change slowly. A label k rows ahead says little that the labels beside it
# did not, so what follows single labels quickly follows chance (docs/forecasting.md).
FORECAST: dict[str, Any] = {
    "drift_units": "prior",
    "drift_var": (0.0, 1e-6, 1e-5, 1e-4),
    "noise_forgetting": (None, (0.96, 20.0), (0.99, 20.0)),
    "stacking_rate": 0.02,
    "n_frequencies": 30,
    "lags": 0,
}
FORECAST_LAGS = 5


def forecast_kernels(n_lags: int, n_seasons: int) -> tuple[Kernel, ...]:
    """Linear functions of all inputs, of a few, of none (the newest value is repeated), and smooth ones of all.

    The inputs begin with two per season, the newest value and the lags, then two more per season.
    """
    first = [2 * season for season in range(n_seasons)]
    now = 2 * n_seasons
    few = [*first, *range(now, now + 1 + min(n_lags, 2)), *(now + n_lags + 2 * s + 2 for s in range(n_seasons))]
    smooth = RBF("dimension", stretch=2.0) + Linear() + Constant()
    return (Linear() + Constant(), Linear(columns=few) + Constant(), Constant(prior_var=1.0), smooth)


@dataclass(eq=False, repr=False, kw_only=True)
class EnsembleArguments:
    """Arguments of an ensemble of experts that learns labels."""

    kernels: Sequence[Kernel] | None = field(default=None, kw_only=False)
    n_frequencies: int = N_FREQUENCIES
    features: str = "orthogonal"
    drift_var: float | Sequence[float] | None = None
    drift_units: str | None = None
    drift_per: str = "row"
    time_column: str | int | None = None
    weights: str = "stacking"
    switch_prob: float | ArrayLike = 0.01
    stacking_rate: float = STACKING_RATE
    shutdown: float = 1e-16
    prior_var: float | str = "evidence"
    warmup: int = 1000
    learn_warmup: bool = True
    delay: int = 0
    lags: int | Sequence[int] | str | None = None
    standardize: bool = True
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
