"""After a fit, many rows are predicted with weights and noise that come from predicting long parts of it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, stats

import iegp
from iegp.core import model as online
from iegp.errors import InputError
from iegp.kernels import RBF, Constant, Linear

RNG = np.random.default_rng(8)
N = 400
X = RNG.normal(size=(N, 2))
LEVEL = np.cumsum(0.2 * RNG.normal(size=N))
Y = np.sin(X[:, 0]) + LEVEL + 0.1 * RNG.normal(size=N)
FIXED = {"n_frequencies": 8, "prior_var": 1.0, "noise_var": 0.1, "warmup": 0, "standardize": False, "robust": False}


KERNELS = [RBF(1.0), RBF(3.0) + Linear()]


def model(**changes):
    return iegp.IEGPRegressor(KERNELS, **(FIXED | {"noise_forgetting": None, "random_state": 0} | changes))


def parts(n):
    """The three parts after the start of each of the last five of eight, and the mean distance of a row from it."""
    spans = [(int(k * n / 8), int(min(k + 3, 8) * n / 8)) for k in range(3, 8)]
    rows = [b - a for a, b in spans]
    return spans, int(np.average(rows, weights=rows) / 2)


def by_hand(y, drift_var):
    """Errors and variances of later rows under each expert, predicted by a model that knows the rows before a part."""
    cuts, n_steps = parts(len(y))
    found = []
    for number in range(2):
        rows = []
        for a, b in cuts:
            known = model(drift_var=drift_var).partial_fit(X[:a], y[:a])
            mixture = online.predict(known.model_, X[a:b], horizon=n_steps)
            rows.append(np.column_stack([y[a:b] - mixture.loc[:, number, 0], mixture.scale[:, number, 0] ** 2 / 0.1]))
        found.append(np.concatenate(rows))
    return found, n_steps


@pytest.mark.parametrize("drift_var", [0.0, 1e-2])
def test_noise_and_weights_are_the_most_probable_ones(drift_var):
    found, n_steps = by_hand(Y, drift_var)
    view = model(drift_var=drift_var).fit(X, Y).model_.batch
    assert view.n_steps == n_steps
    levels = [np.mean(error**2 / variance) for error, variance in (own.T for own in found)]
    assert_allclose(view.noise_scale[:, 0], levels, rtol=1e-8)
    scores = np.column_stack(
        [
            stats.norm(0.0, np.sqrt(level * own[:, 1])).logpdf(own[:, 0])
            for level, own in zip(levels, found, strict=True)
        ]
    )

    def loss(w):
        return -np.logaddexp(np.log(w) + scores[:, 0], np.log1p(-w) + scores[:, 1]).sum()

    best = optimize.minimize_scalar(loss, bounds=(1e-9, 1.0 - 1e-9), method="bounded")
    weight = np.exp(view.log_weights)
    # Expectation-maximisation comes close to weights of zero slowly.
    assert loss(np.clip(weight[0], 1e-9, 1 - 1e-9)) <= best.fun + 0.005 * len(Y)
    assert_allclose(weight.sum(), 1.0, atol=1e-6)


def test_heavy_tails_are_fitted_to_the_parts():
    view = model(drift_var=0.0, noise_forgetting=[(0.9, 4.0)]).fit(X, Y).model_.batch
    found, _ = by_hand(Y, 0.0)
    for own, scale in zip(found, view.noise_scale[:, 0], strict=True):
        unit = own[:, 0] / np.sqrt(own[:, 1])

        def loss(log_scale, unit=unit):
            return -stats.t(4.0, scale=np.exp(0.5 * log_scale)).logpdf(unit).sum()

        best = optimize.minimize_scalar(loss, bounds=(-10.0, 10.0), method="bounded")
        assert_allclose(np.log(scale), best.x, atol=1e-3)


@pytest.mark.parametrize("delay", [0, 3])
def test_the_stream_is_not_touched(delay):
    """A fit leaves the state of the same rows learned one after another, to the bit; then the stream goes on."""
    settings = {"warmup": 100, "standardize": True, "delay": delay, "lags": 2, "noise_forgetting": (None, (0.9, 5.0))}
    fitted, streamed = model(**settings).fit(X, Y), model(**settings).partial_fit(X, Y)
    for one, two in zip(fitted.model_.state, streamed.model_.state, strict=True):
        assert_array_equal(one, two)
    assert np.any(fitted.predict(X) != streamed.predict(X))
    for one in (fitted, streamed):
        one.partial_fit(X[:1], Y[:1])
    assert_array_equal(fitted.predict(X), streamed.predict(X))


def test_a_row_is_predicted_alike_among_many_and_alone():
    found = model(warmup=100, standardize=True, lags=2, drift_var=(0.0, 1e-2)).fit(X, Y)
    mean, std = found.predict(X, return_std=True)
    alone = [found.predict(X[i : i + 1], return_std=True) for i in (0, 50, 399)]
    assert_allclose([[one[0], two[0]] for one, two in alone], np.column_stack([mean, std])[[0, 50, 399]], rtol=1e-10)


def test_few_rows_other_weights_and_a_warm_up_have_none():
    assert model().fit(X[:63], Y[:63]).model_.batch is None
    assert model().fit(X[:64], Y[:64]).model_.batch is not None
    assert model(weights="bayes").fit(X, Y).model_.batch is None
    assert model().warm_up(X, Y).model_.batch is None
    assert model().partial_fit(X, Y).model_.batch is None


def small(kind, **changes):
    """A small model, and labels for it."""
    settings = {"kernels": [RBF(1.0) + Constant()], "n_frequencies": 8, "random_state": 0} | changes
    return {
        "numbers": (iegp.IEGPRegressor(**settings), Y),
        "classes": (iegp.IEGPClassifier(**settings), np.digitize(Y, [-0.5, 0.5])),
        "levels": (iegp.IEGPOrdinalClassifier(**settings), np.digitize(Y, [-0.5, 0.5])),
        "counts": (iegp.IEGPCountRegressor(**settings), np.floor(np.exp(1.0 + np.sin(X[:, 0]))).astype(int)),
    }[kind]


def answer(found, **more):
    """Everything that a model says of a few rows."""
    if hasattr(found, "predict_proba"):
        proba = found.predict_proba(X[:5], **more)
        assert_array_equal(found.predict_log_proba(X[:5], **more), np.log(proba))
        assert_array_equal(found.predict(X[:5], **more), found.classes_[proba.argmax(axis=1)])
        return proba
    dist = found.predict_dist(X[:5], **more)
    assert_array_equal(found.predict(X[:5], return_std=True, **more), [dist.mean, dist.std])
    return np.column_stack([dist.mean, dist.std])


@pytest.mark.parametrize("kind", ["numbers", "classes", "levels", "counts"])
def test_horizon(kind):
    """One row ahead is the view of a stream; many rows ahead less is known of what drifts."""
    found, y = small(kind, warmup=100, drift_var=1e-3)
    streamed = small(kind, warmup=100, drift_var=1e-3)[0].partial_fit(X, y)
    found.fit(X, y)
    assert_array_equal(answer(streamed, horizon=1), answer(streamed))
    assert_array_equal(answer(found, horizon=1), answer(streamed))
    near, far = (answer(found, horizon=k) for k in (1, 50))
    if kind in ("numbers", "counts"):
        assert np.all(far[:, 1] > near[:, 1])
    else:
        assert np.all(np.sum(far * np.log(far), axis=1) < np.sum(near * np.log(near), axis=1))
    for wrong in (0, -1, 1.5):
        with pytest.raises(InputError, match="horizon"):
            found.predict(X[:5], horizon=wrong)


def test_horizon_with_a_delay_counts_from_the_newest_label():
    found = small("numbers", warmup=100, delay=3)[0].partial_fit(X, Y)
    assert_array_equal(answer(found, horizon=4), answer(found))


def test_times_take_the_place_of_a_view_and_of_a_horizon():
    time = np.arange(float(N))
    found = small("numbers", warmup=100, drift_per="time")[0].fit(X, Y, time=time)
    assert found.model_.batch is None
    assert_allclose(answer(found, time=time[-1] + np.ones(5)), answer(found, horizon=1), rtol=1e-10)
    with pytest.raises(InputError, match="leave one of them out"):
        found.predict(X[:5], time=time[-1] + np.ones(5), horizon=1)
    by_row = small("numbers", warmup=100)[0].fit(X, Y)
    with pytest.raises(InputError, match="drift is per row"):
        by_row.predict(X[:5], time=time[:5])


@pytest.mark.parametrize("kind", ["numbers", "classes", "counts"])
def test_files_hold_it(kind, tmp_path):
    found, y = small(kind)
    found.fit(X, y)
    assert found.model_.batch is not None
    found.save(tmp_path / "model.iegp")
    again = iegp.load(tmp_path / "model.iegp")
    assert_array_equal(again.predict(X), found.predict(X))
    assert again.model_.batch.n_steps == found.model_.batch.n_steps


def test_intervals_of_many_rows_cover_a_level_that_wanders():
    """One row ahead the last level is known; hundreds of rows ahead it is not."""
    covered = {"batch": [], "stream": []}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        level, x = np.cumsum(0.05 * rng.normal(size=2000)), rng.normal(size=(2000, 1))
        y = level + 0.5 * x[:, 0] + 0.1 * rng.normal(size=2000)
        found = iegp.IEGPRegressor(n_frequencies=10, warmup=300, random_state=0).fit(x[:1750], y[:1750])
        for view in covered:
            lower, upper = found.predict_dist(x[1750:]).interval(0.95)
            covered[view].append(np.mean((lower <= y[1750:]) & (y[1750:] <= upper)))
            found.model_.batch = None
    assert np.mean(covered["batch"]) > 0.85
    assert np.mean(covered["batch"]) > np.mean(covered["stream"]) + 0.1


def test_a_label_of_no_density_says_nothing_about_the_weights():
    far = Y.copy()
    far[300] = 1e200
    view = model().fit(X, far).model_.batch
    assert np.isfinite(view.log_weights).all()
