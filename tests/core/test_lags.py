"""Lags: the same as columns written by hand, never a label that is not known, in any chunking and after storing."""

from __future__ import annotations

import copy
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import iegp
from iegp.errors import InputError
from iegp.kernels import RBF, Constant, Linear, Matern

RNG = np.random.default_rng(3)
N = 120
X = RNG.normal(size=(N, 2))
Y = np.zeros(N)
for t in range(2, N):
    Y[t] = 1.2 * Y[t - 1] - 0.5 * Y[t - 2] + 0.5 * np.sin(X[t, 0]) + 0.1 * RNG.normal()
LEVELS = np.digitize(Y, [-0.4, 0.4])
LABELS = {
    "numbers": (iegp.IEGPRegressor, Y),
    "two outputs": (iegp.IEGPRegressor, np.column_stack([Y, Y - X[:, 1]])),
    "classes": (iegp.IEGPClassifier, (Y > 0).astype(int)),
    "three classes": (iegp.IEGPClassifier, LEVELS),
    "levels": (iegp.IEGPOrdinalClassifier, LEVELS),
    "counts": (iegp.IEGPCountRegressor, np.floor(np.exp(Y)).astype(int)),
}
KERNELS = [RBF(1.0) + Linear() + Constant(), Matern(2.0)]
OFFSETS = (4, 6, 9)


def numbers_of(labels, y):
    """The numbers of every label, as the documentation says, for a model without warm-up."""
    if labels == "numbers":
        return y[:, None]
    if labels == "two outputs":
        return y
    if labels == "classes":
        return 2.0 * y[:, None] - 1.0
    if labels == "levels":
        return (y[:, None] - 1.0) / np.sqrt(2.0 / 3.0)
    if labels == "three classes":
        return ((y[:, None] == np.arange(3)) - 1.0 / 3.0) / np.sqrt(2.0 / 9.0)
    return np.log1p(y)[:, None]


def by_hand(labels, y, offsets):
    """(N, columns): every number of a label at every offset; 0 where there was none."""
    values = numbers_of(labels, y)
    columns = []
    for v in range(values.shape[1]):
        for offset in offsets:
            shifted = np.zeros(len(y))
            shifted[offset:] = values[:-offset, v]
            columns.append(shifted)
    return np.column_stack(columns)


def model(labels, **changes):
    estimator, _ = LABELS[labels]
    settings = {"n_frequencies": 5, "drift_var": (0.0, 1e-2), "prior_var": 1.0, "warmup": 0, "standardize": False}
    if estimator is iegp.IEGPRegressor:
        settings |= {"noise_var": 0.1, "robust": False}
    return estimator(kernels=KERNELS, random_state=0, **(settings | changes))


def answers_of(run):
    return np.column_stack([run.proba] if hasattr(run, "proba") else [run.mean, run.std])


def run_of(found, labels, x, y):
    first = {"classes": np.unique(LABELS[labels][1])} if labels in ("classes", "three classes") else {}
    if labels == "levels":
        found.set_params(order=[0, 1, 2])
    return found.prequential(x, y, **first)


@pytest.mark.plain_cases(4)
@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("labels", LABELS)
def test_lags_are_columns_written_by_hand(labels, delay):
    y = LABELS[labels][1]
    ours = run_of(model(labels, lags=OFFSETS, delay=delay), labels, X, y)
    columns = np.column_stack([X, by_hand(labels, y, OFFSETS)])
    expected = run_of(model(labels, delay=delay), labels, columns, y)
    assert_allclose(answers_of(ours), answers_of(expected), rtol=1e-9, atol=1e-11)
    without = run_of(model(labels, delay=delay), labels, X, y)
    assert np.abs(answers_of(ours) - answers_of(without)).max() > 1e-3


