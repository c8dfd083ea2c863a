"""One sudden change inside a fit does not widen the intervals of what is predicted after it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import iegp
from iegp.core.batch_change import changed_part
from iegp.kernels import RBF, Constant

N_STARTS, N_AHEAD, N_ROWS = 5, 3, 200


def errors_of(at, size=10.0, seed=0):
    """Errors of two beliefs with noise one: the labels jump after so many parts; a belief knows what came before."""
    rng = np.random.default_rng(seed)
    found = []
    for start in range(N_STARTS):
        own = []
        for part in range(start, min(start + N_AHEAD, N_STARTS)):
            rows = part + np.arange(N_ROWS) / N_ROWS
            jump = size * ((rows >= at) & (start < at))
            good = rng.normal(size=N_ROWS) + jump
            own.append(np.stack([good, 3.0 * good])[:, :, None])
        found.append(own)
    return found, rng.normal(size=(500, 1))


@pytest.mark.parametrize("part", range(N_STARTS))
@pytest.mark.parametrize("after", [0.01, 0.5, 0.7])
@pytest.mark.parametrize("size", [-5.0, 10.0, 1e200])
def test_the_part_of_a_jump_is_found(part, after, size):
    assert changed_part(*errors_of(part + after, size)) == part


def test_a_jump_in_the_last_rows_is_too_young():
    assert changed_part(*errors_of(N_STARTS - 0.05)) is None


def test_small_changes_are_none():
    assert changed_part(*errors_of(99.0)) is None
    assert changed_part(*errors_of(2.5, size=1.5)) is None


def test_several_jumps_are_expected_again():
    one, near = errors_of(1.5)
    two, _ = errors_of(3.5)
    both = [[a + b for a, b in zip(*own, strict=True)] for own in zip(one, two, strict=True)]
    assert changed_part(both, near) is None


def test_what_wanders_is_no_jump():
    """Predictions of the last level of a walk, which is known exactly one row ahead."""
    mistaken = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        walk = np.cumsum(rng.normal(size=N_STARTS * N_ROWS)).reshape(N_STARTS, N_ROWS, 1)
        errors = [
            [walk[None, part] - walk[start, 0] for part in range(start, min(start + N_AHEAD, N_STARTS))]
            for start in range(N_STARTS)
        ]
        mistaken += changed_part(errors, rng.normal(size=(500, 1))) is not None
    assert mistaken == 0


def test_the_output_that_changes_counts():
    errors, near = errors_of(2.5)
    usual, _ = errors_of(99.0, seed=1)
    both = [
        [np.concatenate(pair, axis=2) for pair in zip(*own, strict=True)] for own in zip(usual, errors, strict=True)
    ]
    assert changed_part(both, np.repeat(near, 2, axis=1)) == 2


def fitted(at):
    """A model of 800 rows whose level jumps; inputs and labels of the next 200."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(1000, 1))
    y = np.sin(x[:, 0]) + rng.normal(size=1000) + 30.0 * (np.arange(1000) >= at * 800)
    model = iegp.IEGPRegressor(
        [RBF(1.0) + Constant()], drift_var=(0.0, 1e-3), n_frequencies=10, warmup=100, random_state=0
    )
    return model.fit(x[:800], y[:800]), x[800:], y[800:]


@pytest.mark.parametrize("at", [0.45, 0.6, 0.75, 0.85])
def test_intervals_after_a_jump_have_the_width_of_the_noise(at):
    model, x, y = fitted(at)
    lower, upper = model.predict_dist(x).interval(0.95)
    assert np.mean((lower <= y) & (y <= upper)) > 0.85
    assert 3.0 < np.median(upper - lower) < 8.0


def test_soon_after_a_jump_the_view_of_the_stream_is_the_best_there_is():
    model, x, _ = fitted(0.93)
    assert model.model_.batch is None
    assert_array_equal(model.predict(x, return_std=True), model.predict(x, horizon=1, return_std=True))
