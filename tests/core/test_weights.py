"""The meta-learner against the oracle's recursion, against sums over all paths, and at the edge of floats."""

from __future__ import annotations

import numpy as np
import pytest
from core.builders import assert_close, skewed_matrix
from numpy.testing import assert_allclose, assert_array_equal
from oracles import ensemble as oracle
from scipy.special import logsumexp

from iegp.core import weights
from iegp.core.weights import BAYES, STACKING, SWITCHING, WeightRule, transition_matrix
from iegp.errors import InputError

ONES = np.ones((1, 1))
GRADIENT = weights.RULES.index("exponentiated-gradient")


def weigh(table, rule=BAYES, transitions=ONES, rate=0.2, shutdown=0.0, initial=None):
    """Weights used (n, M), log scores (n,), and the log weights afterwards."""
    table = np.array(table, dtype=float)
    n, n_experts = table.shape
    log_weights = np.full(n_experts, -np.log(n_experts)) if initial is None else np.log(initial)
    used, scores = np.empty((n, n_experts)), np.empty(n)
    weights.weigh_rows(WeightRule(rule, transitions, rate, shutdown), table, log_weights, used, scores)
    return used, scores, log_weights


def scores(n=40, n_experts=4, seed=0, spread=1.5):
    return np.random.default_rng(seed).normal(-1.0, spread, size=(n, n_experts))


CASES = {
    "bayes": (BAYES, ONES, 0.2, 0.0, oracle.Bayes()),
    "bayes-shutdown": (BAYES, ONES, 0.2, 1e-3, oracle.Bayes(1e-3)),
    "switching": (SWITCHING, transition_matrix(0.1, 4), 0.2, 0.0, oracle.Switching(0.1)),
    "switching-matrix": (SWITCHING, skewed_matrix(4), 0.2, 0.0, oracle.Switching(skewed_matrix(4))),
    "switching-always": (SWITCHING, transition_matrix(1.0, 4), 0.2, 0.0, oracle.Switching(1.0)),
    "stacking": (STACKING, ONES, 0.2, 0.0, oracle.Stacking(0.2)),
    "stacking-one": (STACKING, ONES, 1.0, 0.0, oracle.Stacking(1.0)),
    "gradient": (GRADIENT, ONES, 0.1, 0.0, oracle.ExponentiatedGradient(0.1)),
}
cases = pytest.mark.parametrize("name", CASES)