@pytest.mark.plain_cases(4)
@pytest.mark.parametrize("delay", [0, 2])
@pytest.mark.parametrize("labels", LABELS)
def test_chunking_does_not_matter(labels, delay):
    y = LABELS[labels][1]
    settings = {"lags": 3, "delay": delay, "warmup": 50, "standardize": True, "prior_var": "evidence"}
    whole, parts = model(labels, **settings), model(labels, **settings)
    expected = answers_of(run_of(whole, labels, X, y))
    cuts = [0, 1, 2, 30, 45, 46, 60, 95, N]
    found = [answers_of(run_of(parts, labels, X[a:b], y[a:b])) for a, b in pairwise(cuts)]
    assert_allclose(np.concatenate(found), expected, rtol=1e-8, atol=1e-9)
    assert_allclose(parts.model_.state.recent, whole.model_.state.recent, rtol=1e-12)


@pytest.mark.plain_cases(4)
@pytest.mark.parametrize("delay", [0, 2])
@pytest.mark.parametrize("labels", LABELS)
def test_no_label_is_seen_before_it_is_known(labels, delay):
    y = LABELS[labels][1]
    changed = y.copy()
    changed[80] = np.roll(y, 1, axis=0)[80] if labels != "numbers" else y[80] + 1.0
    if np.array_equal(changed[80], y[80]):
        changed[80] = (1 - y[80]) if labels == "classes" else (y[80] + 1) % 3
    settings = {"lags": 3, "delay": delay, "warmup": 50, "standardize": True, "prior_var": "evidence"}
    one, two = (answers_of(run_of(model(labels, **settings), labels, X, own)) for own in (y, changed))
    known = 80 + delay + 1
    assert_array_equal(one[:known], two[:known])
    assert np.any(one[known] != two[known])


@pytest.mark.parametrize("delay", [0, 3])
def test_predict_sees_the_newest_labels(delay):
    """The row that comes ``delay`` rows after the next one is predicted as it is in the stream."""
    y = LABELS["numbers"][1]
    run = model("numbers", lags=3, delay=delay).prequential(X, y)
    found = model("numbers", lags=3, delay=delay).partial_fit(X[:90], y[:90])
    mean, std = found.predict(X[90 + delay : 91 + delay], return_std=True)
    assert_allclose([mean[0], std[0]], [run.mean[90 + delay], run.std[90 + delay]], rtol=1e-9)
    before = found.model_.state.recent.copy()
    found.predict(X)
    assert_array_equal(found.model_.state.recent, before)
    assert found.n_features_in_ == 2


@pytest.mark.plain_cases(4)
@pytest.mark.parametrize("n_learned", [20, 90])
@pytest.mark.parametrize("labels", LABELS)
def test_a_stored_model_goes_on_to_the_bit(labels, n_learned, tmp_path):
    y = LABELS[labels][1]
    found = model(labels, lags=(1, 5), warmup=50, standardize=True, prior_var="evidence")
    run_of(found, labels, X[:n_learned], y[:n_learned])
    found.save(tmp_path / "model.iegp")
    again = iegp.load(tmp_path / "model.iegp")
    expected = run_of(found, labels, X[n_learned:], y[n_learned:])
    assert_array_equal(answers_of(run_of(again, labels, X[n_learned:], y[n_learned:])), answers_of(expected))
    assert again.get_params()["lags"] == (1, 5)


