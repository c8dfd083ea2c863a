"""
A model for every sensor
========================

Many sensors of one kind share a shape but differ in level and gain. A *fleet* holds one model per key; all start from
the same template, which has learned from rows of every sensor.
"""

import numpy as np
from matplotlib.figure import Figure

from iegp import Fleet, IEGPRegressor
from iegp.kernels import RBF, Constant

rng = np.random.default_rng(0)
n = 3000
sensors = rng.integers(0, 10, size=n)
level, gain = rng.normal(0, 3, size=10), rng.uniform(0.5, 2.0, size=10)
X = rng.uniform(-3, 3, size=(n, 1))
y = level[sensors] + gain[sensors] * np.sin(X[:, 0]) + 0.2 * rng.standard_normal(n)

# %%
# The template learns scaling and hyperparameters from the first 300 rows; then every sensor has a model of its own.
template = IEGPRegressor(
    [RBF("evidence") + Constant()],
    n_frequencies=20,
    drift_var=(0.0, 1e-3),
    noise_forgetting=(0.9, 0.97),
    random_state=0,
)
template.warm_up(X[:300], y[:300])
fleet = Fleet(template)
run = fleet.learn(sensors[300:], X[300:], y[300:], level=0.95)
run

# %%
# One model for all sensors, for comparison. To the template the differences between sensors were noise, so that the
# intervals of the fleet are too wide at first; they become narrow as each model learns the noise of its sensor.
template.prequential(X[300:], y[300:])

# %%
# What three of the models have learned.
grid = np.linspace(-3, 3, 200)[:, None]
figure = Figure(figsize=(9, 4), layout="constrained")
axes = figure.subplots()
for key in (0, 1, 2):
    mean, std = fleet.predict(key, grid, return_std=True)
    axes.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, alpha=0.3, lw=0)
    axes.plot(grid[:, 0], mean, label=f"sensor {key}")
axes.set(xlabel="input", ylabel="reading, with two standard deviations")
axes.legend(loc="upper left")
figure
