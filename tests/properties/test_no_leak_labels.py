"""Promise 1 for classes, grades and counts: no label from row t on changes a prediction up to row t. To the bit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from contracts.models import (
    GRADES,
    class_stream,
    count_stream,
    grade_stream,
    small_classifier,
    small_counts,
    small_ordinal,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

N, WARMUP = 100, 48  # refits at 32 and 48 rows
CUTS = [10, 13, 40, 45, 70]  # blocks and handfuls of rows, in the warm-up and after it

WEIGHTS = {
    "bayes": {"weights": "bayes", "shutdown": 0.0},
    "shutdown": {"weights": "bayes", "shutdown": 1e-2},
    "switching": {"weights": "switching", "switch_prob": 0.05},
    "stacking": {"weights": "stacking"},
}
DRIFTS = {"static": 0.0, "both": (0.0, 1e-2)}
SMALL = {"n_frequencies": 6, "warmup": WARMUP}


class Stream:
    """A model's kind with its rows, its labels, and other labels that might have come instead."""

    def __init__(self, kind: str) -> None:
        self.kind, self.exposure = kind, None
        if kind == "counts":
            self.x, self.y, self.exposure = count_stream(N)
            self.possible = np.array([0.0, 3.0, 1000.0])
            self.shown = ("mean", "std", "lower", "upper", "weights")
            return
        self.shown = ("proba", "predicted", "weights")
        if kind == "grades":
            self.x, self.y = grade_stream(N)
            self.possible = np.array(GRADES)
        else:
            self.possible = np.array(["no", "yes"] if kind == "two classes" else ["blue", "green", "red", "white"])
            self.x, numbers = class_stream(N, len(self.possible))
            self.y = self.possible[numbers]

    def model(self, **options: Any) -> Any:
        build = {"counts": small_counts, "grades": small_ordinal}.get(self.kind, small_classifier)
        return build(**SMALL | options)

    def run(self, model: Any, y: np.ndarray, cuts: list[int]) -> dict[str, np.ndarray]:
        """What was predicted, row after row, with the calls cut here."""
        edges, pieces = [0, *cuts, N], []
        for start, stop in pairwise(edges):
            rows = slice(start, stop)
            if self.kind == "counts":
                pieces.append(model.prequential(self.x[rows], y[rows], self.exposure[rows], level=0.9))
            else:
                pieces.append(model.prequential(self.x[rows], y[rows], classes=self.possible))
        whole = type(pieces[0]).concatenate(pieces)
        return {name: getattr(whole, name) for name in (*self.shown, "log_score")}

    def futures(self, t: int) -> list[np.ndarray]:
        """The same labels up to row t, then otherwise: in another order, others, one only."""
        rng = np.random.default_rng(t)
        others = (
            rng.permutation(self.y[t:]),
            rng.choice(self.possible, size=N - t),
            np.full(N - t, self.possible[0]),
            np.full(N - t, self.possible[-1]),
        )
        return [np.concatenate([self.y[:t], other]) for other in others]


STREAMS = {kind: Stream(kind) for kind in ("two classes", "four classes", "grades", "counts")}


def assert_no_leak(before: dict[str, np.ndarray], after: dict[str, np.ndarray], t: int) -> None:
    for name in before:
        if name == "log_score":
            assert_array_equal(after[name][:t], before[name][:t], err_msg=name)
        else:
            assert_array_equal(after[name][: t + 1], before[name][: t + 1], err_msg=name)


def differs_later(before: dict[str, np.ndarray], after: dict[str, np.ndarray], t: int) -> bool:
    first = next(iter(before))
    return bool(np.any(after[first][t + 1 :] != before[first][t + 1 :]))


