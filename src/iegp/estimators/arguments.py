"""Constructor arguments that the estimators of labels share.

The estimators are dataclasses, so that every argument is written once, with its type and its default. A subclass that
names an argument again replaces its default and keeps its place. A method of an estimator may rely on all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from iegp.core.kernels import Kernel
from iegp.estimators.defaults import N_FREQUENCIES, STACKING_RATE


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
