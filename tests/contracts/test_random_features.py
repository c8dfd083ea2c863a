"""The transformer: inner products approach the kernel, the features are an expert's, and scikit-learn can use it."""

from __future__ import annotations

import inspect
import pickle
import re

import numpy as np
import pytest
from contracts.models import same_bits, small, stream
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import iegp
from iegp import RandomFourierFeatures
from iegp.core.features import fourier_rows
from iegp.errors import InputError
from iegp.kernels import RBF, Cauchy, Laplace, Matern

STRICT = {"xfail_strict": True} if "xfail_strict" in inspect.signature(parametrize_with_checks).parameters else {}
KERNELS = [
    RBF(1.5),
    RBF((0.5, 2.0, 4.0)),
    RBF("dimension"),
    RBF("dimension", stretch=0.5),
    Matern(1.5, nu=0.5),
    Matern(1.5, nu=1.5),
    Matern(1.5, nu=2.5),
    Laplace(2.0),
    Cauchy((1.0, 2.0, 3.0)),
]
METHODS = ["orthogonal", "random"]
X, _ = stream(60)


def errors(kernel, n_frequencies, features, n_seeds=8):
    """Mean squared error of the approximate kernel matrix, seed by seed."""
    exact = kernel(X)
    found = []
    for seed in range(n_seeds):
        model = RandomFourierFeatures(kernel, n_frequencies=n_frequencies, features=features, random_state=seed)
        phi = model.fit_transform(X)
        found.append(np.mean((phi @ phi.T - exact) ** 2))
    return np.array(found)