@pytest.mark.parametrize("size", [1e1, 1e3, 1e6])
def test_a_glitch_is_no_input_of_later_rows(size):
    rng = np.random.default_rng(5)
    y, noise = np.zeros(700), 0.1
    for t in range(2, len(y)):
        y[t] = 1.5 * y[t - 1] - 0.7 * y[t - 2] + noise * rng.normal()
    x = rng.normal(size=(len(y), 1))
    settings = {"n_frequencies": 15, "warmup": 200, "drift_var": (0.0, 1e-3), "random_state": 0, "lags": 3}
    clean = iegp.IEGPRegressor([RBF("dimension") + Linear()], **settings)
    other = copy.deepcopy(clean)
    glitched = y.copy()
    glitched[500] += size * y.std()
    runs = clean.prequential(x, y), other.prequential(x, glitched)
    apart = np.abs(runs[0].mean - runs[1].mean)
    # The next rows see what was predicted in its place, which is off by the noise.
    assert apart[501:504].max() < 5.0 * noise
    assert apart[504:].max() < 0.1 * noise
    assert (runs[1].std / runs[0].std)[506:].max() < 1.5
    rows = iegp.IEGPRegressor([RBF("dimension") + Linear()], **settings)
    for t in range(len(y)):
        rows.partial_fit(x[t : t + 1], glitched[t : t + 1])
    assert_allclose(rows.model_.state.recent, other.model_.state.recent, rtol=1e-8)


def followed_by_hand(found, x, y, offsets, n_moved):
    """Row by row: the lags are columns, of which the next ``n_moved`` follow a label that is far out and learned.

    Which label is learned is as in the naive loop of ``test_robust``. The lag of one left out is its prediction.
    """
    labels, means = [*[0.0] * max(offsets), y[0]], []
    balance, largest, last, n_far = 0, 0.0, 0.0, 0
    found.partial_fit(np.concatenate([x[0], np.zeros(len(offsets))])[None], y[:1])
    for row, label in zip(x[1:], y[1:], strict=True):
        columns = np.concatenate([row, [labels[-offset] for offset in offsets]])[None]
        mean, std = found.predict(columns, return_std=True, horizon=1)
        error = label - mean[0]
        far = abs(error) > 8.0 * std[0]
        if n_far == 1:
            share = error / last
            is_change = share >= -0.25 if balance >= 2 else far or share > 0.25
            balance = int(np.clip(balance + (1 if is_change else -2), -4, 4))
            largest = max(0.9 * largest, abs(last)) if is_change else largest
        usual = max(abs(last), largest if balance >= 2 else 0.0)
        left_out = far and abs(error) > 4.0 * usual
        found.partial_fit(columns, [label], sample_weight=[0.0] if left_out else None)
        if far and not left_out:
            moved = np.clip(error, *sorted([0.0, label - labels[-1]]))
            labels[-n_moved:] = [value + moved for value in labels[-n_moved:]]
        labels.append(mean[0] if left_out else label)
        means.append(mean[0])
        last = error if far else 0.0
        n_far = (1 if left_out else min(n_far + 1, 2)) if far else 0
    return np.array(means)


@pytest.mark.plain_cases(1)
@pytest.mark.parametrize("size", [1, 7, N])
def test_lags_follow_a_change_of_the_level(size):
    y = Y + np.where(np.arange(N) >= 70, 60.0, 0.0)
    settings = {"n_frequencies": 5, "drift_var": 0.0, "prior_var": 1.0, "noise_var": 0.1, "warmup": 0}
    settings |= {"standardize": False, "noise_forgetting": None, "spread": False, "random_state": 0}
    kernels = [Linear() + Constant(prior_var=100.0)]
    found = iegp.IEGPRegressor(kernels, lags=(1, 2, 3, 6), robust=True, **settings).partial_fit(X[:1], y[:1])
    means = np.concatenate([found.prequential(X[i : i + size], y[i : i + size]).mean for i in range(1, N, size)])
    plain = iegp.IEGPRegressor(kernels, robust=False, **settings)
    assert_allclose(means, followed_by_hand(plain, X, y, (1, 2, 3, 6), 2), rtol=1e-7, atol=1e-8)


