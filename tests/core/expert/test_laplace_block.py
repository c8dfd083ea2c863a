"""Blocks of labels that are not Gaussian: the row-by-row Laplace recursion, whatever the likelihood and the belief."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from core.builders import assert_close
from core.likelihoods.test_likelihoods import TABLE
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from oracles import laplace
from scipy import special

from iegp._compile import COMPILED
from iegp.core import ensemble as ens
from iegp.core.compute.tolerances import MAX_BLOCK_LEVERAGE
from iegp.core.expert import laplace_block as site_blocks
from iegp.core.expert import sweep
from iegp.core.expert.belief import Belief
from iegp.core.features import fourier_rows, joined, waves
from iegp.core.likelihoods import likelihood_code, sites
from iegp.core.state import Active, Ensemble, State, belief_at, layout_of

Array = NDArray[np.float64]

PRIORS = [1e-6, 3.0, 1e6]
DRIFTS = [0.0, 0.05]  # times the prior variance, where that is below one
LONG = 500 if COMPILED else 45  # two blocks and a half at least
LINK = {name: np.array(case.links[0]) for name, case in TABLE.items()}


class Run(NamedTuple):
    """What one belief predicted, and what it is after the last row."""

    means: Array  # (n, L)
    variances: Array  # (n,)
    log_scores: Array  # (n,)
    outcomes: Array  # (n, K)
    matrix: Array  # (F, F)
    vector: Array  # (F, L)

    def belief(self, drift):
        """Mean (F, L) and covariance (F, F)."""
        if drift > 0.0:
            return self.vector, self.matrix
        inverse = np.linalg.inv(np.triu(self.matrix))
        return inverse @ self.vector, inverse @ inverse.T


class Sweep(NamedTuple):
    """The arguments of sweep_kernel and sweep_rows; nothing has been learned yet, and what is to be found is NaN."""

    ensemble: Ensemble
    state: State
    labels: sites.LabelModel
    work: sweep.Workspace


def start(name, x, y, frequencies, prior_vars, drifts, link):
    """Beliefs that share a link; ``frequencies`` is a list, one for each kernel."""
    case, n_beliefs = TABLE[name], len(drifts)
    n_latents, n_outcomes = case.n_latents(link), case.n_outcomes(link)
    labels = case.label_model(link)._replace(link=np.tile(link, (n_beliefs, 1)))
    layout = layout_of([len(own) for own in frequencies], n_beliefs // len(frequencies))
    ensemble = Ensemble(
        basis=joined([waves(own) for own in frequencies]),
        layout=layout,
        drift=np.repeat(np.array(drifts, dtype=float), layout.n_features),
        prior_ratio=np.array(prior_vars),
        noise_var=np.ones((n_beliefs, n_latents)),
        forgetting=np.full(1, np.nan),
        tails=np.full(1, np.nan),
        rule=0,
        transitions=np.ones((1, 1)),
        rate=0.1,
        shutdown=0.0,
        likelihood=likelihood_code(name),
        link=labels.link,
        nodes=labels.nodes,
    )
    active = Active(np.ones(n_beliefs, dtype=bool), np.ones(n_beliefs, dtype=bool))
    work = sweep.allocate_workspace(ensemble, active, x, y, n_outcomes)
    for array in (work.means, work.variances, work.belief_scores, work.outcomes):
        array[...] = np.nan
    return Sweep(ensemble, ens.start(ensemble), labels, work)


def finished(arguments, b=0):
    work = arguments.work
    own = belief_at(arguments.ensemble.layout, arguments.state, b)
    return Run(work.means[b], work.variances[b], work.belief_scores[b], work.outcomes[b], *own)


def by_blocks(name, x, y, frequencies, prior_var, drift, link, cuts=()):
    arguments = start(name, x, y, [frequencies], [prior_var], [drift], link)
    edges = [0, *cuts, len(x)]
    for begin, end in itertools.pairwise(edges):
        sweep.sweep_kernel(*arguments, sweep.Span(0, begin, end))
    return finished(arguments)


def by_rows(name, x, y, frequencies, prior_var, drift, link):
    arguments = start(name, x, y, [frequencies], [prior_var], [drift], link)
    sweep.sweep_rows(*arguments)
    return finished(arguments)


def inputs(n, n_frequencies, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.normal(size=(n_frequencies, 2))


def any_labels(name, n, seed=0):
    """Labels (n, columns) of every allowed kind, in no relation to the inputs."""
    rng, case = np.random.default_rng(seed), TABLE[name]
    values = [label for label in case.labels(LINK[name]) if label < 100.0]
    rows = [case.row(label, rng.uniform(0.5, 2.0)) for label in rng.choice(values, size=n)]
    return np.array(rows, dtype=float)


def smooth_labels(name, x, seed=0, scale=1.0):
    """Labels that a smooth function of the inputs explains in part; ``scale`` multiplies counts."""
    rng, case = np.random.default_rng(seed), TABLE[name]
    f = np.sin(2.0 * x[:, 0]) + x[:, 1]
    if case.numbers:
        return np.column_stack([rng.poisson(scale * np.exp(f)), rng.uniform(0.5, 2.0, size=len(x))]).astype(float)
    k = case.n_outcomes(LINK[name])
    return np.clip(np.floor(0.5 * k + f + rng.logistic(scale=0.3, size=len(x))), 0.0, k - 1.0)[:, None]


def assert_sound(run):
    for field in Run._fields[:4]:
        assert np.all(np.isfinite(getattr(run, field))), field
    assert np.all(run.variances > 0.0)
    assert np.all(np.isfinite(run.vector))
    assert np.all(np.isfinite(run.matrix))


def assert_same(found, wanted, tolerance):
    assert_sound(found)
    assert_close(found.means, wanted.means, tolerance)
    assert_allclose(found.variances, wanted.variances, rtol=tolerance)
    assert_close(found.log_scores, wanted.log_scores, tolerance)
    assert_close(found.outcomes, wanted.outcomes, tolerance)


# --- against the oracle ---------------------------------------------------------------------------------------------

N_ROWS = 11  # one full block of eight, and a part of one


@cache
def oracle(name, prior_var, drift):
    """Latent means (n, L), variances, log scores (if any), and the final belief's mean (F, L) and covariance."""
    x, frequencies = inputs(N_ROWS, 3)
    phi, y = fourier_rows(x, frequencies), any_labels(name, N_ROWS)
    if name == "categorical":
        run = laplace.replay_categorical(phi, y[:, 0], LINK[name], prior_var, drift, scored=False)
        return run.latent_mean, run.latent_var, None, run.mean.T, run.covariance
    exposure = y[:, 1] if y.shape[1] == 2 else None
    run = laplace.replay(name, phi, y[:, 0], LINK[name], prior_var, drift, exposure)
    return run.latent_mean[:, None], run.latent_var, run.log_scores, run.mean[:, None], run.covariance


