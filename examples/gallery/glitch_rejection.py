"""
Wild values
===========

A sensor fails now and then and reports a value that is far off. By default such a *glitch* is predicted and scored but
not learned, unless the row before is one too, which would be a change.
"""

import numpy as np
from matplotlib.figure import Figure

from iegp import IEGPRegressor
from iegp.kernels import RBF

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(600, 1))
clean = np.sin(2 * X[:, 0])
y = clean + 0.1 * rng.standard_normal(600)
glitches = rng.choice(np.arange(200, 600), size=8, replace=False)
y[glitches] += 30.0

# %%
# The error is measured against the clean function, on the rows after the first glitch.
after = slice(int(glitches.min()) + 1, None)
runs = {}
for robust in (True, False):
    model = IEGPRegressor([RBF("evidence")], n_frequencies=20, warmup=150, robust=robust, random_state=0)
    runs[robust] = model.prequential(X, y)
    error = np.sqrt(np.mean((runs[robust].mean[after] - clean[after]) ** 2))
    width = np.median((runs[robust].upper - runs[robust].lower)[after])
    print(f"robust={robust!s:5}  error {error:.3f}  typical width of the interval {width:.2f}")

# %%
# Red lines are the wild values, far above the figure. Learned, each of them disturbs the predictions that follow it.
figure = Figure(figsize=(9, 5), layout="constrained")
panels = figure.subplots(2, 1, sharex=True, sharey=True)
row = np.arange(600)
for axes, (robust, run) in zip(panels, runs.items(), strict=True):
    axes.vlines(glitches, -3, 3, color="#c0392b", lw=1)
    axes.fill_between(row, run.lower - clean, run.upper - clean, color="#9cc3e6", lw=0)
    axes.plot(row, run.mean - clean, color="#12436d")
    axes.set(title=f"robust={robust}", ylabel="error of the prediction", xlim=(200, 600), ylim=(-3, 3))
panels[1].set_xlabel("row of the stream")
figure
