"""
Ordered classes
===============

"poor", "fair" and "good" are classes with an order: a good product is nearer to fair than to poor. One function passes
through increasing cut-points, which are learned with it.
"""

import numpy as np

from iegp import IEGPOrdinalClassifier
from iegp.kernels import RBF
from iegp.plots import CalibrationDisplay

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
CalibrationDisplay.from_run(run).figure_