@pytest.mark.parametrize("how", [by_blocks, by_rows])
@pytest.mark.parametrize("ratio", DRIFTS)
@pytest.mark.parametrize("prior_var", PRIORS)
@pytest.mark.parametrize("name", TABLE)
def test_predictions_and_beliefs_are_those_of_the_oracle(name, prior_var, ratio, how):
    drift = ratio * min(prior_var, 1.0)
    x, frequencies = inputs(N_ROWS, 3)
    run = how(name, x, any_labels(name, N_ROWS), frequencies, prior_var, drift, LINK[name])
    means, variances, log_scores, mean, covariance = oracle(name, prior_var, drift)
    assert_sound(run)
    assert_close(run.means, means, 1e-6)
    assert_allclose(run.variances, variances, rtol=1e-6)
    if log_scores is not None:
        # The quadrature for counts gives up digits where the log rate is unknown by hundreds.
        wide = name == "poisson" and prior_var == 1e6
        assert_close(run.log_scores, log_scores, 1e-4 if wide else 1e-6)
    found_mean, found_covariance = run.belief(drift)
    assert_close(found_mean, mean, 1e-6)
    assert_close(found_covariance, covariance, 1e-6)


@pytest.mark.parametrize("how", [by_blocks, by_rows])
@pytest.mark.parametrize("drift", [0.0, 0.1])
def test_scores_of_classes_are_those_of_the_oracle(how, drift):
    x, frequencies = inputs(5, 2)
    y, link = any_labels("categorical", 5), LINK["categorical"]
    run = how("categorical", x, y, frequencies, 2.5, drift, link)
    wanted = laplace.replay_categorical(fourier_rows(x, frequencies), y[:, 0], link, 2.5, drift)
    assert_allclose(np.exp(run.outcomes), wanted.probabilities, rtol=1e-5)
    assert_allclose(run.log_scores, wanted.log_scores, atol=1e-5)


