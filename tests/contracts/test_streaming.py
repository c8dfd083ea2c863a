"""The streaming contract: chunks, order, purity, threads, randomness, memory."""

from __future__ import annotations

import copy
import hashlib
import itertools
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from contracts.models import same_bits, small, state_bytes, stream
from hypothesis import example, given, settings
from hypothesis import strategies as st

from iegp import IEGPRegressor
from iegp.evaluate.runs import PrequentialRun
from iegp.kernels import RBF, Laplace, Matern

TESTS = str(Path(__file__).parents[1])
N = 150

VARIANTS = {
    "stacking": {},
    "bayes": {"weights": "bayes", "shutdown": 1e-3},
    "switching": {"weights": "switching", "switch_prob": 0.05},
    "fitted scales": {"kernels": [RBF("evidence"), Matern("per-dimension"), Laplace("dimension", stretch=4.0)]},
    "no warm-up": {"warmup": 0, "standardize": False, "prior_var": 2.0, "noise_var": 0.05},
    "odd warm-up": {"warmup": 41},
    "tiny warm-up": {"warmup": 3},
    "one-row warm-up": {"warmup": 1},
    "heavy tails": {"noise_forgetting": (None, (0.8, 4.0), (0.96, 20.0))},
    "exact noise": {"noise_forgetting": 1.0, "drift_var": 0.0},
}


