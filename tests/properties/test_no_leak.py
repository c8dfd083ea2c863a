"""Promise 1: nothing that happens at row t or later changes a prediction up to and including row t. To the bit."""

from __future__ import annotations

import numpy as np
import pytest
from core.builders import Kind, assert_close, build, learn_in_pieces, stream
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

PREDICTED = ("mean", "std", "lower", "upper", "weights")
KINDS = [
    Kind(drifts=drifts, rule=rule, switch=switch, forgetting=forgetting, shutdown=shutdown, n_outputs=n_outputs)
    for drifts in ((0.0,), (0.02,), (0.0, 0.02))
    for rule, switch, shutdown in (
        ("bayes", 0.05, 0.0),
        ("bayes", 0.05, 1e-3),
        ("switching", 0.05, 0.0),
        ("switching", "matrix", 0.0),
        ("stacking", 0.05, 0.0),
    )
    for forgetting, n_outputs in (((None,), 1), ((1.0,), 2), ((None, 0.95, (0.9, 4.0)), 1))
]
kinds = pytest.mark.parametrize("kind", KINDS, ids=str)
N = 60
CUTS = [20, 23]  # a block, a handful of rows, a block


def predictions(kind, x, y):
    return learn_in_pieces(build(kind), x, y, CUTS, level=0.9)[0]


def changed_labels(y, t):
    """The future otherwise: permuted, replaced, absurd."""
    rng = np.random.default_rng(t)
    for future in (rng.permutation(y[t:]), rng.normal(size=y[t:].shape), np.full_like(y[t:], 1e6)):
        other = y.copy()
        other[t:] = future
        yield other


@kinds
@pytest.mark.parametrize("t", [0, 5, 21, 50])
def test_no_leak_labels_from_row_t_on_do_not_change_predictions_up_to_row_t(kind, t):
    x, y = stream(N, kind.n_columns, kind.n_outputs)
    before = predictions(kind, x, y)
    for other in changed_labels(y, t):
        after = predictions(kind, x, other)
        for name in PREDICTED:
            assert_array_equal(getattr(after, name)[: t + 1], getattr(before, name)[: t + 1], err_msg=name)
        assert_array_equal(after.log_score[:t], before.log_score[:t])
        assert np.any(after.mean[t + 1 :] != before.mean[t + 1 :])


@kinds
def test_no_leak_inputs_after_row_t_do_not_change_predictions_up_to_row_t(kind):
    """To 1e-10: which path a block takes may depend on all of its inputs."""
    t = 30
    x, y = stream(N, kind.n_columns, kind.n_outputs)
    before = predictions(kind, x, y)
    other = x.copy()
    other[t + 1 :] = 100.0 * np.random.default_rng(1).normal(size=other[t + 1 :].shape)
    after = predictions(kind, other, y)
    for name in (*PREDICTED, "log_score"):
        assert_close(getattr(after, name)[: t + 1], getattr(before, name)[: t + 1], 1e-10)
    assert np.any(after.mean[t + 1 :] != before.mean[t + 1 :])


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.sampled_from(KINDS),
    st.integers(0, N - 1),
    st.lists(st.integers(1, N - 1), max_size=5, unique=True),
    st.integers(0, 100),
)
def test_no_leak_wherever_the_calls_are_cut(kind, t, cuts, seed):
    x, y = stream(N, kind.n_columns, kind.n_outputs, seed)
    other = y.copy()
    other[t:] = 10.0 * np.random.default_rng(seed).normal(size=other[t:].shape)
    before, after = (learn_in_pieces(build(kind), x, labels, cuts, level=0.5)[0] for labels in (y, other))
    for name in PREDICTED:
        assert_array_equal(getattr(after, name)[: t + 1], getattr(before, name)[: t + 1], err_msg=name)
