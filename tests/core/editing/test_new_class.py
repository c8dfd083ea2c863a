"""A class that was not declared: what was learned stays, and the new class is learned like any other."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from core.builders import arrays_of, assert_close
from numpy.testing import assert_allclose, assert_array_equal

from iegp.core import model as online
from iegp.core.editing.new_class import add_class
from iegp.core.expert.belief import moments
from iegp.core.kernels import RBF
from iegp.core.likelihoods import likelihood_code
from iegp.core.settings import Settings
from iegp.core.state import belief_at, drift_at
from iegp.errors import InputError
from iegp.storage import ensemble_state as snapshot

PLAIN = Settings(
    kernels=(RBF(0.7), RBF(2.0)),
    n_frequencies=10,
    features="orthogonal",
    drift_var=(0.0, 1e-3),
    weights="bayes",
    switch_prob=0.05,
    stacking_rate=0.1,
    shutdown=1e-16,
    prior_var=None,
    noise_var=None,
    noise_forgetting=(None,),
    warmup=64,
    learn_warmup=True,
    standardize=True,
    seed=0,
    likelihood="categorical",
)
FIXED = replace(PLAIN, standardize=False, prior_var=4.0)
VARIANTS = {
    "plain": PLAIN,
    "static": replace(PLAIN, drift_var=(0.0,)),
    "drifting": replace(PLAIN, drift_var=(1e-4, 1e-2)),
    "stacking": replace(PLAIN, weights="stacking", sharpness=(1.0, 1.5, 3.0)),
    "switching": replace(PLAIN, weights="switching"),
    "probit integration": replace(PLAIN, integration="probit"),
    "monte carlo": replace(PLAIN, integration="monte-carlo"),
    "in the warm-up": replace(PLAIN, warmup=1000),
    "nothing to fit": FIXED,
}
variants = pytest.mark.parametrize("name", VARIANTS)
class_counts = pytest.mark.parametrize("n_classes", [2, 3, 5])

CENTRES = np.array([[0.0, 2.0], [1.8, -1.0], [-1.8, -1.0], [3.0, 3.0], [-3.0, 3.0], [0.0, -4.0]])


def blobs(n, n_classes, seed=0, spread=0.8):
    """Rows (n, 2) and labels (n, 1) of classes that overlap a little."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return CENTRES[y] + spread * rng.normal(size=(n, 2)), y.astype(float)[:, None]


def learned(settings, n_classes, n=150, seed=0):
    """A model of ``n_classes`` classes in the middle of a stream; two of them are binary."""
    return copy.deepcopy(_learned(settings, n_classes, n, seed))


@cache
def _learned(settings, n_classes, n, seed):
    likelihood = "bernoulli-logit" if n_classes == 2 else "categorical"
    model = online.begin(replace(settings, likelihood=likelihood), 2, n_classes)
    online.learn(model, *blobs(n, n_classes, seed))
    return model


def beliefs(model):
    """Mean (F, L) and covariance (F, F) of every belief."""
    ensemble = model.experts.ensemble
    drifts = [drift_at(ensemble, b) for b in range(ensemble.n_beliefs)]
    return [moments(belief_at(ensemble.layout, model.state, b), drift) for b, drift in enumerate(drifts)]


def assert_same(model, other):
    """To the bit, whatever a model consists of."""
    assert (model.settings, model.is_warming_up) == (other.settings, other.is_warming_up)
    assert model.experts.kernels == other.experts.kernels
    for name in ("scaling", "state"):
        for new, old in zip(getattr(model, name), getattr(other, name), strict=True):
            assert_array_equal(new, old)
    for new, old in zip(arrays_of(model.experts.ensemble), arrays_of(other.experts.ensemble), strict=True):
        assert_array_equal(new, old)
    assert_array_equal(model.kept_x, other.kept_x)
    assert_array_equal(model.kept_y, other.kept_y)


# --- what was known -------------------------------------------------------------------------------------------------


@pytest.mark.plain_cases(3)
@variants
@class_counts
def test_a_grown_model_has_one_class_more(name, n_classes):
    model = learned(VARIANTS[name], n_classes)
    grown = add_class(model)
    assert (grown.n_outputs, grown.n_columns, grown.n_seen) == (n_classes + 1, 2, 150)
    assert grown.settings == replace(model.settings, likelihood="categorical")
    assert grown.is_warming_up == model.is_warming_up
    assert add_class(add_class(grown)).n_outputs == n_classes + 3


@pytest.mark.plain_cases(3)
@variants
@class_counts
def test_the_new_class_is_the_prior_mean(name, n_classes):
    for mean, _ in beliefs(add_class(learned(VARIANTS[name], n_classes))):
        assert_array_equal(mean[:, n_classes], 0.0)
        assert np.all(np.any(mean[:, :n_classes] != 0.0, axis=0))


