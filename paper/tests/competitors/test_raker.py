"""Raker and AdaRaker against a literal transcription of their algorithms, row by row."""

from __future__ import annotations

import math

import numpy as np
import pytest
from competitors.data import moons, wave
from iegp_paper.competitors import AdaRaker, AdaRakerClassifier, Raker, RakerClassifier
from iegp_paper.competitors.intervals import active_intervals

from iegp.errors import InputError
from iegp.kernels import RBF

KERNELS = (RBF(0.3), RBF(1.0), RBF(10.0))
FLOOR = 1e-12


def features(frequencies, x):
    angles = [frequencies[p] @ x for p in range(len(frequencies))]
    return [np.concatenate([np.sin(a), np.cos(a)]) / math.sqrt(len(a)) for a in angles]


def loss(kind, f, y):
    return (y - f) ** 2 if kind == "squared" else math.log(1.0 + math.exp(-y * f))


def slope(kind, f, y):
    return -2.0 * (y - f) if kind == "squared" else -y / (1.0 + math.exp(y * f))


class NaiveLearner:
    """Algorithm 1 with plain lists."""

    def __init__(self, n_kernels, n_features, kind, hedge, penalty, base):
        self.theta = [np.zeros(n_features) for _ in range(n_kernels)]
        self.w = [1.0] * n_kernels
        self.kind, self.hedge, self.penalty, self.base = kind, hedge, penalty, base

    def predict(self, phi):
        self.f = [float(t @ p) for t, p in zip(self.theta, phi, strict=True)]
        return sum(w * f for w, f in zip(self.w, self.f, strict=True)) / sum(self.w)

    def learn(self, phi, y, eta):
        losses = [loss(self.kind, f, y) for f in self.f]
        self.w = multiply(self.w, losses, eta, self.hedge, self.base)
        for p, f in enumerate(self.f):
            gradient = slope(self.kind, f, y) * phi[p] + self.penalty * self.theta[p]
            self.theta[p] = self.theta[p] - eta * gradient


def multiply(w, losses, eta, hedge, base):
    if hedge == "loss":
        w = [a * math.exp(-eta * b) for a, b in zip(w, losses, strict=True)]
    else:
        middle, half = (max(losses) + min(losses)) / 2, (max(losses) - min(losses)) / 2
        if half > 0:
            w = [a * base ** ((b - middle) / half) for a, b in zip(w, losses, strict=True)]
    return [max(a / max(w), FLOOR) for a in w]


def naive_raker(model, x, y, kind):
    learner = NaiveLearner(len(KERNELS), 2 * model.n_frequencies, kind, model.hedge, model.penalty, model.base)
    predicted = []
    for row, label in zip(x, y, strict=True):
        phi = features(model._frequencies, row)
        predicted.append(learner.predict(phi))
        learner.learn(phi, label, model.learning_rate)
    return np.array(predicted)


def naive_ada_raker(model, x, y, kind):
    """Algorithm 2: learners in a dictionary keyed by level, weights by interval."""
    learners, h, predicted = {}, {}, []
    for t, (row, label) in enumerate(zip(x, y, strict=True), start=1):
        phi = features(model._frequencies, row)
        own, rates = {}, {}
        for level, (first, last) in enumerate(active_intervals(t)):
            rates[level] = min(model.max_rate, model.eta_0 / math.sqrt(last - first + 1))
            if t == first:
                h[level] = rates[level]
                if model.restart or level not in learners:
                    arguments = 2 * model.n_frequencies, kind, model.hedge, model.penalty, model.base
                    learners[level] = NaiveLearner(len(KERNELS), *arguments)
            own[level] = learners[level].predict(phi)
        f = sum(h[level] * own[level] for level in own) / sum(h[level] for level in own)
        predicted.append(f)
        losses = {level: loss(kind, own[level], label) for level in own}
        for level in own:
            learners[level].learn(phi, label, rates[level])
        if model.hedge == "loss":
            for level in own:
                h[level] *= math.exp(rates[level] * (loss(kind, f, label) - losses[level]))
        else:
            new = multiply([h[i] for i in own], list(losses.values()), 1.0, "range", rates[len(own) - 1])
            for level, value in enumerate(new):
                h[level] = value / sum(new)
    return np.array(predicted)


