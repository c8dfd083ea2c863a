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
    """As many rows as three of eight parts have, after three starts in each of the last five; their mean distance."""
    spans = [(k * n // 24, min(k + 9, 24) * n // 24) for k in range(9, 24)]
    rows = [b - a for a, b in spans]
    return spans, int(np.average(rows, weights=rows) / 2)


def by_hand(x, y, drift_var, stride=1):
    """Errors and variances of later rows under each expert, predicted by a model that knows the rows before a part.

    Also returns how much a row counts, more from part to part.
    """
    cuts, n_steps = parts(len(y))
    found, counts = [], []
    for number in range(2):
        rows, counts = [], []
        for i, (a, b) in enumerate(cuts):
            known = model(drift_var=drift_var).partial_fit(x[:a], y[:a])
            mixture = online.predict(known.model_, x[a:b:stride], horizon=n_steps)
            errors = y[a:b:stride] - mixture.loc[:, number, 0]
            rows.append(np.column_stack([errors, mixture.scale[:, number, 0] ** 2 / 0.1]))
            counts += [1.0 + i / 3.0] * len(errors)
        found.append(np.concatenate(rows))
    return found, np.array(counts), n_steps


def best(loss, low, high):
    return optimize.minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-10}).x


@pytest.mark.parametrize("dof", [np.inf, 4.0])
@pytest.mark.parametrize("drift_var", [0.0, 1e-2])
def test_weights_have_the_least_squared_error_and_noise_is_the_most_probable_one(drift_var, dof):
    found, counts, n_steps = by_hand(X, Y, drift_var)
    noise = None if np.isinf(dof) else [(0.9, dof)]
    view = model(drift_var=drift_var, noise_forgetting=noise).fit(X, Y).model_.batch
    assert view.n_steps == n_steps
    errors = [own[:, 0] for own in found]
    weight = best(lambda w: np.sum(counts * (w * errors[0] + (1 - w) * errors[1]) ** 2), 0.0, 1.0)
    assert_allclose(np.exp(view.log_weights), [weight, 1.0 - weight], atol=1e-4)
    units = [own[:, 0] / np.sqrt(own[:, 1]) for own in found]
    density = stats.norm if np.isinf(dof) else stats.t(dof)

    def score(unit, scale):
        return density.logpdf(unit / scale) - np.log(scale)

    scales = [np.exp(best(lambda s, u=unit: -np.sum(counts * score(u, np.exp(s))), -9.0, 9.0)) for unit in units]

    def loss(factor):
        own = [np.exp(score(unit, scale * np.exp(factor))) for unit, scale in zip(units, scales, strict=True)]
        own = [density / np.sqrt(rows[:, 1]) for density, rows in zip(own, found, strict=True)]
        return -np.sum(counts * np.log(weight * own[0] + (1 - weight) * own[1]))

    factor = np.exp(best(loss, -9.0, 9.0))
    assert_allclose(np.sqrt(view.noise_scale[:, 0]), factor * np.array(scales), rtol=2e-3)


def test_of_many_rows_some_are_predicted():
    """Every second row of the parts, as if the others were not there."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1440, 2))
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=1440)
    found, counts, _ = by_hand(x, y, 0.0, stride=2)
    weight = best(lambda w: np.sum(counts * (w * found[0][:, 0] + (1 - w) * found[1][:, 0]) ** 2), 0.0, 1.0)
    view = model(drift_var=0.0).fit(x, y).model_.batch
    assert_allclose(np.exp(view.log_weights), [weight, 1.0 - weight], atol=1e-3)


def test_glitches_do_not_count():
    far = Y.copy()
    far[[200, 333]] = [1e6, -1e9]
    usual, robust = (model(robust=True).fit(X, y).model_.batch for y in (Y, far))
    assert_allclose(robust.noise_scale, usual.noise_scale, rtol=0.1)
    assert_allclose(np.exp(robust.log_weights), np.exp(usual.log_weights), atol=0.1)


def test_two_outputs():
    both = np.column_stack([Y, X[:, 1] + 0.05 * RNG.normal(size=N)])
    found = model(drift_var=0.0, noise_forgetting=(None, (0.9, 5.0))).fit(X, both)
    lower, upper = found.predict_dist(X[:200]).interval(0.95)
    assert found.model_.batch.noise_scale.shape == (4, 2)
    assert np.all((lower < both[:200]) & (both[:200] < upper), axis=1).mean() > 0.7


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


@pytest.mark.plain_cases(1)
@pytest.mark.parametrize("kind", ["numbers", "classes", "counts"])
def test_files_hold_it(kind, tmp_path):
    found, y = small(kind)
    found.fit(X, y)
    assert found.model_.batch is not None
    found.save(tmp_path / "model.iegp")
    again = iegp.load(tmp_path / "model.iegp")
    assert_array_equal(again.predict(X), found.predict(X))
    assert again.model_.batch.n_steps == found.model_.batch.n_steps


@pytest.mark.plain_cases(0)
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


def test_a_large_offset_of_the_labels_moves_with_them():
    """Weights sum to one: an offset that is 1e12 times the spread of the labels shifts the predictions, no more."""
    plain, shifted = (
        iegp.IEGPRegressor(KERNELS, n_frequencies=8, warmup=100, random_state=0).fit(X, labels)
        for labels in (Y, 1e6 + 1e-6 * Y)
    )
    assert plain.model_.batch.log_weights.min() < -27.0
    assert_allclose((shifted.predict(X) - 1e6) / 1e-6, plain.predict(X), atol=2e-3)
    assert_allclose(np.exp(plain.model_.batch.log_weights).sum(), 1.0, rtol=1e-14)