def test_recent_lags_are_those_without_a_gap():
    y = np.column_stack([Y, Y - X[:, 1]])
    settings = {"n_frequencies": 5, "drift_var": 0.0, "prior_var": 1.0, "noise_var": 0.1, "warmup": 0}
    settings |= {"standardize": False, "noise_forgetting": None, "robust": False, "random_state": 0}
    some = iegp.IEGPRegressor([RBF(1.0, lags="recent")], lags=(1, 2, 5, 6), **settings).prequential(X, y)
    few = iegp.IEGPRegressor([RBF(1.0)], lags=(1, 2), **settings).prequential(X, y)
    assert_allclose(some.mean, few.mean, rtol=1e-9, atol=1e-11)
    assert RBF(1.0, lags="recent").short() == "RBF 1 of recent lags"


def test_kernels_choose_whether_they_see_lags():
    """A term without lags is the term of a model without lags; one with lags only ignores the columns."""
    y = LABELS["numbers"][1]
    settings = {"n_frequencies": 5, "drift_var": 0.0, "prior_var": 1.0, "noise_var": 0.1, "warmup": 0}
    settings |= {"standardize": False, "noise_forgetting": None, "robust": False, "random_state": 0}
    plain = iegp.IEGPRegressor([RBF(1.0)], **settings).partial_fit(X, y)
    blind = iegp.IEGPRegressor([RBF(1.0, lags=False)], lags=3, **settings).partial_fit(X, y)
    assert_allclose(blind.predict(X), plain.predict(X), rtol=1e-10)
    only = iegp.IEGPRegressor([RBF(1.0, lags="only")], lags=3, **settings).partial_fit(X, y)
    assert np.ptp(only.predict(X)) == 0.0
    assert only.experts_[0].kernel == RBF(1.0, lags="only")


def test_each_key_of_a_fleet_has_its_own_lags():
    y = LABELS["numbers"][1]
    template = model("numbers", lags=3, warmup=40, standardize=True, robust=True).warm_up(X[:40], y[:40])
    fleet = iegp.Fleet(template)
    keys = np.array(["a", "b", "c"])[np.arange(80) % 3]
    run = fleet.learn(keys, X[40:], y[40:])
    for key in "abc":
        own = keys == key
        alone = copy.deepcopy(template)
        alone.model_.state.recent[...] = 0.0
        expected = alone.prequential(X[40:][own], y[40:][own])
        assert_allclose(run.mean[own], expected.mean, rtol=1e-10)
        assert_allclose(fleet.predict(key, X[:1]), alone.predict(X[:1]), rtol=1e-10)


@pytest.mark.parametrize(
    ("lags", "delay", "words"),
    [
        (-1, 0, "lags=-1 must be a whole number of at least 0"),
        (2.5, 0, "lags=2.5"),
        ((0, 1), 0, "lags=0 must be a whole number of at least 1"),
        ((1, 1), 0, "each once"),
        ((2, 24), 5, "the least offset is 6"),
        ((1, 10**6), 0, "more than 10000 rows back"),
        (10**9, 0, "more than 10000 rows back"),
        ("3", 0, "lags='3'"),
        (True, 0, "lags=True"),
    ],
)
def test_bad_lags(lags, delay, words):
    with pytest.raises(InputError, match=words) as raised:
        model("numbers", lags=lags, delay=delay).partial_fit(X, Y)
    assert len(str(raised.value)) < 250


def test_what_needs_no_order_refuses_lags():
    settings = {"drift_var": 0.0, "weights": "bayes", "shutdown": 0.0, "noise_forgetting": None, "robust": False}
    found = model("numbers", lags=3, **settings).partial_fit(X, Y)
    with pytest.raises(InputError, match=r"cannot merge with lags=\(1, 2, 3\)"):
        found.merge(copy.deepcopy(found))
    with pytest.raises(InputError, match=r"cannot unlearn with lags=\(1, 2, 3\)"):
        found.unlearn(X[:5], Y[:5])


def test_a_kernel_of_lags_only_needs_lags():
    with pytest.raises(InputError, match="pass lags="):
        model("numbers").set_params(kernels=[RBF(1.0, lags="only")]).partial_fit(X, Y)
