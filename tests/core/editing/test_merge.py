"""Merging and unlearning equal having seen the rows, or not having seen them."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from history.static_models import assert_same_model, stream, taught, warmed_up
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.batch import gaussian_log_density
from oracles.features import features
from scipy.stats import multivariate_t

from iegp import IEGPRegressor, load
from iegp.errors import InputError
from iegp.kernels import RBF, Constant, Linear

NOISES = [None, 1.0, (None, 1.0)]


def parts(X, y, cuts):
    return [(X[a:b], y[a:b]) for a, b in zip([0, *cuts], [*cuts, len(X)], strict=True)]


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("n_outputs", [None, 3])
def test_merging_equals_having_seen_both(noise, n_outputs):
    X, y = stream(300, n_outputs=n_outputs)
    base = warmed_up(y, noise_forgetting=noise)
    whole = taught(base, X, y)
    for cut in (0, 1, 5, 120, 299):
        first, second = (taught(base, *part) for part in parts(X, y, [cut]))
        assert_same_model(first.merge(second), whole)


@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_merging_at_extreme_priors(ratio, noise):
    X, y = stream(400)
    base = warmed_up(prior_var=0.5 * ratio, noise_forgetting=noise, kernels=[RBF(0.5), RBF(2.0), RBF(30.0)])
    first, second = (taught(base, *part) for part in parts(X, y, [230]))
    assert_same_model(first.merge(second), taught(base, X, y))


def test_how_merging_degrades_beyond():
    """Gracefully: at a ratio that evidence would never choose, six digits are left."""
    X, y = stream(400)
    base = warmed_up(prior_var=0.5e12, kernels=[RBF(0.5), RBF(2.0), RBF(30.0)])
    first, second = (taught(base, *part) for part in parts(X, y, [230]))
    assert_same_model(first.merge(second), taught(base, X, y), 1e-6)


@settings(max_examples=25)
@given(data=st.data())
def test_any_parts_in_any_tree(data):
    """A stream cut anywhere, the parts merged two at a time in any order."""
    X, y = stream(120, seed=3)
    noise = data.draw(st.sampled_from(NOISES))
    base = warmed_up(noise_forgetting=noise)
    cuts = sorted(data.draw(st.lists(st.integers(0, 120), max_size=5)))
    models = [taught(base, *part) for part in parts(X, y, cuts)]
    while len(models) > 1:
        second = models.pop(data.draw(st.integers(0, len(models) - 1)))
        models[data.draw(st.integers(0, len(models) - 1))].merge(second)
    assert_same_model(models[0], taught(base, X, y))


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_forks_of_a_taught_model(noise):
    X, y = stream(300)
    base = taught(warmed_up(noise_forgetting=noise), X[:100], y[:100])
    first, second = taught(base, X[100:180], y[100:180]), taught(base, X[180:], y[180:])
    whole = taught(base, X[100:], y[100:])
    other = deepcopy(second)
    assert_same_model(first.merge(second, since=base), whole)
    assert_same_model(second, other, 1e-300)


def test_forks_of_a_model_that_learned_its_warm_up():
    X, y = stream(200)
    base = warmed_up(learn_warmup=True)
    first, second = (taught(base, *part) for part in parts(X, y, [90]))
    with pytest.raises(InputError, match=r"both models learned 64 warm-up rows.*since="):
        deepcopy(first).merge(second)
    assert_same_model(first.merge(second, since=base), taught(base, X, y))


def test_a_warm_up_inside_the_stream_counts_as_one():
    X, y = stream(200)
    base = IEGPRegressor(**warmed_up().get_params()).fit(X[:64], y[:64])
    first, second = taught(base, X[64:100], y[64:100]), taught(base, X[100:], y[100:])
    with pytest.raises(InputError, match="64 warm-up rows"):
        deepcopy(first).merge(second)
    assert_same_model(first.merge(second, since=base), taught(base, X[64:], y[64:]))


def test_weights_are_marginal_likelihoods_of_all_rows():
    """Against dense Gaussians of both streams together, sharing no code."""
    X, y = stream(60)
    base = warmed_up(noise_forgetting=(None, 1.0))
    first, second = (taught(base, *part) for part in parts(X, y, [25]))
    model = first.merge(second).model_
    ensemble, scaling = model.experts.ensemble, model.scaling
    rows, labels = (X - scaling.x_mean) / scaling.x_scale, (y - scaling.y_mean) / scaling.y_scale
    wanted = []
    for kernel, (ratio, noise) in enumerate(zip(ensemble.prior_ratio, ensemble.noise_var[:, 0], strict=True)):
        Phi = features(rows, ensemble.kernel_basis(kernel).frequencies)
        covariance = noise * (ratio * Phi @ Phi.T + np.eye(len(X)))
        wanted.append(gaussian_log_density(labels, np.zeros(len(X)), covariance))
        # Ten rows' worth of belief in the warm-up's noise level.
        wanted.append(float(multivariate_t.logpdf(labels, np.zeros(len(X)), covariance, df=10.0)))
    wanted = np.array(wanted) - np.logaddexp.reduce(wanted)
    np.testing.assert_allclose(model.state.log_weights, wanted, atol=1e-9)


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("n_outputs", [None, 2])
def test_unlearning_what_was_learned(noise, n_outputs):
    X, y = stream(300, n_outputs=n_outputs)
    base = warmed_up(y, noise_forgetting=noise)
    for cut in (1, 60, 299):
        model = taught(base, X, y).unlearn(X[cut:], y[cut:])
        assert_same_model(model, taught(base, X[:cut], y[:cut]))


def test_static_experts_of_one_kernel_share_its_frequencies():
    X, y = stream(100)
    base = warmed_up(drift_var=(0.0, 0.0))
    assert_same_model(taught(base, X[:40], y[:40]).merge(taught(base, X[40:], y[40:])), taught(base, X, y))
    assert_same_model(taught(base, X, y).unlearn(X[40:], y[40:]), taught(base, X[:40], y[:40]))
    assert len(taught(base, X, y).go_live(drift_var=1e-3, noise_forgetting=None).experts_) == 3


@settings(max_examples=15)
@given(st.lists(st.integers(0, 79), min_size=1, max_size=40, unique=True))
def test_unlearning_any_rows(chosen):
    X, y = stream(80, seed=5)
    base = warmed_up(prior_var=5.0)
    left = np.setdiff1d(np.arange(80), chosen)
    assert_same_model(taught(base, X, y).unlearn(X[chosen], y[chosen]), taught(base, X[left], y[left]))


def test_unlearning_and_learning_again():
    X, y = stream(200)
    model = taught(warmed_up(), X, y)
    again = deepcopy(model).unlearn(X[:50], y[:50]).partial_fit(X[:50], y[:50])
    assert_same_model(again, model)


def test_rows_that_were_not_learned_are_refused():
    X, y = stream(100)
    model = taught(warmed_up(prior_var=1e3), X, y)
    before = deepcopy(model)
    with pytest.raises(InputError, match="were not all learned"):
        model.unlearn(np.repeat(X[:1], 60, axis=0), np.repeat(y[:1], 60))
    with pytest.raises(InputError, match="101 rows cannot be unlearned: the model has learned 100"):
        model.unlearn(*stream(101))
    assert_same_model(model, before, 1e-300)


def test_labels_that_were_not_learned_are_refused():
    X, y = stream(100)
    model = taught(warmed_up(noise_forgetting=1.0), X, y)
    with pytest.raises(InputError, match="labels are not those that were learned"):
        model.unlearn(X[:10], y[:10] + 100.0)


def test_what_only_rounding_would_be_left_of_is_refused():
    """Twenty rows are nearly all that twenty features know when the prior is a billion times wider than the noise."""
    X, y = stream(20)
    model = taught(warmed_up(prior_var=0.5e9), X, y)
    with pytest.raises(InputError, match=r"almost all that expert .* knows"):
        model.unlearn(X, y)


def test_warm_up_rows_cannot_be_unlearned():
    X, y = stream(70)
    model = warmed_up(learn_warmup=True).partial_fit(X[:3], y[:3])
    with pytest.raises(InputError, match="64 in its warm-up, which must stay"):
        model.unlearn(X[:4], y[:4])


REFUSED = [
    ({"drift_var": (0.0, 1e-3)}, r"experts that drift.*go_live\(drift_var"),
    (
        {"kernels": [RBF(1.0) + Constant(drift_var=0.01), RBF(2.0) + Constant(drift_var=0.01) + Linear(drift_var=0.0)]},
        r"experts that drift \(Constant\(drift_var=0\.01\)\): .*drift_var=0\.0 \(in terms of kernels, too\)",
    ),
    (
        {"drift_var": 1e-3, "kernels": [RBF(1.0) + Constant(drift_var=0.01)]},
        r"experts that drift \(drift_var=\(0\.001,\), Constant\(drift_var=0\.01\)\)",
    ),
    ({"weights": "stacking"}, "weights='stacking'.*order of rows"),
    ({"weights": "switching"}, "weights='switching'.*order of rows"),
    ({"shutdown": 1e-16}, "shutdown=1e-16"),
    ({"noise_forgetting": 0.98}, r"noise_forgetting=0\.98"),
    ({"noise_forgetting": (None, (0.9, 5.0))}, r"noise_forgetting=\(0\.9, 5\.0\)"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_cannot_be_merged_says_why(changes, message):
    X, y = stream(30)
    base = warmed_up(**changes)
    first, second = taught(base, X[:15], y[:15]), taught(base, X[15:], y[15:])
    before = deepcopy(first)
    with pytest.raises(InputError, match=rf"cannot merge.*{message}"):
        first.merge(second)
    with pytest.raises(InputError, match=rf"cannot unlearn.*{message}"):
        first.unlearn(X[:2], y[:2])
    assert_same_model(first, before, 1e-300)


def test_an_unfinished_warm_up_is_refused():
    X, y = stream(40)
    model = IEGPRegressor(**warmed_up().get_params()).fit(X, y)
    with pytest.raises(InputError, match=r"warm-up is not over \(40 of 64 rows\)"):
        model.merge(deepcopy(model))
    with pytest.raises(InputError, match="warm-up is not over"):
        model.unlearn(X[:1], y[:1])
    with pytest.raises(InputError, match=r"warm-up is over \(40 of 64 rows\)"):
        model.go_live()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"random_state": 1}, "random_state: 0 here, 1 there"),
        ({"noise_var": 0.3}, "noise_var"),
        ({"kernels": [RBF(0.7), RBF(1.0), RBF(2.0)]}, "kernels"),
    ],
)
def test_another_origin_is_named(changes, message):
    with pytest.raises(InputError, match=rf"the other model differs in {message}.*copy"):
        warmed_up().merge(warmed_up(**changes))


def test_another_warm_up_is_named():
    first = warmed_up()
    second = IEGPRegressor(**first.get_params()).warm_up(*stream(64, seed=98))
    with pytest.raises(InputError, match=r"the scaling that its warm-up found \(x_mean\)"):
        first.merge(second)
    with pytest.raises(InputError, match="since"):
        first.merge(first, since="elsewhere")


def test_what_is_no_ancestor_is_refused():
    X, y = stream(200)
    base = warmed_up()
    first, second, stranger = (taught(base, *part) for part in parts(X, y, [80, 150]))
    with pytest.raises(InputError, match="the ancestor knows things that a model does not"):
        first.merge(second, since=stranger)
    with pytest.raises(InputError, match=r"this model has learned 80 rows .*the ancestor 200"):
        first.merge(second, since=taught(base, X, y))


def test_other_columns_are_refused():
    pandas = pytest.importorskip("pandas")
    X, y = stream(64, seed=99)
    named = IEGPRegressor(**warmed_up().get_params()).warm_up(pandas.DataFrame(X, columns=["a", "b"]), y)
    with pytest.raises(InputError, match="names of its columns"):
        named.merge(warmed_up())


def test_merged_models_are_saved_and_go_on(tmp_path):
    X, y = stream(200)
    base = warmed_up()
    base.save(tmp_path / "base")
    first, second = (load(tmp_path / "base").partial_fit(*part) for part in parts(X, y, [90]))
    first.merge(second).save(tmp_path / "both")
    more = stream(40, seed=8)
    assert_same_model(load(tmp_path / "both").partial_fit(*more), taught(taught(base, X, y), *more))
