"""A small series and a forecaster that is quick to learn it."""

from __future__ import annotations

import numpy as np

from iegp import IEGPForecaster, IEGPRegressor
from iegp.kernels import Constant, Linear

SEASON, HORIZON = 6, 3


def series(n=90, seed=0):
    rng = np.random.default_rng(seed)
    shape = np.sin(2 * np.pi * np.arange(n) / SEASON)
    return 5.0 + shape + np.cumsum(0.05 * rng.standard_normal(n)) + 0.1 * rng.standard_normal(n)


def regressor(delay=0):
    kernels = [Linear() + Constant()]
    return IEGPRegressor(
        kernels, drift_var=(0.0, 1e-3), drift_units="prior", lags=0, warmup=32, delay=delay, random_state=0
    )


def forecaster(**changes):
    arguments = {"horizon": HORIZON, "season": SEASON, "lags": 2, "regressor": regressor(), "random_state": 0}
    return IEGPForecaster(**(arguments | changes))
