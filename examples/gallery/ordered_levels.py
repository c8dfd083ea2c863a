"""
Ordered classes
===============

"poor", "fair" and "good" are classes with an order: a good product is nearer to fair than to poor. One function passes
through increasing cut-points, which are learned with it.
"""

import numpy as np
from matplotlib.figure import Figure

from iegp import IEGPOrdinalClassifier
from iegp.kernels import RBF

rng = np.random.default_rng(0)
X = rng.uniform(0, 10, size=(500, 2))  # temperature and speed of a machine
quality = 3 - 0.3 * (X[:, 0] - 5) ** 2 + 0.2 * X[:, 1] + 0.5 * rng.standard_normal(500)
grade = np.array(["poor", "fair", "good"])[np.searchsorted([0.0, 2.5], quality)]

model = IEGPOrdinalClassifier(
    order=["poor", "fair", "good"],
    kernels=[RBF("dimension"), RBF("dimension", stretch=3.0)],
    n_frequencies=20,
    drift_var=0.0,
    random_state=0,
)
run = model.prequential(X, grade)
run

# %%
# At a speed of 5, the quality is best at a middle temperature.
for temperature in (1.0, 3.0, 5.0):
    shares = model.predict_proba([[temperature, 5.0]])[0]
    print(temperature, dict(zip(model.classes_.tolist(), shares.round(2).tolist(), strict=True)))

# %%
# The same for all temperatures: the height of each colour is the probability of that grade.
temperatures = np.linspace(0, 10, 200)
shares = model.predict_proba(np.column_stack([temperatures, np.full(200, 5.0)]))
figure = Figure(figsize=(9, 4), layout="constrained")
axes = figure.subplots()
axes.stackplot(temperatures, shares.T, labels=model.classes_, colors=["#c0392b", "#f5b041", "#2e8b57"])
axes.set(xlabel="temperature", ylabel="probability", xlim=(0, 10), ylim=(0, 1))
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
figure
