"""
Noticing changes
================

A regressor watches its own errors and says when the stream has changed, and how: its level, its noise, or the relation
between inputs and label. Nothing has to be set up. The kind is decided from the few rows after the change, and can be
wrong, most often where the noise grew.
"""

import numpy as np
from matplotlib.figure import Figure

from iegp import IEGPRegressor
from iegp.kernels import RBF

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(1400, 1))
y = np.sin(X[:, 0])
y[600:] += 0.5  # the level moves,
noise = np.where(np.arange(1400) < 1000, 0.1, 0.3)  # then the noise becomes three times as large
y += noise * rng.standard_normal(1400)

model = IEGPRegressor([RBF(1.0)], n_frequencies=20, warmup=200, random_state=0)
run = model.prequential(X, y)
for change in run.changes:
    print(f"row {change.row}: {change.kind}")

# %%
# Dots are labels minus predictions. Grey lines are the true changes, red ones are when they were noticed.
figure = Figure(figsize=(9, 4), layout="constrained")
axes = figure.subplots()
axes.plot(y - run.mean, ".", color="#12436d", ms=3)
axes.vlines([600, 1000], -3, 3, color="#b0b0b0", lw=4)
for change in run.changes:
    axes.axvline(change.row, color="#c0392b", lw=1)
    axes.text(change.row + 10, 2.6, change.kind, color="#c0392b")
axes.set(xlabel="row of the stream", ylabel="label minus prediction", ylim=(-3, 3))
figure