@pytest.mark.parametrize("hedge", ["range", "loss"])
def test_raker_is_its_algorithm(hedge):
    x, y = wave(80)
    model = Raker(KERNELS, n_frequencies=6, hedge=hedge, standardize=False, warmup=0, random_state=1)
    run = model.prequential(x, y)
    np.testing.assert_allclose(run.mean, naive_raker(model, x, y, "squared"), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(run.weights.sum(axis=1), 1.0)
    assert np.isnan(run.std).all()
    assert np.isnan(run.log_score).all()
    assert "no uncertainty" in repr(run)


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("hedge", ["range", "loss"])
def test_ada_raker_is_its_algorithm(hedge, restart):
    x, y = wave(80)
    settings = {"n_frequencies": 6, "hedge": hedge, "restart": restart, "standardize": False, "warmup": 0}
    model = AdaRaker(KERNELS, random_state=1, **settings)
    run = model.prequential(x, y)
    np.testing.assert_allclose(run.mean, naive_ada_raker(model, x, y, "squared"), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(run.weights.sum(axis=1), 1.0)


@pytest.mark.parametrize(("kind", "naive"), [(RakerClassifier, naive_raker), (AdaRakerClassifier, naive_ada_raker)])
def test_classifiers_are_their_algorithms(kind, naive):
    x, y = moons(60)
    model = kind(KERNELS, n_frequencies=6, standardize=False, warmup=0, random_state=1)
    run = model.prequential(x, y)
    f = naive(model, x, np.where(y == "up", 1.0, -1.0), "logistic")
    np.testing.assert_allclose(run.proba[:, 1], 1.0 / (1.0 + np.exp(-f)), rtol=1e-9)
    assert run.classes.tolist() == ["down", "up"]


def test_the_loss_on_a_target_linear_in_the_features_goes_to_zero():
    x, _ = wave(3000)
    model = Raker((RBF(1.0),), n_frequencies=5, penalty=0.0, standardize=False, warmup=0, random_state=0)
    model.prequential(x[:1], [0.0])
    weights = np.random.default_rng(0).standard_normal(10)
    y = np.array([weights @ features(model._frequencies, row)[0] for row in x])
    run = Raker(**model.get_params()).prequential(x, y)
    errors = (run.mean - y) ** 2
    assert errors[-300:].mean() < 0.1 * errors[:300].mean()


def test_predict_is_what_prequential_would_say_next():
    x, y = wave(70)
    for kind in (Raker, AdaRaker):
        whole = kind(KERNELS, standardize=False, warmup=0, random_state=0).prequential(x, y)
        model = kind(KERNELS, standardize=False, warmup=0, random_state=0).partial_fit(x[:63], y[:63])
        for t in (63, 64, 65):  # an interval of every length begins with row 64
            assert model.predict(x[t : t + 1])[0] == pytest.approx(whole.mean[t], rel=1e-10)
            model.partial_fit(x[t : t + 1], y[t : t + 1])


def test_every_row_lies_in_one_interval_of_each_length():
    for t in range(1, 200):
        held = active_intervals(t)
        assert len(held) == math.floor(math.log2(t)) + 1
        for level, (first, last) in enumerate(held):
            assert first <= t <= last
            assert last - first + 1 == 2**level
            assert first % 2**level == 0


def test_ada_raker_follows_an_abrupt_change_faster():
    """A slow learner is right for a still stream; after the sign flips, intervals that began late take over."""
    x, y = wave(2048)
    y[1024:] *= -1.0
    rates = {"standardize": False, "warmup": 0, "random_state": 0}
    slow = Raker(KERNELS, learning_rate=1.0 / math.sqrt(2048), **rates).prequential(x, y)
    adaptive = AdaRaker(KERNELS, **rates).prequential(x, y)
    after = slice(1034, 1200)
    assert np.mean((adaptive.mean - y)[after] ** 2) < 0.5 * np.mean((slow.mean - y)[after] ** 2)


def test_unknown_words_are_refused():
    x, y = wave(10)
    with pytest.raises(InputError, match="hedge='prod' is not known"):
        Raker(hedge="prod").warm_up(x, y)
    with pytest.raises(InputError, match="base"):
        Raker(base=2.0).warm_up(x, y)
    with pytest.raises(InputError, match="learning_rate"):
        Raker(learning_rate=0.0).warm_up(x, y)
