"""The streaming latent variable model as a whole: results do not depend on how a stream is cut, nor on later rows."""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import latent as oracle
from oracles.latent import initial_objective, waves
from scipy import stats

from iegp._compile import COMPILED
from iegp.core.kernels import RBF
from iegp.core.latent import embedder as latent
from iegp.core.latent import model as latent_online
from iegp.core.latent.memory import Memory, digests_of
from iegp.core.latent.settings import LatentSettings
from iegp.core.weights import RULES, WeightRule
from iegp.errors import InputError

BASE = {
    "n_components": 2,
    "kernels": (RBF(0.5), RBF(1.5)),
    "n_frequencies": 12,
    "features": "random",
    "warmup": 60,
    "weights": "bayes",
    "switch_prob": 0.01,
    "stacking_rate": 0.1,
    "shutdown": 0.0,
    "forgetting": 1.0,
    "latent_var": 10.0,
    "start_spread": 2.0,
    "chain": True,
    "n_neighbors": 3,
    "n_steps": 3,
    "warmup_iter": 20,
    "max_stored": None,
    "seed": 0,
}


def settings(**overrides):
    return LatentSettings(**(BASE | overrides))


def sheet(n=200, columns=8, noise=0.1, seed=0):
    """Rows on a curved sheet."""
    rng = np.random.default_rng(seed)
    x, frequencies = rng.uniform(-1.5, 1.5, size=(n, 2)), rng.normal(size=(6, 2))
    return waves(x, frequencies) @ rng.normal(size=(12, columns)) + noise * rng.normal(size=(n, columns)), x


def no_initial_map(columns):
    del columns


def run(rows, cuts=(), **overrides):
    model = latent_online.begin(settings(**overrides), rows.shape[1])
    for part in np.split(rows, cuts):
        latent_online.learn(model, part, no_initial_map)
    return latent_online.current(model, no_initial_map)


VARIANTS = [
    {},
    {"weights": "switching"},
    {"forgetting": 0.99},
    {"max_stored": 90},
    {"weights": "stacking", "chain": False},
    {"drift_var": 1e-3, "weights": "exponentiated-gradient"},
    {"max_iter": 30},
]


@pytest.mark.plain_cases(5)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("cuts", [(1, 59, 60, 61, 130), tuple(range(0, 200, 3))], ids=["few", "threes"])
def test_any_cuts_give_the_same_map(variant, cuts):
    rows = sheet()[0]
    whole, cut = run(rows, **variant), run(rows, cuts, **variant)
    assert_allclose(cut.memory.positions, whole.memory.positions, atol=1e-8)
    assert_allclose(cut.memory.stitched, whole.memory.stitched, atol=1e-8)
    assert_allclose(cut.log_weights, whole.log_weights, atol=1e-6)
    assert (cut.memory.numbers == whole.memory.numbers).all()


def test_the_least_forgetting_leaves_a_finite_map():
    model = run(sheet()[0], forgetting=1e-3)
    assert np.isfinite(model.memory.positions).all()
    assert np.isfinite(model.experts.inverse).all()


@pytest.mark.parametrize("variant", [{}, {"forgetting": 0.99, "weights": "switching"}], ids=str)
def test_later_rows_do_not_affect_earlier_ones(variant):
    rows = sheet()[0]
    other = rows.copy()
    other[130:] = np.random.default_rng(9).normal(size=(70, 8)) * 5.0
    one, two = run(rows, **variant).memory, run(other, **variant).memory
    assert_allclose(one.positions[:, :130], two.positions[:, :130], atol=1e-9)
    assert_allclose(one.stitched[:130], two.stitched[:130], atol=1e-9)
    assert np.abs(one.positions[:, 130:] - two.positions[:, 130:]).max() > 0.1


@pytest.mark.plain_cases(0)
def test_the_map_keeps_neighbours_together():
    rows, x = sheet(400, noise=0.02)
    model = run(rows, kernels=(RBF(1.0), RBF(2.0)), n_frequencies=25, warmup=100, warmup_iter=100)
    position = model.memory.positions[model.best_expert]
    nearest = ((position[:, None] - position[None]) ** 2).sum(axis=2).argsort(axis=1)[:, 1]
    assert np.median(np.linalg.norm(x - x[nearest], axis=1)) < 0.25


@pytest.mark.plain_cases(0)
def test_weights_find_the_expert_that_made_the_data():
    """Rows drawn from the second expert's own features, at positions it is given to start from."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(260, 2))
    mine = {"kernels": (RBF(0.2), RBF(1.0), RBF(6.0)), "n_frequencies": 25, "start_spread": 1.0, "latent_var": 1.0}
    experts = run(rng.normal(size=(60, 4)), **mine, warmup_iter=0).experts
    rows = waves(x, experts.frequencies[1]) @ rng.normal(size=(50, 15)) + 0.1 * rng.normal(size=(260, 15))
    model = latent_online.begin(settings(**mine, chain=False), 15)
    latent_online.learn(model, rows, lambda columns: x[: len(columns)])
    weights = np.exp(latent_online.current(model, no_initial_map).log_weights)
    assert weights[1] > 0.99


def test_weights_count_the_warm_up_rows():
    """By the density of the warm-up rows at each expert's positions, with an n x n covariance."""
    rows = sheet(60)[0]
    model = run(rows, weigh_warmup=True)
    experts, scaled = model.experts, model.scaling.scaled(rows)
    wanted = [
        -initial_objective(scaled, x, experts.frequencies[m], experts.noise_var[m], experts.prior_var[m], np.inf)
        for m, x in enumerate(model.memory.positions)
    ]
    assert_allclose(model.log_weights, np.array(wanted) - np.logaddexp.reduce(wanted), atol=1e-6)
    assert_allclose(np.exp(run(rows).log_weights), 0.5)


