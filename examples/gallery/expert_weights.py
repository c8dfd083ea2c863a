"""
Which experts answer
====================

An ensemble is a list of experts, each a Gaussian process with a kernel, a drift and a noise model of its own. Their
weights tell what the stream is like. Here the relation is constant, changes at once, and is constant again.
"""

from iegp import IEGPRegressor
from iegp.datasets import robot_arm
from iegp.kernels import RBF
from iegp.plots import ExpertWeightsDisplay

stream = robot_arm(1200, noise=1.5, random_state=0)
model = IEGPRegressor(
    [RBF(2.0), RBF(6.0)],
    n_frequencies=20,
    drift_var=(0.0, 1e-3, 1e-1),
    noise_forgetting=None,
    warmup=300,
    random_state=0,
)
run = model.prequential(stream.X, stream.y)
run

# %%
# Two kernels and three drifts are six experts, the one with the largest weight first.
model.experts_

# %%
# Weight moves from static experts to experts that drift when the arm picks up a load (red line).
ExpertWeightsDisplay.from_run(run, model.experts_, changes=stream.change_points).figure_
