"""
Wild values
===========

A sensor fails now and then and reports a value that is far off. By default such a *glitch* is predicted and scored but
not learned, unless the row before is one too, which would be a change.
"""

import numpy as np

from iegp import IEGPRegressor
from iegp.kernels import RBF
from iegp.plots import plot_run

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
# The last model has learned the wild values; each of them disturbs the predictions that follow it.
plot_run(runs[False], model.experts_, title="robust=False", zoom=(200, 600))