@pytest.mark.parametrize("ratio", DRIFTS)
@pytest.mark.parametrize("prior_var", [1e-3, 0.5, 3.0, 100.0])
def test_two_classes_are_the_binary_model_with_twice_the_variance(prior_var, ratio):
    x, frequencies = inputs(60, 6)
    y, drift = smooth_labels("bernoulli-logit", x), ratio * min(prior_var, 1.0)
    found = by_blocks("categorical", x, y, frequencies, prior_var, drift, np.array([0.2, 0.5]))
    wanted = by_blocks("bernoulli-logit", x, y, frequencies, 2.0 * prior_var, 2.0 * drift, np.array([0.3]))
    assert_close(found.means[:, 1] - found.means[:, 0], wanted.means[:, 0], 1e-9)
    assert_allclose(2.0 * found.variances, wanted.variances, rtol=1e-9)
    assert_allclose(np.exp(found.outcomes), np.exp(wanted.outcomes), atol=1e-6)


# --- blocks and rows ------------------------------------------------------------------------------------------------


def ordinary(name, n):
    x, _ = inputs(n, 1, seed=3)
    return x, smooth_labels(name, x)


def repeated(name, n):
    x, y = ordinary(name, n)
    return np.ascontiguousarray(np.resize(x[:3], x.shape)), y


def all_equal(name, n):
    """The last class every time (separable), or no event ever."""
    x, y = ordinary(name, n)
    y[:, 0] = 0.0 if TABLE[name].numbers else TABLE[name].n_outcomes(LINK[name]) - 1.0
    return x, y


@pytest.mark.parametrize("make", [ordinary, repeated, all_equal])
@pytest.mark.parametrize("ratio", [0.0, 1e-3, 1e-8])
@pytest.mark.parametrize("prior_var", PRIORS)
@pytest.mark.parametrize("name", TABLE)
def test_blocks_are_the_rows_one_by_one(name, prior_var, ratio, make):
    x, y = make(name, LONG)
    _, frequencies = inputs(1, 20)
    arguments = (name, x, y, frequencies, prior_var, ratio * prior_var, LINK[name])
    rows = by_rows(*arguments)
    assert_sound(rows)
    assert_same(by_blocks(*arguments), rows, 1e-8)


def huge_counts(x):
    return smooth_labels("poisson", x, scale=1e6)


def sudden_counts(x):
    y = smooth_labels("poisson", x)
    y[::37, 0] = 1e9
    return y


def real_counts(x):
    y = smooth_labels("poisson", x)
    y[:, 0] *= math.pi
    return y


@pytest.mark.parametrize("make", [huge_counts, sudden_counts, real_counts])
@pytest.mark.parametrize("ratio", [0.0, 1e-3])
@pytest.mark.parametrize("prior_var", PRIORS)
def test_blocks_are_the_rows_one_by_one_for_any_counts(prior_var, ratio, make):
    x, frequencies = inputs(LONG, 20)
    arguments = (make(x), frequencies, prior_var, ratio * prior_var, LINK["poisson"])
    rows = by_rows("poisson", x, *arguments)
    assert_sound(rows)
    rounding = max(change_of_variances(by_rows("poisson", moved, *arguments), rows) for moved in moved_by_rounding(x))
    assert_same(by_blocks("poisson", x, *arguments), rows, max(1e-8, 4.0 * rounding))


def moved_by_rounding(x):
    """The rows with each number one rounding error lower, higher or as it is.

    A count of 1e9 under a prior variance of 1e6 makes a belief so certain that such a change alters its variances by
    more than 1e-7 on some processors: no two ways of computing them can agree better.
    """
    rng = np.random.default_rng(0)
    for _ in range(4):
        yield np.choose(rng.integers(3, size=x.shape), [np.nextafter(x, -np.inf), x, np.nextafter(x, np.inf)])


def change_of_variances(found, wanted):
    return np.max(np.abs(found.variances / wanted.variances - 1.0))


