"""
A first stream
==============

A robot arm picks up a load halfway through the stream. The model predicts the torque of every row before it sees
it, says how sure it is, and then learns the row.
"""

from iegp import IEGPRegressor
from iegp.datasets import robot_arm
from iegp.kernels import RBF
from iegp.plots import plot_run

stream = robot_arm(1000, noise=1.5, random_state=0)
stream

# %%
# ``prequential`` predicts each row, then learns it. Two kernels with four drifts each are enough here.
model = IEGPRegressor([RBF("dimension"), RBF("per-dimension")], n_frequencies=20, warmup=300, random_state=0)
run = model.prequential(stream.X, stream.y)
run

# %%
# *nMSE* is the mean squared error divided by the variance of the target: 1 is as bad as predicting the mean, 0 is
# perfect. *Coverage* is the share of labels inside their 95 % interval.
#
# The figure shows the rows around the change (red line). The interval widens when the predictions begin to fail and
# becomes narrow again; below, weight moves from static experts to experts that drift.
change = stream.change_points[0]
plot_run(
    run,
    model.experts_,
    title=stream.name,
    target=stream.target_name,
    changes=stream.change_points,
    zoom=(change - 200, change + 200),
)
