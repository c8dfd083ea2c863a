"""
Comparing models on streams
===========================

:func:`iegp.compare` runs any model that learns row by row, ours, scikit-learn's or River's, under one protocol: each
row is predicted before it is learned, and labels come as late as the stream says.
"""

from river import linear_model, preprocessing, tree
from sklearn.linear_model import SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import iegp
from iegp.datasets import bike_rentals, drifting, friedman, robot_arm

streams = {
    "robot arm": robot_arm(800, random_state=0),
    "bike rentals": bike_rentals(800, random_state=0),
    "gradual change": drifting("gradual", 800, random_state=0),
    "abrupt change": drifting("abrupt", 800, random_state=0),
    "labels 10 rows late": friedman(n=800, random_state=0),
}

# %%
# Each model is copied for every run, with the seed and the delay of that run. ``verbose=True``, the default, prints a
# line after each run.
models = {
    "iegp (light)": iegp.presets.light(),
    "linear (scikit-learn)": make_pipeline(StandardScaler(), SGDRegressor(learning_rate="constant", eta0=0.01)),
    "linear (River)": preprocessing.StandardScaler() | linear_model.LinearRegression(),
    "Hoeffding tree (River)": tree.HoeffdingTreeRegressor(),
}
found = iegp.compare(models, streams, delay={"labels 10 rows late": 10}, seeds=2, warmup=300, verbose=False)
print(found.table("nmse"))

# %%
# The same as a data frame with one row for each run, here the first four; ``found.to_csv(path)`` writes it to a file.
print(found.to_frame()[["model", "stream", "seed", "rmse", "nmse"]].head(4).to_string(index=False))

# %%
# Differences seed by seed, with a 95 % interval by Student's test; use more seeds than here.
for row in found.paired("iegp (light)", "linear (scikit-learn)", "rmse"):
    print(f"{row['stream']}: {row['difference']:+.3f} ({row['lower']:+.3f} to {row['upper']:+.3f})")

# %%
# A dot for each seed and a line at the median; the lowest median is red.
found.plot("nmse")
