"""Blocks: the predictions and beliefs of the row-by-row recursion, whatever the size of the block."""

from __future__ import annotations

import numpy as np
import pytest
from core.builders import assert_close
from numpy.testing import assert_array_equal
from oracles import batch, expert

from iegp.core.compute.tolerances import MAX_BLOCK_LEVERAGE
from iegp.core.expert import belief
from iegp.core.expert import gaussian_block as blocks
from iegp.core.features import fourier_rows

DRIFTS = [0.0, 1e-3, 0.5]


def rows(n, n_frequencies=4, n_outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    return fourier_rows(rng.normal(size=(n, 2)), rng.normal(size=(n_frequencies, 2))), rng.normal(size=(n, n_outputs))


def block(beliefs, drift, phi, y):
    means, variances = np.empty_like(y), np.empty(len(y))
    ahead, trail = belief.Ahead(means, variances), belief.no_trail(y.shape[1])
    if drift > 0.0:
        blocks.drifting_block(
            beliefs, np.full(phi.shape[1], drift), belief.Block(phi, y, np.ones(len(y))), ahead, trail
        )
    else:
        blocks.static_block(beliefs, belief.Block(phi, y, np.ones(len(y))), ahead, trail)
    return means, variances


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("size", [1, 3, 8, 25])
def test_blocks_are_the_row_by_row_recursion(size, drift, n_outputs):
    """Sizes below, at and above the number of features; two blocks in a row, so that the belief matters."""
    phi, y = rows(2 * size, n_outputs=n_outputs)
    beliefs = belief.prior(6.0, np.full(8, drift), n_outputs)
    halves = [block(beliefs, drift, phi[s], y[s]) for s in (slice(0, size), slice(size, None))]
    wanted = expert.run(phi, y, 6.0, drift)
    assert_close(np.concatenate([h[0] for h in halves]), wanted.mean, 1e-11)
    assert_close(np.concatenate([h[1] for h in halves]), wanted.variance, 1e-11)
    mean, covariance = belief.moments(beliefs, np.full(8, drift))
    assert_close(mean, wanted.belief.mean, 1e-10)
    assert_close(covariance, wanted.belief.covariance, 1e-10)


@pytest.mark.parametrize("drift", DRIFTS)
def test_a_block_is_the_joint_gaussian_of_a_random_walk_conditioned(drift):
    phi, y = rows(9, n_outputs=2)
    beliefs = belief.prior(6.0, np.full(8, drift), 2)
    means, variances = block(beliefs, drift, phi, y)
    wanted = batch.joint_gaussian(phi, y, np.zeros((8, 2)), 6.0 * np.eye(8), drift)
    assert_close(means, wanted.mean, 1e-10)
    assert_close(variances, wanted.variance, 1e-10)
    mean, covariance = belief.moments(beliefs, np.full(8, drift))
    assert_close(mean, wanted.theta, 1e-10)
    assert_close(covariance, wanted.covariance, 1e-10)


@pytest.mark.parametrize("drift", DRIFTS)
def test_block_then_rows_then_block(drift):
    phi, y = rows(30)
    beliefs = belief.prior(6.0, np.full(8, drift), 1)
    parts = [block(beliefs, drift, phi[a:b], y[a:b]) for a, b in [(0, 10), (10, 11), (11, 12), (12, 30)]]
    wanted = expert.run(phi, y, 6.0, drift)
    assert_close(np.concatenate([p[0] for p in parts]), wanted.mean, 1e-11)
    assert_close(np.concatenate([p[1] for p in parts]), wanted.variance, 1e-11)


def test_drifting_covariance_is_symmetric_to_the_bit_after_a_block():
    phi, y = rows(20)
    beliefs = belief.prior(6.0, np.full(8, 0.1), 1)
    block(beliefs, 0.1, phi, y)
    assert_array_equal(beliefs.matrix, beliefs.matrix.T)


@pytest.mark.parametrize("side", [0.999, 1.001])
def test_both_sides_of_the_leverage_limit_agree_with_the_oracle(side):
    """Leverage of the first block is prior_ratio exactly: just below the limit it is factored, just above it is not."""
    phi, y = rows(16)
    ratio = side * MAX_BLOCK_LEVERAGE
    beliefs = belief.prior(ratio, np.full(8, 0.0), 1)
    means, variances = block(beliefs, 0.0, phi, y)
    wanted = expert.run(phi, y, ratio, 0.0)
    assert_close(means, wanted.mean, 1e-9)
    assert_close(variances, wanted.variance, 1e-9)