def test_a_slow_drift_is_none():
    rows = sheet()[0]
    walking, still = run(rows, drift_var=1e-13), run(rows)
    assert_allclose(walking.memory.positions, still.memory.positions, atol=1e-5)
    other = run(rows, drift_var=1e-2)
    assert np.abs(other.memory.positions - still.memory.positions).max() > 1e-2


@pytest.mark.plain_cases(0)
def test_a_drifting_map_follows_rows_that_change():
    """From row 300 on the sheet is another one: its rows are more probable under coefficients that walk."""
    rows = np.concatenate([sheet(300)[0], sheet(300, seed=5)[0]])
    shape = {"kernels": (RBF(1.0),), "n_frequencies": 20, "warmup": 100}
    still, walking = (run(rows, **shape, drift_var=drift) for drift in (0.0, 1e-2))
    new = sheet(330, seed=5)[0][300:]
    assert latent.log_densities(walking, new).mean() > latent.log_densities(still, new).mean() + 1.0


@pytest.mark.plain_cases(0)
def test_a_drifting_map_stays_positive_over_many_rows():
    model = run(sheet(4000)[0], drift_var=1e-6, n_frequencies=25)
    for inverse in model.experts.inverse:
        assert np.linalg.eigvalsh(inverse).min() > 0.0
    assert np.isfinite(model.memory.positions).all()


@pytest.mark.parametrize("rule", ["bayes", "switching"])
def test_the_best_expert_and_the_weights_are_those_of_algorithm_two(rule):
    rng = np.random.default_rng(3)
    log_scores, log_priors = rng.normal(-2.0, 1.5, size=(40, 3)), rng.normal(-1.0, 1.0, size=(40, 3))
    transitions = np.eye(3) if rule == "bayes" else np.array([[0.8, 0.15, 0.05], [0.0, 0.9, 0.1], [0.3, 0.2, 0.5]])
    initial = np.array([0.2, 0.5, 0.3])
    found = np.empty(40, dtype=np.int64), np.empty(40), np.log(initial)
    own = WeightRule(RULES.index(rule), transitions, 0.2, 0.0)
    latent.choose_and_weigh(own, log_scores, log_priors, found[2], found[0], found[1])
    chosen, densities, weights = oracle.choose_and_weigh(
        np.exp(log_scores), np.exp(log_priors), initial.tolist(), transitions
    )
    assert found[0].tolist() == chosen
    assert len(set(chosen)) == 3
    assert_allclose(found[1], np.log(densities), rtol=1e-10)
    assert_allclose(np.exp(found[2]), weights, rtol=1e-9)


def test_the_prior_of_a_position_counts_in_the_choice(monkeypatch):
    seen = []

    def record(rule, log_scores, log_priors, log_weights, chosen, log_score):
        seen.append(log_priors.copy())
        choose(rule, log_scores, log_priors, log_weights, chosen, log_score)

    choose = latent.choose_and_weigh
    monkeypatch.setattr(latent, "choose_and_weigh", record)
    model = run(sheet(90)[0], latent_var=3.0)
    positions = model.memory.positions[:, 60:90]
    wanted = np.sum(stats.norm.logpdf(positions, scale=np.sqrt(3.0)), axis=2).T
    found = np.concatenate(seen)
    assert_allclose(found - found[:, :1], wanted - wanted[:, :1], atol=1e-9)


def test_experts_share_a_frame():
    positions = run(sheet()[0]).memory.positions
    one, two = (p - p.mean(axis=0) for p in positions)
    assert np.sum(one * two) > 0.8 * np.sqrt(np.sum(one**2) * np.sum(two**2))


def test_during_the_warm_up_a_provisional_model_predicts():
    rows = sheet()[0]
    early = run(rows[:30])
    assert early.memory.size == 30
    model = latent_online.begin(settings(), 8)
    for part in np.split(rows, [10, 30, 50]):
        latent_online.learn(model, part, no_initial_map)
        latent_online.current(model, no_initial_map)
    assert_allclose(model.embedder.memory.positions, run(rows).memory.positions, atol=1e-8)


# -- memory ----------------------------------------------------------------------------------------------------------


def test_memory_is_bounded_and_recent_rows_stay():
    memory = run(sheet(400)[0], max_stored=80).memory
    assert memory.size <= 80
    assert len(memory.neighbours) == memory.size == memory.positions.shape[1]
    assert memory.allocate(0).shape[1] <= 160
    assert (np.diff(memory.numbers) > 0).all()
    assert memory.numbers[-1] == 399
    assert np.median(memory.numbers) > 300


