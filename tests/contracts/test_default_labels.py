"""The default and the light models of classes, ordered classes and counts, which see the last labels."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from contracts.models import GRADES, class_stream, count_stream, grade_stream, same_bits
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import iegp
from iegp import IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, presets
from iegp.cli.models import settings_of
from iegp.errors import InputError
from iegp.kernels import RBF, Linear

# Rows of a run, with a refit at 32 of them and the end of the warm-up at 40.
N, WARMUP = 70, 40
SMALL: dict[str, Any] = {"n_frequencies": 4, "warmup": WARMUP, "random_state": 0}
ESTIMATORS = {
    "two classes": IEGPClassifier,
    "three classes": IEGPClassifier,
    "grades": IEGPOrdinalClassifier,
    "counts": IEGPCountRegressor,
}
KINDS = tuple(ESTIMATORS)
TASKS = {"two classes": "classification", "three classes": "classification", "grades": "ordinal", "counts": "count"}


def rows_of(kind: str, n: int = N) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Inputs, labels, and what the learning methods must be told of them."""
    if kind == "counts":
        return *count_stream(n)[:2], {}
    if kind == "grades":
        return *grade_stream(n), {"classes": GRADES}
    n_classes = 2 if kind == "two classes" else 3
    return *class_stream(n, n_classes), {"classes": range(n_classes)}


def predicted(run: Any) -> np.ndarray:
    return run.mean if hasattr(run, "mean") else run.proba


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_sees_three_labels_and_drifts_relative_to_its_prior(kind):
    settings = ESTIMATORS[kind]().settings(3)
    assert settings.lags == (1, 2, 3)
    assert settings.drift_units == "prior"
    sees = [[term.lags for term in kernel.terms] for kernel in settings.kernels]
    assert [False] in sees  # one that does not see them
    assert any("only" in terms for terms in sees)


@pytest.mark.parametrize("arguments", [{"kernels": [RBF(1.0)]}, {"weights": "bayes"}], ids=["kernels", "bayes"])
@pytest.mark.parametrize("kind", KINDS)
def test_models_that_are_not_the_default_have_no_lags_unless_asked(kind, arguments):
    settings = ESTIMATORS[kind](**arguments).settings(3)
    assert settings.lags == ()
    assert settings.drift_units == "target"
    assert settings.drift_var == ((0.0, 1e-3, 1e-2) if kind == "counts" else (0.0, 1e-3, 1e-2, 1e-1))
    assert ESTIMATORS[kind](**arguments, lags=2).settings(3).lags == (1, 2)


def test_a_default_without_lags_has_no_kernel_of_lags():
    settings = IEGPClassifier(lags=0).settings(2)
    assert settings.lags == ()
    assert all(term.lags != "only" for kernel in settings.kernels for term in kernel.terms)