def close(a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


def pieces(cuts: list[int], n: int) -> list[slice]:
    edges = [0, *sorted(set(cuts) - {0, n}), n]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def assert_same_model(model: IEGPRegressor, reference: IEGPRegressor) -> None:
    probe = stream(20, seed=9)[0]
    for mine, theirs in zip(*(own.predict(probe, True, horizon=1) for own in (model, reference)), strict=True):
        close(mine, theirs)
    close(model.expert_weights_, reference.expert_weights_)
    assert model.n_samples_seen_ == reference.n_samples_seen_


@pytest.fixture(scope="module")
def references() -> dict[str, IEGPRegressor]:
    X, y = stream(N)
    return {name: small(**variant).fit(X, y) for name, variant in VARIANTS.items()}


# -- chunks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS)
@settings(max_examples=8, deadline=None)
@given(cuts=st.lists(st.integers(1, N - 1), max_size=30))
@example(cuts=list(range(1, N)))
@example(cuts=[])
@example(cuts=[1, 2, 3, 4, 31, 32, 33, 63, 64, 65, 66])
@example(cuts=[30, 40, 70])
def test_partial_fit_in_any_chunks_is_fit(references, name, cuts):
    X, y = stream(N)
    model = small(**VARIANTS[name])
    for piece in pieces(cuts, N):
        assert model.partial_fit(X[piece], y[piece]) is model
    assert_same_model(model, references[name])


@settings(max_examples=10, deadline=None)
@given(cuts=st.lists(st.integers(1, N - 1), max_size=12))
@example(cuts=[1, 6, 12, 31, 32, 33, 64, 71])
def test_prequential_in_chunks_is_one_prequential(cuts):
    X, y = stream(N)
    whole = small().prequential(X, y)
    model = small()
    runs = [model.prequential(X[piece], y[piece]) for piece in pieces(cuts, N)]
    for field in ("mean", "std", "lower", "upper", "log_score", "weights", "y"):
        close(np.concatenate([getattr(run, field) for run in runs]), getattr(whole, field))


@pytest.mark.parametrize("name", VARIANTS)
def test_prequential_then_predict_is_fit_then_predict(references, name):
    X, y = stream(N)
    model = small(**VARIANTS[name])
    model.prequential(X, y)
    assert_same_model(model, references[name])


def test_mixed_calls_are_one_stream(references):
    X, y = stream(N)
    model = small()
    model.prequential(X[:50], y[:50])
    model.partial_fit(X[50:51], y[50:51])
    model.predict(X)
    model.prequential(X[51:], y[51:])
    assert_same_model(model, references["stacking"])


def test_unchecked_calls_are_checked_calls(references):
    X, y = stream(N)
    model = small().partial_fit(X[:10], y[:10])
    model.partial_fit(X[10:90], y[10:90], check_input=False)
    model.prequential(X[90:], y[90:], check_input=False)
    assert_same_model(model, references["stacking"])
    assert same_bits(model.predict(X, check_input=False), model.predict(X))


def test_two_outputs_in_chunks():
    X, y = stream(N)
    Y = np.stack([y, 5 - 3 * y**2], axis=1)
    model = small().partial_fit(X[:33], Y[:33]).partial_fit(X[33:], Y[33:])
    assert_same_model(model, small().fit(X, Y))
    assert model.predict(X).shape == (N, 2)


def test_prequential_predicts_what_predict_would_have():
    """Each row of a run is the one-step-ahead prediction of a model that has seen exactly the rows before it."""
    X, y = stream(100)
    run = small().prequential(X, y)
    for t in (1, 2, 5, 31, 32, 50, 64, 99):
        dist = small().fit(X[:t], y[:t]).predict_dist(X[t : t + 1], horizon=1)
        close(run.mean[t], dist.mean[0])
        close(run.std[t], dist.std[0])
        close(run.log_score[t], dist.logpdf(y[t : t + 1])[0])
        close([run.lower[t], run.upper[t]], np.ravel(dist.interval(0.95)))


def test_prequential_does_not_look_ahead():
    X, y = stream(N)
    run = small().prequential(X, y)
    for t in (0, 3, 31, 32, 63, 64, 100):
        other = y.copy()
        other[t:] = 50 - 3 * other[t:][::-1]
        altered = small().prequential(X, other)
        for field in ("mean", "std", "lower", "upper", "weights"):
            assert same_bits(getattr(run, field)[: t + 1], getattr(altered, field)[: t + 1]), (field, t)
        assert not np.allclose(run.mean[t + 1 :], altered.mean[t + 1 :])


def test_a_run_has_an_entry_per_row_and_describes_itself():
    X, y = stream(N)
    run = small().prequential(X, y)
    assert len(run) == N
    assert run.mean.shape == run.std.shape == run.lower.shape == run.upper.shape == run.log_score.shape == (N,)
    assert run.weights.shape == (N, 8)
    close(run.weights.sum(axis=1), np.ones(N))
    assert np.all(run.lower < run.upper)
    assert "150 rows" in repr(run)


@pytest.mark.parametrize("fresh", [True, False])
def test_a_run_sums_itself_up_without_the_row_that_nothing_was_known_about(fresh):
    X, y = stream(2 * N)
    model = small()
    if not fresh:
        model.fit(X[N:], y[N:])
    run, rows = model.prequential(X[:N], y[:N]), slice(1 if fresh else 0, N)
    truth, mean = y[rows], run.mean[rows]
    assert run.coverage == pytest.approx(np.mean((run.lower[rows] <= truth) & (truth <= run.upper[rows])))
    assert run.pnll == pytest.approx(-run.log_score[rows].mean())
    assert run.nmse == pytest.approx(np.mean((truth - mean) ** 2) / np.var(truth))


def test_a_live_loop_row_by_row_is_one_run():
    X, y = stream(30)
    model = small()
    pieces = [model.prequential(X[t : t + 1], y[t : t + 1]) for t in range(30)]
    assert "before anything was known" in repr(pieces[0])
    assert "inf" not in repr(pieces[20])
    whole, joined = small().prequential(X, y), PrequentialRun.concatenate(pieces)
    close(joined.mean, whole.mean)
    assert joined.nmse == pytest.approx(whole.nmse)


def test_the_level_of_the_interval_can_be_chosen():
    X, y = stream(N)
    wide, narrow = small().prequential(X, y), small().prequential(X, y, level=0.5)
    assert np.all((narrow.lower > wide.lower) & (narrow.upper < wide.upper))
    assert "50 % coverage" in repr(narrow)
    for level in (0, 1, 95, "wide", None):
        with pytest.raises(ValueError, match="level"):
            small().prequential(X, y, level=level)


# -- forgetting, purity, threads -------------------------------------------------------------------------------------


def test_fit_forgets():
    X, y = stream(N)
    model = small().fit(100 * X[:, :2] - 3, 1e4 * y)
    model.fit(X, y)
    assert state_bytes(model) == state_bytes(small().fit(X, y))


def test_warm_up_forgets():
    X, y = stream(N)
    model = small().fit(100 * X - 3, 1e4 * y).warm_up(X[:50], y[:50])
    assert state_bytes(model) == state_bytes(small().warm_up(X[:50], y[:50]))


@pytest.mark.parametrize("n_seen", [1, 20, 64, N])
def test_looking_changes_nothing(n_seen):
    X, y = stream(N)
    model = small().fit(X[:n_seen], y[:n_seen])
    before = state_bytes(model)
    inputs = X.copy(), y.copy()
    for rows in (X[:1], X[:6], X):
        model.predict(rows, return_std=True)
        dist = model.predict_dist(rows)
        dist.interval(0.9), dist.crps(0.0), dist.sample(3, 0)
    _ = repr(model.experts_), model.expert_weights_, model.score(X, y)
    assert state_bytes(model) == before
    assert same_bits(X, inputs[0])
    assert same_bits(y, inputs[1])


def test_what_is_shown_is_a_copy():
    """Writing into weights, frequencies or a prediction does not reach the model."""
    X, y = stream(N)
    model = small().fit(X, y)
    before = state_bytes(model)
    model.expert_weights_[:] = 7.0
    model.experts_[0].frequencies[:] = 7.0
    model.predict(X)[:] = 7.0
    dist = model.predict_dist(X)
    for array in (dist.weights, dist.loc, dist.scale, dist.dof):
        if array.flags.writeable:
            array[:] = 0.5
    assert state_bytes(model) == before


@pytest.mark.parametrize("n_rows", [1, 4, 40, 100])
def test_learning_leaves_the_callers_arrays_alone_and_keeps_no_alias(n_rows):
    X, y = stream(N)
    X, y = X[:n_rows].copy(), y[:n_rows].copy()
    inputs = X.copy(), y.copy()
    model = small().fit(X, y)
    run = small().prequential(X, y)
    assert same_bits(X, inputs[0])
    assert same_bits(y, inputs[1])
    before = state_bytes(model)
    X[:], y[:] = np.nan, np.nan
    assert state_bytes(model) == before
    assert np.isfinite(run.y).all(), "the run shares memory with the caller's y"


def test_learning_does_not_change_what_was_returned_before():
    X, y = stream(N)
    model = small()
    run = model.prequential(X[:100], y[:100])
    dist, weights, table = model.predict_dist(X[:3]), model.expert_weights_, model.experts_
    kept = run.weights.copy(), dist.mean.copy(), dist.std.copy(), weights.copy(), table[0].weight
    for t in range(100, N):
        model.partial_fit(X[t : t + 1], y[t : t + 1])
    now = run.weights, dist.mean, dist.std, weights, table[0].weight
    assert all(same_bits(np.asarray(a), np.asarray(b)) for a, b in zip(kept, now, strict=True))


def test_many_threads_may_predict_at_once():
    X, y = stream(600)
    model = small().fit(X, y)
    jobs = [X[i : i + size] for i, size in enumerate([1, 5, 7, 300, 600] * 8)]
    serial = [model.predict(rows, return_std=True) for rows in jobs]
    with ThreadPoolExecutor(6) as pool:
        threaded = list(pool.map(lambda rows: model.predict(rows, return_std=True), jobs))
    for mine, theirs in zip(threaded, serial, strict=True):
        assert same_bits(mine[0], theirs[0])
        assert same_bits(mine[1], theirs[1])


def test_models_may_learn_in_threads_at_once():
    X, y = stream(300)
    serial = state_bytes(small().fit(X, y))
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: state_bytes(small().fit(X, y)), range(8))) == {serial}


