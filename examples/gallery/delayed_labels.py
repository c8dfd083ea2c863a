"""
Labels that come later
======================

A forecast for the next day is made 24 times before the first of these labels is known. ``delay`` says so: row t is
predicted from the labels of rows up to t - 1 - delay. Without it the scores would be too good to be true.
"""

from typing import Any

import numpy as np

from iegp import IEGPRegressor
from iegp.kernels import RBF, Constant, Periodic
from iegp.plots import plot_run

rng = np.random.default_rng(0)
hour = np.arange(700.0)
level = np.cumsum(0.15 * rng.standard_normal(700))  # wanders from hour to hour
demand = 10 + level + 2 * np.sin(2 * np.pi * hour / 24) + 0.3 * rng.standard_normal(700)

# %%
# The same model, told that labels are known at once, and that they are known 23 rows later.
kernels = [Periodic(24.0) + Constant(drift_var=drift) + RBF("dimension") for drift in (1e-3, 1e-2)]
settings: dict[str, Any] = {"n_frequencies": 20, "drift_var": 0.0, "warmup": 200, "random_state": 0}
at_once = IEGPRegressor(kernels, **settings).prequential(hour[:, None], demand)
late = IEGPRegressor(kernels, delay=23, **settings)
next_day = late.prequential(hour[:, None], demand)

# %%
# Scores after the warm-up. The intervals with a delay are wider, because the level has had a day to wander.
for name, run in {"at once": at_once, "a day later": next_day}.items():
    error = np.sqrt(np.mean((run.mean - demand)[200:] ** 2))
    inside = np.mean((run.lower <= demand)[200:] & (demand <= run.upper)[200:])
    width = np.median((run.upper - run.lower)[200:])
    print(f"labels {name:11}  error {error:.2f}  width of the interval {width:.2f}  labels inside {inside:.0%}")

# %%
# Each of these predictions was made a day before its label was known.
plot_run(next_day, late.experts_, title="demand, a day ahead", target="demand", zoom=(300, 600))
