"""The Laplace oracles against closed forms, finite differences, Monte Carlo, mpmath and one another."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import optimize, special, stats

from oracles import laplace

Array = NDArray[np.float64]

LINKS = {
    "bernoulli-logit": np.array([0.3]),
    "bernoulli-probit": np.array([0.3]),
    "poisson": np.array([-0.4]),
    "ordinal-logit": np.array([-1.0, 0.2, 2.5]),
    "ordinal-probit": np.array([-1.0, 0.2, 2.5]),
}
LABELS = {
    "bernoulli-logit": [0, 1],
    "bernoulli-probit": [0, 1],
    "poisson": [0, 1, 2.5, 40],
    "ordinal-logit": [0, 1, 2, 3],
    "ordinal-probit": [0, 1, 2, 3],
}
EXPOSURE = 1.7
CASES = [(kind, y) for kind in laplace.SCALAR_KINDS for y in LABELS[kind]]


def unit_rows(rng: np.random.Generator, n: int, F: int) -> Array:
    Phi = rng.normal(size=(n, F))
    return Phi / np.linalg.norm(Phi, axis=1, keepdims=True)


def stream(kind: str, n: int = 12, F: int = 4, seed: int = 3) -> tuple[Array, Array, Array]:
    """Features (n, F), labels (n,) of any allowed value, exposures (n,)."""
    rng = np.random.default_rng(seed)
    return unit_rows(rng, n, F), rng.choice(np.array(LABELS[kind], dtype=float), size=n), rng.uniform(0.5, 2.0, size=n)


# --- likelihoods ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("z", [-3.0, -0.2, 0.0, 1.4, 6.0])
def test_densities_are_the_textbook_ones(z: float) -> None:
    for name, F in (("logit", special.expit), ("probit", special.ndtr)):
        for y, p in ((1, F(z + 0.3)), (0, 1.0 - F(z + 0.3))):
            assert math.exp(laplace.log_density(f"bernoulli-{name}", y, z, LINKS["bernoulli-logit"])) == pytest.approx(
                p
            )
        cuts = LINKS["ordinal-logit"]
        edges = np.concatenate([[0.0], F(cuts - z), [1.0]])
        for y in range(4):
            log_p = laplace.log_density(f"ordinal-{name}", y, z, cuts)
            assert math.exp(log_p) == pytest.approx(edges[y + 1] - edges[y])
    for y in (0, 1, 7):
        log_p = laplace.log_density("poisson", y, z, LINKS["poisson"], EXPOSURE)
        assert log_p == pytest.approx(stats.poisson.logpmf(y, EXPOSURE * math.exp(z - 0.4)))


@pytest.mark.parametrize("kind", laplace.CLASS_KINDS)
@pytest.mark.parametrize("z", [-30.0, -1.0, 0.0, 2.0, 30.0])
def test_probabilities_of_the_labels_sum_to_one(kind: str, z: float) -> None:
    total = sum(math.exp(laplace.log_density(kind, y, z, LINKS[kind])) for y in LABELS[kind])
    assert total == pytest.approx(1.0, rel=1e-13)


@pytest.mark.parametrize(("kind", "y"), CASES)
@pytest.mark.parametrize("z", [-4.0, -0.7, 0.3, 2.2])
def test_gradient_and_curvature_are_the_derivatives(kind: str, y: float, z: float) -> None:
    step, link = 1e-4, LINKS[kind]

    def central(function, at: float) -> float:
        """Fourth-order central difference."""
        near = function(kind, y, at + step, link, EXPOSURE) - function(kind, y, at - step, link, EXPOSURE)
        far = function(kind, y, at + 2 * step, link, EXPOSURE) - function(kind, y, at - 2 * step, link, EXPOSURE)
        return (8.0 * near - far) / (12.0 * step)

    assert_allclose(laplace.gradient(kind, y, z, link, EXPOSURE), central(laplace.log_density, z), rtol=1e-8, atol=1e-9)
    assert_allclose(laplace.curvature(kind, y, z, link, EXPOSURE), -central(laplace.gradient, z), rtol=1e-8, atol=1e-9)
    assert laplace.curvature(kind, y, z, link, EXPOSURE) >= 0.0


def test_probit_far_in_the_tails() -> None:
    """Far on the wrong side the log density is -u^2/2 - log|u| - ..., so the curvature tends to 1 - 1/u^2."""
    for z, y in ((-1e4, 1), (1e4, 0)):
        assert laplace.curvature("bernoulli-probit", y, z, np.zeros(1)) == pytest.approx(1.0 - 1e-8, abs=1e-14)
        assert abs(laplace.gradient("bernoulli-probit", y, z, np.zeros(1))) == pytest.approx(1e4 + 1e-4, rel=1e-14)


@pytest.mark.parametrize("kind", ["ordinal-logit", "ordinal-probit"])
@pytest.mark.parametrize("z", [-40.0, -9.0, 0.1, 7.0, 40.0])
@pytest.mark.parametrize("width", [1e-9, 0.02, 0.9, 20.0])
def test_narrow_and_distant_ordinal_classes_against_fifty_digits(kind: str, z: float, width: float) -> None:
    cuts = np.array([-0.5, -0.5 + width])
    with mpmath.workdps(50):
        F = mpmath.ncdf if kind.endswith("probit") else lambda u: 1 / (1 + mpmath.exp(-u))
        a, b = (mpmath.mpf(float(c)) - mpmath.mpf(z) for c in cuts)
        exact = float(mpmath.log(F(-a) - F(-b) if a > 0 else F(b) - F(a)))
    # The width itself is only known to the rounding of cut - z.
    rounding = 4.0 * np.finfo(float).eps * (abs(z) + 1.0) / width
    assert laplace.log_density(kind, 1, z, cuts) == pytest.approx(exact, rel=1e-13, abs=1e-12 + rounding)


def test_labels_that_do_not_exist_are_refused() -> None:
    for y in (-1, 0.5, 2):
        with pytest.raises(ValueError, match="labels"):
            laplace.log_density("bernoulli-logit", y, 0.0, np.zeros(1))


# --- predictive probabilities, one latent value ---------------------------------------------------------------------


@pytest.mark.parametrize("var", [1e-6, 0.3, 40.0, 1e6])
@pytest.mark.parametrize("mean", [-200.0, -2.0, 0.4, 15.0])
def test_predictive_of_probit_is_known_in_closed_form(mean: float, var: float) -> None:
    scale = math.sqrt(1.0 + var)
    for y, sign in ((0, -1.0), (1, 1.0)):
        exact = special.log_ndtr(sign * (mean + 0.3) / scale)
        got = laplace.log_predictive("bernoulli-probit", y, mean, var, LINKS["bernoulli-probit"])
        assert got == pytest.approx(exact, rel=1e-12, abs=1e-12)
    edges = np.concatenate([[-np.inf], LINKS["ordinal-probit"], [np.inf]])
    for y in range(4):
        below, above = (edges[y] - mean) / scale, (edges[y + 1] - mean) / scale
        with mpmath.workdps(40):
            if below > 0:
                below, above = -above, -below
            exact = float(mpmath.log(mpmath.ncdf(above) - mpmath.ncdf(below)))
        got = laplace.log_predictive("ordinal-probit", y, mean, var, LINKS["ordinal-probit"])
        assert got == pytest.approx(exact, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("kind", laplace.CLASS_KINDS)
@pytest.mark.parametrize(("mean", "var"), [(0.0, 1e-6), (-1.3, 0.7), (4.0, 30.0), (100.0, 1e6)])
def test_predictive_probabilities_sum_to_one(kind: str, mean: float, var: float) -> None:
    total = sum(laplace.predictive(kind, y, mean, var, LINKS[kind]) for y in LABELS[kind])
    assert total == pytest.approx(1.0, abs=1e-11)


def test_predictive_counts_sum_to_one_and_have_the_log_normal_moments() -> None:
    mean, var, link = 0.5, 0.2, LINKS["poisson"]
    counts = np.arange(80)
    p = np.array([laplace.predictive("poisson", y, mean, var, link, EXPOSURE) for y in counts])
    rate = EXPOSURE * math.exp(mean + link[0] + var / 2)  # mean of the rate, which is log-normal
    assert p.sum() == pytest.approx(1.0, abs=1e-10)
    assert p @ counts == pytest.approx(rate, rel=1e-8)
    assert p @ counts**2 - rate**2 == pytest.approx(rate + rate**2 * math.expm1(var), rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "y", "mean", "var", "edges"),
    [
        ("bernoulli-logit", 1, -3.0, 2.0, [-14, -8, -4, -2, 0, 4, 12]),
        ("bernoulli-logit", 0, 900.0, 1e6, [-14e3, -2e3, -200, -20, -3, 3, 20, 60]),
        ("ordinal-logit", 2, -600.0, 1e-6, [-600.012, -600.004, -600, -599.996, -599.988]),
        ("poisson", 3, 0.0, 1e6, [-60, -30, -10, -3, 0, 1, 2, 4, 6]),
        ("poisson", 400, 2.0, 0.5, [3, 4, 4.5, 5, 5.5, 6, 6.5, 7]),
        ("poisson", 0, 30.0, 4.0, [-5, 0, 3, 5, 7, 9, 11]),
    ],
)
def test_predictive_against_thirty_digits(kind: str, y: int, mean: float, var: float, edges: list[float]) -> None:
    """The edges cover, panel by panel, all of the integrand that matters."""
    link = LINKS[kind]

    def log_integrand(z):
        if kind == "poisson":
            log_rate = z + mpmath.mpf(float(link[0])) + mpmath.log(mpmath.mpf(EXPOSURE))
            log_p = y * log_rate - mpmath.exp(log_rate) - mpmath.loggamma(y + 1)
        elif kind == "bernoulli-logit":
            sign = 1 if y == 1 else -1
            log_p = -mpmath.log1p(mpmath.exp(-sign * (z + mpmath.mpf(float(link[0])))))
        else:
            low, high = (1 / (1 + mpmath.exp(z - mpmath.mpf(float(c)))) for c in link[y - 1 : y + 1])
            log_p = mpmath.log(high - low) if z > 0 else mpmath.log(mpmath.mpf(1) - low - (1 - high))
        return log_p - (z - mpmath.mpf(mean)) ** 2 / (2 * mpmath.mpf(var))

    with mpmath.workdps(30 if kind != "ordinal-logit" else 300):  # 1 - sigma(600) has 260 zeros
        top = max(log_integrand(mpmath.mpf(z)) for z in edges)  # mpmath's tolerance is absolute
        area = mpmath.quad(lambda z: mpmath.exp(log_integrand(z) - top), edges, maxdegree=7)
        exact = float(top + mpmath.log(area / mpmath.sqrt(2 * mpmath.pi * mpmath.mpf(var))))
    assert laplace.log_predictive(kind, y, mean, var, link, EXPOSURE) == pytest.approx(exact, rel=1e-12, abs=1e-10)


@pytest.mark.parametrize(("kind", "y"), CASES)
def test_predictive_against_monte_carlo(kind: str, y: float) -> None:
    mean, var = 0.8, 1.5
    draws = mean + math.sqrt(var) * np.random.default_rng(7).normal(size=4000)
    p = np.array([math.exp(laplace.log_density(kind, y, float(z), LINKS[kind], EXPOSURE)) for z in draws])
    error = 5.0 * p.std() / math.sqrt(len(p))
    assert laplace.predictive(kind, y, mean, var, LINKS[kind], EXPOSURE) == pytest.approx(p.mean(), abs=error)


@pytest.mark.parametrize(("kind", "y"), CASES)
def test_predictive_of_a_known_latent_value_is_the_likelihood(kind: str, y: float) -> None:
    got = laplace.log_predictive(kind, y, 0.4, 1e-12, LINKS[kind], EXPOSURE)
    assert got == pytest.approx(laplace.log_density(kind, y, 0.4, LINKS[kind], EXPOSURE), abs=1e-8)


# --- predictive probabilities, categorical --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "var"),
    [([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]), ([1.0, -1.0, 0.5], [0.01, 2.0, 4.0]), ([0.0, 10.0, -50.0], [1e-6, 1.0, 9.0])],
)
def test_gumbel_and_tensor_quadrature_agree(mean: list[float], var: list[float]) -> None:
    arguments = np.array(mean), np.array(var), np.array([0.2, -0.3, 0.0])
    assert_allclose(laplace.softmax_gumbel(*arguments), laplace.softmax_tensor(*arguments, n_nodes=100), rtol=1e-12)


@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e3])
def test_gumbel_probabilities_for_five_classes(spread: float) -> None:
    rng = np.random.default_rng(11)
    mean, link = rng.normal(size=5), rng.normal(size=5)
    var = spread**2 * rng.uniform(0.2, 3.0, size=5)
    p = laplace.softmax_gumbel(mean, var, link)
    assert p.sum() == pytest.approx(1.0, abs=1e-13)
    draws = special.softmax(mean + link + np.sqrt(var) * rng.normal(size=(200_000, 5)), axis=1)
    assert np.all(np.abs(p - draws.mean(axis=0)) <= 5.0 * draws.std(axis=0) / math.sqrt(len(draws)) + 1e-12)


def test_gumbel_probabilities_do_not_depend_on_the_number_of_nodes() -> None:
    arguments = np.array([0.0, 100.0, -500.0]), np.array([1e-6, 1e6, 1e4]), np.array([0.0, 1.0, 2.0])
    assert_allclose(laplace.softmax_gumbel(*arguments), laplace.softmax_gumbel(*arguments, n_nodes=15), rtol=1e-13)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e5])
@pytest.mark.parametrize("shift", [0.0, -30.0])
def test_two_classes_are_a_logit_of_the_difference(scale: float, shift: float) -> None:
    mean, var, link = np.array([0.4, -0.3 + shift]), scale * np.array([0.5, 2.0]), np.array([0.1, 0.7])
    p = laplace.softmax_gumbel(mean, var, link)
    for y, sign in ((0, -1.0), (1, 1.0)):
        exact = laplace.predictive(
            "bernoulli-logit", 1, sign * (mean[1] - mean[0]), var.sum(), sign * (link[1:] - link[0])
        )
        assert p[y] == pytest.approx(exact, rel=1e-10)


# --- one row --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "y"), CASES)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_update_against_the_scalar_equation(kind: str, y: float, scale: float) -> None:
    """The mode is m + S phi g(z*), where z* = phi'm + s g(z*); the covariance loses S phi phi' S h / (1 + h s)."""
    rng = np.random.default_rng(5)
    F, link = 5, LINKS[kind]
    root = rng.normal(size=(F, F))
    phi, m, S = unit_rows(rng, 1, F)[0], rng.normal(size=F), scale * (root @ root.T / F + 0.1 * np.eye(F))
    latent, s = float(phi @ m), float(phi @ S @ phi)

    mode, covariance = laplace.update(kind, phi, y, m, S, link, EXPOSURE)

    def residual(z: float) -> float:
        return z - latent - s * laplace.gradient(kind, y, z, link, EXPOSURE)

    z = optimize.brentq(residual, -200.0, 200.0, xtol=1e-14, rtol=1e-14)
    assert float(phi @ mode) == pytest.approx(z, abs=1e-9)
    g, h = (function(kind, y, z, link, EXPOSURE) for function in (laplace.gradient, laplace.curvature))
    assert_allclose(mode, m + S @ phi * g, rtol=1e-8, atol=1e-9)
    gain = S @ phi
    assert_allclose(covariance, S - np.outer(gain, gain) * h / (1.0 + h * s), rtol=1e-8, atol=1e-9 * scale)


@pytest.mark.parametrize(("kind", "y"), CASES)
def test_update_stands_on_top_of_the_log_posterior(kind: str, y: float) -> None:
    rng = np.random.default_rng(6)
    phi, m, S = unit_rows(rng, 1, 3)[0], rng.normal(size=3), np.diag([0.5, 1.0, 4.0])
    mode, covariance = laplace.update(kind, phi, y, m, S, LINKS[kind], EXPOSURE)

    def log_posterior(theta: Array) -> float:
        fit = laplace.log_density(kind, y, float(phi @ theta), LINKS[kind], EXPOSURE)
        return stats.multivariate_normal.logpdf(theta, m, S) + fit

    assert_allclose(optimize.approx_fprime(mode, log_posterior, 1e-6), 0.0, atol=1e-4)
    for _ in range(20):
        assert log_posterior(mode + 0.1 * rng.normal(size=3)) < log_posterior(mode)
    # minus the second difference along a direction is the information in that direction
    direction, step = rng.normal(size=3), 1e-3
    bend = log_posterior(mode + step * direction) + log_posterior(mode - step * direction) - 2.0 * log_posterior(mode)
    assert direction @ np.linalg.solve(covariance, direction) == pytest.approx(-bend / step**2, rel=1e-4)


def test_updates_from_a_vague_or_badly_wrong_belief_converge() -> None:
    phi = np.array([0.6, 0.8])
    for kind, y in CASES:
        # A log rate of 60 against a variance of 1e6 is beyond doubles: the information matrix would be singular.
        for latent in (-60.0, 0.0, 12.0 if kind == "poisson" else 60.0):
            for var in (1e-4, 1.0, 1e6):
                m, S = latent * phi, var * np.eye(2)
                mode, covariance = laplace.update(kind, phi, y, m, S, LINKS[kind], EXPOSURE)
                z = float(phi @ mode)
                g = laplace.gradient(kind, y, z, LINKS[kind], EXPOSURE)
                tilt = (z - latent) / var
                assert g - tilt == pytest.approx(0.0, abs=1e-6 * max(abs(tilt), 1e-3))
                assert np.all(np.linalg.eigvalsh(covariance) > 0.0)


def test_categorical_update_stands_on_top_of_the_log_posterior() -> None:
    rng = np.random.default_rng(8)
    K, F = 4, 3
    phi, link = unit_rows(rng, 1, F)[0], rng.normal(size=K)
    means, root = rng.normal(size=(K, F)), rng.normal(size=(F, F))
    S = root @ root.T + 0.2 * np.eye(F)
    mode, new = laplace.categorical_update(phi, 2, means, S, link)

    def log_posterior(theta: Array) -> float:
        theta = theta.reshape(K, F)
        prior = sum(stats.multivariate_normal.logpdf(theta[k], means[k], S) for k in range(K))
        return prior + float(special.log_softmax(theta @ phi + link)[2])

    assert_allclose(optimize.approx_fprime(mode.ravel(), log_posterior, 1e-6), 0.0, atol=1e-4)
    # All of the covariance but the direction of the row stays; that direction is sharpened by the shared curvature.
    p = special.softmax(mode @ phi + link)
    gain, h = S @ phi, (1.0 - float(p @ p)) / (K - 1)
    assert_allclose(new, S - np.outer(gain, gain) * h / (1.0 + h * float(phi @ gain)), rtol=1e-9, atol=1e-11)


def test_the_shared_curvature_is_the_average_over_contrasts() -> None:
    """diag(p) - p p' says nothing about the level of the latent values; h is its mean over what is left."""
    rng = np.random.default_rng(13)
    K = 5
    means, link = rng.normal(size=(K, 1)), rng.normal(size=K)
    mode, new = laplace.categorical_update(np.ones(1), 3, means, np.ones((1, 1)), link)
    p = special.softmax(mode[:, 0] + link)
    information = np.diag(p) - np.outer(p, p)
    assert_allclose(information @ np.ones(K), 0.0, atol=1e-15)
    contrasts = np.linalg.qr(np.column_stack([np.ones(K), rng.normal(size=(K, K - 1))]))[0][:, 1:]
    average = np.mean([c @ information @ c for c in contrasts.T])
    assert 1.0 / new[0, 0] - 1.0 == pytest.approx(average, rel=1e-10)


