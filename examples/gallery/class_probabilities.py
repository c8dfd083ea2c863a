"""
Classes
=======

Labels may be text, numbers or truth values. Every row is answered with a probability for each class before its label
is used.
"""

from iegp import IEGPClassifier
from iegp.datasets import load_embedded
from iegp.kernels import RBF
from iegp.plots import CalibrationDisplay, PrequentialDisplay

stream = load_embedded("breast_cancer")
stream

# %%
# ``drift_var=0.0`` says that nothing changes over time, which is right for patients in no particular order.
model = IEGPClassifier(
    [RBF("dimension"), RBF("dimension", stretch=3.0)], n_frequencies=20, drift_var=0.0, random_state=0
)
run = model.prequential(stream.X, stream.y)
run

# %%
# Probabilities are in the order of ``run.classes``.
print(run.classes)
print(run.proba[:3].round(2))

# %%
# The error falls as rows are learned.
PrequentialDisplay.from_run(run).figure_

# %%
# Are the probabilities right? Of the rows answered with 80 %, 80 % should belong to that class.
CalibrationDisplay.from_run(run).figure_
