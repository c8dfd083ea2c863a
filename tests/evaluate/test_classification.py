"""Scores of classes: scikit-learn's where it has them, laws that hold for any labels, and messages for bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.calibration import calibration_curve

from iegp.errors import InputError
from iegp.evaluate.classification import (
    brier,
    error_rate,
    expected_calibration_error,
    log_loss,
    reliability,
    running_error,
)

NAMES = np.array(["sky", "grass", "path", "window", "cement"])
PROBABILITY_SCORES = [log_loss, brier, expected_calibration_error]


def case(n, k, seed):
    """Labels (n,), probabilities (n, k) and k classes, the names in an order that is not alphabetical."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(NAMES[:k])
    return rng.choice(classes, n), rng.dirichlet(np.ones(k), n), classes


cases = st.builds(case, st.integers(1, 60), st.integers(2, 5), st.integers(0, 10_000))


@pytest.mark.parametrize("k", [2, 5])
def test_scikit_learn_agrees(k):
    y, proba, classes = case(200, k, 0)
    predicted = classes[np.argmax(proba, axis=1)]
    order = np.argsort(classes)  # scikit-learn wants the columns in alphabetical order
    assert error_rate(y, predicted) == pytest.approx(metrics.zero_one_loss(y, predicted))
    expected = metrics.log_loss(y, proba[:, order], labels=classes[order])
    assert log_loss(y, proba, classes) == pytest.approx(expected, rel=1e-12)
    share, mean = calibration_curve(predicted == y, proba.max(axis=1), n_bins=7)
    groups = reliability(y, proba, classes, bins=7)
    np.testing.assert_allclose(groups.accuracy, share, rtol=1e-12)
    np.testing.assert_allclose(groups.confidence, mean, rtol=1e-12)


def test_brier_is_twice_the_form_with_one_probability():
    y, proba, classes = case(100, 2, 1)
    once = metrics.brier_score_loss(y == classes[1], proba[:, 1])
    assert brier(y, proba, classes) == pytest.approx(2 * once, rel=1e-12)


def test_brier_is_its_definition():
    y, proba, classes = case(50, 4, 2)
    truth = y[:, None] == classes
    assert brier(y, proba, classes) == pytest.approx(np.mean(np.sum((proba - truth) ** 2, axis=1)), rel=1e-12)


def test_running_error_is_the_error_rate_so_far():
    y, proba, classes = case(40, 3, 3)
    predicted = classes[np.argmax(proba, axis=1)]
    expected = [error_rate(y[:t], predicted[:t]) for t in range(1, 41)]
    np.testing.assert_allclose(running_error(y, predicted), expected, rtol=1e-15)


@given(cases, st.randoms(use_true_random=False))
def test_the_order_of_classes_and_their_names_do_not_matter(drawn, random):
    y, proba, classes = drawn
    order = np.array(random.sample(range(len(classes)), len(classes)))
    number = dict(zip(classes.tolist(), range(10, 10 + len(classes)), strict=True))
    for score in PROBABILITY_SCORES:
        plain = score(y, proba, classes)
        assert score(y, proba[:, order], classes[order]) == pytest.approx(plain, rel=1e-12)
        numbered = score([number[label] for label in y.tolist()], proba, [number[c] for c in classes.tolist()])
        assert numbered == plain


@given(cases)
def test_ranges_and_the_perfect_forecast(drawn):
    y, proba, classes = drawn
    assert 0.0 <= brier(y, proba, classes) <= 2.0
    assert 0.0 <= expected_calibration_error(y, proba, classes) <= 1.0
    groups = reliability(y, proba, classes)
    assert groups.rows.sum() == len(y)
    assert np.all(np.diff(groups.confidence) > 0)
    truth = (y[:, None] == classes).astype(float)
    assert [score(y, truth, classes) for score in PROBABILITY_SCORES] == [0.0, 0.0, 0.0]
    assert error_rate(y, y) == 0.0


