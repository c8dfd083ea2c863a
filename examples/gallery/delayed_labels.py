"""
Labels that come later
======================

A forecast for the next day is made 24 times before the first of these labels is known. ``delay`` says so: row t is
predicted from the labels of rows up to t - 1 - delay. Without it the scores would be too good to be true.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from iegp import IEGPRegressor
from iegp.kernels import RBF, Constant, Periodic

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
# The same four days. Below, each prediction was made a day before its label was known.
figure = Figure(figsize=(9, 5), layout="constrained")
panels = figure.subplots(2, 1, sharex=True, sharey=True)
days = slice(500, 596)
for axes, (name, run) in zip(panels, {"labels at once": at_once, "labels a day later": next_day}.items(), strict=True):
    axes.fill_between(hour[days], run.lower[days], run.upper[days], color="#9cc3e6", lw=0, label="95 % interval")
    axes.plot(hour[days], run.mean[days], color="#12436d", label="prediction")
    axes.plot(hour[days], demand[days], ".", color="#1a1a1a", ms=4, label="demand")
    axes.set_title(name, loc="left")
    axes.set_ylabel("demand")
panels[0].legend(loc="upper left", ncols=3)
panels[1].set_xlabel("hour")
figure
