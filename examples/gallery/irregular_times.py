"""
Rows at irregular times
=======================

A sensor that reports now and then: many rows in an hour, then none for a day. With ``drift_per="time"`` the model
knows that more may have changed over a longer gap, and its intervals widen.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from iegp import IEGPRegressor
from iegp.kernels import Constant

rng = np.random.default_rng(0)
n = 800
gaps = rng.choice([0.2, 6.0], p=[0.85, 0.15], size=n)  # hours
time = np.cumsum(gaps)
level = np.zeros(n)
for t in range(1, n):  # the level wanders with time, not with rows
    kept = np.exp(-gaps[t] / 48)
    level[t] = kept * level[t - 1] + np.sqrt(1 - kept**2) * rng.standard_normal()
y = level + 0.1 * rng.standard_normal(n)
X = np.zeros((n, 1))  # no inputs: the level is all there is

# %%
# Rows after a gap are the difficult ones.
after_gap = (gaps > 1) & (np.arange(n) >= 300)
settings: dict[str, Any] = {"drift_var": (1e-3, 1e-2, 1e-1), "noise_var": 0.01, "prior_var": 1.0, "random_state": 0}
runs = {}
for per in ("row", "time"):
    model = IEGPRegressor([Constant()], drift_per=per, warmup=200, **settings)
    runs[per] = model.prequential(X, y, time=time if per == "time" else None)
    inside = (runs[per].lower <= y) & (y <= runs[per].upper)
    print(f"drift per {per:4}  labels after a gap inside their 95 % interval: {inside[after_gap].mean():.0%}")

# %%
figure = Figure(figsize=(9, 5), layout="constrained")
panels = figure.subplots(2, 1, sharex=True, sharey=True)
last = slice(n - 100, n)
for axes, (per, run) in zip(panels, runs.items(), strict=True):
    axes.errorbar(
        time[last],
        run.mean[last],
        yerr=[(run.mean - run.lower)[last], (run.upper - run.mean)[last]],
        fmt="none",
        ecolor="#9cc3e6",
        lw=2,
        label="95 % interval",
    )
    axes.plot(time[last], y[last], ".", color="#1a1a1a", ms=4, label="label")
    axes.set_title(f'drift_per="{per}"', loc="left")
    axes.set_ylabel("label")
panels[0].legend(loc="upper left", ncols=2)
panels[1].set_xlabel("time (hours)")
figure
