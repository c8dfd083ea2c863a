"""SSGP against the formulas of sparse variational GPs, written out with dense inverses."""

from __future__ import annotations

import numpy as np
import pytest
from competitors.data import moons, wave
from oracles.batch import exact_gp
from scipy.stats import multivariate_normal, norm

torch = pytest.importorskip("torch", reason="SSGP needs PyTorch (dependency group bench)")

from iegp_paper.competitors import SSGP, SSGPClassifier  # noqa: E402
from iegp_paper.competitors.positive import free_of_log, log_of_free, slope_of_log  # noqa: E402
from iegp_paper.competitors.streaming_bound import (  # noqa: E402
    Hyper,
    Whitened,
    collapsed,
    factor_of,
    latent,
    remembered,
    uncollapsed,
)
from iegp_paper.competitors.streaming_gradient import collapsed_with_gradient  # noqa: E402

from iegp.errors import InputError  # noqa: E402

SCALES, SIGNAL, NOISE = np.array([0.8, 1.7]), 1.4, 0.05
JITTER = 1e-9
HYPER = Hyper(*(torch.tensor(np.log(v)) for v in (SCALES, SIGNAL, NOISE)))


def rbf(x, x2, scales=SCALES, signal=SIGNAL):
    return signal * np.exp(-0.5 * (((x[:, None] - x2[None]) / scales) ** 2).sum(-1))


def t(array):
    return torch.tensor(np.asarray(array))


def test_the_first_batch_is_the_bound_of_titsias():
    x, y = wave(40)
    z = x[:10] + 0.1
    bound, posterior, _ = collapsed(t(z), HYPER, t(x), t(y), None, JITTER)
    kzz, kxz = rbf(z, z), rbf(x, z)
    q = kxz @ np.linalg.solve(kzz, kxz.T)
    expected = multivariate_normal(np.zeros(40), q + NOISE * np.eye(40)).logpdf(y)
    expected -= np.trace(rbf(x, x) - q) / (2 * NOISE)
    assert float(bound) == pytest.approx(expected, rel=1e-6)

    new, _ = wave(7, seed=1)
    mean, variance = latent(posterior, HYPER, t(new))
    sigma = np.linalg.inv(kzz + kxz.T @ kxz / NOISE)
    k = rbf(new, z)
    np.testing.assert_allclose(mean, k @ sigma @ kxz.T @ y / NOISE, rtol=1e-6)
    exact = SIGNAL - np.sum(k @ np.linalg.inv(kzz) * k, axis=1) + np.sum(k @ sigma * k, axis=1)
    np.testing.assert_allclose(variance, exact, rtol=1e-5)


def test_the_second_batch_is_the_printed_bound():
    """Equation of the collapsed bound with D_a, written literally, new hyperparameters and new inducing points."""
    x, y = wave(50)
    a, b = x[:5], x[20:28] + 0.05
    _, posterior, shift = collapsed(t(a), HYPER, t(x[:25]), t(y[:25]), None, JITTER)
    memory = remembered(posterior, shift)
    new = Hyper(HYPER.log_scales + 0.2, HYPER.log_signal - 0.1, HYPER.log_noise + 0.3)
    scales, signal, noise = SCALES * np.exp(0.2), SIGNAL * np.exp(-0.1), NOISE * np.exp(0.3)
    bound, _, _ = collapsed(t(b), new, t(x[25:]), t(y[25:]), memory, JITTER)

    kaa_old = rbf(a, a)
    kxa = rbf(x[:25], a)
    s = kaa_old @ np.linalg.inv(kaa_old + kxa.T @ kxa / NOISE) @ kaa_old
    m = s @ np.linalg.inv(kaa_old) @ kxa.T @ y[:25] / NOISE
    d = np.linalg.inv(np.linalg.inv(s) - np.linalg.inv(kaa_old))
    kbb, kfb, kab = (rbf(p, b, scales, signal) for p in (b, x[25:], a))
    k_all = np.vstack([kfb, kab])
    y_all = np.concatenate([y[25:], d @ np.linalg.solve(s, m)])
    noise_all = np.zeros((30, 30))
    noise_all[:25, :25], noise_all[25:, 25:] = noise * np.eye(25), d
    q_all = k_all @ np.linalg.solve(kbb, k_all.T)
    expected = multivariate_normal(np.zeros(30), q_all + noise_all).logpdf(y_all)
    expected -= np.trace(rbf(x[25:], x[25:], scales, signal) - q_all[:25, :25]) / (2 * noise)
    s_inverse = np.linalg.inv(s)
    lost = rbf(a, a, scales, signal) - q_all[25:, 25:]
    delta = -np.linalg.slogdet(s)[1] + np.linalg.slogdet(kaa_old)[1] + np.linalg.slogdet(d)[1]
    delta += (
        m @ (s_inverse @ d @ s_inverse - s_inverse) @ m - np.trace(np.linalg.solve(d, lost)) + 5 * np.log(2 * np.pi)
    )
    # Ours leaves out log q(a) / p(a) at a = 0, which does not depend on what is optimised.
    left_out = -0.5 * (m @ s_inverse @ m + np.linalg.slogdet(s)[1] - np.linalg.slogdet(kaa_old)[1])
    assert float(bound) + left_out == pytest.approx(expected + 0.5 * delta, rel=1e-5)


