"""
Counts with an exposure
=======================

Customers served per hour are whole numbers that are never negative, and there are more of them where more checkouts are
open. The number of checkouts is the *exposure*: the expected count is proportional to it.
"""

from typing import Any

import numpy as np

from iegp import IEGPCountRegressor
from iegp.kernels import RBF, Periodic
from iegp.plots import PrequentialDisplay

rng = np.random.default_rng(0)
hour = np.arange(500.0)
checkouts = rng.integers(1, 4, size=500)
customers = rng.poisson(checkouts * np.exp(1.5 + np.sin(2 * np.pi * hour / 24)))

# %%
# The log of the rate has a daily period and varies slowly besides.
model = IEGPCountRegressor(
    [Periodic(24.0) + RBF("dimension")], n_frequencies=20, drift_var=(0.0, 1e-3), warmup=200, random_state=0
)
run = model.prequential(hour[:, None], customers, exposure=checkouts)
run

# %%
# Ends of intervals are whole numbers.
PrequentialDisplay.from_run(run, target="customers").figure_

# %%
# The distribution of a count in the next hour, with two checkouts.
distribution: Any = model.predict_dist([[500.0]], exposure=[2])
print("mean", distribution.mean.round(1), " 90 % quantile", distribution.quantile(0.9))
print("probability of at most 10 customers", distribution.cdf(10).round(3))
