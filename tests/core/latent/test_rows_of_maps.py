"""One row through one expert, and blocks of rows: against Algorithm 2 written out, row by row."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import latent as oracle

from iegp.core.compute.symmetric import symmetric_times
from iegp.core.latent.blocks import (
    Belief,
    RowBlock,
    learn_block,
    learn_partial,
    learn_walking_block,
    place_block,
    place_partial,
    refresh,
    refresh_walking,
)
from iegp.core.latent.row import (
    Row,
    RowProblem,
    damped_step,
    evaluate,
    locate,
    make_workspace,
    symmetric_products,
)

NOISE, PRIOR, LATENT = 0.02, 1.5, 4.0


def make(seed=0, n=80, n_frequencies=11, columns=9, d=2, forgetting=1.0):
    """An expert of ours and one of the oracle's, after the same n rows; 40 further rows."""
    rng = np.random.default_rng(seed)
    frequencies = rng.normal(size=(n_frequencies, d))
    x = rng.normal(size=(n + 40, d))
    theta = rng.normal(size=(2 * n_frequencies, columns))
    y = oracle.waves(x, frequencies) @ theta + np.sqrt(NOISE) * rng.normal(size=(n + 40, columns))
    phi = oracle.waves(x[:n], frequencies)
    size = 2 * n_frequencies
    belief = Belief(phi.T @ phi, phi.T @ y[:n], np.empty((size, size)), np.empty((size, size)))
    refresh(belief, NOISE / PRIOR)
    problem = RowProblem(frequencies, belief.inverse, belief.second, NOISE, LATENT, 1.0, 3, forgetting)
    twin = oracle.Expert(frequencies, NOISE, PRIOR, LATENT, y[:n], x[:n], forgetting)
    return belief, problem, twin, x, y, n


def row_of(belief, y):
    return Row(belief.inverse @ (belief.cross @ y), float(y @ y), float(len(y)))


@pytest.mark.parametrize("n_frequencies", [1, 2, 11, 50])
def test_symmetric_product(n_frequencies):
    rng = np.random.default_rng(0)
    size = 2 * n_frequencies
    matrix, vector, out = rng.normal(size=(size, size)), rng.normal(size=size), np.empty(size)
    matrix += matrix.T
    symmetric_times(matrix, vector, out)
    assert_allclose(out, matrix @ vector, rtol=1e-10, atol=1e-12)
    for k in range(1, 8):
        vectors, many = rng.normal(size=(k, size)), np.empty((k, size))
        symmetric_products(matrix, vectors, many)
        assert_allclose(many, vectors @ matrix, rtol=1e-10, atol=1e-12)


def test_refresh_equals_its_definition():
    belief, *_ = make()
    a = belief.gram + NOISE / PRIOR * np.eye(len(belief.gram))
    theta = np.linalg.solve(a, belief.cross)
    assert_allclose(belief.inverse @ a, np.eye(len(a)), atol=1e-9)
    assert_allclose(belief.second, theta @ theta.T, rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_value_gradient_and_curvature(d):
    belief, problem, twin, x, y, n = make(d=d)
    space = make_workspace(len(problem.frequencies), d)
    row, at = row_of(belief, y[n]), x[n] + 0.1
    value, data_loss = evaluate(problem, row, at, space)
    assert value == pytest.approx(twin.loss(y[n], at))
    assert data_loss == pytest.approx(-twin.log_density(y[n], at))
    gradient, curvature = space.gradient.copy(), space.curvature.copy()
    numeric = [
        (evaluate(problem, row, at + h, space)[0] - evaluate(problem, row, at - h, space)[0]) / 2e-6
        for h in 1e-6 * np.eye(d)
    ]
    assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-6)
    assert (np.linalg.eigvalsh(curvature) > 0.0).all()
    step = np.empty(d)
    damped_step(gradient, curvature, 0.0, np.inf, step)
    assert_allclose(step, -np.linalg.solve(curvature, gradient), rtol=1e-10)
    damped_step(gradient, curvature, 0.0, 1e-3, step)
    assert np.linalg.norm(step) == pytest.approx(1e-3)


def test_a_row_ends_at_the_most_probable_position():
    belief, problem, twin, x, y, n = make()
    starts = x[n : n + 3] + 0.2
    found, space = np.empty(2), make_workspace(len(problem.frequencies), 2)
    log_score = locate(problem, row_of(belief, y[n]), starts, 30, space, found)
    expected = twin.best_position(y[n], starts)
    assert_allclose(found, expected, atol=1e-4)
    assert log_score == pytest.approx(twin.log_density(y[n], found))
    assert_allclose(space.waves[0], oracle.waves(found, problem.frequencies)[0])