@pytest.mark.parametrize("remembers", [False, True])
def test_the_written_gradient_is_the_automatic_one(remembers):
    x, y = wave(50)
    _, posterior, shift = collapsed(t(x[:5]), HYPER, t(x[:25]), t(y[:25]), None, JITTER)
    memory = remembered(posterior, shift) if remembers else None
    new = Hyper(HYPER.log_scales + 0.2, HYPER.log_signal - 0.1, HYPER.log_noise + 0.3)
    rows = t(x[25:]), t(y[25:])
    leaves = [t(x[20:28] + 0.05).requires_grad_(), *(own.clone().requires_grad_() for own in new)]
    value, _, _ = collapsed(leaves[0], Hyper(*leaves[1:]), *rows, memory, 1e-3)
    expected = torch.autograd.grad(value, leaves)
    bound, d_points, d_logs = collapsed_with_gradient(t(x[20:28] + 0.05), new, *rows, memory, 1e-3)
    assert float(bound) == pytest.approx(float(value.detach()), rel=1e-12)
    for own, automatic in zip((d_points, *d_logs), expected, strict=True):
        np.testing.assert_allclose(own, automatic, rtol=1e-9, atol=1e-9)


def test_the_slope_of_free_numbers():
    free = t(np.array([-20.0, -1.0, 0.3, 5.0, 900.0])).requires_grad_()
    (slope,) = torch.autograd.grad(log_of_free(free).sum(), free)
    np.testing.assert_allclose(slope_of_log(free.detach()), slope, rtol=1e-9)


