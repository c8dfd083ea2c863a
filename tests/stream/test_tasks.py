"""Likelihoods of a stream: each belongs to the task whose estimator takes it."""

from __future__ import annotations

import pytest

from iegp.core.likelihoods import BUILT_IN
from iegp.estimators import IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, IEGPRegressor
from iegp.stream.plan import task_of

ESTIMATORS = {
    "regression": IEGPRegressor,
    "classification": IEGPClassifier,
    "count": IEGPCountRegressor,
    "ordinal": IEGPOrdinalClassifier,
}


@pytest.mark.parametrize("task", ESTIMATORS)
def test_a_checkpoint_may_have_the_likelihoods_of_its_estimator(task):
    known = ("gaussian", *BUILT_IN)
    assert [name for name in known if task_of(name) == task] == [
        name for name in known if name in ESTIMATORS[task]._likelihoods
    ]
