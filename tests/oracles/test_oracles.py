"""The oracles against one another: every number is reached by two roads that share as little as possible."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy import integrate, stats

from oracles import batch, ensemble, expert, features, noise, precise, regret

Array = NDArray[np.float64]


def stream(n: int = 25, d: int = 2, n_frequencies: int = 4, D: int = 2, seed: int = 0) -> tuple[Array, Array, Array]:
    """Inputs (n, d), labels (n, D), frequencies (n_frequencies, d)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.sin(X @ rng.normal(size=(d, D))) + 0.3 * rng.normal(size=(n, D))
    return X, Y, rng.normal(size=(n_frequencies, d))


# --- features and kernels -----------------------------------------------------------------------------------------


def test_features_have_unit_norm_and_give_the_kernel_estimate() -> None:
    X, _, V = stream()
    Phi = features.features(X, V)
    assert_allclose(np.sum(Phi**2, axis=1), 1.0, rtol=1e-14)
    assert_allclose(Phi[:, :4], np.sin(X @ V.T) / 2.0, rtol=1e-14)  # sqrt(4 frequencies) = 2; sines first
    estimate = [[np.mean(np.cos(V @ (x - z))) for z in X] for x in X]  # eq. kern_est
    assert_allclose(Phi @ Phi.T, estimate, atol=1e-14)