def test_two_batches_with_inducing_points_everywhere_are_exact():
    x, y = wave(24)
    _, posterior, shift = collapsed(t(x), HYPER, t(x[:12]), t(y[:12]), None, JITTER)
    _, posterior, _ = collapsed(t(x), HYPER, t(x[12:]), t(y[12:]), remembered(posterior, shift), JITTER)
    new, _ = wave(6, seed=1)
    mean, variance = latent(posterior, HYPER, t(new))
    exact_mean, exact_variance = exact_gp(rbf(x, x), rbf(new, x), np.full(6, SIGNAL), y, NOISE)
    np.testing.assert_allclose(mean, exact_mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(variance + NOISE, exact_variance, rtol=1e-4)


def test_many_batches_at_fixed_points_are_the_batch_sparse_gp():
    """Nothing is lost but by moving points or hyperparameters: five batches against dense formulas of all rows."""
    x, y = wave(100)
    # Few and far apart: the jitter of K_bb has no counterpart in K_ab, which costs most where eigenvalues are small.
    z, jitter = np.array([[i, j] for i in (-1.5, 0.0, 1.5) for j in (-2.0, 2.0)]), 1e-13
    memory = None
    for i in range(0, 100, 20):
        _, posterior, shift = collapsed(t(z), HYPER, t(x[i : i + 20]), t(y[i : i + 20]), memory, jitter)
        memory = remembered(posterior, shift)
    new, _ = wave(9, seed=1)
    mean, variance = latent(posterior, HYPER, t(new))
    kzz, kxz, k = rbf(z, z) + SIGNAL * jitter * np.eye(len(z)), rbf(x, z), rbf(new, z)
    sigma = np.linalg.inv(kzz + kxz.T @ kxz / NOISE)
    np.testing.assert_allclose(mean, k @ sigma @ kxz.T @ y / NOISE, rtol=1e-6, atol=1e-8)
    exact = SIGNAL - np.sum(k @ np.linalg.inv(kzz) * k, axis=1) + np.sum(k @ sigma * k, axis=1)
    np.testing.assert_allclose(variance, exact, rtol=1e-6)


def test_a_batch_begins_with_all_old_points():
    x, y = wave(60)
    model = SSGP(batch_size=20, n_inducing=10, n_steps=2, random_state=0).warm_up(x[:30], y[:30])
    old = model._memory.points.numpy()
    begin = model._inducing(x[30:50])
    np.testing.assert_array_equal(np.sort(begin, axis=0), np.sort(old, axis=0))
    model.keep_share = 0.7
    kept = [any(np.array_equal(point, other) for other in old) for point in model._inducing(x[30:50])]
    assert sum(kept) == 7


def test_positive_values_survive_the_way_to_free_numbers():
    values = np.array([2e-6, 1e-3, 0.5, 3.0, 1e4])
    np.testing.assert_allclose(np.exp(log_of_free(free_of_log(t(np.log(values)))).numpy()), values, rtol=1e-6)


def test_a_column_without_a_say_is_not_lost_for_good():
    """Its length scale may grow, but only so far that a later batch can still bring it back."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((350, 6))
    y = np.sin(x[:, 0]) + 0.05 * rng.standard_normal(350)
    model = SSGP(batch_size=50, n_inducing=15, n_steps=40, standardize=False, random_state=0)
    model.warm_up(x[:50], y[:50]).partial_fit(x[50:], y[50:])
    scales = np.exp(model._hyper.log_scales.numpy())
    assert scales[0] < 5.0
    assert 20.0 < scales[1:].min() <= scales[1:].max() < 1000.0


def test_the_bound_for_classes_by_integration():
    """Expected log likelihood by brute force, Kullback-Leibler between dense Gaussians."""
    x, labels = moons(12)
    y = np.where(labels == "up", 1.0, -1.0)
    z = x[:4] + 0.1
    rng = np.random.default_rng(0)
    u_mean, factor = rng.standard_normal(4), np.tril(rng.standard_normal((4, 4))) + 2.0 * np.eye(4)
    value = float(uncollapsed(t(z), HYPER, t(u_mean), t(factor), t(x), t(y), None, JITTER))
    lower = factor_of(t(z), HYPER, JITTER).numpy()
    mean, cov = lower @ u_mean, lower @ np.linalg.inv(factor @ factor.T) @ lower.T
    kzz, kxz = rbf(z, z), rbf(x, z)
    project = kxz @ np.linalg.inv(kzz)
    f = project @ mean
    v = SIGNAL - np.sum(project * kxz, axis=1) + np.sum(project @ cov * project, axis=1)
    nodes = np.linspace(-9.0, 9.0, 4001)
    density = norm.pdf(nodes) * (nodes[1] - nodes[0])
    expected = sum(np.sum(density * norm.logcdf(y[i] * (f[i] + np.sqrt(v[i]) * nodes))) for i in range(12))
    inverse = np.linalg.inv(kzz)
    divergence = np.trace(inverse @ cov) + mean @ inverse @ mean - 4
    divergence += np.linalg.slogdet(kzz)[1] - np.linalg.slogdet(cov)[1]
    assert value == pytest.approx(expected - 0.5 * divergence, rel=1e-5)


def test_the_memory_of_classes_is_the_ratio_of_densities():
    x, labels = moons(12)
    y = np.where(labels == "up", 1.0, -1.0)
    z, z_new = x[:4] + 0.1, x[4:8]
    rng = np.random.default_rng(0)
    u_mean, factor = rng.standard_normal(4), np.tril(rng.standard_normal((4, 4))) + 2.0 * np.eye(4)
    lower = factor_of(t(z), HYPER, JITTER).numpy()
    old = (lower @ u_mean, lower @ np.linalg.inv(factor @ factor.T) @ lower.T)
    posterior = Whitened(t(z), t(lower), t(u_mean), t(factor))
    memory = remembered(posterior, t(factor @ (factor.T @ u_mean)))
    arguments = t(z_new), HYPER, t(0.5 * u_mean), t(1.3 * factor), t(x), t(y)
    with_memory = float(uncollapsed(*arguments, memory, JITTER)) - float(uncollapsed(*arguments, None, JITTER))
    # E_q(a)[log q_old(a) - log p_old(a)], by sampling-free Gaussian algebra on dense matrices.
    lower_new = factor_of(t(z_new), HYPER, JITTER).numpy()
    mean_b = lower_new @ (0.5 * u_mean)
    cov_b = lower_new @ np.linalg.inv(1.69 * factor @ factor.T) @ lower_new.T
    project = rbf(z, z_new) @ np.linalg.inv(rbf(z_new, z_new))
    mean_a = project @ mean_b
    cov_a = rbf(z, z) - project @ rbf(z_new, z) + project @ cov_b @ project.T

    def expected_log_density(mean, cov):
        return multivariate_normal(mean, cov).logpdf(mean_a) - 0.5 * np.trace(np.linalg.solve(cov, cov_a))

    ratio = expected_log_density(*old) - expected_log_density(np.zeros(4), rbf(z, z))
    constant = multivariate_normal(*old).logpdf(np.zeros(4)) - multivariate_normal(np.zeros(4), rbf(z, z)).logpdf(
        np.zeros(4)
    )
    assert with_memory == pytest.approx(ratio - constant, rel=1e-5)


def test_a_batch_is_predicted_before_any_of_it_is_learned():
    x, y = wave(90)
    model = SSGP(batch_size=20, n_inducing=10, n_steps=2, random_state=0).warm_up(x[:30], y[:30])
    expected, _ = model.predict(x[30:50], return_std=True)
    run = model.prequential(x[30:], y[30:])
    np.testing.assert_allclose(run.mean[:20], expected)
    assert not np.allclose(run.mean[20:40], SSGP.predict(model, x[50:70]))


def test_optimising_a_batch_raises_its_bound():
    x, y = wave(60)
    still, moved = (
        SSGP(batch_size=20, n_inducing=10, n_steps=n, standardize=False, random_state=0).warm_up(x, y) for n in (0, 40)
    )
    assert float(still._hyper.log_noise) == pytest.approx(np.log(0.1))
    bounds = [
        float(collapsed(m._posterior.points, m._hyper, t(x), t(y), None, 1e-6)[0].detach()) for m in (still, moved)
    ]
    assert bounds[1] > bounds[0] + 5.0
    assert np.exp(float(moved._hyper.log_noise)) == pytest.approx(0.01, rel=0.6)


def test_classification_without_moving_hyperparameters_still_learns():
    x, y = moons(120)
    model = SSGPClassifier(batch_size=40, n_inducing=15, n_steps=0, random_state=0, standardize=False)
    run = model.warm_up(x[:40], y[:40]).prequential(x[40:], y[40:])
    assert run.error < 0.3


def test_a_batch_that_cannot_be_learned_is_left_out(monkeypatch):
    X, y = wave(90)
    model = SSGP(batch_size=30, n_inducing=5, n_steps=2, warmup=30, random_state=0).warm_up(X[:30], y[:30])

    def fail(*_):
        raise torch.linalg.LinAlgError("no factor")

    with monkeypatch.context() as patched:
        patched.setattr(SSGP, "_absorb", fail)
        with pytest.raises(InputError, match="left out"):
            model.partial_fit(X[30:60], y[30:60])
    assert np.isfinite(model.prequential(X[60:], y[60:]).mean).all()


def test_without_its_warmup_only_hyperparameters_are_kept():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2.0, 2.0, size=(120, 1))
    y = np.sin(2.0 * x[:, 0])
    settings = {"n_inducing": 10, "n_steps": 20, "random_state": 0}
    kept, left = (SSGP(**settings, keep_warmup=own).warm_up(x, y) for own in (True, False))
    assert np.abs(kept.predict(x) - y).max() < 0.2
    np.testing.assert_allclose(left.predict(x), y.mean())
    assert left.prequential(x, y).mean.shape == (120,)
