"""Promise 3, and half of 4: where the ensemble must reduce to something well known."""

from __future__ import annotations

import numpy as np
import pytest
from core.builders import Kind, assert_close, assert_same_predictions, at_once, build, one_by_one, stream
from oracles import batch, features

from iegp.core import ensemble as ens
from iegp.core.features import waves
from iegp.core.frequencies import METHODS, draw_frequencies
from iegp.core.kernels import RBF, Cauchy, Laplace, Matern
from iegp.core.state import layout_of


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("learn", [at_once, one_by_one])
def test_one_expert_without_drift_is_the_batch_random_feature_predictor(learn, n_outputs):
    """Section 2 of the paper: row t is predicted by ridge regression on the rows before it."""
    ensemble = build(Kind(n_kernels=1, n_outputs=n_outputs))
    x, y = stream(50, 2, n_outputs)
    trace, state = learn(ensemble, x, y)
    phi = features.features(x, ensemble.kernel_basis(0).frequencies)
    ratio = float(ensemble.prior_ratio[0])
    new = np.random.default_rng(9).normal(size=(5, 2))
    mixture = ens.predict(ensemble, state, new)
    for d in range(n_outputs):
        noise_var = float(ensemble.noise_var[0, d])
        for t in (1, 7, 49):
            mean, variance = batch.rf_predictor(phi[:t], y[:t, d], phi[t : t + 1], ratio * noise_var, noise_var)
            assert trace.mean[t, d] == pytest.approx(mean[0], rel=1e-8, abs=1e-9)
            assert trace.std[t, d] ** 2 == pytest.approx(variance[0], rel=1e-8)
        phi_new = features.features(new, ensemble.kernel_basis(0).frequencies)
        mean, variance = batch.rf_predictor(phi, y[:, d], phi_new, ratio * noise_var, noise_var)
        assert_close(mixture.mean[:, d], mean)
        assert_close(mixture.std[:, d] ** 2, variance)
        evidence = batch.log_marginal_likelihood(phi, y[:, d], ratio * noise_var, noise_var)
        if n_outputs == 1:
            assert trace.log_score.sum() == pytest.approx(evidence, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", [RBF(), Matern(nu=2.5), Laplace(), Cauchy()], ids=lambda k: type(k).__name__)
def test_with_many_frequencies_it_approaches_exact_gp_regression(kernel, method):
    """The error of the kernel is about 1 / sqrt(frequencies): 0.1 of a standard deviation at 400 of them."""
    x, y = stream(40)
    new = np.random.default_rng(8).normal(size=(10, 2))
    noise_var = 0.2
    mean, variance = batch.exact_gp(kernel(x), kernel(new, x), np.ones(10), y[:, 0], noise_var)
    errors = []
    for n in (10, 400):
        frequencies = np.ascontiguousarray(draw_frequencies(kernel, n, 2, method, (2,)))
        ensemble = build(Kind(n_kernels=1))._replace(
            basis=waves(frequencies),
            layout=layout_of([n], 1),
            drift=np.zeros(2 * n),
            prior_ratio=np.array([1.0 / noise_var]),
            noise_var=np.array([[noise_var]]),
        )
        _, state = at_once(ensemble, x, y)
        mixture = ens.predict(ensemble, state, new)
        errors.append(np.sqrt(np.mean((mixture.mean[:, 0] - mean) ** 2)))
    assert errors[1] < 0.1
    assert errors[1] < 0.5 * errors[0]
    np.testing.assert_allclose(mixture.std[:, 0] ** 2, variance, atol=0.15)


@pytest.mark.parametrize("forgetting", [(None,), (1.0,), (0.95,)])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_drift_towards_zero_is_static(forgetting, n_outputs):
    kind = Kind(forgetting=forgetting, n_outputs=n_outputs)
    x, y = stream(60, 2, n_outputs)
    static, _ = at_once(build(kind), x, y, level=0.9)
    for learn in (at_once, one_by_one):
        gaps = []
        for drift in (1e-6, 1e-10):
            near, _ = learn(build(kind.but(drifts=(drift,))), x, y, level=0.9)
            gaps.append(max(float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(near, static, strict=True)))
        assert gaps[0] < 1e-2
        assert gaps[1] < 1e-6
        assert gaps[1] < gaps[0]


def test_drift_makes_the_past_fade():
    """A function that jumps: after the jump the drifting expert is nearer, before it the static one is surer."""
    x, y = stream(400, spread=0.05)
    y[200:] = -y[200:]
    static, _ = at_once(build(Kind()), x, y)
    drifting, _ = at_once(build(Kind(drifts=(0.05,))), x, y)
    assert np.mean((drifting.mean[300:] - y[300:]) ** 2) < 0.3 * np.mean((static.mean[300:] - y[300:]) ** 2)
    assert np.all(static.std[150:200].mean() < drifting.std[150:200].mean())


def test_equal_drifts_are_equal_experts():
    ensemble = build(Kind(n_kernels=1, drifts=(0.02, 0.02)))._replace(
        prior_ratio=np.full(2, 20.0), noise_var=np.full((2, 1), 0.1)
    )
    x, y = stream(50)
    both, _ = at_once(ensemble, x, y)
    one = ensemble._replace(
        layout=layout_of([5], 1),
        drift=ensemble.drift[:10],
        prior_ratio=ensemble.prior_ratio[:1],
        noise_var=ensemble.noise_var[:1],
    )
    alone, _ = at_once(one, x, y)
    assert_close(both.weights, np.full((50, 2), 0.5), 1e-12)
    assert_same_predictions(both._replace(weights=alone.weights), alone, 1e-10)
