"""HSGP terms: against features written out, in the limit, and wherever kernels are used."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from core.builders import labels_of_every_kind
from numpy.testing import assert_allclose
from oracles import expert as expert_oracle
from oracles import features as oracle

import iegp
from iegp.core.editing.columns import add_columns
from iegp.core.features import feature_rows
from iegp.core.kernels import Draw, kernel_from_config
from iegp.core.model import begin
from iegp.errors import InputError
from iegp.kernels import HSGP, RBF, Linear
from iegp.presets import doebe

RNG = np.random.default_rng(4)
X = 1.5 * RNG.normal(size=(90, 3))
Y = np.sin(X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.1 * RNG.normal(size=90)
NU = [None, 0.5, 1.5, 2.5]


def features(term, x):
    n = x.shape[1]
    return feature_rows(x, term.basis(Draw(5, "random", (0,), tuple(range(n)), np.ones(n))))


def of_one_column(nu, length_scale):
    def kernel(distance):
        at, zero = np.array([[distance]]), np.zeros((1, 1))
        values = oracle.rbf(at, zero, length_scale) if nu is None else oracle.matern(at, zero, length_scale, nu)
        return float(values[0, 0])

    return kernel


@pytest.mark.parametrize("nu", NU)
@pytest.mark.parametrize("length_scale", [0.4, 3.0])
def test_features_are_those_of_the_oracle(nu, length_scale):
    term = HSGP(length_scale, n_functions=5, boundary=2.0, nu=nu)
    x = X[:4, :2]
    width = term.half_width(np.full(2, length_scale))
    wanted = oracle.hilbert(x, width, 5, 2.0, of_one_column(nu, length_scale))
    assert_allclose(features(term, x), wanted, atol=1e-7)


@pytest.mark.parametrize(("nu", "atol"), [(None, 1e-3), (2.5, 6e-3), (1.5, 1e-2), (0.5, 5e-2)])
@pytest.mark.parametrize("length_scale", [0.5, 1.0, (0.5, 2.0, 8.0)])
def test_the_kernel_is_approached_inside_the_boundary(nu, atol, length_scale):
    """The error falls with the number of functions; clipped rows have the covariance of the boundary."""
    x = np.concatenate([RNG.uniform(-3, 3, size=(60, 3)), [[5.0, -7.0, 1e9]]])
    errors = []
    for n_functions in (8, 32, 128):
        term = HSGP(length_scale, n_functions=n_functions, nu=nu)
        phi = features(term, x)
        errors.append(np.abs(phi @ phi.T - term(x)).max())
    assert errors[-1] < atol
    assert errors[-1] <= errors[1] <= errors[0]
    clipped = np.clip(x, -3, 3)
    scales = np.broadcast_to(length_scale, 3)
    kernels = [of_one_column(nu, scale) for scale in scales]
    wanted = np.empty((len(x), len(x)))
    for s, u in enumerate(clipped):
        for t, v in enumerate(clipped):
            wanted[s, t] = np.mean([kernel(abs(a - b)) for kernel, a, b in zip(kernels, u, v, strict=True)])
    assert_allclose(term(x), wanted, rtol=1e-12)


@pytest.mark.parametrize("drift_var", [0.0, 0.01])
@pytest.mark.parametrize("size", [1, 7, 90])
def test_the_recursion_is_the_naive_one(drift_var, size):
    noise = 0.04
    settings = {"noise_var": noise, "noise_forgetting": None, "standardize": False, "shutdown": 0.0, "weights": "bayes"}
    term = HSGP(0.7, n_functions=6, boundary=2.0)
    found = iegp.IEGPRegressor([term], prior_var=2.0, drift_var=drift_var, random_state=0, **settings)
    runs = [found.prequential(X[i : i + size], Y[i : i + size]) for i in range(0, 90, size)]
    phi = oracle.hilbert(X, term.half_width(np.full(3, 0.7)), 6, 2.0, of_one_column(None, 0.7))
    wanted = expert_oracle.run(phi, Y[:, None], np.full(18, 2.0 / noise), np.full(18, drift_var / noise))
    assert_allclose(np.concatenate([run.mean for run in runs]), wanted.mean[:, 0], atol=1e-6)
    assert_allclose(np.concatenate([run.std for run in runs]), np.sqrt(noise * wanted.variance), rtol=1e-6)


@pytest.mark.parametrize("labels", labels_of_every_kind(X, Y))
def test_blocks_are_rows_in_every_estimator(labels):
    estimator, y = labels_of_every_kind(X, Y)[labels]
    base = estimator(kernels=[HSGP(0.7, n_functions=4), RBF(1.0)], n_frequencies=5, warmup=40, random_state=0)
    base.partial_fit(X[:40], y[:40], **({"classes": np.unique(y)} if hasattr(base, "predict_proba") else {}))
    by_row = copy.deepcopy(base)
    score = base.prequential(X[40:60], y[40:60]).log_score
    rows = [by_row.prequential(X[i : i + 1], y[i : i + 1]).log_score[0] for i in range(40, 60)]
    assert_allclose(rows, score, atol=1e-8)


def test_as_many_functions_as_random_features():
    term = HSGP(n_functions=None)
    assert [term.n_features(50, d)[1] for d in (1, 3, 200)] == [100, 99, 200]
    assert features(term, X).shape == (90, 9)  # five frequencies
    assert kernel_from_config(term.to_config()) == term


def test_features_do_not_depend_on_the_seed():
    first, second = (
        iegp.IEGPRegressor([HSGP(1.0)], warmup=50, random_state=seed).fit(X, Y).predict(X) for seed in (0, 1)
    )
    assert np.array_equal(first, second)


def test_rows_beyond_the_boundary_count_as_on_it():
    found = iegp.IEGPRegressor([HSGP(1.0, boundary=2.0)], standardize=False, warmup=50, random_state=0).fit(X, Y)
    assert_allclose(found.predict([[50.0, 0.0, -9.0]]), found.predict([[2.0, 0.0, -2.0]]))


def test_fleets_are_models():
    base = iegp.IEGPRegressor([HSGP(0.5, n_functions=4) + Linear()], warmup=40, drift_var=(0.0, 0.01), random_state=0)
    base.warm_up(X[:40], Y[:40])
    fleet, alone = iegp.Fleet(base), copy.deepcopy(base)
    fleet.learn(["a"] * 50, X[40:], Y[40:])
    alone.partial_fit(X[40:], Y[40:])
    assert_allclose(fleet.predict(["a"] * 5, X[:5]), alone.predict(X[:5]), atol=1e-12)


def test_pytorch_fleets_are_models():
    pytest.importorskip("torch")
    base = iegp.IEGPRegressor(
        [HSGP(0.5, n_functions=4, boundary=2.0) + Linear(), RBF(1.0)],
        warmup=40,
        n_frequencies=5,
        drift_var=(0.0, 0.01),
        robust=False,
        lags=0,
        random_state=0,
    )
    base.warm_up(X[:40], Y[:40])
    fleet, alone = iegp.fleet.TorchFleet(base, device="cpu"), copy.deepcopy(base)
    fleet.learn(["a"] * 50, X[40:], Y[40:])
    alone.partial_fit(X[40:], Y[40:])
    assert_allclose(fleet.predict(["a"] * 5, X[:5]), alone.predict(X[:5]), atol=1e-9)


def test_a_column_that_comes_later_is_not_seen():
    settings = iegp.IEGPRegressor([HSGP(1.0, n_functions=4)], features="random", random_state=0).settings(1)
    model = begin(settings, 3, 1, fills_gaps=True)
    more = add_columns(model, [7], np.zeros(1))
    assert more.experts.kernels[0].columns == (0, 1, 2)
    assert more.experts.ensemble.layout.n_features.tolist() == model.experts.ensemble.layout.n_features.tolist()


@pytest.mark.parametrize("delay", [0, 2])
def test_an_ensemble_of_basis_expansions_with_stacked_weights(delay, tmp_path):
    """The preset learns in any pieces, and goes on after it was stored."""
    changes = {"n_frequencies": 6, "warmup": 40, "weights": "exponentiated-gradient", "delay": delay, "random_state": 0}
    whole = doebe(**changes).warm_up(X[:40], Y[:40])
    cut = copy.deepcopy(whole)
    run = whole.prequential(X[40:], Y[40:])
    parts = [cut.prequential(X[a:b], Y[a:b]) for a, b in ((40, 41), (41, 60))]
    cut.save(tmp_path / "m")
    parts.append(iegp.load(tmp_path / "m").prequential(X[60:], Y[60:]))
    assert_allclose(np.concatenate([part.weights for part in parts]), run.weights, atol=1e-8)
    assert_allclose(np.concatenate([part.mean for part in parts]), run.mean, atol=1e-8)
    assert np.ptp(run.weights, axis=0).max() > 1e-3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: HSGP(n_functions=0), "n_functions=0"),
        (lambda: HSGP(n_functions=2.5), "n_functions=2.5"),
        (lambda: HSGP(n_functions=True), "n_functions=True"),
        (lambda: HSGP(boundary=0.0), "boundary=0.0"),
        (lambda: HSGP(nu=3.0), "nu=3.0"),
        (lambda: HSGP(-1.0), "length_scale=-1.0"),
        (lambda: iegp.IEGPRegressor([HSGP(n_functions=400)]).fit(X, Y), "400 functions for each of 3 columns"),
        (lambda: iegp.IEGPRegressor([HSGP(n_functions=1)]).fit(np.zeros((9, 1001)), Y[:9]), r"columns=\[0, 5\]\)$"),
        (lambda: iegp.IEGPLVM(kernels=[HSGP()]).fit(X), "random features"),
        (lambda: iegp.RandomFourierFeatures(HSGP()).fit(X), "other than random features"),
    ],
)
def test_bad_terms_are_named(wrong, message):
    with pytest.raises(InputError, match=message):
        wrong()
