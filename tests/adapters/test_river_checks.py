"""River's own checks, every one of them for every model, none skipped."""

from __future__ import annotations

import random

import pytest
import river
from river.checks import yield_checks

from iegp.adapters import (
    RiverClassifier,
    RiverCountRegressor,
    RiverIEGPLVM,
    RiverOrdinalClassifier,
    RiverRegressor,
)

MODELS = (RiverRegressor, RiverCountRegressor, RiverClassifier, RiverOrdinalClassifier, RiverIEGPLVM)
# A check may come several times, once for each data set.
NAMES = {
    model: [f"{number}-{check.__name__}" for number, check in enumerate(yield_checks(model(**small)))]
    for model in MODELS
    for small in [next(model._unit_test_params())]
}
CASES = [(model, number) for model in MODELS for number in range(len(NAMES[model]))]


def run(model, number):
    """Checks shuffle features with the global generator; the same way every time, please."""
    random.seed(number)
    list(yield_checks(model))[number](model)


@pytest.mark.parametrize(
    ("model", "number"), CASES, ids=[f"{model.__name__}-{NAMES[model][number]}" for model, number in CASES]
)
def test_river_check(model, number):
    for small in model._unit_test_params():
        run(model(**small), number)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "number"), CASES, ids=[f"{model.__name__}-{NAMES[model][number]}" for model, number in CASES]
)
def test_river_check_of_the_default_model(model, number):
    run(model(), number)


# Release 0.22 has fewer checks.
@pytest.mark.skipif(river.__version__.startswith("0.22."), reason="the checks named here are newer than this River")
@pytest.mark.parametrize("model", MODELS)
def test_no_check_is_skipped(model):
    small = model(**next(model._unit_test_params()))
    assert small._unit_test_skips() == set()
    names = {name.split("-")[1] for name in NAMES[model]}
    # River seeds what predicts; a transformer has no such check.
    seeded = () if model is RiverIEGPLVM else ("seeding_is_idempotent",)
    for check in ("emerging_features", "disappearing_features", "learn_many_matches_learn_one", *seeded):
        assert f"check_{check}" in names