@pytest.mark.parametrize("n_jobs", [2, 5, -1])
def test_n_jobs_gives_the_same_bits(n_jobs):
    X, y = stream(400)
    kernels = [RBF(1.0), RBF(3.0), Matern(2.0), Laplace(4.0)]
    run = small(kernels=kernels, n_jobs=1).prequential(X, y)
    threaded = small(kernels=kernels, n_jobs=n_jobs).prequential(X, y)
    for field in ("mean", "std", "lower", "upper", "log_score", "weights"):
        assert same_bits(getattr(run, field), getattr(threaded, field)), field


# -- randomness ------------------------------------------------------------------------------------------------------


def test_same_seed_same_bits_other_seed_other_model():
    X, y = stream(N)
    assert state_bytes(small(random_state=1).fit(X, y)) == state_bytes(small(random_state=1).fit(X, y))
    first, second = (small(random_state=seed).fit(X, y).predict(X) for seed in (1, 2))
    assert not np.allclose(first, second, rtol=1e-6)


def test_no_seed_means_another_model_each_time():
    X, y = stream(N)
    first, second = (small(random_state=None).fit(X, y).predict(X) for _ in range(2))
    assert not np.allclose(first, second, rtol=1e-6)


def test_random_state_objects_are_accepted():
    X, y = stream(N)
    first, second = (small(random_state=np.random.RandomState(3)).fit(X, y).predict(X) for _ in range(2))
    assert same_bits(first, second)
    assert same_bits(small(random_state=np.int64(5)).fit(X, y).predict(X), small(random_state=5).fit(X, y).predict(X))