def test_removed_rows_stay_learned():
    """What was learned does not depend on the stored rows, except for where the search for a position starts."""
    rows = sheet(noise=0.02)[0]
    bounded, free = run(rows, max_stored=60), run(rows)
    assert bounded.experts.gram.trace(axis1=1, axis2=2) == pytest.approx([200.0, 200.0])
    assert free.experts.gram.trace(axis1=1, axis2=2) == pytest.approx([200.0, 200.0])


def test_stored_rows_are_recognised():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    rows[7, 1] = np.nan
    rows[9] = [0.0, 1.0, 2.0]
    memory = Memory(1, 2, 3)
    memory.append(np.zeros((50, 3), dtype=np.float32), np.zeros((50, 2)), digests_of(rows), 0)
    assert (memory.find(digests_of(rows)) == np.arange(50)).all()
    asked = np.array([[-0.0, 1.0, 2.0], [0.0, 1.0, 2.5], rows[7]])
    assert list(memory.find(digests_of(asked))) == [9, -1, 7]
    assert list(Memory(1, 2, 3).find(digests_of(asked))) == [-1, -1, -1]


# -- missing entries -------------------------------------------------------------------------------------------------


def test_a_row_with_few_gaps_lands_next_to_the_whole_row():
    rows = sheet(columns=30, noise=0.02)[0]
    model = run(rows[:199], kernels=(RBF(1.0),), n_frequencies=25, warmup=100)
    gappy = rows[199:].copy()
    gappy[0, ::5] = np.nan
    whole, _ = latent.place(model, rows[199:], [0])
    partial, scores = latent.place(model, gappy, [0])
    assert np.linalg.norm(whole - partial) < 0.2
    assert np.isfinite(scores).all()


def test_gaps_anywhere_leave_a_finite_model():
    rows = sheet()[0]
    rows[np.random.default_rng(1).random(rows.shape) < 0.1] = np.nan
    rows[np.isnan(rows).all(axis=1)] = 0.0
    model = run(rows)
    assert np.isfinite(model.memory.positions).all()
    assert all(np.isfinite(array).all() for array in model.experts)
    assert_allclose(run(rows, (77, 150)).memory.positions, model.memory.positions, atol=1e-8)


# -- forgetting ------------------------------------------------------------------------------------------------------


@pytest.mark.plain_cases(0)
def test_forgetting_follows_a_change():
    """The sheet is replaced by another: with forgetting the later rows are predicted better."""
    rows = np.vstack([sheet(300)[0], sheet(500, seed=5)[0]])
    scores = {}
    for forgetting in (1.0, 0.98):
        model, _ = latent.begin(settings(forgetting=forgetting, warmup=100), rows[:100], no_initial_map)
        scores[forgetting] = latent.learn(model, rows[100:]).log_score[-200:].mean()
    assert scores[0.98] > scores[1.0]


def test_a_long_stream_stays_accurate():
    """What the recursion holds is what its definition gives, after thousands of rows between and over refreshes."""
    rows = sheet(3000 if COMPILED else 400)[0]
    model = run(rows)
    for m in range(2):
        belief = model.experts.belief(m)
        a = belief.gram + model.experts.ratio(m) * np.eye(24)
        theta = np.linalg.solve(a, belief.cross)
        assert_allclose(belief.inverse @ a, np.eye(24), atol=1e-6)
        assert_allclose(belief.second, theta @ theta.T, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(not COMPILED, reason="compilation is off")
def test_a_late_row_costs_what_an_early_row_costs():
    """Only the search for neighbours grows, with the logarithm. In processor time: others may be using the machine."""
    rows = np.random.default_rng(0).normal(size=(12_000, 6))
    model, _ = latent.begin(settings(), rows[:60], no_initial_map)

    def fastest(begin: int) -> float:
        times = []
        for t in range(begin, begin + 1024, 64):
            before = time.process_time()
            latent.learn(model, rows[t : t + 64])
            times.append(time.process_time() - before)
        return min(times)

    early = fastest(60)
    latent.learn(model, rows[2000:10_000])
    assert fastest(10_000) < 2.5 * early


# -- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_components": 0}, "n_components=0"),
        ({"kernels": ()}, "kernels is empty"),
        ({"kernels": (RBF("evidence"),)}, "fitted to labels"),
        ({"forgetting": 0.0}, "forgetting=0.0"),
        ({"forgetting": 1e-5}, "forgetting=1e-05"),
        ({"latent_var": -1.0}, "latent_var=-1.0"),
        ({"max_stored": 10}, "max_stored=10"),
        ({"weights": "vote"}, "weights='vote'"),
        ({"n_steps": -1}, "n_steps=-1"),
    ],
)
def test_settings_are_checked(wrong, message):
    with pytest.raises(InputError, match=message):
        settings(**wrong)


def test_settings_survive_being_stored():
    for variant in ({}, {"switch_prob": ((0.9, 0.1), (0.2, 0.8)), "weights": "switching"}):
        assert LatentSettings.from_config(settings(**variant).to_config()) == settings(**variant)
