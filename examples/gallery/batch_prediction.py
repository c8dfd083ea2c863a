"""
Fit, then predict
=================

The same estimators work as ordinary scikit-learn estimators: ``fit`` on rows that are there, ``predict`` for new ones.
``predict_dist`` returns the whole predictive distribution.
"""

import numpy as np
from matplotlib.figure import Figure

from iegp import IEGPRegressor
from iegp.kernels import RBF, Matern

rng = np.random.default_rng(0)
X = rng.uniform(0, 10, size=(300, 1))
X = X[(X[:, 0] < 5) | (X[:, 0] > 6.5)]  # no data between 5 and 6.5
y = np.sin(2 * X[:, 0]) * X[:, 0] / 3 + 0.3 * rng.standard_normal(len(X))

model = IEGPRegressor([RBF("evidence"), Matern("evidence")], n_frequencies=20, drift_var=0.0, random_state=0)
model.fit(X, y)

# %%
# Mean and standard deviation are those of a new label, noise included.
mean, std = model.predict([[2.0], [5.75]], return_std=True)
print(f"at 2.00: {mean[0]:.2f} +- {std[0]:.2f}")
print(f"at 5.75: {mean[1]:.2f} +- {std[1]:.2f}   (where there are no data)")

# %%
# Intervals and quantiles come from the distribution.
grid = np.linspace(0, 10, 400)[:, None]
distribution = model.predict_dist(grid)
low, high = distribution.interval(0.95)

figure = Figure(figsize=(9, 4), layout="constrained")
axes = figure.subplots()
axes.fill_between(grid[:, 0], low, high, color="#9cc3e6", lw=0, label="95 % interval")
axes.plot(grid[:, 0], distribution.mean, color="#12436d", label="mean")
axes.plot(X[:, 0], y, ".", color="#1a1a1a", ms=4, label="rows that were learned")
axes.set(xlabel="x", ylabel="y")
axes.legend(loc="upper left")
figure