@pytest.mark.plain_cases(2)
@variants
@pytest.mark.parametrize("n_classes", [3, 5])
def test_beliefs_of_known_classes_stay(name, n_classes):
    model = learned(VARIANTS[name], n_classes)
    for (mean, covariance), (new_mean, new_covariance) in zip(beliefs(model), beliefs(add_class(model)), strict=True):
        assert_array_equal(new_mean[:, :n_classes], mean)
        assert_array_equal(new_covariance, covariance)


@pytest.mark.plain_cases(1)
@variants
def test_two_classes_become_two_functions_with_the_same_difference(name):
    model = learned(VARIANTS[name], 2)
    grown = add_class(model)
    for (mean, covariance), (new_mean, new_covariance) in zip(beliefs(model), beliefs(grown), strict=True):
        assert_allclose(new_mean[:, 1] - new_mean[:, 0], mean[:, 0], rtol=1e-12)
        assert_allclose(new_mean[:, 1], -new_mean[:, 0], rtol=1e-12)
        # Variances of independent functions add up.
        assert_allclose(2.0 * new_covariance, covariance, rtol=1e-10, atol=1e-12 * np.abs(covariance).max())
    for field in ("drift", "prior_ratio"):
        assert_array_equal(2.0 * getattr(grown.experts.ensemble, field), getattr(model.experts.ensemble, field))
    assert model.experts.ensemble.likelihood == likelihood_code("bernoulli-logit")
    assert grown.experts.ensemble.likelihood == likelihood_code("categorical")


def share(p, i, j):
    """The probability of class j among i and j."""
    return p[:, j] / (p[:, i] + p[:, j])


