"""
Comparing models on streams
===========================

:func:`iegp.compare` runs any model that learns row by row, ours, scikit-learn's or River's, under one protocol: each
row is predicted before it is learned, and labels come as late as the stream says.
"""

from river import tree
from sklearn.linear_model import SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import iegp
from iegp.datasets import drifting, friedman, robot_arm

streams = {
    "robot arm": robot_arm(800, random_state=0),
    "abrupt change": drifting("abrupt", 800, random_state=0),
    "friedman, labels 10 rows late": friedman(n=800, random_state=0),
}

# %%
# A model is given once; for every run it is copied, with the seed and the delay of that run.
models = {
    "iegp (light)": iegp.presets.light(),
    "linear (scikit-learn)": make_pipeline(StandardScaler(), SGDRegressor()),
    "Hoeffding tree (River)": tree.HoeffdingTreeRegressor(),
}
found = iegp.compare(models, streams, delay={"friedman, labels 10 rows late": 10}, seeds=2, warmup=300, verbose=False)
print(found.table("nmse"))

# %%
# The same as data: one row for each run, here the first four.
print(found.to_frame()[["model", "stream", "seed", "rmse", "nmse"]].head(4).to_string(index=False))

# %%
# Differences seed by seed, with an interval.
for row in found.paired("iegp (light)", "linear (scikit-learn)", "rmse"):
    print(f"{row['stream']}: {row['difference']:+.3f} ({row['lower']:+.3f} to {row['upper']:+.3f})")

# %%
found.plot("nmse")