@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", STREAMS)
def test_no_leak_labels_from_row_t_on_do_not_change_predictions_up_to_row_t(kind, weights, drift):
    """In the first rows, at and after a refit, inside a block, and near the end."""
    stream, options = STREAMS[kind], {"drift_var": DRIFTS[drift], **WEIGHTS[weights]}
    before = stream.run(stream.model(**options), stream.y, CUTS)
    for t in (0, 11, 32, 49, 90):
        future = stream.futures(t)[t % 4]
        after = stream.run(stream.model(**options), future, CUTS)
        assert_no_leak(before, after, t)
        assert differs_later(before, after, t)


VARIANTS = {
    "probit": {"link": "probit"},
    "paper's integration": {"integration": "probit"},
    "draws": {"integration": "monte-carlo"},
    "nothing to fit": {"standardize": False, "prior_var": 2.0, "warmup": 0},
    "threads": {"n_jobs": 2},
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", STREAMS)
def test_no_leak_in_other_variants(kind, variant):
    stream, options = STREAMS[kind], dict(VARIANTS[variant])
    if kind == "counts" and variant in ("probit", "paper's integration"):
        options = {"overdispersion": 0.0} if variant == "probit" else {"overdispersion": 1.0}
    before = stream.run(stream.model(**options), stream.y, CUTS)
    for t, which in ((12, 1), (31, 2), (60, 3)):
        after = stream.run(stream.model(**options), stream.futures(t)[which], CUTS)
        assert_no_leak(before, after, t)
        assert differs_later(before, after, t)


any_calls = given(
    st.sampled_from(sorted(STREAMS)),
    st.sampled_from(sorted(WEIGHTS)),
    st.integers(0, N - 1),
    st.lists(st.integers(1, N - 1), max_size=4, unique=True).map(sorted),
    st.integers(0, 3),
)


@settings(max_examples=8, deadline=None, derandomize=True)
@any_calls
def test_no_leak_wherever_the_calls_are_cut(kind, weights, t, cuts, which):
    assert_no_leak_with_cuts(kind, weights, t, cuts, which)


@pytest.mark.slow
@settings(max_examples=50, deadline=None, derandomize=True)
@any_calls
def test_no_leak_wherever_the_calls_are_cut_with_more_examples(kind, weights, t, cuts, which):
    assert_no_leak_with_cuts(kind, weights, t, cuts, which)


def assert_no_leak_with_cuts(kind, weights, t, cuts, which):
    stream, options = STREAMS[kind], WEIGHTS[weights]
    before = stream.run(stream.model(**options), stream.y, cuts)
    assert_no_leak(before, stream.run(stream.model(**options), stream.futures(t)[which], cuts), t)


@pytest.mark.parametrize("kind", STREAMS)
def test_no_leak_of_the_labels_into_what_is_known_of_the_rows(kind):
    """Rows to come may not matter either, to 1e-9: which path a block takes may depend on all of its rows."""
    stream, t = STREAMS[kind], 55
    before = stream.run(stream.model(), stream.y, CUTS)
    kept = stream.x
    try:
        stream.x = kept.copy()
        stream.x[t + 1 :] = 10.0 * np.random.default_rng(1).normal(size=kept[t + 1 :].shape)
        after = stream.run(stream.model(), stream.y, CUTS)
    finally:
        stream.x = kept
    for name in before:
        if name != "predicted":
            np.testing.assert_allclose(after[name][: t + 1], before[name][: t + 1], rtol=1e-9, atol=1e-12)
    assert differs_later(before, after, t)


@pytest.mark.parametrize("kind", ["two classes", "four classes", "grades"])
def test_the_set_of_labels_is_the_one_thing_known_ahead(kind):
    """Without ``classes`` a fresh model takes them from all of y: the same predictions as with them."""
    stream = STREAMS[kind]
    with_classes = stream.model().prequential(stream.x, stream.y, classes=stream.possible)
    without = stream.model().prequential(stream.x, stream.y)
    assert_array_equal(without.proba, with_classes.proba)
    assert_array_equal(without.classes, with_classes.classes)
