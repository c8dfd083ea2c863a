"""
Kernels as sums
===============

A kernel can be a sum of terms, each with its own prior variance, drift and columns. Terms that say what is known about
a stream, such as a trend or a period, let the model predict beyond the data.
"""

import numpy as np
from matplotlib.figure import Figure

from iegp import IEGPRegressor
from iegp.kernels import RBF, Kernel, Linear, Periodic

rng = np.random.default_rng(0)
day = np.arange(0.0, 120.0, 0.25)[:, None]
y = 0.05 * day[:, 0] + np.sin(2 * np.pi * day[:, 0] / 7) + 0.2 * rng.standard_normal(len(day))
known = day[:, 0] < 90

# %%
# The first kernel knows nothing; the second has a trend and a week.
kernels: dict[str, Kernel] = {"RBF": RBF("evidence"), "Linear + Periodic": Linear() + Periodic(7.0)}
models = {
    name: IEGPRegressor([kernel], n_frequencies=20, drift_var=0.0, random_state=0).fit(day[known], y[known])
    for name, kernel in kernels.items()
}
for name, model in models.items():
    error = np.sqrt(np.mean((model.predict(day[~known]) - y[~known]) ** 2))
    print(f"{name:18} error of the last 30 days {error:.2f}")

# %%
figure = Figure(figsize=(9, 5), layout="constrained")
panels = figure.subplots(2, 1, sharex=True, sharey=True)
for axes, (name, model) in zip(panels, models.items(), strict=True):
    distribution = model.predict_dist(day)
    low, high = distribution.interval(0.95)
    axes.fill_between(day[:, 0], low, high, color="#9cc3e6", lw=0)
    axes.plot(day[:, 0], distribution.mean, color="#12436d")
    axes.plot(day[:, 0], y, ".", color="#1a1a1a", ms=2)
    axes.axvline(90, color="#c0392b")
    axes.set_title(name, loc="left")
    axes.set_ylabel("label")
panels[-1].set_xlabel("day (learned up to the red line)")
figure