@given(st.integers(1, 20), st.integers(2, 5), st.integers(0, 1000))
def test_equal_guesses_score_log_k(n, k, seed):
    y, _, classes = case(n, k, seed)
    equal = np.full((n, k), 1 / k)
    assert log_loss(y, equal, classes) == pytest.approx(math.log(k))
    assert brier(y, equal, classes) == pytest.approx(1 - 1 / k)


@given(cases)
def test_truthful_probabilities_are_the_best_in_expectation(drawn):
    """Proper: with labels drawn from q, no forecast scores better on average than q itself."""
    _, proba, classes = drawn
    q, other = proba[0], proba[-1]
    for score in (log_loss, brier):
        truthful, otherwise = (
            sum(w * score([c], [p], classes) for w, c in zip(q, classes, strict=True)) for p in (q, other)
        )
        assert truthful <= otherwise + 1e-12


def test_true_probabilities_are_calibrated_and_overconfident_ones_are_not():
    rng = np.random.default_rng(4)
    p = rng.uniform(size=20_000)
    y = (rng.uniform(size=20_000) < p).astype(int)
    proba = np.column_stack([1 - p, p])
    sharp = proba**3 / np.sum(proba**3, axis=1, keepdims=True)
    assert expected_calibration_error(y, proba, [0, 1]) < 0.02
    assert expected_calibration_error(y, sharp, [0, 1]) > 0.1


def test_an_edge_belongs_to_the_group_below_it():
    proba = [[0.75, 0.25], [0.5, 0.5], [1.0, 0.0]]
    groups = reliability([0, 0, 0], proba, [0, 1], bins=4)
    np.testing.assert_array_equal(groups.confidence, [0.5, 0.75, 1.0])
    np.testing.assert_array_equal(groups.accuracy, [1.0, 1.0, 1.0])


def test_a_true_class_of_probability_zero_has_an_infinite_loss():
    assert log_loss([0, 1], [[1.0, 0.0], [1.0, 0.0]], [0, 1]) == math.inf


@pytest.mark.parametrize("labels", [[True, False], [2.5, 1.5], [-1, 1], np.array(["b", "a"], dtype=object)])
def test_labels_of_any_type(labels):
    assert log_loss([labels[0], labels[1]], [[0.5, 0.5], [0.75, 0.25]], labels) == pytest.approx(1.0397, abs=1e-4)
    assert error_rate([labels[0], labels[1]], [labels[0], labels[0]]) == 0.5


def test_single_precision_probabilities_are_accepted():
    y, proba, classes = case(500, 5, 5)
    assert log_loss(y, proba.astype(np.float32), classes) == pytest.approx(log_loss(y, proba, classes), rel=1e-5)


HALF = [[0.5, 0.5]]


@pytest.mark.parametrize(
    ("score", "arguments", "message"),
    [
        (error_rate, ([1, 2], [[1], [2]]), r"\(2,\) but predicted has shape \(2, 1\)"),
        (running_error, ([], []), "at least one label"),
        (error_rate, (["1"], [1]), "y holds text and predicted does not"),
        (log_loss, (["c"], HALF, ["a", "b"]), r"y\[0\] is np.str_\('c'\), which is not among the 2 classes"),
        (log_loss, ([1], HALF, ["a", "b"]), "classes holds text and y does not"),
        (brier, ([1], HALF, [1, 1]), "holds np.int64\\(1\\) twice"),
        (brier, ([1], [0.5], [0, 1]), r"proba has shape \(1,\), but 1 rows and 2 classes need \(1, 2\)"),
        (brier, ([1], [[0.5, 0.4]], [0, 1]), r"proba\[0\] is \[0.5, 0.4\], no distribution"),
        (brier, ([1], [[-0.5, 1.5]], [0, 1]), "no distribution"),
        (brier, ([1], [[np.nan, 1.0]], [0, 1]), "no distribution"),
        (reliability, ([1], HALF, [0, 1], 0), "bins=0"),
        (expected_calibration_error, ([1], HALF, []), "classes has shape"),
    ],
)
def test_bad_input_is_refused(score, arguments, message):
    with pytest.raises(InputError, match=message):
        score(*arguments)
