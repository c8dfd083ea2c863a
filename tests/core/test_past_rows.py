"""Fits of sorted rows: rows among those that were learned are predicted as if these had been shuffled."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize

import iegp
from iegp.core import model as online
from iegp.kernels import RBF, Constant, Linear

RNG = np.random.default_rng(5)
N = 120
GRID = np.linspace(-3.0, 3.0, N)
TRUTH = np.tanh(4.0 * GRID)
Y = TRUTH + 0.1 * RNG.normal(size=N)
SMALL = {"n_frequencies": 15, "warmup": 64, "random_state": 0}


def small(**changes):
    kernels = [RBF(0.5, lags=False), Linear(lags=False) + Constant(), RBF(1.0, lags="only")]
    return iegp.IEGPRegressor(kernels, **(SMALL | {"lags": 2, "drift_var": (0.0, 1e-2)} | changes))


def error_of(model, x=GRID, truth=TRUTH):
    return float(np.sqrt(np.mean((model.predict(x[:, None]) - truth) ** 2)))


@pytest.mark.plain_cases(1)
@pytest.mark.parametrize("n", [30, 63, 120])
@pytest.mark.parametrize("falls", [False, True])
def test_points_of_a_grid_are_predicted_as_in_random_order(n, falls):
    places = np.linspace(0, N - 1, n).astype(int)
    order = RNG.permutation(places)
    places = places[::-1] if falls else places
    in_order = small().fit(GRID[places, None], Y[places])
    shuffled = small().fit(GRID[order, None], Y[order])
    assert in_order.model_.batch.past is not None
    assert shuffled.model_.batch is None or shuffled.model_.batch.past is None
    assert error_of(in_order) < 1.3 * error_of(shuffled)
    # The experts are there that would have been wrong: those that know the last label.
    assert np.sqrt(np.mean((in_order.predict(GRID[:, None], horizon=1) - TRUTH) ** 2)) > 2.0 * error_of(in_order)


FIXED = {"n_frequencies": 8, "prior_var": 1.0, "noise_var": 0.1, "noise_forgetting": None, "random_state": 0}
UNCHANGED = {"warmup": 0, "standardize": False, "robust": False}


def two_kernels(drift_var):
    return iegp.IEGPRegressor([RBF(1.0), RBF(3.0) + Linear()], **FIXED, **UNCHANGED, drift_var=drift_var)


def by_hand(x, y, order):
    """Errors of two static experts in each part of the rows in this order, from what was known at its start."""
    x, y = x[order], y[order]
    n, errors, counts = len(y), [], []
    for i, k in enumerate(range(9, 24)):
        a, b = k * n // 24, min(k + 9, 24) * n // 24
        mixture = online.predict(two_kernels(0.0).partial_fit(x[:a], y[:a]).model_, x[a:b], horizon=1)
        errors.append(y[a:b, None] - mixture.loc[:, :, 0])
        counts += [1.0 + i / 3.0] * (b - a)
    return np.concatenate(errors), np.array(counts)


@pytest.mark.plain_cases(0)
def test_weights_have_the_least_squared_error_on_rows_that_are_spread_evenly():
    x = np.column_stack([GRID, RNG.normal(size=N)])
    golden = (1.0 + 5.0**0.5) / 2.0
    order = sorted(range(N), key=lambda i: (i / golden) % 1.0)
    errors, counts = by_hand(x, Y, np.array(order))

    def loss(w):
        return np.sum(counts * (w * errors[:, 0] + (1.0 - w) * errors[:, 1]) ** 2)

    weight = optimize.minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10}).x
    # The same two kernels, each with an expert that drifts as well, which may have no weight.
    model = two_kernels((0.0, 1e-2)).fit(x, Y)
    found = np.exp(model.model_.batch.past.log_weights).reshape(2, 2)
    assert_allclose(found[:, 0], [weight, 1.0 - weight], atol=1e-4)
    assert found[:, 1].max() < 1e-9


def test_experts_with_lags_have_no_weight():
    weights = np.exp(small(noise_forgetting=None).fit(GRID[:, None], Y).model_.batch.past.log_weights).reshape(3, 2)
    assert weights[:2, 0].sum() > 1.0 - 1e-9


def test_rows_beyond_are_predicted_as_those_of_a_stream():
    """A column that counts the rows is as good as none for later rows."""
    counter = np.arange(N, dtype=float)
    x = np.column_stack([counter, RNG.normal(size=N)])
    y = np.cumsum(RNG.normal(size=N))
    model = small().fit(x, y)
    later, among = np.array([[130.0, 0.3], [500.0, -1.0]]), np.array([[60.0, 0.3], [119.0, 0.0]])
    mixed = model.predict_dist(np.concatenate([later, among, later]))
    model.model_.batch = model.model_.batch._replace(past=None)
    plain = model.predict_dist(later)
    assert_array_equal(mixed.mean[:2], plain.mean)
    assert_array_equal(mixed.std[4:], plain.std)
    assert np.all(mixed.mean[2:4] != model.predict(among))


def test_a_row_is_predicted_alike_among_many_and_alone():
    model = small().fit(GRID[:, None], Y)
    x = np.array([-4.0, 0.1, 3.5, 1.0, -3.0, 3.0])[:, None]
    mean, std = model.predict(x, return_std=True)
    for i in range(len(x)):
        one, own = model.predict(x[i : i + 1], return_std=True)
        assert_allclose([one[0], own[0]], [mean[i], std[i]], rtol=1e-12)
    inside = x[[1, 3]]
    _, covariance = model.predict(inside, return_cov=True)
    assert_allclose(np.sqrt(np.diagonal(covariance)), model.predict(inside, return_std=True)[1], rtol=1e-9)


@pytest.mark.parametrize("change", ["a tie", "one row out of order", "few rows"])
def test_other_orders_are_those_of_a_stream(change):
    x, y = GRID.copy(), Y.copy()
    if change == "a tie":
        x[5] = x[4]
    elif change == "one row out of order":
        x[[5, 6]] = x[[6, 5]]
    else:
        x, y = x[:23], y[:23]
    batch = small().fit(x[:, None], y).model_.batch
    assert batch is None or batch.past is None


def test_what_is_learned_later_counts_as_a_stream():
    model, streamed = small().fit(GRID[:, None], Y), small().partial_fit(GRID[:, None], Y)
    for one in (model, streamed):
        one.partial_fit(GRID[:1, None], Y[:1])
    assert_array_equal(model.predict(GRID[:, None]), streamed.predict(GRID[:, None]))


@pytest.mark.plain_cases(1)
@pytest.mark.parametrize("kind", ["grid", "few points", "classes"])
def test_files_hold_it(kind, tmp_path):
    if kind == "classes":
        model = iegp.IEGPClassifier([RBF(1.0)], **SMALL).fit(GRID[:, None], np.repeat(["a", "b", "c"], N // 3))
    else:
        n = 40 if kind == "few points" else N
        model = small().fit(GRID[:n, None], Y[:n])
    model.save(tmp_path / "model.iegp")
    again = iegp.load(tmp_path / "model.iegp")
    assert again.model_.batch.past is not None
    assert_array_equal(again.predict(GRID[:, None]), model.predict(GRID[:, None]))


def classes_of(n, seed=0):
    """Two columns, three classes around different centres."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) * 3 // n
    return rng.normal(size=(n, 2)) + 2.0 * np.array([[0.0, 0.0], [1.0, 0.3], [0.2, 1.2]])[labels], labels


@pytest.mark.plain_cases(0)
@pytest.mark.parametrize("estimator", [iegp.IEGPClassifier, iegp.IEGPOrdinalClassifier])
def test_classes_that_are_sorted_are_predicted_nearly_as_in_random_order(estimator):
    x, labels = classes_of(150)
    later, truth = classes_of(300, seed=1)
    order = np.random.default_rng(2).permutation(150)
    in_order = estimator(n_frequencies=20, random_state=0).fit(x, labels)
    shuffled = estimator(n_frequencies=20, random_state=0).fit(x[order], labels[order])
    assert in_order.score(later, truth) > 0.8 * shuffled.score(later, truth)
    # The next row of a stream has the class of the last ones.
    assert np.mean(in_order.predict(later, horizon=1) == truth) < 0.4


def test_a_class_that_has_just_begun_is_no_sorted_table():
    labels = np.zeros(N, dtype=int)
    labels[-5:] = 1
    model = iegp.IEGPClassifier([RBF(1.0)], **SMALL).fit(RNG.normal(size=(N, 2)), labels)
    assert model.model_.batch.past is None