@pytest.mark.parametrize("y", [0, 1])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_categorical_update_of_two_classes_is_the_logit_update_of_their_difference(y: int, scale: float) -> None:
    rng = np.random.default_rng(9)
    phi, means = unit_rows(rng, 1, 3)[0], rng.normal(size=(2, 3))
    S = scale * np.diag([0.5, 1.0, 4.0])
    mode, new = laplace.categorical_update(phi, y, means, S, np.array([0.1, 0.4]))
    wanted, wanted_covariance = laplace.update("bernoulli-logit", phi, y, means[1] - means[0], 2.0 * S, np.array([0.3]))
    assert_allclose(mode[1] - mode[0], wanted, rtol=1e-8, atol=1e-9)
    assert_allclose(mode[1] + mode[0], means[1] + means[0], rtol=1e-8, atol=1e-9)
    assert_allclose(2.0 * new, wanted_covariance, rtol=1e-8, atol=1e-9 * scale)


# --- streams --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", laplace.SCALAR_KINDS)
def test_replay_is_walk_predict_correct(kind: str) -> None:
    Phi, labels, exposure = stream(kind)
    prior_var, drift_var = 1.3, 0.05
    run = laplace.replay(kind, Phi, labels, LINKS[kind], prior_var, drift_var, exposure)
    assert run.latent_mean[0] == 0.0
    assert run.latent_var[0] == pytest.approx(prior_var + drift_var)
    # Stopped one row earlier, then one row by hand.
    before = laplace.replay(kind, Phi[:-1], labels[:-1], LINKS[kind], prior_var, drift_var, exposure[:-1])
    S = before.covariance + drift_var * np.eye(Phi.shape[1])
    phi, y, E = Phi[-1], float(labels[-1]), float(exposure[-1])
    assert run.latent_mean[-1] == pytest.approx(phi @ before.mean)
    assert run.latent_var[-1] == pytest.approx(phi @ S @ phi)
    score = laplace.predictive(kind, y, float(phi @ before.mean), float(phi @ S @ phi), LINKS[kind], E)
    assert run.log_scores[-1] == pytest.approx(math.log(score))
    mode, covariance = laplace.update(kind, phi, y, before.mean, S, LINKS[kind], E)
    assert_allclose(run.mean, mode)
    assert_allclose(run.covariance, covariance)


