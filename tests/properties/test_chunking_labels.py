"""Promise 2 for classes, grades and counts: however a stream is cut into calls, the same model, to 1e-8."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from contracts.models import (
    class_stream,
    count_stream,
    grade_stream,
    same_bits,
    small_classifier,
    small_counts,
    small_ordinal,
    state_bytes,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from iegp.kernels import RBF

N = 110  # the warm-up's milestones are 32 and 64 rows
BUILD = {
    "two classes": small_classifier,
    "three classes": small_classifier,
    "grades": small_ordinal,
    "counts": small_counts,
}
DATA = {
    "two classes": class_stream(N),
    "three classes": class_stream(N, 3),
    "grades": grade_stream(N),
    "counts": count_stream(N),
}
OPTIONS = {
    "stacking": {},
    "bayes": {"weights": "bayes", "shutdown": 1e-3},
    "switching, static": {"weights": "switching", "drift_var": 0.0},
    "nothing to fit": {"standardize": False, "prior_var": 2.0, "warmup": 0},
}
kinds = pytest.mark.parametrize("kind", BUILD)
options = pytest.mark.parametrize("option", OPTIONS)


def calls(kind: str, model: Any, start: int, stop: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments for these rows; a fresh classifier is told its classes."""
    rows = tuple(part[start:stop] for part in DATA[kind])
    fresh = kind.endswith("classes") and not hasattr(model, "classes_")
    return rows, {"classes": np.unique(DATA[kind][1])} if fresh else {}


def learn(kind: str, model: Any, cuts: list[int], method: str = "partial_fit") -> list[Any]:
    edges = [0, *cuts, N]
    results = []
    for start, stop in pairwise(edges):
        arguments, keywords = calls(kind, model, start, stop)
        results.append(getattr(model, method)(*arguments, **keywords))
    return results


def predicted(kind: str, model: Any) -> np.ndarray:
    x = DATA[kind][0]
    if kind == "counts":
        return np.stack(model.predict(x, DATA[kind][2], return_std=True, horizon=1), axis=1)
    return np.asarray(model.predict_proba(x, horizon=1))


@cache
def reference(kind: str, option: str) -> tuple[np.ndarray, np.ndarray, Any]:
    """Predictions and weights after ``fit``, and one run over all rows."""
    model = BUILD[kind](**OPTIONS[option]).fit(*DATA[kind])
    run = BUILD[kind](**OPTIONS[option]).prequential(*DATA[kind])
    return predicted(kind, model), model.expert_weights_, run


def assert_reference(kind: str, option: str, model: Any) -> None:
    wanted, weights, _ = reference(kind, option)
    np.testing.assert_allclose(predicted(kind, model), wanted, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.expert_weights_, weights, rtol=1e-8, atol=1e-12)
    assert model.n_samples_seen_ == N


def assert_same_run(runs: list[Any], wanted: Any) -> None:
    found = type(wanted).concatenate(runs)
    names = ("mean", "std", "log_score", "weights") if hasattr(wanted, "mean") else ("proba", "log_score", "weights")
    for name in names:
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-8, atol=1e-12, err_msg=name)


FIXED_CUTS = {
    "one by one": list(range(1, N)),
    "sevens": list(range(7, N, 7)),
    "around the milestones": [31, 33, 63, 65],
}


@kinds
@options
@pytest.mark.parametrize("cuts", FIXED_CUTS)
def test_partial_fit_in_chunks_is_fit(kind, option, cuts):
    model = BUILD[kind](**OPTIONS[option])
    learn(kind, model, FIXED_CUTS[cuts])
    assert_reference(kind, option, model)


@kinds
@options
@pytest.mark.parametrize("cuts", ["sevens", "around the milestones"])
def test_prequential_in_chunks_is_one_prequential_and_learns_what_fit_learns(kind, option, cuts):
    model = BUILD[kind](**OPTIONS[option])
    runs = learn(kind, model, FIXED_CUTS[cuts], "prequential")
    assert_reference(kind, option, model)
    assert_same_run(runs, reference(kind, option)[2])


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    st.sampled_from(sorted(BUILD)),
    st.sampled_from(sorted(OPTIONS)),
    st.lists(st.integers(1, N - 1), max_size=12, unique=True).map(sorted),
    st.sampled_from(["partial_fit", "prequential"]),
)
def test_any_chunking_is_one_call(kind, option, cuts, method):
    model = BUILD[kind](**OPTIONS[option])
    results = learn(kind, model, cuts, method)
    assert_reference(kind, option, model)
    if method == "prequential":
        assert_same_run(results, reference(kind, option)[2])


