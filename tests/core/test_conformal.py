"""Intervals that keep their level: as a slow version says, in any chunks, without a leak, resumed to the bit."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import conformal as oracle
from stream_runs.jobs import absorb, job_of, model_bits

import iegp
from iegp.adapters import RiverRegressor
from iegp.core import conformal as conf
from iegp.core.ensemble import with_pit
from iegp.core.predictive.components import Components
from iegp.errors import InputError, ModelFileError
from iegp.evaluate.runs import PrequentialRun
from iegp.fleet.keyed_learner import Fleets
from iegp.kernels import RBF
from iegp.storage import model_file as modelfile
from iegp.stream.answers import predictions_of
from iegp.stream.job import Job

RNG = np.random.default_rng(3)
N = 700
X = RNG.uniform(-3.0, 3.0, size=(N, 2))
SIGN = np.where(np.arange(N) < 400, 1.0, -1.0)
Y = SIGN * np.sin(X[:, 0]) + 0.1 * RNG.standard_t(3, N)
Y[[150, 500]] += 30.0
SMALL = {"kernels": [RBF(1.0)], "n_frequencies": 8, "warmup": 64, "random_state": 0}


def model(**changes):
    return iegp.IEGPRegressor(**(SMALL | {"conformal": "online"} | changes))


def mixtures(n, n_experts=3):
    """Of n rows and one output, and labels, some of them far out."""
    rng = np.random.default_rng(5)
    weights = rng.dirichlet(np.ones(n_experts), n)
    loc, scale = rng.normal(size=(n, n_experts, 1)), rng.uniform(0.3, 1.0, size=(n, n_experts, 1))
    y = rng.standard_t(2, size=(n, 1)) + 2.0
    y[::17] *= 50.0
    return Components(weights, loc, scale, np.full_like(loc, 7.0)), y


@pytest.mark.parametrize(("level", "delay"), [(0.95, 0), (0.8, 7)])
def test_intervals_are_those_of_the_slow_version(level, delay):
    components, y = mixtures(120)
    state, parts = conf.begin((0.5, level), 1), []
    for some in (slice(0, 1), slice(1, 60), slice(60, 120)):
        rows = Components(*(array[some] for array in components))
        pit = with_pit(predictions_of(np.zeros(len(rows.loc))), rows, y[some]).pit
        state, ends = conf.follow(state, conf.scores_of(rows, y[some], pit), delay, 1)
        parts.append(np.concatenate(conf.bounds(rows, ends), axis=1))
    slow = [(w, m[:, 0], s[:, 0], nu[:, 0]) for w, m, s, nu in zip(*components, strict=True)]
    assert_allclose(np.concatenate(parts), oracle.intervals(slow, y[:, 0], level, delay), rtol=1e-7)
    assert len(state.waiting) == delay


@pytest.mark.parametrize("delay", [0, 5])
def test_it_changes_intervals_alone_and_not_with_the_cuts(delay):
    plain, kept = model(conformal=None, delay=delay), model(delay=delay)
    before, after = plain.prequential(X, Y), kept.prequential(X, Y)
    for name in ("mean", "std", "pit", "log_score", "weights"):
        assert_array_equal(getattr(after, name), getattr(before, name))
    assert_array_equal(kept.model_.state.matrix, plain.model_.state.matrix)
    cut = model(delay=delay).partial_fit(X[:90], Y[:90])
    runs = [cut.prequential(X[a:b], Y[a:b]) for a, b in ((90, 91), (91, 95), (95, 400), (400, N))]
    whole = PrequentialRun.concatenate(runs)
    assert_allclose(whole.lower, after.lower[90:], rtol=1e-8)
    assert_allclose(whole.upper, after.upper[90:], rtol=1e-8)
    assert np.isfinite(after.upper - after.lower).all()


@pytest.mark.parametrize("delay", [0, 5])
def test_no_leak_and_resume_to_the_bit(delay, tmp_path):
    other = Y.copy()
    other[300:] = 50.0
    first, second = model(delay=delay), model(delay=delay)
    before, after = first.prequential(X, Y), second.prequential(X, other)
    for name in ("lower", "upper"):
        assert_array_equal(getattr(after, name)[:301], getattr(before, name)[:301])
    half = model(delay=delay)
    half.prequential(X[:350], Y[:350])
    half.save(tmp_path / "half")
    again = iegp.load(tmp_path / "half")
    one, two = half.prequential(X[350:], Y[350:]), again.prequential(X[350:], Y[350:])
    assert_array_equal(two.lower, one.lower)
    assert_array_equal(again.model_.conformal.track, half.model_.conformal.track)


@pytest.mark.parametrize(("name", "value"), [("track", np.nan), ("track", -1.0), ("waiting", 0.5), ("waiting", np.inf)])
def test_damaged_numbers_are_refused(tmp_path, name, value):
    model(delay=3).fit(X[:200], Y[:200]).save(tmp_path / "m")
    header, arrays = modelfile.read(tmp_path / "m")
    arrays[f"conformal.{name}"] = arrays[f"conformal.{name}"].copy()
    arrays[f"conformal.{name}"][0, 0, 0 if name == "track" else 1] = value
    modelfile.write(tmp_path / "m", header, arrays)
    with pytest.raises(ModelFileError, match=f"conformal.{name}"):
        iegp.load(tmp_path / "m")


@pytest.mark.parametrize("delay", [0, 24])
def test_coverage_is_the_level_through_abrupt_drift_and_outliers(delay):
    rng, n = np.random.default_rng(0), 6000
    x = rng.uniform(-3.0, 3.0, size=(n, 1))
    noise = np.where(np.arange(n) // 1500 % 2, 0.6, 0.1) * rng.standard_t(2.5, n)
    y = np.where(np.arange(n) // 2000 % 2, -1.0, 1.0) * np.sin(2.0 * x[:, 0]) + noise
    run = model(delay=delay, noise_forgetting=None, drift_var=0.0).prequential(x, y)
    plain = model(delay=delay, noise_forgetting=None, drift_var=0.0, conformal=None).prequential(x, y)
    assert abs(plain.coverage - 0.95) > 0.005
    assert abs(run.coverage - 0.95) < 0.005
    assert np.isfinite(run.upper - run.lower).all()


def test_calibrated_intervals_stay_narrow():
    rng, n = np.random.default_rng(1), 5000
    scores = rng.standard_normal((n, 1))
    state, ends = conf.follow(conf.begin((0.8, 0.95), 1), scores, 0, 1)
    assert np.diff(ends[:, 0], axis=1).mean() < 1.05 * 2.0 * 1.96
    assert abs(np.mean((scores > ends[:, :, 0]) & (scores < ends[:, :, 1])) - 0.95) < 0.002
    assert abs(state.track[0, 0, conf.DEBT]) < 0.002 * n


def test_a_long_tail_that_is_missed_more_often_does_not_make_intervals_wide():
    """Missing both ends equally often would: one end moves in by little, that of the long tail out by much."""
    rng, n = np.random.default_rng(4), 6000
    scores = rng.standard_normal((n, 1)) + 0.2
    weights, loc, scale = np.tile([0.9, 0.1], (n, 1)), np.array([[0.0], [2.0]]), np.array([[0.3], [2.0]])
    mixture = Components(weights, np.tile(loc, (n, 1, 1)), np.tile(scale, (n, 1, 1)), np.full((n, 2, 1), 4.0))
    _, ends = conf.follow(conf.begin((0.95,), 1), scores, 0, 0)
    plain, kept = (np.subtract(*conf.bounds(mixture, e)[::-1]) for e in (np.tile([-1.96, 1.96], (n, 1, 1)), ends))
    assert 0.94 < np.mean(np.abs(scores) < 1.96) < 0.96
    assert abs(np.mean((scores > ends[:, :, 0]) & (scores < ends[:, :, 1])) - 0.95) < 0.002
    assert kept.mean() < 1.15 * plain.mean()


def test_runs_of_misses_are_compensated_slowly():
    """At once they would be by intervals that are wide for a while and then narrow."""
    rng, n = np.random.default_rng(2), 8000
    scores = rng.standard_normal((n, 1)) * np.where(np.arange(n) % 1000 < 50, 2.5, 0.93)[:, None]
    _, ends = conf.follow(conf.begin((0.95,), 1), scores, 24, 0)
    width = np.diff(ends[:, 0], axis=1)
    assert 0.94 < np.mean(np.abs(scores) < 1.96) < 0.96
    assert abs(np.mean((scores > ends[:, :, 0]) & (scores < ends[:, :, 1])) - 0.95) < 0.003
    assert width.mean() < 1.08 * 2.0 * 1.96


def test_misses_that_are_as_many_as_rows_wait_are_compensated():
    """Errors of predictions far ahead go together: most labels that are waited for lie outside at once."""
    rng, n, delay = np.random.default_rng(6), 20_000, 200
    walk = np.cumsum(rng.standard_normal(n + delay))
    scores = (walk[delay:] - walk[:n])[:, None] / np.sqrt(delay)
    state, ends = conf.follow(conf.begin((0.95,), 1), scores, delay, 0)
    assert abs(np.mean((scores > ends[:, :, 0]) & (scores < ends[:, :, 1])) - 0.95) < 0.01
    assert abs(state.track[0, 0, conf.DEBT]) <= conf.largest_debt(delay)


def test_levels_are_fixed_when_a_model_starts():
    kept = model(conformal_levels=(0.5, 0.9)).fit(X[:100], Y[:100])
    before = copy.deepcopy(kept.model_.conformal)
    with pytest.raises(InputError, match=r"0\.95 is not among the levels"):
        kept.prequential(X[:5], Y[:5])
    assert_array_equal(kept.model_.conformal.track, before.track)
    assert kept.prequential(X[:5], Y[:5], level=0.9).level == 0.9
    with pytest.raises(InputError, match="conformal='offline' is not known"):
        model(conformal="offline").fit(X[:5], Y[:5])
    with pytest.raises(InputError, match="conformal_levels"):
        model(conformal_levels=(0.95, 1.5)).fit(X[:5], Y[:5])


def test_predicted_intervals_are_those_of_the_next_row():
    kept = model().fit(X[:300], Y[:300])
    kept.partial_fit(X[300:301], Y[300:301])
    lower, upper = kept.predict_interval(X[301:302])
    run = kept.prequential(X[301:302], Y[301:302])
    assert_allclose([lower[0], upper[0]], [run.lower[0], run.upper[0]], rtol=1e-9)
    river = RiverRegressor(**{name: value for name, value in SMALL.items() if name != "random_state"}, seed=0)
    river = river.clone({"conformal": "online"})
    for row, label in zip(X[:200], Y[:200], strict=True):
        river.learn_one({"a": row[0], "b": row[1]}, label)
    dist = river.predict_one({"a": 0.1, "b": 0.2}, with_dist=True)
    low, high = river._estimator.predict_interval(np.array([[0.1, 0.2]]))
    assert dist.interval(0.95) == (low[0], high[0])
    with pytest.raises(InputError, match="not among the levels"):
        dist.interval(0.5)


@pytest.mark.parametrize("delay", [0, 3])
def test_every_key_of_a_fleet_keeps_its_own(delay, tmp_path):
    template = model(delay=delay, robust=False).fit(X[:100], Y[:100])
    fleet, keys = iegp.Fleet(template), np.where(np.arange(200) % 3, "a", "b")
    parts = [(0, 80), (80, 81), (81, 200)]
    runs = [fleet.learn(keys[a:b], X[100 + a : 100 + b], Y[100 + a : 100 + b], level=0.95) for a, b in parts]
    lower = np.concatenate([run.lower for run in runs])
    fleet.save(tmp_path / "fleet")
    again = iegp.Fleet.load(tmp_path / "fleet")
    for key in "ab":
        rows = 100 + np.flatnonzero(keys == key)
        single = copy.deepcopy(template)
        assert_allclose(lower[keys == key], single.prequential(X[rows], Y[rows]).lower, rtol=1e-8)
        track = again.online(key).conformal.track
        assert_allclose(track, single.model_.conformal.track, rtol=1e-9)
        assert_array_equal(track, fleet.online(key).conformal.track)
        assert_allclose(fleet.predict_interval(key, X[:2])[0], single.predict_interval(X[:2])[0], rtol=1e-8)


def test_late_labels_by_id_correct_the_answer_that_was_given():
    records = [{"id": f"r{i}", "a": X[i, 0], "b": X[i, 1], "y": Y[i]} for i in range(200)]
    late = []
    for i, record in enumerate(records):
        late.append({name: value for name, value in record.items() if name != "y" or i < 100})
        if i >= 105:
            late.append({"id": f"r{i - 5}", "y": records[i - 5]["y"]})
    parameters = {"conformal": "online", "conformal_levels": (0.95,)}
    job = job_of(parameters=parameters)
    absorb(job, late)
    track = model_bits(job)["conformal.track"]
    assert track[0, 0, conf.COUNT] == 194.0
    resumed = Job.from_parts(*job.to_parts(), by_key=Fleets())
    assert_array_equal(model_bits(resumed)["conformal.track"], track)