def test_replay_of_orthogonal_rows_is_the_batch_answer() -> None:
    """Rows that share no parameter cannot disturb one another: row by row or all at once is the same."""
    Phi, prior_var = np.eye(4), 2.0
    for kind in laplace.SCALAR_KINDS:
        labels = np.resize(np.array(LABELS[kind], dtype=float), 4)
        run = laplace.replay(kind, Phi, labels, LINKS[kind], prior_var)
        mode, h = laplace.batch_mode(kind, labels, Phi, prior_var, LINKS[kind])
        assert_allclose(run.mean, mode, rtol=1e-9, atol=1e-11)
        assert_allclose(run.covariance, np.diag(1.0 / (1.0 / prior_var + h)), rtol=1e-9, atol=1e-12)


def test_categorical_replay_predicts_before_it_learns() -> None:
    rng = np.random.default_rng(10)
    Phi, labels, link = unit_rows(rng, 5, 4), np.array([0, 2, 1, 2, 2]), np.array([0.5, 0.0, -0.5])
    run = laplace.replay_categorical(Phi, labels, link, prior_var=1.5, drift_var=0.1)
    assert_allclose(run.latent_mean[0], 0.0)
    assert_allclose(run.latent_var[0], 1.6)
    assert_allclose(run.probabilities.sum(axis=1), 1.0, rtol=1e-13)
    assert_allclose(run.log_scores, np.log(run.probabilities[np.arange(5), labels]))
    before = laplace.replay_categorical(Phi[:-1], labels[:-1], link, prior_var=1.5, drift_var=0.1)
    mode, covariance = laplace.categorical_update(Phi[-1], 2, before.mean, before.covariance + 0.1 * np.eye(4), link)
    assert_allclose(run.mean, mode)
    assert_allclose(run.covariance, covariance)


