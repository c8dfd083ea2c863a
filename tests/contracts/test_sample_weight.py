"""``sample_weight`` of the estimators and ``w`` of the River models."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from contracts.models import SMALL, SMALL_LABELS
from core.builders import labels_of_every_kind
from numpy.testing import assert_allclose, assert_array_equal

import iegp
from iegp import IEGPRegressor
from iegp.adapters import RiverClassifier, RiverCountRegressor, RiverRegressor
from iegp.core.compute.tolerances import NOISE_FLOOR
from iegp.errors import InputError
from iegp.kernels import RBF

N = 130
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.3 * RNG.normal(size=N)
W = np.where(RNG.random(N) < 0.25, 0.0, RNG.gamma(2.0, size=N))
KINDS = labels_of_every_kind(X, Y)
kinds = pytest.mark.parametrize("kind", KINDS)


def model_of(kind, **more):
    estimator = KINDS[kind][0]
    return estimator(**(SMALL if estimator is IEGPRegressor else SMALL_LABELS) | {"lags": 0} | more)


def begin(kind):
    """Classes are known from the first call on."""
    return {} if "class" not in kind and kind != "levels" else {"classes": np.unique(KINDS[kind][1])}


def answers(model):
    parts = model.to_parts()[1]
    return {name: parts[name] for name in parts if name.startswith("state.")}


@kinds
def test_any_calls_give_the_same_and_a_file_in_the_warm_up_too(kind, tmp_path):
    y = KINDS[kind][1]
    whole, pieces = model_of(kind), model_of(kind)
    run = whole.prequential(X, y, sample_weight=W, **begin(kind))
    found = []
    for start, stop in ((0, 1), (1, 30), (30, 31), (31, 100), (100, N)):
        if start == 31:
            pieces.save(tmp_path / "m")
            pieces = iegp.load(tmp_path / "m")
        own = begin(kind) if start == 0 else {}
        found.append(pieces.prequential(X[start:stop], y[start:stop], sample_weight=W[start:stop], **own).log_score)
    assert_allclose(np.concatenate(found)[1:], run.log_score[1:], rtol=1e-7, atol=1e-8)
    learned = model_of(kind).partial_fit(X, y, sample_weight=W, **begin(kind))
    assert_allclose(learned.expert_weights_, whole.expert_weights_, rtol=1e-6, atol=1e-12)


@kinds
def test_ones_are_no_weights_to_the_bit(kind):
    y = KINDS[kind][1]
    plain, ones = (model_of(kind).partial_fit(X, y, sample_weight=w) for w in (None, np.ones(N)))
    for name, array in answers(plain).items():
        assert_array_equal(array, answers(ones)[name])


def test_labels_of_weight_zero_are_not_learned():
    other = np.where(W == 0.0, Y + 1.0, Y)
    models = [model_of("numbers", conformal="online").partial_fit(X, y, sample_weight=W) for y in (Y, other)]
    for name, array in models[0].to_parts()[1].items():
        assert_array_equal(array, models[1].to_parts()[1][name], err_msg=name)


def test_weights_change_what_is_learned():
    plain, some = (model_of("numbers").partial_fit(X, Y, sample_weight=w) for w in (None, W))
    assert np.abs(plain.predict(X) - some.predict(X)).max() > 1e-3


def test_weight_two_is_two_rows_for_an_expert_with_known_noise():
    settings = {"drift_var": 0.0, "noise_var": 0.1, "prior_var": 1.0, "warmup": 0, "standardize": False, "lags": 0}
    one = IEGPRegressor([RBF(1.0)], n_frequencies=8, noise_forgetting=None, robust=False, random_state=0, **settings)
    twice = IEGPRegressor(**one.get_params())
    one.partial_fit(X, Y, sample_weight=np.full(N, 2.0))
    twice.partial_fit(np.repeat(X, 2, axis=0), np.repeat(Y, 2))
    assert_allclose(one.predict(X), twice.predict(X), rtol=1e-7)
    assert_allclose(one.predict(X, return_std=True)[1], twice.predict(X, return_std=True)[1], rtol=1e-7)


@pytest.mark.parametrize("options", [{"robust": True}, {"drift_per": "time"}, {"lags": 2}, {"conformal": "online"}])
def test_other_settings_work_in_any_pieces(options):
    y = Y.copy()
    y[[70, 90, 91]] += 60.0
    more = {"time": np.cumsum(RNG.gamma(1.0, size=N))} if "drift_per" in options else {}
    whole, pieces = model_of("numbers", **options), model_of("numbers", **options)
    run = whole.prequential(X, y, sample_weight=W, **more)
    found = [
        pieces.prequential(X[a:b], y[a:b], sample_weight=W[a:b], **{name: t[a:b] for name, t in more.items()})
        for a, b in ((0, 50), (50, 71), (71, 92), (92, N))
    ]
    for name in ("mean", "lower", "upper"):
        assert_allclose(np.concatenate([getattr(part, name) for part in found])[1:], getattr(run, name)[1:], rtol=1e-6)


WRONG = {
    "negative": (np.where(np.arange(N) == 7, -0.5, 1.0), "sample_weight has -0.5 at row 7"),
    "NaN": (np.where(np.arange(N) == 9, np.nan, 1.0), "sample_weight has nan at row 9"),
    "infinite": (np.full(N, np.inf), "sample_weight has inf at row 0"),
    "too large": (np.where(np.arange(N) == 5, 1e16, 1.0), r"sample_weight has 1e\+16 at row 5"),
    "too few": (np.ones(3), r"shape \(3,\)"),
    "text": (["a"] * N, "'a', which is not a number"),
}


@pytest.mark.parametrize("name", WRONG)
def test_weights_that_are_none_are_refused(name):
    weights, message = WRONG[name]
    model = model_of("numbers").partial_fit(X[:50], Y[:50])
    before = answers(model)["state.vector"].copy()
    for learn in (model.partial_fit, model.prequential):
        with pytest.raises(InputError, match=message):
            learn(X, Y, sample_weight=weights)
    assert_array_equal(answers(model)["state.vector"], before)


def test_large_weights_are_stored_and_models_with_weights_are_not_merged(tmp_path):
    static = {"drift_var": 0.0, "weights": "bayes", "shutdown": 0.0, "noise_forgetting": (None, 1.0), "robust": False}
    model = model_of("numbers", **static).partial_fit(X, Y, sample_weight=1000.0)
    model.save(tmp_path / "m")
    again = iegp.load(tmp_path / "m")
    assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(InputError, match="rows with weights"):
        again.unlearn(X[:5], Y[:5])


def test_refused_with_a_delay_and_unknown_to_fit():
    with pytest.raises(InputError, match="not available with delay=2"):
        model_of("numbers", delay=2).partial_fit(X, Y, sample_weight=W)
    for estimator, _ in KINDS.values():
        assert "sample_weight" not in inspect.signature(estimator.fit).parameters


@pytest.mark.parametrize("kind", [RiverRegressor, RiverClassifier, RiverCountRegressor])
def test_river_models_take_w(kind):
    y = {RiverClassifier: Y > 0.0, RiverCountRegressor: np.floor(np.exp(Y))}.get(kind, Y)
    small = {"kernels": (RBF(1.0),), "n_frequencies": 4, "warmup": 32, "seed": 0}
    one, many, plain = kind(**small), kind(**small), kind(**small)
    for row, label, w in zip(X[:60], y[:60].tolist(), W, strict=False):
        one.learn_one(dict(zip("ab", row, strict=True)), label, w=w)
    frame = pd.DataFrame(X[:60], columns=list("ab"))
    many.learn_many(frame, pd.Series(y[:60]), w=W[:60])
    plain.learn_many(frame, pd.Series(y[:60]))
    states = [model._estimator.model_.state.vector for model in (one, many, plain)]
    assert_allclose(states[0], states[1], rtol=1e-6, atol=1e-8)
    assert np.abs(states[0] - states[2]).max() > 1e-4
    with pytest.raises(InputError, match=r"w has -1\.0 at row 0"):
        one.learn_one({"a": 1.0, "b": 0.0}, y[0].item(), w=-1.0)


@pytest.mark.parametrize("weight", [10.0, 1e6, 1e15])
@kinds
def test_large_weights_leave_a_model_that_predicts_and_loads(kind, weight, tmp_path):
    y = KINDS[kind][1]
    model = model_of(kind, drift_var=(0.0, 1e-2)).fit(X, y)
    for weights in (np.full(20, weight), np.resize([1.0, weight, 0.0, 1.0 / weight], 20)):
        for _ in range(3):
            model.partial_fit(X[:20], y[:20], sample_weight=weights)
    model.save(tmp_path / "m")
    again = iegp.load(tmp_path / "m")
    predict = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    answer = getattr(model, predict)(X[:9])
    assert np.isfinite(answer).all()
    assert_array_equal(answer, getattr(again, predict)(X[:9]))


@pytest.mark.parametrize("weight", [2.0, 100.0, 1e4, 1e6, 1e9, 1e15])
def test_a_stream_at_rest_with_weights_after_wild_labels(weight, tmp_path):
    """Noise levels fall from their largest to their floor, and not below it."""
    noise = (None, 0.9, 1.0, (0.75, 5.0))
    model = IEGPRegressor(**SMALL | {"kernels": [RBF(1.0)], "robust": False, "noise_forgetting": noise}).fit(X, Y)
    at_rest = np.zeros((400, 2))
    model.partial_fit(at_rest[:2], [3e3, -3e3], sample_weight=[weight] * 2)
    model.partial_fit(at_rest, np.zeros(400), sample_weight=[weight] * 400)
    levels = model.model_.state.noise_scale
    shapes = np.where(np.isinf(model.model_.state.noise_shape), 1.0, model.model_.state.noise_shape)
    assert (levels.reshape(-1, len(noise)) >= NOISE_FLOOR * shapes * (1.0 - 1e-9)).all()
    model.save(tmp_path / "m")
    assert np.isfinite(iegp.load(tmp_path / "m").predict(X[:9], return_std=True)).all()
