"""Weights at the edge of floats: scores far below exp's range, impossible rows, experts that come back."""

from __future__ import annotations

import numpy as np
import pytest
from core.builders import Kind, at_once, build, stream
from numpy.testing import assert_allclose
from oracles import ensemble as oracle

from iegp.core import ensemble as ens
from iegp.core import weights
from iegp.core.weights import BAYES, STACKING, SWITCHING, WeightRule, transition_matrix

ONES = np.ones((1, 1))
RULES = {
    "bayes": (BAYES, ONES, 0.2, oracle.Bayes()),
    "switching": (SWITCHING, transition_matrix(0.05, 3), 0.2, oracle.Switching(0.05)),
    "identity": (SWITCHING, np.eye(3), 0.2, oracle.Switching(np.eye(3))),
    "one way": (SWITCHING, np.triu(np.ones((3, 3))) / np.array([[3.0], [2.0], [1.0]]), 0.2, None),
    "stacking": (STACKING, ONES, 0.2, oracle.Stacking(0.2)),
    "stacking at rate one": (STACKING, ONES, 1.0, oracle.Stacking(1.0)),
}
rules = pytest.mark.parametrize("name", RULES)


def weigh(table, name, shutdown=0.0):
    rule, transitions, rate, _ = RULES[name]
    table = np.array(table, dtype=float)
    n, n_experts = table.shape
    log_weights, used, scores = np.full(n_experts, -np.log(n_experts)), np.empty((n, n_experts)), np.empty(n)
    own = WeightRule(rule, np.ascontiguousarray(transitions), rate, shutdown)
    weights.weigh_rows(own, table, log_weights, used, scores)
    return used, scores, log_weights


@rules
@pytest.mark.parametrize("level", [-1e5, -1e6, 700.0])
def test_scores_beyond_the_range_of_exp(name, level):
    """All experts at a level whose exponential is 0 or infinite: only differences matter."""
    table = np.random.default_rng(0).normal(size=(20, 3))
    shifted = (table + level) - level  # what is left of the differences
    used, scores, _ = weigh(table + level, name)
    wanted, wanted_scores, _ = weigh(shifted, name)
    assert_allclose(used, wanted, rtol=1e-6, atol=1e-9)
    assert_allclose(scores, wanted_scores + level, rtol=1e-9)


@rules
def test_an_expert_is_never_lost_to_underflow(name):
    """One expert is 1e5 nats behind, then all others are 2e5 behind: weights are those of the oracle in logarithms."""
    twin = RULES[name][3] or oracle.Switching(RULES[name][1])
    table = np.array([[0.0, -1e5, -3.0]] + [[0.0, 0.0, 0.0]] * 3 + [[-2e5, 0.0, -2e5]] + [[0.0, -0.5, -1.0]] * 3)
    used, scores, last = weigh(table, name)
    wanted = oracle.run_weights(table, twin)
    assert_allclose(used, wanted.weights, rtol=1e-6, atol=1e-12)
    assert_allclose(scores, wanted.log_score, rtol=1e-9, atol=1e-9)
    assert_allclose(np.exp(last), np.exp(wanted.log_final), rtol=1e-6, atol=1e-12)


def test_stacking_finds_an_expert_that_is_best_after_a_long_time():
    """After 1,200 bad rows at rate one half an expert's weight is about e^-831; then it alone explains a row."""
    table = np.array([[0.0, -50.0]] * 1200 + [[-2000.0, 0.0]] + [[0.0, 0.0]] * 3)
    log_weights, used, scores = np.full(2, -np.log(2.0)), np.empty(table.shape), np.empty(len(table))
    weights.weigh_rows(WeightRule(STACKING, ONES, 0.5, 0.0), table, log_weights, used, scores)
    wanted = oracle.run_weights(table, oracle.Stacking(0.5))
    assert_allclose(used, wanted.weights, rtol=1e-6, atol=1e-12)
    assert_allclose(np.exp(log_weights).sum(), 1.0)


@rules
@pytest.mark.parametrize("shutdown", [0.0, 1e-16])
def test_a_row_that_all_experts_find_impossible_changes_no_weight(name, shutdown):
    table = np.random.default_rng(1).normal(size=(6, 3))
    table[3] = -np.inf
    used, scores, last = weigh(table, name, shutdown)
    assert scores[3] == -np.inf
    assert np.all(np.isfinite(np.delete(scores, 3)))
    assert_allclose(used.sum(axis=1), 1.0)
    assert_allclose(np.exp(last).sum(), 1.0)
    if name in ("bayes", "stacking"):
        assert_allclose(used[4], used[3])


@rules
def test_one_expert_that_thought_a_row_impossible(name):
    table = np.zeros((4, 3))
    table[1, 0] = -np.inf
    used, scores, _ = weigh(table, name)
    assert np.all(np.isfinite(scores))
    assert_allclose(used.sum(axis=1), 1.0)
    if name in ("bayes", "identity"):
        assert used[2, 0] == 0.0


@pytest.mark.parametrize("rule", ["bayes", "switching", "stacking"])
@pytest.mark.parametrize("forgetting", [(None,), (1.0,), (None, 0.95)])
@pytest.mark.parametrize("absurd", [1e4, 1e100, 1e155, 1e300])
@pytest.mark.filterwarnings("ignore:overflow")  # heard only where compilation is off
def test_one_absurd_label_does_not_ruin_the_model(rule, forgetting, absurd):
    """Weights stay weights, and what is predicted afterwards is finite."""
    ensemble = build(Kind(rule=rule, forgetting=forgetting, shutdown=1e-16, drifts=(0.0, 0.02)))
    x, y = stream(40)
    y[20] = absurd
    trace, state = at_once(ensemble, x, y)
    assert_allclose(trace.weights.sum(axis=1), 1.0)
    assert np.all(np.isfinite(trace.mean))
    assert not np.any(np.isnan(trace.std))
    mixture = ens.predict(ensemble, state, x[:3])
    assert np.all(np.isfinite(mixture.mean))
    assert_allclose(mixture.weights.sum(axis=1), 1.0)