@parametrize_with_checks(
    [
        RandomFourierFeatures(random_state=0),
        RandomFourierFeatures(Laplace("dimension"), n_frequencies=3, features="random", random_state=0),
    ],
    expected_failed_checks=lambda estimator: {},  # noqa: ARG005
    **STRICT,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("features", METHODS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_error_falls_with_the_number_of_frequencies(kernel, features):
    few, more, many = (errors(kernel, n, features).mean() for n in (10, 80, 640))
    # One over the number of frequencies on average: eight times as many, an eighth of the squared error.
    assert few > 3 * more > 9 * many
    assert many < 1.5 / 640


def test_orthogonal_frequencies_are_better_on_average():
    for n_frequencies in (12, 60):
        assert (
            errors(RBF(1.5), n_frequencies, "orthogonal", 30).mean()
            < errors(RBF(1.5), n_frequencies, "random", 30).mean()
        )


@pytest.mark.parametrize("features", METHODS)
def test_rows_have_norm_one_and_estimate_across_two_sets(features):
    model = RandomFourierFeatures(Cauchy(2.0), n_frequencies=2000, features=features, random_state=0).fit(X)
    other = stream(20, seed=5)[0]
    phi, psi = model.transform(X), model.transform(other)
    assert_allclose(np.linalg.norm(phi, axis=1), 1.0, rtol=1e-14)
    assert_allclose(phi @ psi.T, Cauchy(2.0)(X, other), atol=0.1)


def test_sines_come_first():
    model = RandomFourierFeatures(n_frequencies=5, random_state=0).fit(X)
    angles = X @ model.frequencies_.T
    assert_allclose(model.transform(X), np.hstack([np.sin(angles), np.cos(angles)]) / np.sqrt(5), atol=1e-14)


@pytest.mark.parametrize("features", METHODS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("seed", [0, 7])
def test_features_are_those_of_the_first_expert(kernel, features, seed):
    rows, labels = stream(80)
    options = {"n_frequencies": 6, "features": features, "random_state": seed}
    expert = (
        small(kernels=[kernel, RBF(9.0)], drift_var=0.0, noise_forgetting=None, **options).fit(rows, labels).experts_[0]
    )
    model = RandomFourierFeatures(kernel, **options).fit(rows)
    assert same_bits(model.frequencies_, expert.frequencies)
    scaled = StandardScaler().fit_transform(rows)
    assert same_bits(model.transform(scaled), fourier_rows(scaled, expert.frequencies))


def test_only_the_number_of_columns_matters_when_fitting():
    model = RandomFourierFeatures(n_frequencies=4, random_state=3)
    assert same_bits(model.fit(X).frequencies_, clone(model).fit(100 + 5 * X[:2], y=[1, 2]).frequencies_)
    assert model.frequencies_.shape == (4, 3)
    assert model.n_features_in_ == 3


@pytest.mark.parametrize("kind", [np.float32, np.int64, bool])
def test_features_are_float64(kind):
    rows = (X > 0).astype(kind)
    phi = RandomFourierFeatures(n_frequencies=4, random_state=0).fit_transform(rows)
    assert phi.dtype == np.float64
    assert same_bits(phi, RandomFourierFeatures(n_frequencies=4, random_state=0).fit_transform(rows.astype(float)))


def test_seeds():
    def drawn(state):
        return RandomFourierFeatures(n_frequencies=4, random_state=state).fit(X).frequencies_

    assert same_bits(drawn(1), drawn(1))
    assert same_bits(drawn(np.random.RandomState(1)), drawn(np.random.RandomState(1)))
    assert not same_bits(drawn(1), drawn(2))
    assert not same_bits(drawn(None), drawn(None))


def test_pipelines_with_linear_models():
    rows, labels = stream(400, d=2)
    scaled = [StandardScaler(), RandomFourierFeatures(RBF(1.0), n_frequencies=60, random_state=0)]
    assert make_pipeline(*scaled, Ridge(1e-2)).fit(rows[:300], labels[:300]).score(rows[300:], labels[300:]) > 0.9
    # A ring around the origin, which no line separates.
    ring = np.hypot(rows[:, 0], rows[:, 1]) > 1.2
    classifier = make_pipeline(*scaled, SGDClassifier(alpha=1e-4, random_state=0))
    assert classifier.fit(rows[:300], ring[:300]).score(rows[300:], ring[300:]) > 0.9


def test_grid_search_over_kernels():
    rows, labels = stream(200)
    model = make_pipeline(RandomFourierFeatures(n_frequencies=40, random_state=0), Ridge(1e-2))
    grid = {"randomfourierfeatures__kernel": [RBF(0.01), RBF(2.0)]}
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(rows, labels)
    assert search.best_params_ == {"randomfourierfeatures__kernel": RBF(2.0)}


NAMES = ["sin0", "sin1", "cos0", "cos1"]


def test_names_of_features():
    model = RandomFourierFeatures(n_frequencies=2, random_state=0)
    with pytest.raises(NotFittedError):
        model.get_feature_names_out()
    assert model.fit(X).get_feature_names_out().tolist() == NAMES
    pipeline = make_pipeline(StandardScaler(), model).fit(X)
    assert pipeline.get_feature_names_out().tolist() == NAMES


def test_pandas_in_and_out():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["a", "b", "c"], index=np.arange(60) + 7)
    model = RandomFourierFeatures(n_frequencies=2, random_state=0).set_output(transform="pandas")
    out = model.fit_transform(table)
    assert out.columns.tolist() == NAMES
    assert out.index.tolist() == table.index.tolist()
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert same_bits(out.to_numpy(), RandomFourierFeatures(n_frequencies=2, random_state=0).fit_transform(X))
    with pytest.raises(ValueError, match="feature names"):
        model.transform(table[["b", "a", "c"]])


def test_polars_in_and_out():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(X, schema=["a", "b", "c"])
    model = RandomFourierFeatures(n_frequencies=2, random_state=0).set_output(transform="polars")
    out = model.fit_transform(table)
    assert out.columns == NAMES
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert_allclose(out.to_numpy(), RandomFourierFeatures(n_frequencies=2, random_state=0).fit_transform(X), rtol=0)


def test_clone_and_pickle():
    model = RandomFourierFeatures(Matern("dimension", nu=2.5), n_frequencies=7, features="random", random_state=2).fit(
        X
    )
    assert not hasattr(clone(model), "frequencies_")
    assert clone(model).get_params() == model.get_params()
    assert same_bits(clone(model).fit_transform(X), model.transform(X))
    assert same_bits(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))


def test_it_is_exported():
    assert iegp.RandomFourierFeatures is iegp.estimators.RandomFourierFeatures
    text = RandomFourierFeatures.__doc__
    for parameter in inspect.signature(RandomFourierFeatures).parameters:
        assert parameter in text.split("Attributes")[0]


# -- bad input -------------------------------------------------------------------------------------------------------

BAD_PARAMETERS = {
    "kernel": ["rbf", 1.0, [RBF(1.0)], RBF, RBF("evidence"), Laplace("per-dimension", stretch=2.0)],
    "n_frequencies": [0, -1, 2.5, True, "8", None],
    "features": ["sobol", None, 3],
    "random_state": ["a", -1, 2.5],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [pytest.param(name, value, id=f"{name}={value!r}") for name, values in BAD_PARAMETERS.items() for value in values],
)
def test_bad_parameters_are_named_when_fitting(name, value):
    model = RandomFourierFeatures(**{name: value})
    with pytest.raises(InputError, match=rf"^{name}\b"):
        model.fit(X)
    assert vars(model).keys() == RandomFourierFeatures().get_params().keys()


def test_words_that_need_labels_say_what_to_do():
    with pytest.raises(InputError, match=r"'evidence'.*labels.*give a number.*'dimension'.*IEGPRegressor"):
        RandomFourierFeatures(RBF("evidence")).fit(X)


def test_a_length_scale_per_column_must_fit_the_columns():
    with pytest.raises(InputError, match="2 length scales but the data have 3 columns"):
        RandomFourierFeatures(RBF((1.0, 2.0))).fit(X)


def broken(value):
    rows = X.copy()
    rows[4, 1] = value
    return rows


@pytest.mark.parametrize("method", ["fit", "transform"])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (broken(np.nan), "X contains NaN at row 4, column 1"),
        (broken(np.inf), "X contains infinity at row 4, column 1"),
        ([["a", 1.0, 2.0]], "X has 'a' at row 0, column 0"),
        (X[:0], "0 sample"),
        (X[:, 0], "Expected 2D array"),
    ],
    ids=["NaN", "infinity", "text", "no rows", "one dimension"],
)
def test_bad_rows(rows, message, method):
    model = RandomFourierFeatures(n_frequencies=4, random_state=0).fit(X)
    before = model.transform(X)
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(rows)
    assert same_bits(model.transform(X), before)


def test_rows_of_another_width():
    with pytest.raises(ValueError, match="X has 2 features, but RandomFourierFeatures is expecting 3"):
        RandomFourierFeatures(random_state=0).fit(X).transform(X[:, :2])


def test_numbers_too_large_for_an_angle():
    model = RandomFourierFeatures(RBF(1e-3), random_state=0).fit(X)
    assert np.isfinite(model.transform(broken(1e200))).all()
    with pytest.raises(InputError, match=re.escape("X has 1e+307 at row 4") + ".*StandardScaler"):
        model.transform(broken(1e307))