def test_categorical_replay_without_scores_is_the_same_belief() -> None:
    rng = np.random.default_rng(14)
    Phi, labels, link = unit_rows(rng, 4, 3), np.array([0, 2, 1, 2]), np.array([0.5, 0.0, -0.5])
    full = laplace.replay_categorical(Phi, labels, link, prior_var=1.5, drift_var=0.1)
    quick = laplace.replay_categorical(Phi, labels, link, prior_var=1.5, drift_var=0.1, scored=False)
    for name in ("latent_mean", "latent_var", "mean", "covariance"):
        assert_array_equal(getattr(quick, name), getattr(full, name))
    assert quick.probabilities is None
    assert quick.log_scores is None


@pytest.mark.parametrize("drift_var", [0.0, 0.05])
@pytest.mark.parametrize("prior_var", [1e-3, 0.8, 1e3])
def test_categorical_replay_of_two_classes_is_the_logit_replay_of_twice_the_variance(
    prior_var: float, drift_var: float
) -> None:
    Phi, labels, _ = stream("bernoulli-logit", n=8)
    run = laplace.replay_categorical(Phi, labels, np.array([0.2, 0.5]), prior_var, drift_var)
    wanted = laplace.replay("bernoulli-logit", Phi, labels, np.array([0.3]), 2.0 * prior_var, 2.0 * drift_var)
    assert_allclose(run.latent_mean[:, 1] - run.latent_mean[:, 0], wanted.latent_mean, rtol=1e-7, atol=1e-9)
    assert_allclose(2.0 * run.latent_var, wanted.latent_var, rtol=1e-7)
    assert_allclose(np.exp(run.log_scores), np.exp(wanted.log_scores), rtol=1e-6)


