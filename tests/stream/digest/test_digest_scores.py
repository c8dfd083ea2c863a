"""A digest's scores are those of the full arrays, and its naive forecasts those of an obvious loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from stream_runs.digest_streams import CLASSES, answers, classes, digested, numbers, part

from iegp.evaluate.classification import error_rate, reliability
from iegp.evaluate.metrics import coverage, nmse, pit_histogram
from iegp.evaluate.naive import running_count_mean, running_frequencies
from iegp.stream.digest import Digest

N = 700


def student_loop(y):
    """Log density of each label from the third on, under the labels before it: their t distribution."""
    scores = []
    for t in range(2, len(y)):
        before = y[:t]
        scale = before.std(ddof=1) * np.sqrt(1 + 1 / t)
        scores.append(stats.t.logpdf(y[t], df=t - 1, loc=before.mean(), scale=scale))
    return np.array(scores)


def test_numbers_score_like_the_full_arrays():
    made = answers("regression", N)
    results, scored = digested("regression", made).results(), slice(2, None)
    y = made.label[scored]
    assert results.n_rows == results.n_labelled == N
    assert results.n_scored == N - 2
    assert_allclose(results.loss.model, nmse(y, made.number("mean")[scored]))
    assert_allclose(results.log_score.model, made.number("log_score")[scored].mean())
    assert_allclose(results.coverage, coverage(y, made.number("lower")[scored], made.number("upper")[scored]))
    assert_allclose(results.pit / results.pit.sum() * 20, pit_histogram(made.number("pit")[scored], bins=20))


def test_naive_numbers_are_an_obvious_loop():
    y = answers("regression", N).label
    score = digested("regression", answers("regression", N)).results()
    so_far = np.array([y[:t].mean() for t in range(2, N)])
    assert_allclose(score.loss.naive, nmse(y[2:], so_far))
    assert_allclose(score.loss.last, nmse(y[2:], y[1:-1]))
    assert_allclose(score.log_score.naive, student_loop(y).mean())


def test_counts_and_their_naive_forecast():
    made = answers("count", N)
    results, naive = digested("count", made).results(), running_count_mean(made.label)
    assert results.n_scored == N - 1
    assert_allclose(results.loss.model, nmse(made.label[1:], made.number("mean")[1:]))
    assert_allclose(results.log_score.model, made.number("log_score")[1:].mean())
    assert_allclose(results.log_score.naive, naive.log_score.mean())
    assert_allclose(results.pit.sum(), N - 1)


def test_counts_drawn_from_the_prediction_are_calibrated():
    rng = np.random.default_rng(3)
    n, mean, size = 20_000, 1.7, 2.0
    y = rng.negative_binomial(size, size / (size + mean), n).astype(np.float64)
    std = np.full(n, np.sqrt(mean + mean**2 / size))
    flat = np.full(n, mean)
    results = digested("count", numbers(np.arange(n), y, np.zeros(n), flat, std, flat - 1, flat + 1)).results()
    assert_allclose(results.pit / results.pit.sum(), 1 / 20, rtol=0.05)
    assert_allclose(results.inside, results.levels, atol=0.015)


def test_classes_score_like_the_full_arrays():
    made = answers("classification", N)
    results = digested("classification", made).results()
    predicted = np.array(CLASSES)[made.predictions.proba.argmax(axis=1)]
    labels = made.label.astype(str)
    assert results.n_scored == N
    assert_allclose(results.loss.model, error_rate(labels, predicted))
    assert_allclose(results.log_score.model, made.number("log_score").mean())
    naive = running_frequencies(labels, np.array(CLASSES))
    index = np.array([CLASSES.index(label) for label in labels])
    assert_allclose(results.log_score.naive, np.log(naive[np.arange(N), index]).mean())
    assert_allclose(results.loss.naive, np.mean(naive.argmax(axis=1) != index))
    assert_allclose(results.loss.last, (1 + np.sum(labels[1:] != labels[:-1])) / N)
    groups, kept = reliability(labels, made.predictions.proba, np.array(CLASSES)), results.reliability
    kept = kept[kept[:, 0] > 0]
    assert_allclose(kept.T, [groups.rows, groups.confidence, groups.accuracy])
    crossed = [[np.sum((labels == a) & (predicted == b)) for b in CLASSES] for a in CLASSES]
    assert_array_equal(results.confusion, crossed)


def test_without_pit_the_normal_distribution_stands_in():
    made = answers("regression", N)
    z = ((made.label - made.number("mean")) / made.number("std"))[2:]
    bare = replace(made, predictions=made.predictions._replace(pit=np.empty((0, 1))))
    results = digested("regression", bare).results()
    assert_allclose(results.pit, np.histogram(stats.norm.cdf(z), bins=20, range=(0, 1))[0])
    within = [np.mean(np.abs(2 * stats.norm.cdf(z) - 1) <= level) for level in results.levels]
    assert_allclose(results.inside, within)


@pytest.mark.parametrize("n", [700, 5000])
def test_curves_end_at_the_score_and_windows_add_up(n):
    results = digested("regression", answers("regression", n)).results()
    assert_allclose(results.curves.so_far("loss", "n")[-1] / results.loss_scale, results.loss.model)
    starts, means, rows = results.curves.recent("loss", "n", 40)
    assert len(starts) <= 40
    assert_allclose(np.average(means, weights=rows) / results.loss_scale, results.loss.model)


def test_scores_survive_a_scale_of_1e12_and_an_offset():
    made = answers("regression", N)
    large = numbers(
        made.row,
        *(1e12 + 1e3 * made.label, made.number("log_score")),
        *(1e12 + 1e3 * made.number("mean"), 1e3 * made.number("std")),
        *(1e12 + 1e3 * end for end in (made.number("lower"), made.number("upper"))),
    )
    small, large = (digested("regression", run).results() for run in (made, large))
    assert_allclose(large.loss, small.loss, rtol=1e-6)
    assert_allclose(large.coverage, small.coverage)


def test_a_constant_target_has_no_nmse_and_nothing_to_compare():
    n, one = 300, np.ones(300)
    results = digested("regression", numbers(np.arange(n), 7 * one, one, 7 * one, one, 6 * one, 8 * one)).results()
    assert np.isnan(results.loss.model)
    assert np.isnan(results.log_score.model)
    assert results.coverage == 1.0


def test_log_scores_are_compared_from_where_labels_first_differ():
    made = answers("regression", 400)
    made.label[:150] = 3.0
    results = digested("regression", made).results()
    # Row 150 is the first to differ: from row 151 on there is a spread to forecast with.
    assert results.curves.sums["n_log"].sum() == 400 - 151
    assert_allclose(results.log_score.model, made.number("log_score")[151:].mean())


def test_classes_beyond_fifty_are_counted_together():
    n, names = 400, tuple(f"class {i}" for i in range(60))
    rng = np.random.default_rng(0)
    index, proba = rng.integers(60, size=n), rng.dirichlet(np.ones(60), n)
    labels = np.array([names[i] for i in index], dtype=object)
    run = classes(np.arange(n), labels, np.log(proba[np.arange(n), index]), proba=proba, classes=names)
    results = digested("classification", run).results()
    assert results.n_classes == 51
    assert len(results.classes) == 50
    assert results.confusion.sum() == n
    assert results.confusion[50].sum() == np.sum(index >= 50)
    assert_allclose(results.strip.values.sum(axis=1), 1.0)


def test_classes_may_appear_during_the_run():
    digest = Digest("classification")
    first = classes(
        np.arange(2), np.array(["a", "a"], dtype=object), np.zeros(2), proba=np.ones((2, 1)), classes=("a",)
    )
    half = np.full((2, 2), 0.5)
    then = classes(
        np.arange(2, 4), np.array(["b", None], dtype=object), np.log([0.5, 1]), proba=half, classes=("a", "b")
    )
    digest.add(first)
    digest.add(then)
    results = digest.results()
    assert results.classes == ("a", "b")
    assert results.n_labelled == 3
    assert_array_equal(results.strip.values, [[1, 0], [1, 0], [0.5, 0.5], [0.5, 0.5]])


def test_a_row_before_any_class_is_known_is_a_mistake_that_had_no_chance():
    digest = Digest("classification")
    first = classes(np.arange(1), np.array(["a"], dtype=object), np.array([np.nan]), proba=np.zeros((1, 0)), classes=())
    digest.add(first)
    sure = classes(
        np.arange(1, 3), np.array(["a", "a"], dtype=object), np.zeros(2), proba=np.ones((2, 1)), classes=("a",)
    )
    digest.add(sure)
    results = digest.results()
    assert_allclose(results.loss.model, 1 / 3)
    assert results.log_score.model == 0.0
    assert_array_equal(results.strip.values, [[0], [1], [1]])
    restored = Digest.restore(digest.config(), digest.arrays())
    assert restored.results().loss == results.loss


@pytest.mark.parametrize("task", ["regression", "count"])
def test_rows_predicted_before_anything_was_known_are_not_scored(task):
    made = answers(task, 300)
    for name in ("mean", "std", "lower", "upper", "log_score"):
        made.number(name)[:10] = np.nan
    results = digested(task, made).results()
    assert results.n_scored == 290
    assert_allclose(results.loss.model, nmse(made.label[10:], made.number("mean")[10:]))
    assert_allclose(results.pit.sum(), 290)


def test_a_late_label_is_scored_and_shown_but_its_row_not_counted_again():
    made = answers("regression", 300, unlabelled=0.3)
    full = answers("regression", 300)
    late = np.isnan(made.label)
    digest = digested("regression", made)
    digest.add(part(full, late), late=True)
    results = digest.results()
    assert results.n_rows == results.n_labelled == 300
    assert_array_equal(results.predictions.columns["label"], full.label)
    assert results.n_scored == 298
