"""scikit-learn's own checks with no expected failures, and its tools around our regressor."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from contracts.models import SMALL, same_bits, small, small_classifier, small_counts, small_ordinal, stream
from sklearn.base import clone, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from iegp import IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, IEGPRegressor
from iegp.kernels import RBF
from iegp.presets import dsie_gp

STRICT = {"xfail_strict": True} if "xfail_strict" in inspect.signature(parametrize_with_checks).parameters else {}

MODELS = [
    small(),
    small(weights="bayes", shutdown=1e-4),
    small(weights="switching", standardize=False, prior_var=1.0, noise_var=0.1, warmup=0),
    dsie_gp(kernels=SMALL["kernels"], n_frequencies=8, warmup=32, random_state=0),
]
NOTHING_TO_FIT = {"standardize": False, "prior_var": 1.0, "warmup": 0}
# The checks want a good fit of ten columns whose "counts" scatter less than counts do.
WIDE = {"kernels": [RBF(3.0), RBF(10.0)], "n_frequencies": 16}
LABEL_MODELS = [
    small_classifier(),
    small_classifier(weights="switching", **NOTHING_TO_FIT),
    small_classifier(link="probit", drift_var=1e-2, sharpness=1.0, integration="monte-carlo"),
    dsie_gp("classification", kernels=SMALL["kernels"], n_frequencies=8, warmup=32, random_state=0),
    small_counts(**WIDE),
    small_counts(**WIDE, weights="switching", **NOTHING_TO_FIT),
    small_ordinal(order=None),
    small_ordinal(order=None, weights="switching", **NOTHING_TO_FIT | {"warmup": 32}),
]
MORE_LABEL_MODELS = [
    small_classifier(weights="bayes", shutdown=1e-4, drift_var=0.0),
    small_counts(**WIDE, weights="bayes", shutdown=1e-4, drift_var=0.0, prior_var=1.0),
    small_counts(**WIDE, drift_var=1e-2, overdispersion=0.0),
    small_ordinal(order=None, weights="bayes", shutdown=1e-4, drift_var=0.0),
    small_ordinal(order=None, link="probit", drift_var=1e-2, sharpness=1.0),
    # Those of the default ensembles, of which the default tests take one.
    IEGPCountRegressor(n_frequencies=4, warmup=64, random_state=0),
    IEGPOrdinalClassifier(n_frequencies=4, warmup=64, random_state=0),
]


@parametrize_with_checks(MODELS, expected_failed_checks=lambda estimator: {}, **STRICT)  # noqa: ARG005
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@parametrize_with_checks([IEGPRegressor(random_state=0)], expected_failed_checks=lambda estimator: {}, **STRICT)  # noqa: ARG005
def test_scikit_learn_checks_of_the_default_model(estimator, check):
    check(estimator)


@parametrize_with_checks(LABEL_MODELS, expected_failed_checks=lambda estimator: {}, **STRICT)  # noqa: ARG005
def test_scikit_learn_checks_of_classes_and_counts(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [IEGPClassifier(n_frequencies=4, warmup=64, random_state=0)],
    expected_failed_checks=lambda estimator: {},  # noqa: ARG005
    **STRICT,
)
def test_scikit_learn_checks_of_the_default_model_of_classes(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(MORE_LABEL_MODELS, expected_failed_checks=lambda estimator: {}, **STRICT)  # noqa: ARG005
def test_scikit_learn_checks_of_more_models_of_classes_and_counts(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "models",
    ["small(), small_classifier()", pytest.param("counts, small_ordinal(order=None)", marks=pytest.mark.slow)],
)
def test_scikit_learn_checks_with_scipys_array_api(models):
    """SciPy takes other paths when SCIPY_ARRAY_API is set; it must be set before SciPy is imported."""
    script = (
        "from contracts.models import RBF, small, small_classifier, small_counts, small_ordinal\n"
        "from sklearn.utils.estimator_checks import check_estimator\n"
        "counts = small_counts(kernels=[RBF(3.0), RBF(10.0)], n_frequencies=16)\n"
        f"for model in ({models}):\n"
        "    results = check_estimator(model, on_skip=None)\n"
        "    bad = [(r['check_name'], r['exception']) for r in results if r['status'] not in ('passed', 'skipped')]\n"
        "    print(type(model).__name__, bad)\n"
        "    if bad or len(results) < 40:\n"
        "        raise SystemExit(1)\n"
    )
    tests = str(Path(__file__).parents[1])
    environment = os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONPATH": tests}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_a_regressor_with_a_score():
    X, y = stream(d=1)
    model = small().fit(X, y)
    assert is_regressor(model)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("method", ["predict", "predict_dist"])
def test_predicting_before_learning_is_not_fitted_error(method):
    with pytest.raises(NotFittedError):
        getattr(small(), method)(np.zeros((1, 3)))


@pytest.mark.parametrize("attribute", ["expert_weights_", "experts_", "n_samples_seen_"])
def test_learned_attributes_do_not_exist_before_learning(attribute):
    assert not hasattr(small(), attribute)
    assert hasattr(small().fit(*stream(10)), attribute)


def test_clone_has_equal_parameters_and_learned_nothing():
    X, y = stream()
    model = small().fit(X, y)
    twin = clone(model)
    assert not hasattr(twin, "n_samples_seen_")
    assert same_bits(twin.fit(X, y).predict(X), model.predict(X))


def test_pipeline():
    X, y = stream(d=1)
    piped = make_pipeline(MinMaxScaler(), small()).fit(X, y)
    mean, std = piped.predict(X, return_std=True)
    assert mean.shape == std.shape == (150,)
    assert piped.score(X, y) > 0.8


def test_grid_search_over_kernels_prefers_the_better_one():
    X, y = stream(200, d=1)
    grid = {"n_frequencies": [1, 20], "weights": ["stacking", "bayes"]}
    search = GridSearchCV(small(), grid, cv=TimeSeriesSplit(2), error_score="raise").fit(X, y)
    assert search.best_params_["n_frequencies"] == 20
    assert search.best_estimator_.n_samples_seen_ == 200


def test_cross_validation():
    X, y = stream(200, d=1)
    assert cross_val_predict(small(), X, y, cv=4).shape == (200,)
    assert cross_val_score(small(), X, y, cv=TimeSeriesSplit(3), error_score="raise").min() > 0.5


def test_time_series_split_equals_prequential_folds():
    """What a model trained on a fold's past predicts is what predict gives after prequential over that past."""
    X, y = stream(200)
    past, future = next(iter(TimeSeriesSplit(2).split(X)))
    model = small()
    model.prequential(X[past], y[past])
    expected = small().fit(X[past], y[past]).predict(X[future], horizon=1)
    np.testing.assert_allclose(model.predict(X[future]), expected, rtol=1e-8, atol=1e-10)