@pytest.mark.parametrize("name", ["rbf", "matern12", "matern32", "matern52", "laplace", "cauchy"])
def test_kernels_are_the_fourier_transforms_of_their_spectral_densities(name: str) -> None:
    """eq:kernel_psd by Monte Carlo, per-dimension length scales, five standard errors."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5, 2))
    scale = np.array([0.7, 1.6])
    n = 200_000
    z = rng.normal(size=(n, 2))
    if name == "rbf":
        K, V = features.rbf(X, X, scale), z
    elif name == "laplace":
        K, V = features.laplace(X, X, scale), rng.standard_cauchy(size=(n, 2))
    elif name == "cauchy":
        K, V = features.cauchy(X, X, scale), rng.laplace(size=(n, 2))
    else:
        nu = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}[name]
        K, V = features.matern(X, X, scale, nu), z * np.sqrt(2 * nu / rng.chisquare(2 * nu, size=n))[:, None]
    estimate = np.array([[np.mean(np.cos((V / scale) @ (x - z))) for z in X] for x in X])
    assert_allclose(estimate, K, atol=5.0 / math.sqrt(2 * n))


def test_matern_refuses_other_orders() -> None:
    with pytest.raises(ValueError, match="nu must be"):
        features.matern(np.zeros((1, 1)), np.zeros((1, 1)), 1.0, 2.0)


# --- one expert -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drift_var", [0.0, 0.02])
def test_normalised_expert_is_the_paper_s(drift_var: float) -> None:
    X, Y, V = stream()
    Phi = features.features(X, V)
    prior_var, noise_var = 1.7, 0.2
    normalised = expert.run(Phi, Y, prior_var / noise_var, drift_var / noise_var)
    for d in range(Y.shape[1]):
        paper = expert.paper_run(Phi, Y[:, d], prior_var, noise_var, drift_var)
        assert_allclose(normalised.mean[:, d], paper.mean, rtol=1e-10, atol=1e-12)
        assert_allclose(noise_var * normalised.variance, paper.variance, rtol=1e-10)
        assert_allclose(normalised.belief.mean[:, d], paper.theta, rtol=1e-10, atol=1e-12)
        assert_allclose(noise_var * normalised.belief.covariance, paper.covariance, rtol=1e-9, atol=1e-12)
        evidence = batch.log_marginal_likelihood(Phi, Y[:, d], prior_var, noise_var, drift_var)
        assert_allclose(-np.sum(paper.loss), evidence, rtol=1e-11)


def test_first_prediction_includes_the_random_walk_step() -> None:
    X, Y, V = stream()
    Phi = features.features(X, V)
    assert expert.paper_run(Phi, Y[:, 0], 2.0, 0.5, 0.25).variance[0] == pytest.approx(2.0 + 0.25 + 0.5)
    assert expert.run(Phi, Y, 4.0, 0.5).variance[0] == pytest.approx(4.0 + 0.5 + 1.0)


def test_static_expert_is_the_batch_predictor_and_exact_gp_on_its_kernel() -> None:
    X, Y, V = stream()
    Phi = features.features(X, V)
    y, prior_var, noise_var = Y[:, 0], 1.7, 0.2
    paper = expert.paper_run(Phi, y, prior_var, noise_var)
    for t in range(len(y)):
        new = Phi[t : t + 1]
        mean, variance = batch.rf_predictor(Phi[:t], y[:t], new, prior_var, noise_var)
        assert_allclose(mean, paper.mean[t], rtol=1e-9, atol=1e-12)
        assert_allclose(variance, paper.variance[t], rtol=1e-10)
        K, K_new = prior_var * Phi[:t] @ Phi[:t].T, prior_var * new @ Phi[:t].T  # eq:approx_GPP
        mean, variance = batch.exact_gp(K, K_new, np.array([prior_var]), y[:t], noise_var)
        assert_allclose(mean, paper.mean[t], rtol=1e-9, atol=1e-12)
        assert_allclose(variance, paper.variance[t], rtol=1e-10)


def test_many_frequencies_approach_exact_gp_regression() -> None:
    X, Y, _ = stream(n=20)
    y, new = Y[:, 0], np.array([[0.1, -0.4], [1.0, 0.5]])
    K, K_new = features.rbf(X, X, 1.3), features.rbf(new, X, 1.3)
    mean, variance = batch.exact_gp(K, K_new, np.ones(2), y, 0.1)
    V = np.random.default_rng(3).normal(size=(20_000, 2)) / 1.3
    Phi, Phi_new = features.features(X, V), features.features(new, V)
    rf_mean, rf_variance = batch.exact_gp(Phi @ Phi.T, Phi_new @ Phi.T, np.ones(2), y, 0.1)
    assert_allclose(rf_mean, mean, atol=0.03)
    assert_allclose(rf_variance, variance, atol=0.01)


@pytest.mark.parametrize("drift_ratio", [0.0, 0.1])
def test_row_by_row_is_the_joint_gaussian_block_after_block(drift_ratio: float) -> None:
    X, Y, V = stream(n=24)
    Phi = features.features(X, V)
    noise_var = np.array([0.2, 3.0])
    rows = expert.run(Phi, Y, 8.5, drift_ratio)
    belief = expert.prior(Phi.shape[1], Y.shape[1], 8.5)
    log_density, start = 0.0, 0
    for size in (1, 10, 13):
        block = slice(start, start + size)
        joint = batch.joint_gaussian(Phi[block], Y[block], belief.mean, belief.covariance, drift_ratio, noise_var)
        assert_allclose(joint.mean, rows.mean[block], rtol=1e-9, atol=1e-12)
        assert_allclose(joint.variance, rows.variance[block], rtol=1e-10)
        belief = expert.Belief(joint.theta, joint.covariance)
        log_density += joint.log_density
        start += size
    assert_allclose(belief.mean, rows.belief.mean, rtol=1e-9, atol=1e-12)
    assert_allclose(belief.covariance, rows.belief.covariance, rtol=1e-9, atol=1e-12)
    evidence = sum(
        batch.log_marginal_likelihood(Phi, Y[:, d], 8.5 * s, s, drift_ratio * s) for d, s in enumerate(noise_var)
    )
    assert_allclose(log_density, evidence, rtol=1e-11)


def test_continuing_from_a_belief_is_the_uninterrupted_run() -> None:
    X, Y, V = stream()
    Phi = features.features(X, V)
    whole = expert.run(Phi, Y, 8.5, 0.1)
    first = expert.run(Phi[:9], Y[:9], 8.5, 0.1)
    second = expert.run(Phi[9:], Y[9:], math.nan, 0.1, start=first.belief)
    assert_allclose(np.vstack([first.mean, second.mean]), whole.mean, rtol=0, atol=0)


# --- mpmath ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drift_ratio", [0.0, 0.1])
def test_mpmath_is_the_row_by_row_recursion(drift_ratio: float) -> None:
    X, Y, V = stream(n=60, n_frequencies=6)
    Phi = features.features(X, V)
    noise_var = np.array([0.2, 3.0])
    exact = precise.run(Phi, Y, 8.5, drift_ratio, noise_var)
    rows = expert.run(Phi, Y, 8.5, drift_ratio)
    assert_allclose(exact.mean, rows.mean, rtol=1e-9, atol=1e-12)
    assert_allclose(exact.variance, rows.variance, rtol=1e-11)
    assert_allclose(exact.theta, rows.belief.mean, rtol=1e-9, atol=1e-12)
    assert_allclose(exact.covariance, rows.belief.covariance, rtol=1e-9, atol=1e-12)
    evidence = sum(
        batch.log_marginal_likelihood(Phi, Y[:, d], 8.5 * s, s, drift_ratio * s) for d, s in enumerate(noise_var)
    )
    assert_allclose(exact.total, evidence, rtol=1e-12)
    assert exact.cumulative[-1] == exact.total
    from_inputs = precise.run(precise.features(X, V), Y, 8.5, drift_ratio, noise_var)
    assert_allclose(from_inputs.mean, exact.mean, rtol=1e-11, atol=1e-13)


def test_sixty_digits_are_enough_at_extreme_ratios() -> None:
    X, Y, V = stream(n=30, n_frequencies=6)
    Phi = features.features(X, 1e-3 * V)  # flat kernel, hardly any rank
    noise_var = np.array([0.2, 3.0])
    sixty = precise.run(Phi, Y, 1e14, 0.0, noise_var)
    more = precise.run(Phi, Y, 1e14, 0.0, noise_var, digits=140)
    assert_allclose(sixty.mean, more.mean, rtol=1e-15)
    assert_allclose(sixty.variance, more.variance, rtol=1e-15)
    assert sixty.total == pytest.approx(more.total, rel=1e-15)


# --- noise ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drift_ratio", [0.0, 0.1])
def test_learned_noise_is_exact_bayes_by_numerical_integration(drift_ratio: float) -> None:
    X, Y, V = stream()
    Phi = features.features(X, V)
    noise_var, shape = np.array([0.5, 2.0]), 1.5
    rows = expert.run(Phi, Y, 8.5, drift_ratio)
    scores, _ = noise.run(rows.mean, rows.variance, Y, shape, noise_var, rho=1.0)
    for d in range(Y.shape[1]):
        scale = shape * noise_var[d]
        evidence = noise.log_evidence_by_integration(Y[:, d] - rows.mean[:, d], rows.variance, shape, scale)
        assert evidence[0] == pytest.approx(0.0, abs=1e-10)  # the prior integrates to one
        assert_allclose(np.diff(evidence), scores[:, d], rtol=1e-9, atol=1e-10)

        # A second road, without the innovations: dense evidence at every noise variance, prior and drift moving along.
        def integrand(x: float, d: int = d, scale: float = scale, offset: float = float(evidence[-1])) -> float:
            s = math.exp(x)
            log_likelihood = batch.log_marginal_likelihood(Phi, Y[:, d], 8.5 * s, s, drift_ratio * s)
            return math.exp(stats.invgamma.logpdf(s, shape, scale=scale) + x + log_likelihood - offset)

        ratio, _ = integrate.quad(integrand, math.log(1e-3), math.log(1e2), limit=100, epsrel=1e-6)
        assert ratio == pytest.approx(1.0, rel=1e-5)


def test_forgetting_comes_before_every_row() -> None:
    mean, v, Y = np.zeros((2, 1)), np.array([2.0, 4.0]), np.array([[1.0], [3.0]])
    scores, state = noise.run(mean, v, Y, shape=2.0, noise_var=np.array([0.5]), rho=0.5)
    # row 1: a 2 -> 1, b 1 -> 0.5; then a = 1.5, b = 0.5 + 1/4
    # row 2: a = 0.75, b = 0.375; then a = 1.25, b = 0.375 + 9/8
    assert state.shape == pytest.approx(1.25)
    assert_allclose(state.scale, [1.5])
    assert_allclose(scores[0, 0], stats.t.logpdf(1.0, 2.0, 0.0, math.sqrt(0.5 / 1.0 * 2.0)))
    assert_allclose(scores[1, 0], stats.t.logpdf(3.0, 1.5, 0.0, math.sqrt(0.375 / 0.75 * 4.0)))


def test_variance_of_the_student_t() -> None:
    state = noise.Noise(3.0, np.array([1.2]))
    dof, scale2 = noise.predictive(state, 1.7)
    assert_allclose(noise.variance(state, 1.7), stats.t.var(dof, scale=np.sqrt(scale2)))
    assert np.all(np.isinf(noise.variance(noise.Noise(1.0, np.array([1.2])), 1.7)))


# --- weights --------------------------------------------------------------------------------------------------------


def score_table(n: int = 6, M: int = 3, seed: int = 5) -> Array:
    return np.random.default_rng(seed).normal(-1.0, 1.5, size=(n, M))


def test_recursive_switching_is_the_sum_over_all_paths() -> None:
    table = score_table()
    rng = np.random.default_rng(6)
    matrix, initial = rng.dirichlet(np.ones(3), size=3), rng.dirichlet(np.ones(3))
    assert np.max(np.abs(matrix - matrix.T)) > 0.1  # a transposed matrix would be caught
    for switch in (matrix, 0.2):
        weights, scores = ensemble.enumerate_paths(table, ensemble.switch_matrix(switch, 3), initial)
        recursive = ensemble.run_weights(table, ensemble.Switching(switch), initial)
        assert_allclose(recursive.weights, weights, rtol=1e-12)
        assert_allclose(recursive.log_score, scores, rtol=1e-11, atol=1e-13)


def test_switching_goes_from_rows_to_columns_before_the_first_prediction() -> None:
    matrix = np.array([[0.9, 0.1], [0.4, 0.6]])
    weights = ensemble.run_weights(score_table(M=2), ensemble.Switching(matrix), np.array([1.0, 0.0])).weights
    assert_allclose(weights[0], [0.9, 0.1])
    assert_allclose(ensemble.switch_matrix(0.3, 4), np.full((4, 4), 0.1) + 0.6 * np.eye(4))
    assert_allclose(ensemble.switch_matrix(0.3, 1), [[1.0]])


def test_static_weights_are_switching_with_identity_and_the_product_of_scores() -> None:
    table = score_table(n=40)
    initial = np.array([0.2, 0.5, 0.3])
    static = ensemble.run_weights(table, ensemble.Bayes(), initial)
    for switch in (0.0, np.eye(3)):
        same = ensemble.run_weights(table, ensemble.Switching(switch), initial)
        assert_allclose(same.log_weights, static.log_weights, rtol=1e-12, atol=1e-12)
        assert_allclose(same.log_score, static.log_score, rtol=1e-12, atol=1e-12)
    for t in range(len(table)):
        assert_allclose(static.weights[t], ensemble.static_posterior(table[:t].sum(axis=0), initial), rtol=1e-11)
    total = np.log(np.sum(initial * np.exp(table.sum(axis=0))))
    assert_allclose(np.sum(static.log_score), total, rtol=1e-12)


def test_stacking_is_the_rule_as_written_and_bayes_at_rate_one() -> None:
    table = score_table(n=15)
    run = ensemble.run_weights(table, ensemble.Stacking(0.3))
    w = np.full(3, 1.0 / 3.0)
    for t in range(len(table)):
        assert_allclose(run.weights[t], w, rtol=1e-11)
        p = np.exp(table[t])
        w = w * (1.0 - 0.3 + 0.3 * p / np.sum(w * p))
    assert_allclose(np.exp(run.log_final), w, rtol=1e-11)
    bayes = ensemble.run_weights(table, ensemble.Bayes())
    assert_allclose(ensemble.run_weights(table, ensemble.Stacking(1.0)).log_weights, bayes.log_weights, atol=1e-12)
    still = ensemble.run_weights(table, ensemble.Stacking(0.0)).weights
    assert_allclose(still, 1.0 / 3.0, rtol=1e-13)


def test_shutdown_is_for_good_and_the_rest_is_renormalised() -> None:
    table = np.log(np.array([[0.9, 0.09, 0.01], [0.1, 0.1, 0.8], [0.1, 0.1, 0.8]]))
    weights = ensemble.run_weights(table, ensemble.Bayes(shutdown=0.05)).weights
    assert_allclose(weights[0], 1.0 / 3.0)
    assert_allclose(weights[1], [0.9 / 0.99, 0.09 / 0.99, 0.0])
    assert_allclose(weights[2], [0.9 / 0.99, 0.09 / 0.99, 0.0])
    assert_allclose(ensemble.run_weights(table, ensemble.Bayes()).weights[1], [0.9, 0.09, 0.01])


def test_weights_survive_scores_beyond_the_range_of_floats() -> None:
    table = np.array([[-1e4, -2e4], [-1e4, 0.0], [-5.0, 0.0]])
    run = ensemble.run_weights(table, ensemble.Bayes())
    assert_allclose(run.weights[1], [1.0, 0.0])
    assert_allclose(run.weights[2], [0.5, 0.5])


# --- the whole of IE-GP ---------------------------------------------------------------------------------------------


def dictionary(V: Array, drift: float = 0.0, rho: float | None = None) -> list[ensemble.Expert]:
    noise_var = np.array([0.1, 0.3])
    return [ensemble.Expert(V / ls, r, drift, noise_var, rho, 2.5) for ls, r in ((0.5, 3.0), (1.0, 9.0), (2.0, 20.0))]


@pytest.mark.parametrize("drift", [0.0, 0.05])
def test_static_ensemble_weights_are_ratios_of_marginal_likelihoods(drift: float) -> None:
    X, Y, V = stream()
    experts = dictionary(V, drift)
    initial = np.array([0.2, 0.5, 0.3])
    run = ensemble.run(X, Y, experts, ensemble.Bayes(), initial)
    evidence = np.zeros(3)
    for m, e in enumerate(experts):
        Phi = features.features(X, e.frequencies)
        for d, s in enumerate(e.noise_var):
            evidence[m] += batch.log_marginal_likelihood(Phi, Y[:, d], e.prior_ratio * s, s, e.drift_ratio * s)
    assert_allclose(run.expert_log_score.sum(axis=0), evidence, rtol=1e-11)
    assert_allclose(run.final_weights, ensemble.static_posterior(evidence, initial), rtol=1e-9)
    assert_allclose(run.next_weights, run.final_weights)
    assert_allclose(np.sum(run.log_score), np.log(np.sum(initial * np.exp(evidence - 1.0))) + 1.0, rtol=1e-11)


@pytest.mark.parametrize("rho", [None, 1.0, 0.9])
@pytest.mark.parametrize(
    "rule", [ensemble.Bayes(), ensemble.Bayes(1e-3), ensemble.Switching(0.05), ensemble.Stacking(0.1)]
)
def test_run_is_its_parts_put_together(rule: ensemble.Rule, rho: float | None) -> None:
    X, Y, V = stream()
    experts = dictionary(V, 0.05, rho)
    run = ensemble.run(X, Y, experts, rule)
    parts = ensemble.run_weights(run.expert_log_score, rule)
    assert_allclose(run.weights, parts.weights, rtol=1e-12)
    assert_allclose(run.log_score, parts.log_score, rtol=1e-12)
    shorter = ensemble.run(X[:-1], Y[:-1], experts, rule)
    assert_allclose(shorter.next_weights, run.weights[-1], rtol=1e-12)
    assert_allclose(run.final_weights, np.exp(parts.log_final), rtol=1e-12)
    for m, e in enumerate(experts):
        rows = expert.run(features.features(X, e.frequencies), Y, e.prior_ratio, e.drift_ratio)
        assert_allclose(run.expert_mean[:, m], rows.mean, rtol=1e-12, atol=1e-14)
        assert_allclose(run.expert_normalised[:, m], rows.variance, rtol=1e-12)
        if e.noise_forgetting is None:
            scores = np.asarray(stats.norm.logpdf(Y, rows.mean, np.sqrt(np.outer(rows.variance, e.noise_var))))
        else:
            scores, _ = noise.run(rows.mean, rows.variance, Y, e.noise_shape, e.noise_var, e.noise_forgetting)
        assert_allclose(run.expert_log_score[:, m], scores.sum(axis=1), rtol=1e-11)
    second_moment = np.sum(run.weights[:, :, None] * (run.expert_variance + run.expert_mean**2), axis=1)
    assert_allclose(run.std**2, second_moment - run.mean**2, rtol=1e-10)
    assert_allclose(run.mean, np.sum(run.weights[:, :, None] * run.expert_mean, axis=1), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("rho", [None, 0.9])
def test_moments_and_score_are_those_of_the_mixture_density(rho: float | None) -> None:
    X, Y, V = stream(D=2)
    experts = dictionary(V, 0.05, rho)
    run = ensemble.run(X, Y, experts, ensemble.Switching(0.05))
    t = 7

    def densities(y: Array, d: int) -> list[Array]:
        """Every expert's predictive density of output d at the points y."""
        out = []
        for m in range(len(experts)):
            mean, scale = run.expert_mean[t, m, d], math.sqrt(run.expert_scale2[t, m, d])
            dof = run.expert_dof[t, m]
            out.append(np.asarray(stats.norm.pdf(y, mean, scale) if rho is None else stats.t.pdf(y, dof, mean, scale)))
        return out

    u = np.linspace(-14.0, 14.0, 20_001)
    y = np.sinh(u)
    for d in range(2):
        p = sum(w * q for w, q in zip(run.weights[t], densities(y, d), strict=True)) * np.cosh(u)  # dy = cosh(u) du
        assert integrate.trapezoid(p, u) == pytest.approx(1.0, rel=1e-9)
        assert integrate.trapezoid(p * y, u) == pytest.approx(run.mean[t, d], rel=1e-8)
        assert integrate.trapezoid(p * (y - run.mean[t, d]) ** 2, u) == pytest.approx(run.std[t, d] ** 2, rel=1e-8)
    first, second = densities(Y[t, :1], 0), densities(Y[t, 1:], 1)
    joint = sum(run.weights[t, m] * first[m][0] * second[m][0] for m in range(len(experts)))
    assert run.log_score[t] == pytest.approx(math.log(joint), rel=1e-11)


