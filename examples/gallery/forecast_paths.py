"""
A forecast with intervals
=========================

The next 12 hours of a series, from the series alone. ``IEGPForecaster`` learns from every new value; its intervals are
those of single hours, its paths show how hours go together.
"""

import numpy as np
from matplotlib.figure import Figure

from iegp import IEGPForecaster

rng = np.random.default_rng(0)
hour = np.arange(24 * 28)
level = np.zeros(len(hour))
for t in range(1, len(hour)):
    level[t] = 0.97 * level[t - 1] + 0.3 * rng.standard_normal()
demand = 20 + 4 * np.sin(2 * np.pi * hour / 24) + level + 0.2 * rng.standard_normal(len(hour))

# %%
# Learn four weeks. ``season=24`` says that a day has 24 rows; it is the argument that matters most.
model = IEGPForecaster(horizon=12, season=24, random_state=0)
run = model.prequential(demand)
print("typical error 1, 6 and 12 hours ahead:", run.mae[[0, 5, 11]].round(2))
print("as yesterday:                         ", run.naive_mae(24)[[0, 5, 11]].round(2))

# %%
# What was forecast 12 hours before, in the last week, and the error by hours ahead beside naive forecasts.
run.plot(season=24, target="demand", zoom=(len(hour) - 168, len(hour))).figure_

# %%
# The last three days and the next hours, with ten of the possible continuations.
low, high = model.predict_interval(level=0.95)
ahead = np.arange(len(hour), len(hour) + 12)
figure = Figure(figsize=(9, 4), layout="constrained")
axes = figure.subplots()
axes.plot(hour[-72:], demand[-72:], ".-", color="#1a1a1a", ms=4, lw=0.8, label="demand so far")
axes.fill_between(ahead, low, high, color="#9cc3e6", lw=0, label="95 % interval")
axes.plot(ahead, model.sample_paths(10).T, color="#e67e22", lw=0.7)
axes.plot(ahead, model.predict(), color="#12436d", lw=2, label="forecast")
axes.set(xlabel="hour", ylabel="demand")
axes.margins(y=0.2)
axes.legend(loc="upper left", ncols=3)
figure