def test_no_step_ever_makes_it_worse():
    belief, problem, twin, x, y, n = make()
    found, space = np.empty(2), make_workspace(len(problem.frequencies), 2)
    losses = []
    for n_steps in range(8):
        locate(problem, row_of(belief, y[n]), x[:1].copy(), n_steps, space, found)
        losses.append(twin.loss(y[n], found))
    assert (np.diff(losses) <= 1e-12).all()
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("forgetting", [1.0, 0.97])
@pytest.mark.parametrize("size", [1, 7, 40])
def test_blocks_are_algorithm_two_row_by_row(forgetting, size):
    """Positions are taken from the block and checked to be stationary; all else is recomputed by the oracle."""
    belief, problem, twin, x, y, n = make(forgetting=forgetting)
    positions = np.vstack([x[:n], np.full((40, 2), np.nan)])
    neighbours = np.argsort(((x[n:, None] - x[None, :n]) ** 2).sum(axis=2), axis=1)[:, :3].copy()
    scores = np.empty(40)
    for begin in range(0, 40, size):
        rows = np.ascontiguousarray(y[n + begin : n + begin + size])
        block = slice(begin, begin + len(rows))
        rows = RowBlock(rows, rows @ rows.T, neighbours[block])
        learn_block(belief, problem._replace(n_steps=25), rows, positions, n + begin, scores[block])
    for t in range(40):
        twin.forget()
        here = positions[n + t]
        expected = twin.best_position(y[n + t], x[neighbours[t]])
        assert_allclose(here, expected, atol=1e-3)
        assert scores[t] == pytest.approx(twin.log_density(y[n + t], here), rel=1e-8)
        twin.learn(y[n + t], here)
    assert_allclose(belief.cross, twin.b, rtol=1e-9, atol=1e-9)
    assert_allclose(belief.gram, twin.gram, rtol=1e-9, atol=1e-9)
    assert_allclose(belief.inverse, np.linalg.inv(twin.a), rtol=1e-7, atol=1e-9)
    theta = np.linalg.solve(twin.a, twin.b)
    assert_allclose(belief.second, theta @ theta.T, rtol=1e-6, atol=1e-7)
    if forgetting == 1.0:
        before = belief.second.copy()
        refresh(belief, NOISE / PRIOR)
        assert_allclose(belief.second, before, rtol=1e-7, atol=1e-8)


def test_placing_is_what_learning_would_do_and_changes_nothing():
    belief, problem, _, x, y, n = make()
    copy = Belief(*(array.copy() for array in belief))
    rows, neighbours = y[n : n + 1].copy(), np.array([[0, 1, 2]])
    placed, score, learned_score = np.empty((1, 2)), np.empty(1), np.empty(1)
    place_block(belief, problem, RowBlock(rows, rows @ rows.T, neighbours), x[:n].copy(), placed, score)
    assert all((a == b).all() for a, b in zip(belief, copy, strict=True))
    positions = np.vstack([x[:n], np.empty((1, 2))])
    learn_block(belief, problem, RowBlock(rows, rows @ rows.T, neighbours), positions, n, learned_score)
    assert_allclose(positions[n], placed[0], atol=1e-10)
    assert score[0] == pytest.approx(learned_score[0])


def test_missing_entries_do_not_count():
    belief, problem, twin, x, y, n = make()
    row = y[n].copy()
    row[[1, 4]] = np.nan
    placed = np.empty(2)
    many_steps = problem._replace(n_steps=30)
    score, completed, _, _ = place_partial(belief, many_steps, row, np.array([0, 1, 2]), x[:n].copy(), placed)
    assert_allclose(placed, twin.best_position(row, x[:3]), atol=1e-4)
    assert score == pytest.approx(twin.log_density(row, placed))
    assert_allclose(completed[[1, 4]], twin.moments(placed)[0][[1, 4]])
    assert (completed[[0, 2, 3]] == row[[0, 2, 3]]).all()


def test_learning_a_row_with_gaps_leaves_the_missing_columns_as_they_were():
    belief, problem, _, x, y, n = make()
    row = y[n].copy()
    row[[1, 4]] = np.nan
    before = belief.inverse @ belief.cross
    positions = np.vstack([x[:n], np.empty((1, 2))])
    learn_partial(belief, problem, row, np.array([0, 1, 2]), positions, n)
    after = belief.inverse @ belief.cross
    assert_allclose(after[:, [1, 4]], before[:, [1, 4]], atol=1e-9)
    assert np.abs(after[:, [0, 2]] - before[:, [0, 2]]).max() > 1e-4
    assert_allclose(belief.second, after @ after.T, rtol=1e-7, atol=1e-8)