@cases
@pytest.mark.parametrize("seed", range(3))
def test_weights_and_scores_are_the_oracle_s(name, seed):
    rule, transitions, rate, shutdown, twin = CASES[name]
    initial = np.random.default_rng(seed).dirichlet(np.ones(4))
    used, found, last = weigh(scores(seed=seed), rule, transitions, rate, shutdown, initial)
    wanted = oracle.run_weights(scores(seed=seed), twin, initial)
    assert_allclose(used, wanted.weights, rtol=1e-9, atol=1e-300)
    assert_close(found, wanted.log_score, 1e-11)
    assert_allclose(np.exp(last), np.exp(wanted.log_final), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("switch", [0.2, "matrix"])
def test_switching_is_the_sum_over_all_paths(switch):
    matrix = skewed_matrix(3) if switch == "matrix" else transition_matrix(switch, 3)
    initial = np.array([0.2, 0.5, 0.3])
    table = scores(n=6, n_experts=3)
    used, found, _ = weigh(table, SWITCHING, matrix, initial=initial)
    wanted_weights, wanted_scores = oracle.enumerate_paths(table, matrix, initial)
    assert_allclose(used, wanted_weights, rtol=1e-11)
    assert_allclose(found, wanted_scores, rtol=1e-11, atol=1e-13)


def test_bayes_is_the_posterior_over_experts():
    table, initial = scores(), np.array([0.1, 0.2, 0.3, 0.4])
    used, found, last = weigh(table, initial=initial)
    for t in range(len(table)):
        assert_allclose(used[t], oracle.static_posterior(table[:t].sum(axis=0), initial), rtol=1e-10)
    assert_allclose(np.exp(last), oracle.static_posterior(table.sum(axis=0), initial), rtol=1e-10)
    assert found.sum() == pytest.approx(logsumexp(table.sum(axis=0), b=initial), rel=1e-12)


@pytest.mark.parametrize("rule", [STACKING, GRADIENT])
def test_stacking_approaches_the_best_fixed_mixture(rule):
    """Two experts, each right half of the time: Bayes picks one, stacking keeps both and scores better."""
    table = np.where(np.random.default_rng(0).random((4000, 1)) < 0.5, [[0.0, -4.0]], [[-4.0, 0.0]])
    used, stacked, _ = weigh(table, rule, rate=0.05)
    _, bayes, _ = weigh(table)
    assert_allclose(used[-500:].mean(axis=0), 0.5, atol=0.1)
    assert stacked.sum() > bayes.sum() + 1000.0


@pytest.mark.parametrize("rate", [0.002, 0.02, 0.2])
def test_regret_of_exponentiated_gradients_is_within_its_bound(rate):
    """Against the best fixed mixture: log M / rate + rate T / (8 r²), r the least ratio of two likelihoods of a row.

    Helmbold, Schapire, Singer, Warmuth (1998), On-line portfolio selection using multiplicative updates, Theorem 4.1.
    """
    table = np.random.default_rng(1).uniform(-0.5, 0.5, size=(3000, 4)) + np.array([0.2, 0.2, 0.1, -0.3])
    _, found, _ = weigh(table, GRADIENT, rate=rate)
    best = np.full(4, 0.25)
    for _ in range(500):  # by expectation maximisation
        shares = best * np.exp(table)
        best = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    regret = logsumexp(table, b=best, axis=1).sum() - found.sum()
    least = np.exp(table.min(axis=1) - table.max(axis=1)).min()
    assert 0.0 < regret <= np.log(4) / rate + rate * len(table) / (8.0 * least**2)


def test_exponentiated_gradients_follow_an_expert_from_the_floor():
    table = np.concatenate([np.tile([0.0, -9.0], (20000, 1)), np.tile([-9.0, 0.0], (100, 1))])
    used, found, _ = weigh(table, GRADIENT, rate=0.05)
    assert used[20000, 1] >= 0.9e-12 / 2
    assert used[-1, 1] > 0.99
    assert np.isfinite(found).all()


def test_chunks_of_a_table_are_the_whole_table():
    for rule, transitions, rate, shutdown, _ in CASES.values():
        table = scores()
        whole = weigh(table, rule, transitions, rate, shutdown)
        log_weights, parts = np.full(4, -np.log(4)), []
        for a, b in [(0, 1), (1, 17), (17, 40)]:
            used, found = np.empty((b - a, 4)), np.empty(b - a)
            own = WeightRule(rule, transitions, rate, shutdown)
            weights.weigh_rows(own, table[a:b].copy(), log_weights, used, found)
            parts.append((used, found))
        assert_array_equal(np.concatenate([p[0] for p in parts]), whole[0])
        assert_array_equal(np.concatenate([p[1] for p in parts]), whole[1])
        assert_array_equal(log_weights, whole[2])


def test_shutdown_is_for_good():
    table = np.array([[0.0, -50.0, 0.0]] + [[-30.0, 0.0, -30.0]] * 20)
    used, _, last = weigh(table, shutdown=1e-16)
    assert np.all(used[1:, 1] == 0.0)
    assert last[1] == -np.inf
    used, _, _ = weigh(table, shutdown=0.0)
    assert used[-1, 1] > 0.999


@pytest.mark.parametrize("shutdown", [0.3, 0.5, 0.9])
def test_shutdown_never_takes_the_last_expert(shutdown):
    used, found, last = weigh(np.zeros((5, 4)), shutdown=shutdown)
    assert_allclose(used.sum(axis=1), 1.0)
    assert np.all(np.isfinite(found))
    assert_allclose(np.exp(last).sum(), 1.0)


def test_transition_matrix():
    assert_allclose(transition_matrix(0.3, 4), np.full((4, 4), 0.1) + 0.6 * np.eye(4))
    assert_array_equal(transition_matrix(0.7, 1), [[1.0]])
    assert_array_equal(transition_matrix(0.0, 3), np.eye(3))
    assert_allclose(transition_matrix(skewed_matrix(5), 5), skewed_matrix(5))
    nearly = skewed_matrix(3) * (1.0 + 1e-9)
    assert_allclose(transition_matrix(nearly, 3).sum(axis=1), 1.0, rtol=1e-15)


@pytest.mark.parametrize(
    ("switch", "message"),
    [
        (-0.1, "not a probability"),
        (1.1, "not a probability"),
        (np.nan, "not a probability"),
        (np.eye(3), "2 experts"),
        (np.array([0.5, 0.5]), "2 experts"),
        (np.array([[1.5, -0.5], [0.0, 1.0]]), "non-negative"),
        (np.array([[0.5, 0.6], [0.0, 1.0]]), "sum to one"),
        (np.array([[np.nan, 1.0], [0.0, 1.0]]), "sum to one"),
    ],
)
def test_wrong_transitions_are_refused(switch, message):
    with pytest.raises(InputError, match=message):
        transition_matrix(switch, 2)


@pytest.mark.parametrize(
    "values", [[0.0], [-1e5, -1e5 - 1.0], [-np.inf, 0.0], [700.0, 710.0], [-np.inf, -np.inf], [1e-300, 0.0]]
)
def test_log_sum_exp(values):
    assert weights.log_sum_exp(np.array(values)) == pytest.approx(float(logsumexp(values)))


def test_stacking_follows_a_change_however_long_it_was_still():
    """An expert that was useless for 20,000 rows is back within 80 once it is right."""
    still, change = np.tile([0.0, -2.0], (20_000, 1)), np.tile([-2.0, 0.0], (80, 1))
    log_weights = np.log([0.5, 0.5])
    table, scores = np.empty((20_080, 2)), np.empty(20_080)
    rule = WeightRule(weights.STACKING, np.ones((1, 1)), 0.1, 0.0)
    weights.weigh_rows(rule, np.concatenate([still, change]), log_weights, table, scores)
    assert table[20_000, 1] < 1e-8
    assert table[-1, 1] > 0.5


@pytest.mark.parametrize("probability", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("steps", [1.0, 0.3, 2.5])
@pytest.mark.parametrize("spread", [1.0, 50.0, 400.0])
def test_one_probability_is_its_matrix(probability, steps, spread):
    """Also where all but one weight are too small for their sum to be a difference."""
    log_weights = spread * np.random.default_rng(0).normal(size=7)
    log_weights -= logsumexp(log_weights)
    matrix = transition_matrix(probability, 7)
    wanted = weights.diffuse_over(WeightRule(SWITCHING, matrix, 0.1, 0.0), log_weights, steps)
    found = weights.diffuse_over(WeightRule(SWITCHING, matrix, 0.1, 0.0, probability), log_weights, steps)
    assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)