def test_categorical_replay_commutes_with_renaming_the_classes() -> None:
    rng = np.random.default_rng(12)
    Phi, labels, link = unit_rows(rng, 4, 3), np.array([0, 1, 2, 1]), np.array([0.5, 0.0, -0.5])
    rename = np.array([2, 0, 1])  # class k is called rename[k]
    run = laplace.replay_categorical(Phi, labels, link, prior_var=1.0)
    new_link = np.empty(3)
    new_link[rename] = link
    renamed = laplace.replay_categorical(Phi, rename[labels], new_link, prior_var=1.0)
    assert_allclose(renamed.log_scores, run.log_scores, rtol=1e-10)
    assert_allclose(renamed.mean[rename], run.mean, rtol=1e-9, atol=1e-12)
    assert_allclose(renamed.covariance, run.covariance, rtol=1e-9, atol=1e-12)


# --- evidence -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", laplace.SCALAR_KINDS)
def test_evidence_of_a_tiny_prior_is_the_likelihood_at_zero(kind: str) -> None:
    Phi, y, exposure = stream(kind)
    exact = sum(laplace.log_density(kind, float(y[t]), 0.0, LINKS[kind], float(exposure[t])) for t in range(len(y)))
    got = laplace.laplace_log_evidence(kind, y, Phi, 1e-14, LINKS[kind], exposure)
    assert got == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("kind", laplace.SCALAR_KINDS)
