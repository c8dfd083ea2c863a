"""Labels that come late: the predictions of a loop that predicts row t and then learns row t - delay."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from core.builders import labels_of_every_kind
from numpy.testing import assert_allclose

import iegp
from iegp.core import ensemble as ens
from iegp.core import model as online
from iegp.errors import InputError
from iegp.kernels import RBF, Constant, Linear

RNG = np.random.default_rng(4)
N = 130
X = RNG.normal(size=(N, 2))
F = np.sin(X[:, 0]) + 0.5 * X[:, 1]
Y = F + 0.1 * RNG.normal(size=N)
LABELS = labels_of_every_kind(X, Y)
DELAYS = [1, 3, 24, 60]


def start(labels, drift_var, delay, weights="bayes", **changes):
    """A model past its warm-up, whose first rows of a stream are still to come."""
    estimator, y = LABELS[labels]
    kernels = [RBF(1.0) + Linear() + Constant(), RBF(3.0)]
    settings = {"n_frequencies": 6, "warmup": 40, "drift_var": drift_var, "weights": weights, "random_state": 0}
    if estimator is iegp.IEGPRegressor:
        settings |= {"noise_forgetting": (None, 0.97), "robust": False}
    return estimator(kernels=kernels, delay=delay, **(settings | changes)).warm_up(X[:40], y[:40])


def answers_of(run):
    return np.column_stack([run.proba] if hasattr(run, "proba") else [run.mean, run.std])


def loop(model, x, y, delay):
    """Predict row t so many steps ahead of what is known, then learn row t - delay."""
    found = []
    for t in range(len(x)):
        n_steps = delay + 1 if t >= delay else t + 1
        online, row = model.model_, model.model_.scaling.standardise_x(x[t : t + 1])
        ensemble, state = online.experts.ensemble, online.state
        if isinstance(model, iegp.IEGPRegressor):
            mixture = ens.predict(ensemble, state, row, n_steps)
            scale = online.scaling.y_scale
            mean = online.scaling.y_mean + scale * mixture.mean[0]
            found.append(np.concatenate([mean, scale * mixture.std[0]]))
        elif isinstance(model, iegp.IEGPCountRegressor):
            mean, var = ens.predict_counts(ensemble, state, row, np.ones(1), n_steps).moments()
            found.append([mean[0], np.sqrt(var[0])])
        else:
            found.append(ens.predict_classes(ensemble, state, row, n_steps)[0])
        if t >= delay:
            model.partial_fit(x[t - delay : t - delay + 1], y[t - delay : t - delay + 1])
    return np.array(found)


@pytest.mark.plain_cases(12)
@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("drift_var", [0.0, 0.02], ids=["static", "drifting"])
@pytest.mark.parametrize("labels", LABELS)
def test_the_loop_in_which_labels_come_late(labels, drift_var, delay):
    y = LABELS[labels][1]
    late, plain = start(labels, drift_var, delay), start(labels, drift_var, 0)
    got = answers_of(late.prequential(X[40:], y[40:]))
    assert_allclose(got, loop(plain, X[40:], y[40:], delay), rtol=1e-8, atol=1e-8)


@pytest.mark.plain_cases(3)
@pytest.mark.parametrize("weights", ["bayes", "switching", "stacking"])
@pytest.mark.parametrize("labels", ["numbers", "three classes"])
def test_any_chunking(labels, weights):
    y = LABELS[labels][1]
    noise = {"noise_forgetting": (None, 0.97, (0.8, 5.0))} if labels == "numbers" else {}
    model = start(labels, (0.0, 0.01), 7, weights, **noise)
    whole, cut = copy.deepcopy(model), copy.deepcopy(model)
    run = whole.prequential(X[40:], y[40:])
    sizes, found, i = np.random.default_rng(0).integers(1, 20, size=100), [], 40
    for size in sizes:
        found.append(cut.prequential(X[i : i + size], y[i : i + size]))
        i += size
        if i >= N:
            break
    assert_allclose(np.concatenate([r.log_score for r in found]), run.log_score, atol=1e-8)
    assert_allclose(np.concatenate([r.weights for r in found]), run.weights, atol=1e-8)
    assert_allclose(cut.expert_weights_, whole.expert_weights_, atol=1e-8)
    fitted = copy.deepcopy(model).partial_fit(X[40:], y[40:])
    assert_allclose(fitted.expert_weights_, whole.expert_weights_, atol=1e-10)


def test_the_warm_up_counts_labels_that_have_arrived():
    """No label is used before it is known, from the first row on, and chunking does not matter."""
    settings = {"n_frequencies": 5, "warmup": 50, "random_state": 0, "delay": 10}
    whole = iegp.IEGPRegressor([RBF(1.0)], **settings).prequential(X, Y)
    changed = Y.copy()
    changed[60:] += 100.0
    other = iegp.IEGPRegressor([RBF(1.0)], **settings).prequential(X, changed)
    assert np.array_equal(whole.mean[:71], other.mean[:71])
    assert np.array_equal(whole.weights[:71], other.weights[:71])
    assert not np.allclose(whole.mean[71:], other.mean[71:])
    by_row, model = [], iegp.IEGPRegressor([RBF(1.0)], **settings)
    for t in range(N):
        by_row.append(model.prequential(X[t : t + 1], Y[t : t + 1]).mean[0])
    assert_allclose(by_row, whole.mean, atol=1e-8)
    assert model.n_samples_seen_ == N


def test_no_delay_is_as_before_to_the_bit():
    plain = iegp.IEGPRegressor([RBF(1.0)], n_frequencies=5, warmup=50, random_state=0)
    late = iegp.IEGPRegressor([RBF(1.0)], n_frequencies=5, warmup=50, random_state=0, delay=0)
    assert np.array_equal(plain.prequential(X, Y).mean, late.prequential(X, Y).mean)


@pytest.mark.parametrize("labels", ["numbers", "classes"])
def test_predict_uses_every_label_so_far(labels):
    """A model whose labels all arrived, delay + 1 rows ahead; and nothing is written."""
    y, delay = LABELS[labels][1], 5
    late, plain = start(labels, (0.0, 0.01), delay), start(labels, (0.0, 0.01), 0)
    late.partial_fit(X[40:100], y[40:100])
    plain.partial_fit(X[40:100], y[40:100])
    before = late.model_.state.copy()
    online = plain.model_
    rows = online.scaling.standardise_x(X[100:104])
    if labels == "numbers":
        wanted = online.scaling.y_mean + online.scaling.y_scale * (
            ens.predict(online.experts.ensemble, online.state, rows, delay + 1).mean
        )
        assert_allclose(late.predict(X[100:104]), wanted[:, 0], atol=1e-9)
    else:
        wanted = ens.predict_classes(online.experts.ensemble, online.state, rows, delay + 1)
        assert_allclose(late.predict_proba(X[100:104]), wanted, atol=1e-9)
    assert all(np.array_equal(a, b) for a, b in zip(before, late.model_.state, strict=True))


def test_files_hold_what_waits(tmp_path):
    model = start("numbers", (0.0, 0.01), 12, "stacking")
    model.partial_fit(X[40:80], Y[40:80])
    model.save(tmp_path / "m")
    again = iegp.load(tmp_path / "m")
    one, two = model.prequential(X[80:], Y[80:]), again.prequential(X[80:], Y[80:])
    assert np.array_equal(one.mean, two.mean)
    assert np.array_equal(one.weights, two.weights)


@pytest.mark.parametrize("delay", [0, 1, 5, 24, 200])
def test_intervals_cover_on_data_from_the_model(delay):
    """A random walk of the coefficients: 95 % intervals cover 93 to 97 % at every delay."""
    rng = np.random.default_rng(2)
    n = 6000
    walk = np.cumsum(0.05 * rng.normal(size=n))
    x = rng.normal(size=(n, 1))
    y = walk + 0.3 * rng.normal(size=n)
    kernel = Constant(prior_var=1.0)
    settings = {"noise_var": 0.09, "noise_forgetting": None, "drift_var": 0.0025, "standardize": False, "robust": False}
    run = iegp.IEGPRegressor([kernel], random_state=0, delay=delay, **settings).prequential(x, y, level=0.95)
    inside = np.mean((y >= run.lower) & (y <= run.upper))
    assert 0.93 < inside < 0.97


def test_the_latest_state_is_found_once():
    """Until the model learns again; and what was found is not what is stored or changed."""
    model = start("numbers", (0.0, 0.01), 12)
    model.partial_fit(X[40:80], Y[40:80])
    first = online.latest_state(model.model_)
    before = model.predict(X[:3])
    assert online.latest_state(model.model_) is first
    model.partial_fit(X[80:81], Y[80:81])
    assert online.latest_state(model.model_) is not first
    assert not np.array_equal(model.predict(X[:3]), before)


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("drift_per", ["row", "time"])
def test_the_latest_state_is_advanced_by_new_rows_alone(robust, drift_per, monkeypatch):
    """``predict`` between rows learns each of them once, and says what a model that never predicted before says."""
    delay, learned = 30, []
    arrive = online.online.with_all_arrived

    def counted(ensemble, state, waiting):
        learned.append(len(waiting.x))
        return arrive(ensemble, state, waiting)

    monkeypatch.setattr(online.online, "with_all_arrived", counted)
    y = Y.copy()
    y[90] = 50.0  # a glitch, where robust
    kernels, noise = [RBF(1.0) + Linear(), RBF(3.0)], (None, (0.9, 5.0))
    settings = {"n_frequencies": 6, "warmup": 40, "drift_var": (0.0, 0.01), "noise_forgetting": noise, "lags": (31,)}
    models = [
        iegp.IEGPRegressor(kernels, delay=delay, drift_per=drift_per, robust=robust, random_state=0, **settings)
        for _ in range(2)
    ]
    time = np.cumsum(RNG.uniform(size=N))
    for i, stop in enumerate([100, 101, 102, 105, 110]):
        first = [0, 100, 101, 102, 105][i]
        for model in models:
            times = {"time": time[first:stop]} if drift_per == "time" else {}
            model.partial_fit(X[first:stop], y[first:stop], **times)
        models[0].predict(X[:3])
    assert learned == [30, 1, 1, 3, 5]
    assert_allclose(models[0].predict(X[:3]), models[1].predict(X[:3]), rtol=1e-9)
    assert learned[-1] == 30
    models[0].partial_fit(X, Y, **({"time": time[109] + 1 + time} if drift_per == "time" else {}))
    models[0].predict(X[:3])
    assert learned[-1] == 30  # more rows came than wait


def test_switching_weights_move_while_labels_are_not_known():
    """``predict`` of the next row is what ``prequential`` answers once every label but the last ones has come."""
    model = start("numbers", (0.0, 0.01), 0, "switching", switch_prob=0.2)
    model.partial_fit(X[40:80], Y[40:80])
    experts, state = model.model_.experts.ensemble, model.model_.state
    row = model.model_.scaling.standardise_x(X[80:81])
    one, many = (ens.predict(experts, state, row, n_steps).weights for n_steps in (1, 200))
    assert not np.allclose(one, many)
    assert_allclose(many, 1.0 / experts.n_experts, atol=1e-6)


@pytest.mark.parametrize("wrong", [-1, 1.5, "a day", 10**9])
def test_bad_delays_are_named(wrong):
    with pytest.raises(InputError, match="delay="):
        iegp.IEGPRegressor(delay=wrong).fit(X, Y)


@pytest.mark.parametrize(("first", "second"), [(3, 4), (9, 1)])
def test_rows_before_the_first_label_are_not_scored(first, second):
    model = iegp.IEGPRegressor([RBF(1.0)], n_frequencies=6, warmup=40, delay=5)
    before = model.prequential(X[:first], Y[:first])
    after = model.prequential(X[first : first + second], Y[first : first + second])
    assert (before.n_blind, after.n_blind) == (min(first, 6), min(max(6 - first, 0), second))