@pytest.mark.parametrize("features", ["random", "orthogonal"])
def test_nothing_is_drawn_from_the_global_generator(features):
    X, y = stream(N)
    before = repr(np.random.get_state())  # noqa: NPY002
    model = small(features=features).fit(X, y).partial_fit(X, y)
    model.predict(X)
    model.prequential(X, y)
    model.predict_dist(X).sample(2, 0)
    assert repr(np.random.get_state()) == before  # noqa: NPY002


def test_without_a_seed_nothing_is_drawn_after_the_first_row():
    """Two continuations of one model, with the global generator set differently, stay the same."""
    X, y = stream(N)
    model = small(random_state=None).partial_fit(X[:1], y[:1])
    twin = small(random_state=None)
    twin.__dict__.update(copy.deepcopy(model.__dict__))
    before = repr(np.random.get_state())  # noqa: NPY002
    model.partial_fit(X[1:], y[1:])
    assert repr(np.random.get_state()) == before  # noqa: NPY002
    twin.partial_fit(X[1:], y[1:])
    assert state_bytes(model) == state_bytes(twin)


ELSEWHERE = """
import hashlib
from contracts.models import small, state_bytes, stream
X, y = stream(150)
model = small()
run = model.prequential(X, y)
print(hashlib.sha256(state_bytes(model) + run.mean.tobytes() + run.upper.tobytes()).hexdigest())
"""


def in_another_process(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env=os.environ | {"PYTHONPATH": TESTS} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_another_process_gives_the_same_bits():
    X, y = stream(150)
    model = small()
    run = model.prequential(X, y)
    here = hashlib.sha256(state_bytes(model) + run.mean.tobytes() + run.upper.tobytes()).hexdigest()
    assert in_another_process(ELSEWHERE, PYTHONHASHSEED="123") == here


# -- memory ----------------------------------------------------------------------------------------------------------

MEMORY = """
import sys
import numpy as np
from contracts.models import small
try:
    import psutil
    resident = lambda: psutil.Process().memory_info().rss
except ImportError:
    import resource
    resident = lambda: int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
rng = np.random.default_rng(0)
model, seen, marks = small(), 0, [int(mark) for mark in sys.argv[1:]]
for mark in marks:
    while seen < mark:
        X = rng.normal(size=(1000, 20))
        model.partial_fit(X, X[:, 0]) if seen % 2000 else model.prequential(X, X[:, 0])
        seen += 1000
    print(resident())
"""


def resident_memory(*marks: int) -> list[int]:
    script = f"import sys; sys.argv[1:] = {[str(mark) for mark in marks]}\n{MEMORY}"
    return [int(line) for line in in_another_process(script, OPENBLAS_NUM_THREADS="1").split()]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc or psutil")
def test_memory_is_flat():
    """Keeping the rows of 20,000..60,000 would take 6.7 MB."""
    early, late = resident_memory(20_000, 60_000)
    assert late - early < 3e6


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc or psutil")
def test_memory_is_flat_over_a_million_rows():
    early, late = resident_memory(20_000, 1_000_000)
    assert late - early < 5e6


def test_the_stored_model_does_not_grow():
    X, y = stream(2000)
    model = small().partial_fit(X[:64], y[:64])
    size = len(state_bytes(model))
    model.partial_fit(X[64:], y[64:])
    assert abs(len(state_bytes(model)) - size) <= 16  # digits of the row count


def test_the_warm_up_rows_are_let_go():
    X, y = stream(65)
    model = small().fit(X[:63], y[:63])
    warming = len(state_bytes(model))
    model.partial_fit(X[63:64], y[63:64])
    assert warming - len(state_bytes(model)) >= 63 * 4 * 8 - 64
