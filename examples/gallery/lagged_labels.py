"""
Earlier labels as inputs
========================

The best predictor of the next value is often the last one. ``lags`` adds labels of earlier rows to the inputs; they
are taken from the stream itself, and only those that are known when a row is predicted.
"""

import numpy as np
from matplotlib.figure import Figure

from iegp import IEGPRegressor
from iegp.kernels import RBF, Linear

rng = np.random.default_rng(0)
n = 600
wind = rng.standard_normal((n, 1))
y = np.zeros(n)
for t in range(2, n):
    y[t] = 1.6 * y[t - 1] - 0.8 * y[t - 2] + 0.5 * np.tanh(wind[t, 0]) + 0.2 * rng.standard_normal()

# %%
# Without lags the model knows the wind alone; with ``lags=2`` the two newest labels too.
runs = {}
for lags in (0, 2):
    model = IEGPRegressor(
        [RBF("dimension") + Linear()], n_frequencies=20, drift_var=(0.0, 1e-3), lags=lags, warmup=200, random_state=0
    )
    runs[lags] = model.prequential(wind, y)
    print(f"lags={lags}: {runs[lags]}")

# %%
# The last rows: the wind alone says little, the last two labels say nearly everything.
figure = Figure(figsize=(9, 5), layout="constrained")
panels = figure.subplots(2, 1, sharex=True, sharey=True)
last = np.arange(480, n)
for axes, (lags, run) in zip(panels, runs.items(), strict=True):
    axes.fill_between(last, run.lower[last], run.upper[last], color="#9cc3e6", lw=0, label="95 % interval")
    axes.plot(last, run.mean[last], color="#12436d", label="prediction")
    axes.plot(last, y[last], ".", color="#1a1a1a", ms=4, label="label")
    axes.set_title(f"lags={lags}", loc="left")
    axes.set_ylabel("label")
panels[0].legend(loc="upper left", ncols=3)
panels[1].set_xlabel("row of the stream")
figure