def test_no_leak() -> None:
    X, Y, V = stream()
    changed = Y.copy()
    changed[12:] = 50.0
    for rule in (ensemble.Bayes(1e-16), ensemble.Switching(0.05), ensemble.Stacking(0.1)):
        a, b = (ensemble.run(X, labels, dictionary(V, 0.05, 0.95), rule) for labels in (Y, changed))
        for name in ("weights", "expert_mean", "expert_variance", "expert_dof", "mean", "std"):
            assert_allclose(getattr(a, name)[:13], getattr(b, name)[:13], rtol=0, atol=0)
        assert_allclose(a.log_score[:12], b.log_score[:12], rtol=0, atol=0)
        assert a.mean[13] != pytest.approx(b.mean[13])


# --- regret ---------------------------------------------------------------------------------------------------------


def test_best_switching_sequence_against_every_path() -> None:
    losses = -score_table(n=6)
    for S in range(6):
        candidates = [
            path
            for path in itertools.product(range(3), repeat=6)
            if sum(a != b for a, b in itertools.pairwise(path)) <= S
        ]
        least = min(sum(losses[t, m] for t, m in enumerate(path)) for path in candidates)
        value, path = regret.best_switching_sequence(losses, S)
        assert value == pytest.approx(least)
        assert sum(losses[t, m] for t, m in enumerate(path)) == pytest.approx(value)
        assert sum(a != b for a, b in itertools.pairwise(path)) <= S
    assert regret.best_switching_sequence(losses, 0)[0] == pytest.approx(losses.sum(axis=0).min())


