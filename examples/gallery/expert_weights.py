"""
Which experts answer
====================

An ensemble is a list of experts, each a Gaussian process with a kernel, a drift and a noise model of its own. Their
weights tell what the stream is like: here it is stable, then changes at once, twice.
"""

from iegp import IEGPRegressor
from iegp.datasets import switching_gp
from iegp.kernels import RBF
from iegp.plots import ExpertWeightsDisplay

stream = switching_gp(900, n_segments=3, length_scales=(0.7, 3.0), random_state=0)
model = IEGPRegressor(
    [RBF(0.7), RBF(3.0)],
    n_frequencies=20,
    drift_var=(0.0, 1e-2),
    noise_forgetting=None,
    weights="switching",
    warmup=200,
    random_state=0,
)
run = model.prequential(stream.X, stream.y)
run

# %%
# Two kernels and two drifts are four experts; ``weights="switching"`` lets the best one change.
model.experts_

# %%
ExpertWeightsDisplay.from_run(run, model.experts_, changes=stream.change_points).figure_