def test_a_block_of_great_leverage_is_learned_row_by_row():
    """Counts of a million make a belief a million times more certain: then a static block takes the path of rows."""
    x, frequencies = inputs(40, 20)
    y = huge_counts(x)
    blocks, rows = (how("poisson", x, y, frequencies, 3.0, 0.0, LINK["poisson"]) for how in (by_blocks, by_rows))
    assert np.max(rows.variances[:20]) * np.max(y) > MAX_BLOCK_LEVERAGE
    phi = fourier_rows(x[:20], frequencies)
    direct = finished(start("poisson", x[:20], y[:20], [frequencies], [3.0], [0.0], LINK["poisson"]))
    for t in range(20):
        label_model = TABLE["poisson"].label_model(LINK["poisson"])
        own = Belief(direct.matrix, direct.vector)
        direct.variances[t] = site_blocks.static_site_row(label_model, own, phi[t], y[t], direct.means[t])
    assert_array_equal(blocks.means[:20], direct.means)
    assert_array_equal(blocks.variances[:20], direct.variances)
    assert_array_equal(rows.means[:20], direct.means)


@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("name", TABLE)
def test_a_stream_in_odd_pieces_is_the_stream_at_once(name, drift):
    x, y = ordinary(name, 200 if COMPILED else 50)
    _, frequencies = inputs(1, 9)
    arguments = (name, x, y, frequencies, 3.0, drift, LINK[name])
    whole = by_blocks(*arguments)
    for cuts in ([1, 2, 5, 12, 29, 43], [7], list(range(11, len(x), 11)), [len(x) - 1]):
        pieces = by_blocks(*arguments, cuts=cuts)
        assert_same(pieces, whole, 1e-8)
        assert_close(pieces.vector, whole.vector, 1e-8)
        assert_close(pieces.matrix, whole.matrix, 1e-8)


@pytest.mark.parametrize("name", TABLE)
def test_many_rows_leave_a_positive_belief(name):
    x, y = ordinary(name, 16_000 if COMPILED else 200)
    _, frequencies = inputs(1, 5)
    for drift in (0.0, 1e-8, 1e-3):
        run = by_blocks(name, x, y, frequencies, 10.0, drift, LINK[name])
        assert_sound(run)
        if drift > 0.0:
            assert_array_equal(run.matrix, run.matrix.T)
            assert np.linalg.eigvalsh(run.matrix)[0] > 0.0
            assert np.all(run.variances >= drift)
        else:
            assert np.all(np.diagonal(run.matrix) > 0.0)


# --- promises -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [by_blocks, by_rows])
@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("name", TABLE)
def test_labels_to_come_leave_no_trace_in_a_prediction(name, drift, how):
    """Rows 0 to t are answered to the bit as if the labels from t on had been others."""
    x, y = ordinary(name, 50)
    _, frequencies = inputs(1, 9)
    arguments = frequencies, 3.0, drift, LINK[name]
    wanted = how(name, x, y, *arguments)
    for t in (0, 1, 8, 9, 13, 40, 49) if COMPILED else (9, 13):
        other = y.copy()
        other[t:] = any_labels(name, 50, seed=t)[t:]
        found = how(name, x, other, *arguments)
        assert_array_equal(found.means[: t + 1], wanted.means[: t + 1])
        assert_array_equal(found.variances[: t + 1], wanted.variances[: t + 1])
        assert_array_equal(found.log_scores[:t], wanted.log_scores[:t])
        assert_array_equal(found.outcomes[: t + 1], wanted.outcomes[: t + 1])


@pytest.mark.parametrize("prior_var", [3.0, 1e6])
def test_a_huge_count_to_come_leaves_only_rounding_in_a_prediction(prior_var):
    """It makes its block take the other path."""
    x, frequencies = inputs(30, 9)
    y = smooth_labels("poisson", x)
    wanted = by_blocks("poisson", x, y, frequencies, prior_var, 0.0, LINK["poisson"])
    y[24, 0] = 1e9
    found = by_blocks("poisson", x, y, frequencies, prior_var, 0.0, LINK["poisson"])
    assert_close(found.means[:25], wanted.means[:25], 1e-9)
    assert_allclose(found.variances[:25], wanted.variances[:25], rtol=1e-9)