def test_lemma_1_holds_with_the_constant_and_fails_without() -> None:
    X, Y, V = stream(n=60)
    experts = dictionary(V)
    run = ensemble.run(X, Y, experts, ensemble.Bayes())
    for e in experts:
        Phi = features.features(X, e.frequencies)
        ridge = np.linalg.inv(Phi.T @ Phi + np.eye(Phi.shape[1]) / e.prior_ratio) @ Phi.T @ Y
        for theta in (ridge, np.zeros_like(ridge), np.linalg.pinv(Phi) @ Y):
            reg = -float(np.sum(run.log_score)) - regret.fixed_parameter_loss(Phi, Y, theta, e.noise_var)
            bound = regret.lemma1(theta, e.prior_ratio * e.noise_var, e.noise_var, len(Y), len(experts))
            assert reg <= bound

    # One expert, one output, features as evenly spread as they can be: the bound is attained, and needs c.
    Phi, y, prior_var, noise_var = np.tile(np.eye(4), (20, 1)), np.tile([1.0, -1.0, 0.5, 0.0], 20), 2.0, 0.01
    loss = -batch.log_marginal_likelihood(Phi, y, prior_var, noise_var)
    theta = np.linalg.inv(Phi.T @ Phi + noise_var / prior_var * np.eye(4)) @ Phi.T @ y
    reg = loss - regret.fixed_parameter_loss(Phi, y[:, None], theta[:, None], np.array([noise_var]))
    assert reg == pytest.approx(regret.lemma1(theta, prior_var, noise_var, 80, 1), rel=1e-9)
    assert reg > regret.lemma1(theta, prior_var, 1.0, 80, 1)  # c = 1 is what the print says