def test_transformed_target():
    X, y = stream()
    wrapped = TransformedTargetRegressor(small(), func=np.log, inverse_func=np.exp).fit(X, np.exp(y))
    np.testing.assert_allclose(np.log(wrapped.predict(X)), small().fit(X, y).predict(X), rtol=1e-6, atol=1e-6)


def test_get_and_set_params():
    model = small().set_params(n_frequencies=3, drift_var=0.0, noise_forgetting=None)
    assert model.get_params()["n_frequencies"] == 3
    assert len(model.fit(*stream(20)).experts_) == 2


# -- data frames -----------------------------------------------------------------------------------------------------


@pytest.fixture
def frames() -> ModuleType:
    return pytest.importorskip("pandas", reason="pandas is not installed: data frames are not tested")


def test_frames_give_what_arrays_give_and_names_are_remembered(frames):
    X, y = stream()
    table = frames.DataFrame(X, columns=["load", "wind", "sun"])
    model = small().fit(table, frames.Series(y))
    assert list(model.feature_names_in_) == ["load", "wind", "sun"]
    assert same_bits(model.predict(table), small().fit(X, y).predict(X))


def test_frames_with_other_names_are_refused(frames):
    X, y = stream()
    model = small().fit(frames.DataFrame(X, columns=["load", "wind", "sun"]), y)
    for columns in (["wind", "load", "sun"], ["load", "wind", "moon"]):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frames.DataFrame(X, columns=columns))
        with pytest.raises(ValueError, match="feature names"):
            model.partial_fit(frames.DataFrame(X, columns=columns), y)


def test_a_bad_cell_of_a_frame_is_named_by_its_column(frames):
    X, y = stream()
    table = frames.DataFrame(X, columns=["load", "wind", "sun"])
    table.loc[7, "wind"] = np.inf
    with pytest.raises(ValueError, match=r"row 7, column 1 \('wind'\)"):
        small().fit(table, y)
    table["wind"] = table["wind"].astype(object)
    table.loc[7, "wind"] = "calm"
    with pytest.raises(ValueError, match="'calm' at row 7, column 1"):
        small().fit(table, y)


def test_a_model_with_names_warns_about_an_array_without():
    """Names come from frames; here they are set by hand, so that the check runs without pandas too."""
    X, y = stream()
    model = small().fit(X, y)
    model.feature_names_in_ = np.array(["load", "wind", "sun"], dtype=object)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    X[3, 1] = np.inf
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(ValueError, match=r"infinity at row 3, column 1 \('wind'\)"),
    ):
        model.predict(X)