@kinds
def test_mixed_and_unchecked_calls_are_one_stream(kind):
    model = BUILD[kind]()
    for start, stop, method in ((0, 20, "prequential"), (20, 40, "partial_fit"), (40, 41, "prequential")):
        arguments, keywords = calls(kind, model, start, stop)
        getattr(model, method)(*arguments, **keywords)
    x, y, *rest = (np.ascontiguousarray(part[41:]) for part in DATA[kind])
    numbers = y if kind == "counts" else np.array([model.classes_.tolist().index(label) for label in y], dtype=float)
    model.partial_fit(x[:30], numbers[:30], *[part[:30] for part in rest], check_input=False)
    model.prequential(x[30:], numbers[30:], *[part[30:] for part in rest], check_input=False)
    assert_reference(kind, "stacking", model)


# -- what prequential shows is what predict would have said ------------------------------------------------------------


@pytest.mark.parametrize("kind", ["two classes", "three classes", "grades"])
@options
def test_probabilities_of_a_run_are_those_of_predict_just_before_each_row(kind, option):
    x, y = DATA[kind]
    run = reference(kind, option)[2]
    model = BUILD[kind](**OPTIONS[option])
    learn_first, keywords = calls(kind, model, 0, 1)
    model.partial_fit(*learn_first, **keywords)
    for t in range(1, N):
        proba = model.predict_proba(x[t : t + 1])[0]
        np.testing.assert_allclose(run.proba[t], proba, rtol=1e-8, atol=1e-12)
        of_label = proba[model.classes_.tolist().index(y[t])]
        np.testing.assert_allclose(run.log_score[t], np.log(of_label), rtol=1e-7, atol=1e-10)
        assert run.predicted[t] == model.predict(x[t : t + 1])[0]
        model.partial_fit(x[t : t + 1], y[t : t + 1])


@pytest.mark.parametrize("option", ["stacking", "switching, static", "nothing to fit"])
@pytest.mark.parametrize("overdispersion", ["evidence", 0.0])
def test_scores_of_a_run_of_counts_are_those_of_the_distribution_just_before_each_row(option, overdispersion):
    x, y, exposure = DATA["counts"]
    settings_of = {**OPTIONS[option], "overdispersion": overdispersion}
    run = small_counts(**settings_of).prequential(x, y, exposure, level=0.8)
    model = small_counts(**settings_of).partial_fit(x[:1], y[:1], exposure[:1])
    for t in range(1, N):
        row = slice(t, t + 1)
        dist = model.predict_dist(x[row], exposure[row])
        np.testing.assert_allclose(run.log_score[t], dist.logpmf(y[row])[0], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(run.mean[t], dist.mean[0], rtol=1e-8)
        np.testing.assert_allclose(run.std[t], dist.std[0], rtol=1e-8)
        assert (run.lower[t], run.upper[t]) == tuple(float(end[0]) for end in dist.interval(0.8))
        model.partial_fit(x[row], y[row], exposure[row])


@kinds
@pytest.mark.parametrize("n_jobs", [2, -1])
def test_n_jobs_gives_the_same_bits(kind, n_jobs):
    kernels = [RBF(0.5), RBF(1.0), RBF(2.0), RBF(3.0), RBF(4.0)]
    alone, together = (BUILD[kind](kernels=kernels, n_jobs=jobs) for jobs in (1, n_jobs))
    run, threaded = (model.prequential(*DATA[kind]) for model in (alone, together))
    names = ("mean", "std", "lower", "upper") if kind == "counts" else ("proba",)
    for name in (*names, "log_score", "weights"):
        assert same_bits(getattr(run, name), getattr(threaded, name)), name
    assert same_bits(predicted(kind, alone), predicted(kind, together))
    together.set_params(n_jobs=1)
    assert state_bytes(alone) == state_bytes(together)