def test_lemma_2_is_tight_and_needs_the_logarithm_of_m_minus_one() -> None:
    T, M, S, p = 30, 4, 3, 0.1
    path = [0] * 8 + [2] * 8 + [1] * 8 + [3] * 6
    losses = np.full((T, M), 200.0)
    losses[np.arange(T), path] = 0.0
    loss = -np.sum(ensemble.run_weights(-losses, ensemble.Switching(p)).log_score)
    assert regret.best_switching_sequence(losses, S) == (0.0, path)
    assert loss == pytest.approx(regret.lemma2(T, M, S, p), rel=1e-12)
    assert loss > regret.lemma2(T, M, S, p) - S * math.log(M - 1) + 1.0
    printed = math.log(M) + S * math.log(T) - S * math.log(S) + S  # eq:One_seq
    assert -np.sum(ensemble.run_weights(-losses, ensemble.Switching(S / T)).log_score) > printed


def test_lemma_2_holds_on_random_tables() -> None:
    for seed in range(5):
        table = score_table(n=40, M=4, seed=seed)
        loss = -np.sum(ensemble.run_weights(table, ensemble.Switching(0.1)).log_score)
        for S in range(6):
            assert loss - regret.best_switching_sequence(-table, S)[0] <= regret.lemma2(40, 4, S, 0.1)
    assert regret.lemma2(40, 1, 0, 0.0) == 0.0