@pytest.mark.parametrize("kind", KINDS)
def test_no_label_changes_a_prediction_before_it(kind):
    X, y, told = rows_of(kind)
    whole = ESTIMATORS[kind](**SMALL).prequential(X, y, **told)
    for t in (1, 31, 33, 41, 60):
        other = y.copy()
        other[t:] = y[t:][::-1] if t < 60 else y[0]
        changed = ESTIMATORS[kind](**SMALL).prequential(X, other, **told)
        assert same_bits(predicted(whole)[: t + 1], predicted(changed)[: t + 1])
        assert not np.array_equal(predicted(whole), predicted(changed))


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_label_is_an_input(kind):
    """Two pasts that differ in nothing but the newest label give different predictions of one row."""
    X, y, told = rows_of(kind)
    other = y.copy()
    other[-1] = y[y != y[-1]][0]
    models = [ESTIMATORS[kind](**SMALL) for _ in range(2)]
    for model in models:
        model.partial_fit(X[:-1], y[:-1], **told)
    before = models[0].model_.state.recent.copy()
    for model, labels in zip(models, (y, other), strict=True):
        model.partial_fit(X[-1:], labels[-1:])
    first, second = (model.model_.state.recent for model in models)
    assert_array_equal(first[:-1], before[1:])
    assert_array_equal(first[:-1], second[:-1])
    assert not np.array_equal(first[-1], second[-1])


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_do_not_matter(kind):
    X, y, told = rows_of(kind)
    whole = predicted(ESTIMATORS[kind](**SMALL).prequential(X, y, **told))
    model = ESTIMATORS[kind](**SMALL)
    edges = [0, 1, 3, 30, 36, 41, 55, N]
    parts = [predicted(model.prequential(X[a:b], y[a:b], **told)) for a, b in pairwise(edges)]
    assert_allclose(np.concatenate(parts), whole, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n_before", [20, 50], ids=["in the warm-up", "after it"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_model_goes_on_with_the_same_lags(kind, n_before, tmp_path):
    X, y, told = rows_of(kind)
    model = ESTIMATORS[kind](**SMALL).partial_fit(X[:n_before], y[:n_before], **told)
    model.save(tmp_path / "m")
    loaded = iegp.load(tmp_path / "m")
    assert loaded.lags_ == (1, 2, 3)
    runs = [predicted(m.prequential(X[n_before:], y[n_before:])) for m in (model, loaded)]
    assert same_bits(*runs)


def repeating(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels that repeat nineteen times out of twenty, beside columns that say nothing."""
    rng = np.random.default_rng(1)
    y = np.zeros(n, dtype=np.int64)
    for t in range(1, n):
        y[t] = y[t - 1] if rng.random() < 0.95 else rng.integers(n_classes)
    return rng.standard_normal((n, 3)), y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_that_repeat_are_predicted_as_well_as_by_the_last_one(n_classes):
    X, y = repeating(400, n_classes)
    run = IEGPClassifier(n_frequencies=10, warmup=128, random_state=0).prequential(X, y)
    rows = slice(40, None)
    last = np.mean(y[40:] != y[39:-1])
    assert np.mean(run.predicted[rows] != y[rows]) <= last + 0.01
    without = IEGPClassifier(n_frequencies=10, warmup=128, lags=0, random_state=0).prequential(X, y)
    assert run.log_loss < without.log_loss - 0.05


def test_labels_in_turn_are_learned():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 2)), np.arange(300) % 3
    run = IEGPClassifier(n_frequencies=10, warmup=128, random_state=0).prequential(X, y)
    assert np.mean(run.predicted[100:] != y[100:]) < 0.02


def test_counts_that_follow_the_last_ones():
    """Their rate wanders; columns say nothing."""
    rng = np.random.default_rng(0)
    level = np.cumsum(0.15 * rng.standard_normal(400))
    X, y = rng.standard_normal((400, 2)), rng.poisson(np.exp(3.0 + level - level.mean()))
    run = IEGPCountRegressor(n_frequencies=10, warmup=128, random_state=0).prequential(X, y)
    rows = slice(40, None)
    error, last = np.mean((run.mean[rows] - y[rows]) ** 2), np.mean((y[40:] - y[39:-1]) ** 2.0)
    assert error <= last
    assert run.coverage >= 0.92


@pytest.mark.parametrize("kind", KINDS)
def test_a_light_model_is_small_and_learns(kind):
    X, y, told = rows_of(kind, 150)
    light = presets.light(TASKS[kind], random_state=0, warmup=64)
    assert type(light) is ESTIMATORS[kind]
    settings, default = light.settings(3), ESTIMATORS[kind]().settings(3)
    n_beliefs, n_default = (len(s.kernels) * len(s.drift_var) for s in (settings, default))
    assert n_beliefs < n_default
    assert settings.n_frequencies < default.n_frequencies
    assert settings.lags == (1, 2, 3)
    run = light.prequential(X, y, **told)
    assert np.isfinite(run.log_score).all()
    if kind != "counts":
        assert run.log_loss < np.log(len(run.classes))


@pytest.mark.parametrize("kind", KINDS)
def test_a_light_model_without_lags_leaves_out_what_sees_only_them(kind):
    X, y, told = rows_of(kind)
    model = presets.light(TASKS[kind], lags=0, **SMALL)
    kernels = model.settings(3).kernels
    assert 0 < len(kernels) < len(presets.light(TASKS[kind]).settings(3).kernels)
    assert model.partial_fit(X, y, **told).lags_ == ()
    assert clone(presets.light(TASKS[kind])).set_params(lags=0).settings(3).kernels == kernels
    assert settings_of("light", TASKS[kind], 0, {"lags": 0}, 3).kernels == kernels


def test_kernels_of_the_caller_are_not_left_out():
    X, y, told = rows_of("two classes")
    with pytest.raises(InputError, match="sees lags only"):
        IEGPClassifier([Linear(lags="only")], lags=0, **SMALL).partial_fit(X, y, **told)


def test_the_light_model_of_an_unknown_task():
    with pytest.raises(InputError, match="'regression', 'classification', 'count', 'ordinal'"):
        presets.light("counts")
    assert presets.light("count", warmup=99, n_frequencies=7).warmup == 99


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_has_the_light_model_of_every_task(kind):
    n_classes = 3
    found = settings_of("light", TASKS[kind], 5, {"warmup": 70}, n_classes)
    assert found == presets.light(TASKS[kind], random_state=5, warmup=70).settings(n_classes)


def test_the_second_and_third_count_are_not_extrapolated():
    """Two rows that are close together in a column make its unit tiny: the next row is a hundred units away."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 2)), rng.poisson(5.0, 20)
    X[:2, 0] = 0.0, 0.01
    y[:2] = 9, 1
    run = IEGPCountRegressor(random_state=0, n_frequencies=4).prequential(X, y)
    assert run.mean.max() < 100.0