@pytest.mark.parametrize("integration", sites.INTEGRATIONS)
@pytest.mark.parametrize("name", TABLE)
def test_scores_are_the_predictive_probabilities_of_the_latent_values(name, integration):
    x, y = ordinary(name, 20)
    _, frequencies = inputs(1, 4)
    arguments = start(name, x, y, [frequencies], [3.0], [0.0], LINK[name])
    n_latents = arguments.work.means.shape[2]
    nodes = sites.draws(integration, n_latents, seed=0)
    own = TABLE[name].label_model(LINK[name], integration, nodes)
    arguments = arguments._replace(labels=own._replace(link=arguments.labels.link))
    sweep.sweep_kernel(*arguments, sweep.Span(0, 0, 20))
    run = finished(arguments)
    assert_sound(run)
    for t in range(20):
        given = LINK[name], integration, nodes, y[t, -1]
        score, outcomes = TABLE[name].predict(y[t, 0], run.means[t], run.variances[t], *given)
        assert run.log_scores[t] == score
        assert_array_equal(run.outcomes[t], outcomes)
    if not TABLE[name].numbers:
        assert_allclose(special.logsumexp(run.outcomes, axis=1), 0.0, atol=1e-8)


def test_a_sweep_shares_features_and_skips_the_inactive():
    """Three beliefs of one kernel, each with its own drift; the middle one is inactive and keeps its bits."""
    name, priors, drifts = "ordinal-logit", [2.0, 3.0, 4.0], [0.0, 0.2, 0.1]
    x, y = ordinary(name, 60)
    _, frequencies = inputs(1, 4)
    arguments = start(name, x, y, [frequencies], priors, drifts, LINK[name])
    arguments.work.active.beliefs[1] = False
    before = finished(arguments, 1).matrix.copy()
    sweep.sweep_kernel(*arguments, sweep.Span(0, 0, 60))
    for b in (0, 2):
        wanted = by_blocks(name, x, y, frequencies, priors[b], drifts[b], LINK[name])
        for found, expected in zip(finished(arguments, b), wanted, strict=True):
            assert_array_equal(found, expected)
    idle = finished(arguments, 1)
    assert_array_equal(idle.matrix, before)
    assert np.all(idle.vector == 0.0)
    assert all(np.all(np.isnan(array)) for array in idle[:4])


@pytest.mark.parametrize("name", TABLE)
def test_a_sweep_of_rows_is_a_sweep_of_every_kernel(name):
    x, y = ordinary(name, 6)
    frequencies = np.random.default_rng(6).normal(size=(2, 4, 2))
    drifts, priors = [0.0, 0.2, 0.0, 0.2], [3.0, 3.0, 5.0, 5.0]
    stepped = start(name, x, y, list(frequencies), priors, drifts, LINK[name])
    stepped.work.active.beliefs[2] = False
    stepped.labels.link[:] *= np.arange(1.0, 5.0)[:, None]  # every belief has its own
    sweep.sweep_rows(*stepped)
    for b in (0, 1, 3):
        wanted = by_blocks(name, x, y, frequencies[b // 2], priors[b], drifts[b], stepped.labels.link[b])
        for found, expected in zip(finished(stepped, b), wanted, strict=True):
            assert_close(found, expected, 1e-10)
    assert np.all(np.isnan(stepped.work.means[2]))


def test_rows_outside_begin_and_end_are_left_alone():
    x, y = ordinary("bernoulli-logit", 30)
    _, frequencies = inputs(1, 4)
    arguments = start("bernoulli-logit", x, y, [frequencies], [3.0], [0.0], LINK["bernoulli-logit"])
    sweep.sweep_kernel(*arguments, sweep.Span(0, 10, 25))
    wanted = by_blocks("bernoulli-logit", x[10:25], y[10:25], frequencies, 3.0, 0.0, LINK["bernoulli-logit"])
    run = finished(arguments)
    assert_array_equal(run.means[10:25], wanted.means)
    assert_array_equal(run.log_scores[10:25], wanted.log_scores)
    assert np.all(np.isnan(run.means[:10]))
    assert np.all(np.isnan(run.variances[25:]))


def test_a_label_that_says_nothing_leaves_the_belief_alone():
    """No event where none could happen: slope and curvature underflow to zero."""
    x, frequencies = inputs(20, 4)
    y = np.tile([0.0, 1e-300], (20, 1))
    for drift in (0.0, 0.1):
        for how in (by_blocks, by_rows):
            run = how("poisson", x, y, frequencies, 3.0, drift, np.array([-300.0]))
            assert_sound(run)
            assert_allclose(run.means, 0.0, atol=1e-100)
            assert_allclose(run.log_scores, 0.0, atol=1e-9)
            assert_allclose(run.variances, 3.0 + drift * np.arange(1, 21), rtol=1e-12)
