"""Promise 4: what must hold for the weights whatever the experts say."""

from __future__ import annotations

import numpy as np
import pytest
from core.builders import Kind, assert_close, assert_same_predictions, at_once, build, skewed_matrix, stream
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

from iegp.core import ensemble as ens
from iegp.core import weights
from iegp.core.weights import BAYES, STACKING, SWITCHING, WeightRule, transition_matrix

ONES = np.ones((1, 1))
GRADIENT = weights.RULES.index("exponentiated-gradient")
fast = settings(max_examples=60, deadline=None, derandomize=True)


def weigh(table, rule, transitions=ONES, rate=0.2, shutdown=0.0, initial=None):
    n, n_experts = table.shape
    initial = np.full(n_experts, 1.0 / n_experts) if initial is None else initial
    with np.errstate(divide="ignore"):
        log_weights = np.log(initial)
    used, scores = np.empty((n, n_experts)), np.empty(n)
    own = WeightRule(rule, transitions, rate, shutdown)
    weights.weigh_rows(own, np.ascontiguousarray(table), log_weights, used, scores)
    return used, scores, log_weights


def rules(n_experts):
    return {
        "bayes": {"rule": BAYES},
        "bayes with shutdown": {"rule": BAYES, "shutdown": 1e-16},
        "switching": {"rule": SWITCHING, "transitions": transition_matrix(0.05, n_experts)},
        "switching by matrix": {"rule": SWITCHING, "transitions": skewed_matrix(n_experts)},
        "stacking": {"rule": STACKING, "rate": 0.1},
        "exponentiated gradient": {"rule": GRADIENT, "rate": 0.1},
    }


RULES = list(rules(2))


def test_every_rule_has_its_laws():
    assert {options["rule"] for options in rules(2).values()} == set(range(len(weights.TABLE)))


tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 25), st.integers(1, 5)),
    elements=st.one_of(st.floats(-20.0, 5.0), st.floats(-1e5, 100.0)),
)


@pytest.mark.parametrize("name", RULES)
@fast
@given(tables)
def test_weights_are_non_negative_and_sum_to_one(name, table):
    used, scores, last = weigh(table, **rules(table.shape[1])[name])
    for row in (*used, np.exp(last)):
        assert np.all(row >= 0.0)
        assert row.sum() == pytest.approx(1.0, abs=1e-9)
    assert np.all(scores <= table.max(axis=1) + 1e-9)
    assert np.all(np.isfinite(scores))


@pytest.mark.parametrize("name", RULES)
@fast
@given(tables, st.randoms(use_true_random=False))
def test_weights_do_not_depend_on_the_order_of_the_experts(name, table, random):
    order = list(range(table.shape[1]))
    random.shuffle(order)
    options = rules(table.shape[1])[name]
    used, scores, last = weigh(table, **options)
    if options["rule"] == SWITCHING:
        options = {**options, "transitions": np.ascontiguousarray(options["transitions"][np.ix_(order, order)])}
    other_used, other_scores, other_last = weigh(table[:, order], **options)
    assert_allclose(other_used, used[:, order], rtol=1e-6, atol=1e-12)
    assert_allclose(other_scores, scores, rtol=1e-9, atol=1e-9)
    assert_allclose(np.exp(other_last), np.exp(last[order]), rtol=1e-6, atol=1e-12)


@fast
@given(tables)
def test_switching_with_identity_transitions_is_static(table):
    used, scores, last = weigh(table, BAYES)
    other = weigh(table, SWITCHING, np.eye(table.shape[1]))
    assert_allclose(other[0], used, rtol=1e-6, atol=1e-12)
    assert_allclose(other[1], scores, rtol=1e-9, atol=1e-9)
    assert_allclose(np.exp(other[2]), np.exp(last), rtol=1e-6, atol=1e-12)


@fast
@given(tables)
def test_stacking_at_rate_one_is_bayes(table):
    used, scores, _ = weigh(table, BAYES)
    other = weigh(table, STACKING, rate=1.0)
    assert_allclose(other[0], used, rtol=1e-6, atol=1e-12)
    assert_allclose(other[1], scores, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["bayes", "stacking"])
@fast
@given(tables, st.floats(0.01, 0.99))
def test_splitting_an_expert_s_weight_over_copies_changes_nothing(name, table, share):
    n_experts = table.shape[1]
    initial = np.random.default_rng(n_experts).dirichlet(np.ones(n_experts))
    copied = np.column_stack([table, table[:, 0]])
    split = np.append(initial, (1.0 - share) * initial[0])
    split[0] *= share
    used, scores, _ = weigh(table, **rules(n_experts)[name], initial=initial)
    other_used, other_scores, _ = weigh(copied, **rules(n_experts + 1)[name], initial=split)
    assert_allclose(other_scores, scores, rtol=1e-8, atol=1e-8)
    assert_allclose(other_used[:, 0] + other_used[:, -1], used[:, 0], rtol=1e-6, atol=1e-12)
    assert_allclose(other_used[:, 1:-1], used[:, 1:], rtol=1e-6, atol=1e-12)


def with_start(ensemble, x, y, initial):
    state = ens.start(ensemble)
    state.log_weights[:] = np.log(initial)
    return ens.learn(ensemble, state, x, y, level=0.9)


@pytest.mark.parametrize("rule", ["bayes", "stacking"])
@pytest.mark.parametrize("drift", [0.0, 0.02])
def test_a_copy_of_an_expert_with_half_its_weight_changes_no_prediction(rule, drift):
    ensemble = build(Kind(rule=rule, drifts=(drift,), forgetting=(0.95,)))
    copied = ensemble.part(np.array([0, 1, 2, 0]))
    x, y = stream(60)
    plain = with_start(ensemble, x, y, np.array([0.4, 0.4, 0.2]))
    more = with_start(copied, x, y, np.array([0.2, 0.4, 0.2, 0.2]))
    folded = more.weights[:, :3] + np.column_stack([more.weights[:, 3], np.zeros((60, 2))])
    assert_same_predictions(more._replace(weights=folded), plain, 1e-8)


@pytest.mark.parametrize("rule", ["bayes", "switching", "stacking"])
@pytest.mark.parametrize("drifts", [(0.0,), (0.02,)])
def test_predictions_do_not_depend_on_the_order_of_the_kernels(rule, drifts):
    ensemble = build(Kind(rule=rule, drifts=drifts, forgetting=(None,), n_outputs=2))
    order = np.array([2, 0, 1])
    turned = ensemble.part(order)._replace(transitions=ensemble.transitions)
    x, y = stream(60, n_outputs=2)
    plain, _ = at_once(ensemble, x, y, level=0.9)
    other, _ = at_once(turned, x, y, level=0.9)
    assert_same_predictions(other._replace(weights=plain.weights), plain, 1e-9)
    assert_close(other.weights, plain.weights[:, order], 1e-9)