def test_complete_rows_give_equal_results_on_both_paths():
    results = []
    for path in ("block", "partial"):
        belief, problem, _, x, y, n = make()
        problem = problem._replace(forgetting=0.99)
        positions, neighbours = np.vstack([x[:n], np.empty((1, 2))]), np.array([[0, 1, 2]])
        if path == "block":
            score, rows = np.empty(1), y[n : n + 1].copy()
            learn_block(belief, problem, RowBlock(rows, rows @ rows.T, neighbours), positions, n, score)
            results.append((score[0], positions[n], *belief))
        else:
            score, _ = learn_partial(belief, problem, y[n], neighbours[0], positions, n)
            results.append((score, positions[n], *belief))
    for ours, theirs in zip(*results, strict=True):
        assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)


# -- coefficients that walk, and positions that converge ---------------------------------------------------------------

DRIFT = 2e-4


def make_walking(**shape):
    belief, problem, twin, x, y, n = make(**shape)
    belief.cross[:] = belief.inverse @ belief.cross
    return belief, problem._replace(walk=DRIFT / NOISE), twin, x, y, n


@pytest.mark.plain_cases(1)
@pytest.mark.parametrize(("size", "holes"), [(1, True), (1, False), (7, False), (40, False)])
def test_blocks_of_a_drifting_map_are_row_by_row(size, holes):
    belief, problem, twin, x, y, n = make_walking()
    problem = problem._replace(n_steps=300)
    positions = np.vstack([x[:n], np.full((40, 2), np.nan)])
    neighbours = np.argsort(((x[n:, None] - x[None, :n]) ** 2).sum(axis=2), axis=1)[:, :3].copy()
    scores, completed = np.empty(40), y[n:].copy()
    for begin in range(0, 40, size):
        block = slice(begin, min(begin + size, 40))
        rows = np.ascontiguousarray(y[n:][block])
        if holes:
            rows[0, :4] = np.nan
            y[n + begin, :4] = np.nan
            args = (neighbours[begin], positions, n + begin)
            scores[begin], completed[begin] = learn_partial(belief, problem, rows[0], *args)
        else:
            block_rows = RowBlock(rows, rows @ rows.T, neighbours[block])
            learn_walking_block(belief, problem, block_rows, positions, n + begin, scores[block])
    for t in range(40):
        twin.walk(DRIFT)
        here = positions[n + t]
        assert_allclose(here, twin.best_position(y[n + t], x[neighbours[t]]), atol=1e-3)
        assert scores[t] == pytest.approx(twin.log_density(y[n + t], here), rel=1e-8)
        twin.learn(completed[t], here)
    theta = np.linalg.solve(twin.a, twin.b)
    for _ in range(2):
        assert_allclose(belief.cross, theta, rtol=1e-7, atol=1e-8)
        assert_allclose(belief.inverse, np.linalg.inv(twin.a), rtol=1e-7, atol=1e-9)
        assert_allclose(belief.second, theta @ theta.T, rtol=1e-6, atol=1e-7)
        refresh_walking(belief)


def test_a_drifting_map_is_placed_as_it_is_learned():
    belief, problem, _, x, y, n = make_walking()
    rows = np.ascontiguousarray(y[n : n + 1])
    block = RowBlock(rows, rows @ rows.T, np.array([[0, 1, 2]]))
    ahead = belief.inverse + problem.walk * np.eye(len(belief.inverse))
    placed, score, learned = np.empty((1, 2)), np.empty(1), np.empty(1)
    place_block(belief._replace(inverse=ahead), problem._replace(inverse=ahead), block, x[:n].copy(), placed, score)
    positions = np.vstack([x[:n], np.zeros((1, 2))])
    learn_walking_block(belief, problem, block, positions, n, learned)
    assert_allclose(placed[0], positions[n], atol=1e-10)
    assert_allclose(score, learned, rtol=1e-10)


def test_a_position_that_converges_is_the_most_probable():
    belief, problem, twin, x, y, n = make()
    space, found, few = make_workspace(len(problem.frequencies), 2), np.empty(2), np.empty(2)
    converging = problem._replace(shortest_step=1e-6)
    for t in range(n, n + 20):
        row, starts = row_of(belief, y[t]), x[:1].copy()
        log_score = locate(converging, row, starts, 1000, space, found)
        assert log_score == pytest.approx(twin.log_density(y[t], found))
        assert_allclose(space.waves[0], oracle.waves(found, problem.frequencies)[0])
        evaluate(problem, row, found, space)
        step = np.linalg.solve(space.curvature, space.gradient)
        assert np.linalg.norm(step) < 1e-4
        locate(problem, row, starts, 3, space, few)
        assert twin.loss(y[t], found) <= twin.loss(y[t], few) + 1e-9