def test_evidence_against_a_general_optimiser_and_numerical_hessian(kind: str) -> None:
    Phi, y, exposure = stream(kind, n=8, F=3)
    F, prior_var, link = 3, 2.5, LINKS[kind]

    def log_joint(theta: Array) -> float:
        fit = sum(
            laplace.log_density(kind, float(y[t]), float(Phi[t] @ theta), link, float(exposure[t])) for t in range(8)
        )
        return fit + float(np.sum(stats.norm.logpdf(theta, scale=math.sqrt(prior_var))))

    found = optimize.minimize(
        lambda theta: -log_joint(theta), np.zeros(F), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-11}
    )
    step, E = 1e-3, np.eye(F)
    hessian = np.empty((F, F))
    for i in range(F):
        for j in range(F):
            corners = [
                si * sj * log_joint(found.x + step * (si * E[i] + sj * E[j])) for si in (-1, 1) for sj in (-1, 1)
            ]
            hessian[i, j] = sum(corners) / (4.0 * step**2)
    exact = log_joint(found.x) + 0.5 * F * math.log(2.0 * math.pi) - 0.5 * np.linalg.slogdet(-hessian)[1]
    mode, _ = laplace.batch_mode(kind, y, Phi, prior_var, link, exposure)
    assert_allclose(mode, found.x, atol=1e-4)
    got = laplace.laplace_log_evidence(kind, y, Phi, prior_var, link, exposure)
    assert got == pytest.approx(exact, abs=1e-4)


def test_evidence_of_a_large_count_is_nearly_the_exact_integral() -> None:
    """One row, unit feature: theta is the latent value, and 500 events make its posterior all but Gaussian."""
    y, link = np.array([500.0]), LINKS["poisson"]
    got = laplace.laplace_log_evidence("poisson", y, np.ones((1, 1)), 3.0, link)
    assert got == pytest.approx(laplace.log_predictive("poisson", 500.0, 0.0, 3.0, link), abs=1e-3)


@pytest.mark.parametrize("kind", laplace.SCALAR_KINDS)
def test_evidence_of_a_vague_prior_converges(kind: str) -> None:
    """A wide prior lets the mode run far away; the gradient there must still vanish."""
    Phi, y, exposure = stream(kind, n=10, F=6)
    mode, _ = laplace.batch_mode(kind, y, Phi, 1e4, LINKS[kind], exposure)
    g = [laplace.gradient(kind, y[t], float(Phi[t] @ mode), LINKS[kind], float(exposure[t])) for t in range(10)]
    assert_allclose(Phi.T @ np.array(g), mode / 1e4, rtol=1e-6, atol=1e-8)
    assert math.isfinite(laplace.laplace_log_evidence(kind, y, Phi, 1e4, LINKS[kind], exposure))