@pytest.mark.plain_cases(3)
@variants
@class_counts
def test_odds_between_known_classes_stay(name, n_classes):
    model, (x, _) = learned(VARIANTS[name], n_classes), blobs(80, n_classes, seed=1)
    before, after = online.predict_classes(model, x), online.predict_classes(add_class(model), x)
    assert_allclose(after.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all((after > 0.0) & (after < 1.0))
    # Exact for latent values. Their average is not that of a ratio, and cruder integration has errors of its own.
    tolerance = {"quadrature": 0.025, "probit": 0.07, "monte-carlo": 0.1}[VARIANTS[name].integration]
    for i in range(n_classes):
        for j in range(i):
            assert_allclose(share(after, i, j), share(before, i, j), atol=tolerance)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_odds_stay_exactly_where_beliefs_are_sure(n_classes):
    """Static beliefs after many rows: what is left of the variance hardly matters."""
    for prior_var, tolerance in ((0.1, 2e-3), (1e-3, 5e-5), (1e-5, 1e-6)):
        settings = replace(FIXED, kernels=(RBF(2.0),), drift_var=(0.0,), prior_var=prior_var)
        model, (x, _) = learned(settings, n_classes, n=400), blobs(80, n_classes, seed=1)
        before, after = online.predict_classes(model, x), online.predict_classes(add_class(model), x)
        for i in range(n_classes):
            for j in range(i):
                assert_allclose(share(after, i, j), share(before, i, j), atol=tolerance)


@class_counts
def test_a_model_without_rows_gives_equal_probabilities(n_classes):
    for settings in (PLAIN, FIXED, VARIANTS["stacking"]):
        grown = add_class(learned(settings, n_classes, n=0))
        assert_allclose(online.predict_classes(grown, blobs(9, 3)[0]), 1.0 / (n_classes + 1), rtol=1e-4)


def test_the_new_class_does_not_care_which_of_two_classes_is_which():
    x, y = blobs(150, 2)
    new = []
    for labels in (y, 1.0 - y):
        model = online.begin(replace(PLAIN, likelihood="bernoulli-logit"), 2, 2)
        online.learn(model, x, labels)
        new.append(online.predict_classes(add_class(model), x)[:, 2])
    assert_allclose(new[0], new[1], rtol=1e-6)


@pytest.mark.plain_cases(0)
@class_counts
def test_the_new_class_is_likelier_where_nothing_is_known(n_classes):
    model = add_class(learned(PLAIN, n_classes, n=400))
    near = online.predict_classes(model, CENTRES[:n_classes])[:, n_classes]
    far = online.predict_classes(model, np.array([[40.0, -50.0], [-60.0, 30.0]]))[:, n_classes]
    assert near.max() < far.min()


@pytest.mark.plain_cases(3)
@variants
@class_counts
def test_the_original_is_left_alone(name, n_classes):
    model = learned(VARIANTS[name], n_classes)
    before = copy.deepcopy(model)
    grown = add_class(model)
    assert_same(model, before)
    x, y = blobs(40, n_classes + 1, seed=2)
    for row in range(10):  # a few rows are learned in place, many on a copy
        online.learn(grown, x[row : row + 1], y[row : row + 1])
    online.learn(grown, x[10:], y[10:])
    assert_same(model, before)


# --- what is learned afterwards -------------------------------------------------------------------------------------


def error_on_new(model, n_classes, seed=7):
    x, y = blobs(300, n_classes, seed)
    return float(np.mean(np.argmax(online.predict_classes(model, x), axis=1) != y[:, 0]))


@pytest.mark.plain_cases(0)
@variants
@class_counts
def test_the_new_class_is_learned(name, n_classes):
    model = add_class(learned(VARIANTS[name], n_classes))
    x, y = blobs(500, n_classes + 1, seed=3)
    before = error_on_new(model, n_classes + 1)
    trace = online.learn(model, x, y)
    assert trace.proba.shape == (500, n_classes + 1)
    assert np.all(np.isfinite(trace.log_score))
    assert trace.log_score[-200:].mean() > trace.log_score[:50].mean()
    assert error_on_new(model, n_classes + 1) < min(0.75 * before, 0.2)
    assert model.n_seen == 650


@pytest.mark.plain_cases(0)
@variants
@class_counts
def test_growing_later_is_as_good_as_declaring_at_once(name, n_classes):
    x, y = blobs(600, n_classes + 1, seed=3)
    grown = add_class(learned(VARIANTS[name], n_classes))
    online.learn(grown, x, y)
    declared = online.begin(VARIANTS[name], 2, n_classes + 1)
    online.learn(declared, *blobs(150, n_classes))
    online.learn(declared, x, y)
    assert error_on_new(grown, n_classes + 1) == pytest.approx(error_on_new(declared, n_classes + 1), abs=0.04)


@pytest.mark.plain_cases(3)
@pytest.mark.parametrize("n", [0, 1, 20, 31, 63])
@class_counts
def test_growing_in_a_warm_up_is_forgotten_by_the_next_fit(n, n_classes):
    """The rows are all kept, so a refit makes of them what it would have made with all classes declared."""
    x, y = blobs(64 - n, n_classes + 1, seed=3)
    grown = add_class(learned(PLAIN, n_classes, n=n))
    assert grown.is_warming_up
    online.learn(grown, x, y)
    declared = online.begin(PLAIN, 2, n_classes + 1)
    online.learn(declared, *blobs(n, n_classes))
    online.learn(declared, x, y)
    assert not grown.is_warming_up
    assert_close(grown.experts.ensemble.prior_ratio, declared.experts.ensemble.prior_ratio)
    for new, old in zip(grown.state, declared.state, strict=True):
        assert_close(new, old)


@pytest.mark.plain_cases(1)
@pytest.mark.parametrize("name", ["plain", "nothing to fit", "monte carlo"])
def test_cutting_the_stream_does_not_matter_after_growing(name):
    x, y = blobs(60, 4, seed=3)
    whole, pieces = (add_class(learned(VARIANTS[name], 3)) for _ in range(2))
    wanted = online.learn(whole, x, y)
    scores = [online.learn(pieces, x[a:b], y[a:b]).log_score for a, b in ((0, 1), (1, 5), (5, 40), (40, 60))]
    assert_allclose(np.concatenate(scores), wanted.log_score, rtol=1e-8, atol=1e-10)


# --- Monte Carlo, model files, refusals -----------------------------------------------------------------------------


@class_counts
@pytest.mark.parametrize("seed", range(7))
def test_draws_of_latent_functions_are_independent(seed, n_classes):
    model = learned(replace(VARIANTS["monte carlo"], seed=seed), n_classes, n=0)
    nodes = add_class(add_class(model)).experts.ensemble.nodes
    assert nodes.shape == (n_classes + 2, 256)
    assert_allclose(np.corrcoef(nodes), np.eye(n_classes + 2), atol=0.3)


@pytest.mark.plain_cases(0)
@class_counts
def test_draws_agree_with_quadrature(n_classes):
    model = add_class(learned(PLAIN, n_classes, n=400))
    sampled = add_class(learned(VARIANTS["monte carlo"], n_classes, n=400))
    x, _ = blobs(80, n_classes, seed=1)
    assert_allclose(online.predict_classes(sampled, x), online.predict_classes(model, x), atol=0.06)


@pytest.mark.plain_cases(3)
@variants
@class_counts
def test_a_model_file_of_a_grown_model_round_trips(name, n_classes):
    model = add_class(learned(VARIANTS[name], n_classes))
    online.learn(model, *blobs(20, n_classes + 1, seed=3))
    config, arrays = snapshot.take(model)
    same = snapshot.restore(json.loads(json.dumps(config)), {name: array.copy() for name, array in arrays.items()})
    assert_same(same, model)
    x, y = blobs(40, n_classes + 1, seed=4)
    assert_array_equal(online.predict_classes(same, x), online.predict_classes(model, x))
    assert_close(online.learn(same, x, y).log_score, online.learn(model, x, y).log_score, 1e-12)


@pytest.mark.parametrize("likelihood", ["bernoulli-probit", "ordinal-logit", "ordinal-probit", "poisson", "gaussian"])
def test_other_labels_cannot_grow_a_class(likelihood):
    model = online.begin(replace(PLAIN, likelihood=likelihood), 2, 1 if likelihood in ("poisson", "gaussian") else 2)
    with pytest.raises(InputError, match=likelihood):
        add_class(model)
