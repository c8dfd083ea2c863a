"""Promise 5, second half: predictions and scores against 60-digit arithmetic, for blocks and for single rows."""

from __future__ import annotations

import numpy as np
import pytest
from core.builders import assert_close
from oracles import precise

from iegp.core.compute.tolerances import MAX_BLOCK_LEVERAGE
from iegp.core.expert import belief
from iegp.core.expert import gaussian_block as blocks
from iegp.core.features import fourier_rows

NOISE_VAR = np.array([0.01])
# How flat the kernel is: at 0.01 the sixteen features span three or four directions in double precision.
FLATNESS = [1.0, 0.1, 0.01]


def rows(flatness, n=80, n_frequencies=6, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    phi = fourier_rows(x, flatness * rng.normal(size=(n_frequencies, 2)))
    return phi, np.sin(x[:, :1]) + 0.1 * rng.normal(size=(n, 1))


def by_blocks(beliefs, drift, phi, y, means, variances):
    size = phi.shape[1] // (2 if drift > 0.0 else 1)
    for start in range(0, len(y), size):
        part = slice(start, start + size)
        rows_, ahead = (
            belief.Block(phi[part], y[part], np.ones(len(y[part]))),
            belief.Ahead(means[part], variances[part]),
        )
        if drift > 0.0:
            blocks.drifting_block(beliefs, np.full(phi.shape[1], drift), rows_, ahead, belief.no_trail(1))
        else:
            blocks.static_block(beliefs, rows_, ahead, belief.no_trail(1))


def by_rows(beliefs, drift, phi, y, means, variances):
    for t in range(len(y)):
        if drift > 0.0:
            arguments = (np.full(phi.shape[1], drift), phi[t], y[t], means[t])
            variances[t] = belief.drifting_row(beliefs, *arguments)
        else:
            variances[t] = belief.static_row(beliefs, phi[t], y[t], means[t])


def run(how, phi, y, prior_ratio, drift):
    """Means, variances and the cumulative log score."""
    beliefs = belief.prior(prior_ratio, np.full(phi.shape[1], drift), 1)
    means, variances = np.empty_like(y), np.empty(len(y))
    how(beliefs, drift, phi, y, means, variances)
    spread = NOISE_VAR * variances[:, None]
    return means, variances, np.cumsum(-0.5 * (np.log(2.0 * np.pi * spread) + (y - means) ** 2 / spread))


@pytest.mark.parametrize("flatness", FLATNESS)
@pytest.mark.parametrize("prior_ratio", [1e-6, 1e2, 0.9 * MAX_BLOCK_LEVERAGE, 1e6, 1e8])
@pytest.mark.parametrize(
    ("drift", "tolerance"),
    [(0.0, 1e-9), (1e-6, 1e-6), (1e-2, 1e-6)],
    ids=["static", "slow drift", "drift"],
)
def test_predictions_agree_with_high_precision_to_1e_6_down_to_a_ratio_of_1e_8(drift, tolerance, prior_ratio, flatness):
    phi, y = rows(flatness)
    wanted = precise.run(phi, y, prior_ratio, drift, NOISE_VAR)
    for how in (by_blocks, by_rows):
        means, variances, cumulative = run(how, phi, y, prior_ratio, drift)
        assert_close(means, wanted.mean, tolerance)
        np.testing.assert_allclose(variances, wanted.variance, rtol=tolerance)
        assert_close(cumulative, wanted.cumulative, tolerance)


@pytest.mark.parametrize("prior_ratio", [1e10, 1e12, 1e14])
def test_static_experts_keep_the_log_score_even_beyond(prior_ratio):
    """docs/design.md: plane rotations lose the root of what covariances lose. Far better than the 1e-6 promised."""
    phi, y = rows(0.1)
    wanted = precise.run(phi, y, prior_ratio, 0.0, NOISE_VAR)
    for how in (by_blocks, by_rows):
        _, variances, cumulative = run(how, phi, y, prior_ratio, 0.0)
        np.testing.assert_allclose(variances, wanted.variance, rtol=1e-7)
        assert_close(cumulative, wanted.cumulative, 1e-8)


def test_block_path_continues_into_the_row_path_without_a_step():
    """Just below the leverage limit a block is factored, just above it is rotated in: the results move as little as
    the ratio does, and either path differs from exact arithmetic by less than the step between the two ratios."""
    phi, y = rows(0.3)
    step = 1e-6
    below, above = ((1.0 - step) * MAX_BLOCK_LEVERAGE, (1.0 + step) * MAX_BLOCK_LEVERAGE)
    found = [run(by_blocks, phi, y, ratio, 0.0) for ratio in (below, above)]
    exact = [precise.run(phi, y, ratio, 0.0, NOISE_VAR) for ratio in (below, above)]
    for (means, variances, cumulative), wanted in zip(found, exact, strict=True):
        assert_close(means, wanted.mean, 1e-10)
        np.testing.assert_allclose(variances, wanted.variance, rtol=1e-10)
        assert_close(cumulative, wanted.cumulative, 1e-10)
    jump = found[1][2][-1] - found[0][2][-1]
    assert jump == pytest.approx(exact[1].total - exact[0].total, rel=1e-3)


def test_a_surprising_row_late_in_the_stream_takes_the_row_path_and_stays_exact():
    """A wide kernel, rows close together, then one far away: its leverage is beyond the limit in a later block."""
    rng = np.random.default_rng(4)
    x = 0.1 * rng.normal(size=(60, 2))
    x[45] = 30.0
    phi = fourier_rows(x, 0.3 * rng.normal(size=(6, 2)))
    y = rng.normal(size=(60, 1))
    wanted = precise.run(phi, y, 1e7, 0.0, NOISE_VAR)
    assert wanted.variance[45] > MAX_BLOCK_LEVERAGE
    means, variances, cumulative = run(by_blocks, phi, y, 1e7, 0.0)
    assert_close(means, wanted.mean, 1e-8)
    np.testing.assert_allclose(variances, wanted.variance, rtol=1e-8)
    assert_close(cumulative, wanted.cumulative, 1e-8)
