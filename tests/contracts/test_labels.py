"""Labels of any kind go in and come out as they were; what cannot be a label is named, and the model is as before."""

from __future__ import annotations

import copy
import re
from functools import cache

import numpy as np
import pytest
from contracts.models import (
    GRADES,
    class_stream,
    count_stream,
    grade_stream,
    same_bits,
    small_classifier,
    small_counts,
    small_ordinal,
    state_bytes,
)
from sklearn.base import clone

from iegp.errors import InputError

X, NUMBERS = class_stream(80)
X3, NUMBERS3 = class_stream(80, 3)
LEARN = ("fit", "partial_fit", "prequential", "warm_up")


def objects(*values: object) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# Models that a test must find, and leave, as they are.
fitted_to_numbers = cache(lambda kind: (kind(order=None) if kind is small_ordinal else kind()).fit(X, NUMBERS))
fitted_counts = cache(lambda: small_counts().fit(COUNT_X, COUNTS, EXPOSURE))


@cache
def fitted_to_known_labels(name: str, n_seen: int):
    kind, labels, _, _ = UNKNOWN[name]
    return kind().fit(X[:n_seen], labels[:n_seen])


@cache
def fitted_kind(name: str):
    kind, labels = KINDS[name]
    return kind().fit(X, labels)


def replaced(array: np.ndarray, where: object, value: object) -> np.ndarray:
    """A copy with one entry changed; as objects where the type would not take it."""
    try:
        changed = array.copy()
        changed[where] = value
        if changed[where] == value or value != value:
            return changed
    except (TypeError, ValueError):
        pass
    changed = array.astype(object)
    changed[where] = value
    return changed


# -- labels of any type ------------------------------------------------------------------------------------------------

# Three labels each, in the order in which they sort.
ALPHABETS = {
    "text": np.array(["a", "bb", "ccc"]),
    "upper before lower": np.array(["Z", "a", "ä"]),
    "NumPy text": np.array([np.str_("x"), np.str_("y"), np.str_("z")]),
    "text objects": objects("no", "perhaps", "yes"),
    "text of digits": np.array(["1", "10", "2"]),
    "integers": np.array([0, 1, 2]),
    "distant integers": np.array([-7, 3, 2**40]),
    "negative integers": np.array([-3, -2, -1]),
    "small unsigned": np.array([0, 7, 255], dtype=np.uint8),
    "whole floats": np.array([-1.0, 0.0, 4.0]),
    "single floats": np.array([0.0, 1.0, 2.0], dtype=np.float32),
    "empty text among them": np.array(["", "a", "b"]),
}
alphabets = pytest.mark.parametrize("name", ALPHABETS)


@cache
def proba_of_numbers(kind) -> np.ndarray:
    options = {"order": None} if kind is small_ordinal else {}
    return kind(**options).fit(X3, NUMBERS3).predict_proba(X3)


@pytest.mark.parametrize("kind", [small_classifier, small_ordinal], ids=["classes", "grades"])
@alphabets
def test_labels_come_back_as_they_went_in(name, kind):
    alphabet = ALPHABETS[name]
    options = {"order": None} if kind is small_ordinal else {}
    model = kind(**options).fit(X3, alphabet[NUMBERS3])
    assert model.classes_.tolist() == alphabet.tolist()
    assert model.classes_.dtype == alphabet.dtype
    proba, predicted = model.predict_proba(X3), model.predict(X3)
    assert predicted.dtype == alphabet.dtype
    assert same_bits(proba, proba_of_numbers(kind))
    assert predicted.tolist() == alphabet[proba.argmax(axis=1)].tolist()
    run = model.prequential(X3, alphabet[NUMBERS3])
    assert run.predicted.dtype == run.y.dtype == run.classes.dtype == alphabet.dtype
    assert run.y.tolist() == alphabet[NUMBERS3].tolist()


def test_two_booleans():
    model = small_classifier().fit(X, NUMBERS == 1)
    assert model.classes_.dtype == bool
    assert model.predict(X).dtype == bool
    assert same_bits(model.predict_proba(X), small_classifier().fit(X, NUMBERS).predict_proba(X))
    assert model.score(X, NUMBERS == 1) > 0.65


def test_plain_lists_of_labels():
    words = [["no", "yes"][number] for number in NUMBERS]
    model = small_classifier().fit(X.tolist(), words)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.partial_fit(X.tolist(), words).n_samples_seen_ == 160


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float64, np.uint64])
def test_equal_numbers_of_another_type_are_the_same_labels(dtype):
    model, twin = (copy.deepcopy(fitted_to_numbers(small_classifier)) for _ in range(2))
    assert state_bytes(model.partial_fit(X, NUMBERS.astype(dtype))) == state_bytes(twin.partial_fit(X, NUMBERS))


def test_text_and_objects_of_text_are_the_same_labels():
    words = np.array(["no", "yes"])[NUMBERS]
    expected = small_classifier().fit(X, words).partial_fit(X, words).predict_proba(X)
    for first, second in ((words, words.astype(object)), (words.astype(object), words)):
        assert same_bits(small_classifier().fit(X, first).partial_fit(X, second).predict_proba(X), expected)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_probabilities_are_probabilities(n_classes):
    rows, numbers = class_stream(150, n_classes)
    model = small_classifier().fit(rows, numbers)
    for n in (1, 6, 150):
        proba = model.predict_proba(rows[:n])
        assert proba.shape == (n, n_classes)
        assert proba.min() > 0.0
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_array_equal(model.predict_log_proba(rows[:n]), np.log(proba))


def test_a_column_belongs_to_its_class():
    """Where only one class ever is, its column is the largest."""
    rows = np.repeat(np.array([[-2.0], [0.0], [2.0]]), 60, axis=0)[np.random.default_rng(0).permutation(180)]
    words = np.array(["left", "centre", "right"])[(rows[:, 0] / 2 + 1).astype(int)]
    model = small_classifier().fit(rows, words)
    assert model.classes_.tolist() == ["centre", "left", "right"]
    where = np.array([[0.0], [-2.0], [2.0]])
    np.testing.assert_array_less(0.7, np.diagonal(model.predict_proba(where)))
    assert model.predict(where).tolist() == ["centre", "left", "right"]
    ordinal = small_ordinal(order=["left", "centre", "right"]).fit(rows, words)
    np.testing.assert_array_less(0.7, np.diagonal(ordinal.predict_proba(np.sort(where, axis=0))))


# -- declared classes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["partial_fit", "prequential", "warm_up"])
def test_classes_may_be_declared_before_they_are_seen(method):
    model = small_classifier()
    getattr(model, method)(X[:5], ["b"] * 5, classes=["c", "a", "b"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    proba = model.predict_proba(X[:4])
    assert proba.shape == (4, 3)
    assert (proba.argmax(axis=1) == 1).all()
    assert (proba > 0.0).all()
    np.testing.assert_allclose(proba[:, 0], proba[:, 2], rtol=1e-9)
    model.partial_fit(X[:1], ["c"])
    assert model.predict_proba(X[:1])[0, 2] > proba[0, 2]


def test_declared_classes_that_are_all_there_change_nothing():
    words = np.array(["x", "y", "z"])[NUMBERS3]
    expected = state_bytes(small_classifier().partial_fit(X3, words, classes=["x", "y", "z"]))
    for classes in (["x", "y", "z"], ("z", "x", "y"), np.array(["y", "x", "z"])):
        assert state_bytes(small_classifier().partial_fit(X3, words, classes=classes)) == expected
    model = small_classifier().partial_fit(X3[:7], words[:7], classes=["x", "y", "z"])
    model.partial_fit(X3[7:9], words[7:9], classes=["z", "y", "x"]).partial_fit(X3[9:], words[9:])
    np.testing.assert_allclose(
        model.predict_proba(X3), small_classifier().fit(X3, words).predict_proba(X3, horizon=1), rtol=1e-8, atol=1e-10
    )


def test_a_class_that_never_comes_becomes_less_and_less_probable():
    model = small_classifier().partial_fit(X[:10], NUMBERS[:10], classes=[0, 1, 2])
    early = model.predict_proba(X)[:, 2].mean()
    late = model.partial_fit(X, NUMBERS).partial_fit(X, NUMBERS).predict_proba(X)[:, 2].mean()
    assert late < 0.5 * early


@pytest.mark.parametrize("method", LEARN)
@pytest.mark.parametrize("kind", [small_classifier, small_ordinal], ids=["classes", "grades"])
def test_one_class_is_not_enough(kind, method):
    for alone, shown in (("yes", "'yes'"), (3, "3"), (True, "True"), (2.0, r"2\.0")):
        model = kind(order=None) if kind is small_ordinal else kind()
        with pytest.raises(InputError, match=rf"one class \({shown}\)"):
            getattr(model, method)(X, np.full(80, alone))
        assert not hasattr(model, "classes_")
        assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["no"], "one class"),
        ([], "classes"),
        (["no", "yes", "no"], "twice"),
        ([["no", "yes"]], r"shape \(1, 2\)"),
        ("no", "list of labels"),
        (3, "list of labels"),
        (["no", None], "mixed|None"),
        ([0, 1], "'no' at row 0"),
        (["no", "perhaps"], "'yes' at row 1"),
    ],
)
@pytest.mark.parametrize("method", ["partial_fit", "prequential", "warm_up"])
def test_declared_classes_that_make_no_sense(classes, message, method):
    model = small_classifier()
    before = state_bytes(model)
    with pytest.raises(InputError, match=message):
        getattr(model, method)(X, np.array(["no", "yes"])[NUMBERS], classes=classes)
    assert state_bytes(model) == before
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("method", ["partial_fit", "prequential"])
@pytest.mark.parametrize(
    "classes", [[0], [0, 1, 2], [0, 2], [0, 0, 1], [[0, 1]], [], ["0", "1"], ["no", "yes"], 3, "01"], ids=str
)
def test_classes_that_contradict_the_model(classes, method):
    model = fitted_to_numbers(small_classifier)
    before = state_bytes(model)
    with pytest.raises(InputError, match="classes"):
        getattr(model, method)(X, NUMBERS, classes=classes)
    assert state_bytes(model) == before


@pytest.mark.parametrize("classes", [[0, 1], [1, 0], (0, 1), np.array([1, 0]), [0.0, 1.0], range(2)], ids=str)
def test_classes_may_be_repeated(classes):
    model, twin = (copy.deepcopy(fitted_to_numbers(small_classifier)) for _ in range(2))
    expected = state_bytes(twin.partial_fit(X, NUMBERS))
    assert state_bytes(model.partial_fit(X, NUMBERS, classes=classes)) == expected


# -- labels that are refused -------------------------------------------------------------------------------------------

WORDS = np.array(["no", "yes"])[NUMBERS]
WHOLE = NUMBERS.astype(float)
GRADED_X, GRADED = grade_stream(80)

# name: (kind, labels to learn first, bad labels, what the message must say)
UNKNOWN = {
    "a word": (small_classifier, WORDS, replaced(WORDS.astype("U9"), 11, "maybe"), "'maybe' at row 11.*'no', 'yes'"),
    "a longer word": (small_classifier, WORDS, replaced(WORDS.astype("U9"), 3, "yes!"), "'yes!' at row 3"),
    "another case": (small_classifier, WORDS, replaced(WORDS, 79, "YES"), "'YES' at row 79"),
    "an object": (small_classifier, WORDS.astype(object), replaced(WORDS.astype(object), 5, "so"), "'so' at row 5"),
    "a number": (small_classifier, NUMBERS, replaced(NUMBERS, 0, 2), "label 2 at row 0.*0, 1"),
    "below all": (small_classifier, NUMBERS, replaced(NUMBERS, 40, -1), "label -1 at row 40"),
    "a float": (small_classifier, WHOLE, replaced(WHOLE, 40, 7.0), r"label 7.0 at row 40"),
    "a number beyond booleans": (small_classifier, NUMBERS == 1, replaced(NUMBERS, 6, 5), "label 5 at row 6"),
    "text for numbers": (small_classifier, NUMBERS, NUMBERS.astype(str), "label '0' at row 0"),
    "numbers for text": (small_classifier, WORDS, NUMBERS, "label 0 at row 0"),
    "a fourth class": (small_classifier, NUMBERS3, replaced(NUMBERS3, 9, 3), "label 3 at row 9.*0, 1, 2"),
    "a grade": (small_ordinal, GRADED, replaced(GRADED, 30, "best"), "'best' at row 30.*'poor', 'fair', 'good'"),
}


@pytest.mark.parametrize("n_seen", [40, 80])
@pytest.mark.parametrize("method", ["partial_fit", "prequential"])
@pytest.mark.parametrize("name", UNKNOWN)
def test_a_label_that_is_no_class_is_named_and_changes_nothing(name, method, n_seen):
    _, _, bad, message = UNKNOWN[name]
    model = fitted_to_known_labels(name, n_seen)
    before, attributes = state_bytes(model), dict(vars(model))
    with pytest.raises(InputError, match=message):
        getattr(model, method)(X, bad)
    assert state_bytes(model) == before
    assert vars(model) == attributes
    row = int(re.search(r"row (\d+)", message).group(1))
    for n in {1, min(6, 80 - row)}:  # a single row, and a few: the row is counted from the call's first
        with pytest.raises(InputError, match="at row 0"):
            getattr(model, method)(X[row : row + n], bad[row : row + n])
    assert state_bytes(model) == before


@pytest.mark.parametrize("method", LEARN)
def test_a_grade_that_is_not_in_the_order(method):
    model = small_ordinal(order=["poor", "good"])
    with pytest.raises(InputError, match=r"'fair' at row 1.*'poor', 'good'"):
        getattr(model, method)(GRADED_X, GRADED)
    assert not hasattr(model, "classes_")
    fitted = small_ordinal().fit(GRADED_X, GRADED)
    before = state_bytes(fitted)
    fitted.set_params(order=["poor", "good"])
    if method in ("fit", "warm_up"):
        with pytest.raises(InputError, match="'fair' at row 1"):
            getattr(fitted, method)(GRADED_X, GRADED)
        assert state_bytes(fitted.set_params(order=GRADES)) == before


# name: (labels, what the message must say); the model knows 0 and 1
BAD_LABELS = {
    "NaN": (replaced(WHOLE, 12, np.nan), "y contains NaN at row 12"),
    "infinity": (replaced(WHOLE, 12, np.inf), "y contains infinity at row 12"),
    "None": (replaced(NUMBERS.astype(object), 4, None), "row 4"),
    "NaN among words": (replaced(WORDS.astype(object), 4, np.nan), "row 4"),
    "None among words": (replaced(WORDS.astype(object), 0, None), "row 0"),
    "fewer": (NUMBERS[:-1], r"80.*79"),
    "more": (np.append(NUMBERS, 1), r"80.*81"),
    "none at all": (NUMBERS[:0], r"80.*0"),
    "y=None": (None, "y is None"),
    "one number": (1, "1d array|should be"),
    "two columns": (np.stack([NUMBERS, NUMBERS], axis=1), "1d array"),
    "numbers that are no classes": (
        NUMBERS + 0.25 * np.arange(80),
        "[Uu]nknown label type|at row 1.*none of the classes",
    ),
    "complex": (NUMBERS.astype(complex), "[Cc]omplex"),
    "sequences": (objects(*[(int(number),) for number in NUMBERS]), "sequence|unknown"),
    "mixed": (replaced(WORDS.astype(object), 3, 1), "'<' not supported|mixed"),
    "bytes": (np.array([b"no", b"yes"])[NUMBERS], "bytes"),
}


@pytest.mark.parametrize("method", LEARN)
@pytest.mark.parametrize("kind", [small_classifier, small_ordinal], ids=["classes", "grades"])
@pytest.mark.parametrize("name", BAD_LABELS)
def test_bad_labels_are_named_and_leave_the_model_alone(name, kind, method):
    labels, message = BAD_LABELS[name]
    fresh, model = clone(fitted_to_numbers(kind)), fitted_to_numbers(kind)
    before = state_bytes(fresh), state_bytes(model)
    attributes = dict(vars(model))
    for candidate in (fresh, model):
        with pytest.raises((ValueError, TypeError), match=message):
            getattr(candidate, method)(X, labels)
    assert (state_bytes(fresh), state_bytes(model)) == before
    assert vars(model) == attributes
    assert not hasattr(fresh, "n_features_in_")


def test_labels_in_a_column_are_taken_with_a_warning():
    with pytest.warns(UserWarning, match="column-vector y"):
        model = small_classifier().fit(X, NUMBERS[:, None])
    assert state_bytes(model) == state_bytes(small_classifier().fit(X, NUMBERS))


# -- rows, as for the regressor ----------------------------------------------------------------------------------------

BAD_ROWS = {
    "infinity": (replaced(X, (0, 1), np.inf), "X contains infinity at row 0, column 1"),
    "text": (replaced(X, (4, 1), "red"), "'red' at row 4, column 1"),
    "too narrow": (X[:, :2], "X has 2 features, but IEGP.* is expecting 3"),
    "too wide": (np.hstack([X, X]), "X has 6 features, but IEGP.* is expecting 3"),
    "no rows": (X[:0], "0 sample"),
    "one-dimensional": (X[:, 0], "Expected 2D array, got 1D array"),
    "complex": (X.astype(complex), "[Cc]omplex"),
}
KINDS = {
    "two classes": (small_classifier, NUMBERS),
    "three classes": (small_classifier, NUMBERS3),
    "grades": (small_ordinal, GRADED),
    "counts": (small_counts, count_stream(80)[1]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows_are_named_and_leave_the_model_alone(name, kind):
    rows, message = BAD_ROWS[name]
    labels, model = KINDS[kind][1], fitted_kind(kind)
    before, attributes = state_bytes(model), dict(vars(model))
    methods = ["partial_fit", "prequential"] + ["fit", "warm_up"] * (not name.startswith("too"))
    for method in methods:
        with pytest.raises((ValueError, TypeError), match=message):
            getattr(model, method)(rows, labels[: len(rows)])
    for method in ["predict", "predict_dist" if kind == "counts" else "predict_proba"]:
        with pytest.raises((ValueError, TypeError), match=message):
            getattr(model, method)(rows)
    assert state_bytes(model) == before
    assert vars(model) == attributes


# -- grades ------------------------------------------------------------------------------------------------------------


def test_the_order_of_grades():
    assert small_ordinal().fit(GRADED_X, GRADED).classes_.tolist() == ["poor", "fair", "good"]
    assert small_ordinal(order=None).fit(GRADED_X, GRADED).classes_.tolist() == ["fair", "good", "poor"]
    for order in (list(GRADES), np.array(GRADES), objects(*GRADES)):
        assert small_ordinal(order=order).fit(GRADED_X, GRADED).classes_.tolist() == list(GRADES)
    more = small_ordinal(order=["awful", *GRADES, "best"]).fit(GRADED_X, GRADED)
    assert more.classes_.tolist() == ["awful", "poor", "fair", "good", "best"]
    assert more.predict_proba(GRADED_X).shape == (80, 5)


def test_the_right_order_predicts_better():
    rows, grades = grade_stream(300)
    right = small_ordinal().prequential(rows, grades).log_loss
    assert right < small_ordinal(order=["fair", "poor", "good"]).prequential(rows, grades).log_loss
    assert right < np.log(3)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (["poor", "fair", "good", "fair"], "twice"),
        ([], "order|classes"),
        (["poor"], "one class"),
        ([list(GRADES)], r"shape \(1, 3\)"),
        ("poor", "list of labels"),
        (7, "list of labels"),
        (["poor", "fair", None], "mixed|None"),
        ([1, 2, 3], "label 'poor' at row 0"),
    ],
)
@pytest.mark.parametrize("method", LEARN)
def test_orders_that_make_no_sense(order, message, method):
    model = small_ordinal(order=order)
    with pytest.raises(InputError, match=message):
        getattr(model, method)(GRADED_X, GRADED)
    assert not hasattr(model, "classes_")


# -- counts ------------------------------------------------------------------------------------------------------------

COUNT_X, COUNTS, EXPOSURE = count_stream(80)

# name: (counts, exposure, what the message must say)
BAD_COUNTS = {
    "negative": (replaced(COUNTS, 11, -1.0), EXPOSURE, "y has -1 at row 11.*negative"),
    "negative, almost nothing": (replaced(COUNTS, 0, -1e-300), EXPOSURE, "at row 0.*negative"),
    "NaN": (replaced(COUNTS, 3, np.nan), EXPOSURE, "y contains NaN at row 3"),
    "infinity": (replaced(COUNTS, 3, np.inf), EXPOSURE, "y contains infinity at row 3"),
    "text": (replaced(COUNTS, 6, "many"), EXPOSURE, "'many' at row 6"),
    "None": (replaced(COUNTS, 6, None), EXPOSURE, "row 6"),
    "fewer": (COUNTS[:-1], EXPOSURE, r"80.*79"),
    "y=None": (None, EXPOSURE, "y is None"),
    "two columns": (np.stack([COUNTS, COUNTS], axis=1), EXPOSURE, "1d array"),
    "complex": (COUNTS.astype(complex), EXPOSURE, "[Cc]omplex"),
    "exposure zero": (COUNTS, replaced(EXPOSURE, 9, 0.0), r"exposure has 0\.0 at row 9"),
    "exposure negative": (COUNTS, replaced(EXPOSURE, 79, -2.0), r"exposure has -2\.0 at row 79"),
    "exposure NaN": (COUNTS, replaced(EXPOSURE, 0, np.nan), "exposure has nan at row 0"),
    "exposure infinite": (COUNTS, replaced(EXPOSURE, 5, np.inf), "exposure has inf at row 5"),
    "exposure of another length": (COUNTS, EXPOSURE[:-1], r"80.*79"),
    "exposure of no length": (COUNTS, EXPOSURE[:0], r"80.*0"),
    "one exposure, zero": (COUNTS, 0.0, r"exposure has 0\.0"),
    "one exposure, NaN": (COUNTS, np.nan, "exposure has nan"),
    "exposure in two columns": (COUNTS, np.stack([EXPOSURE, EXPOSURE], axis=1), "exposure"),
    "exposure in a column": (COUNTS, EXPOSURE[:, None], "exposure"),
    "exposure as text": (COUNTS, replaced(EXPOSURE, 8, "long"), "exposure.*'long'|'long'.*exposure"),
    "exposure of complex numbers": (COUNTS, EXPOSURE.astype(complex), "exposure"),
}


@pytest.mark.parametrize("method", LEARN)
@pytest.mark.parametrize("name", BAD_COUNTS)
def test_bad_counts_are_named_and_leave_the_model_alone(name, method):
    counts, exposure, message = BAD_COUNTS[name]
    fresh, model = small_counts(), fitted_counts()
    before = state_bytes(fresh), state_bytes(model)
    attributes = dict(vars(model))
    for candidate in (fresh, model):
        with pytest.raises((ValueError, TypeError), match=message):
            getattr(candidate, method)(COUNT_X, counts, exposure)
    assert (state_bytes(fresh), state_bytes(model)) == before
    assert vars(model) == attributes


@pytest.mark.parametrize("method", ["predict", "predict_dist"])
@pytest.mark.parametrize("name", [name for name in BAD_COUNTS if "exposure" in name])
def test_bad_exposures_of_rows_to_predict(name, method):
    _, exposure, message = BAD_COUNTS[name]
    model = fitted_counts()
    before = state_bytes(model)
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(model, method)(COUNT_X, exposure)
    assert state_bytes(model) == before


def test_one_exposure_for_all_rows():
    expected = state_bytes(small_counts().fit(COUNT_X, COUNTS, np.full(80, 2.5)))
    for exposure in (2.5, np.float64(2.5), np.array(2.5), [2.5] * 80):
        assert state_bytes(small_counts().fit(COUNT_X, COUNTS, exposure)) == expected
    assert state_bytes(small_counts().fit(COUNT_X, COUNTS, 1)) == state_bytes(small_counts().fit(COUNT_X, COUNTS))
    model = small_counts().fit(COUNT_X, COUNTS, 2)
    assert same_bits(model.predict(COUNT_X, 3), model.predict(COUNT_X, np.full(80, 3.0)))
    assert same_bits(model.predict(COUNT_X), model.predict(COUNT_X, 1.0))


def test_the_mean_count_is_proportional_to_the_exposure():
    model = small_counts().fit(COUNT_X, COUNTS, EXPOSURE)
    np.testing.assert_allclose(model.predict(COUNT_X, EXPOSURE), EXPOSURE * model.predict(COUNT_X), rtol=1e-12)
    short, long = (model.predict_dist(COUNT_X, exposure) for exposure in (0.1, 10.0))
    assert (long.std > short.std).all()
    assert (long.pmf(np.zeros(80)) < short.pmf(np.zeros(80))).all()


@pytest.mark.parametrize("dtype", [int, np.uint8, np.float32, object])
def test_counts_of_any_type(dtype):
    model = small_counts().fit(COUNT_X, COUNTS.astype(dtype), EXPOSURE)
    assert state_bytes(model) == state_bytes(small_counts().fit(COUNT_X, COUNTS, EXPOSURE))
    assert model.predict(COUNT_X).dtype == np.float64


ODD_COUNTS = {
    "real numbers": COUNTS + 0.37,
    "minus zero": np.where(COUNTS == 0, -0.0, COUNTS),
    "all zero": np.zeros(80),
    "all one": np.ones(80),
    "true and false": COUNTS > 3,
    "one huge early": replaced(COUNTS, 5, 1e9),
    "one huge late": replaced(COUNTS, 70, 1e9),
    "all huge": COUNTS * 1e9,
    "zeros, then many": np.where(np.arange(80) < 66, 0.0, 1000.0),
    "many, then zeros": np.where(np.arange(80) < 66, 1000.0, 0.0),
}


@pytest.mark.parametrize("options", [{}, {"overdispersion": 0.0}, {"overdispersion": 2.0}, {"warmup": 0}], ids=str)
@pytest.mark.parametrize("name", ODD_COUNTS)
def test_odd_counts_give_finite_numbers(name, options):
    model = small_counts(**options)
    run = model.prequential(COUNT_X, ODD_COUNTS[name], EXPOSURE)
    for field in ("mean", "std", "lower", "upper", "log_score", "weights"):
        assert np.isfinite(getattr(run, field)).all(), field
    assert (run.mean >= 0).all()
    assert (run.std > 0).all()
    assert ((run.lower >= 0) & (run.lower <= run.upper)).all()
    mean, std = model.predict(COUNT_X, return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert repr(run)


def test_zeros_and_huge_counts_are_learned():
    assert small_counts().fit(COUNT_X, np.zeros(80)).predict(COUNT_X).max() < 0.05
    huge = small_counts().fit(COUNT_X, np.full(80, 1e9)).predict(COUNT_X)
    np.testing.assert_allclose(huge, 1e9, rtol=0.05)


@pytest.mark.parametrize("value", [-0.1, 1e3, np.nan, np.inf, None, "much", True, [0.1]], ids=str)
def test_overdispersion_must_be_a_number_or_evidence(value):
    model = small_counts(overdispersion=value)
    with pytest.raises(InputError, match="overdispersion"):
        model.fit(COUNT_X, COUNTS)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("build", "options", "message"),
    [
        (small_classifier, {"link": "cauchit"}, "link='cauchit'"),
        (small_ordinal, {"link": None}, "link=None"),
        (small_classifier, {"integration": "laplace"}, "integration='laplace'"),
        (small_classifier, {"sharpness": ()}, "sharpness is empty"),
        (small_classifier, {"sharpness": (1.0, 0.0)}, "sharpness=0.0"),
        (small_ordinal, {"sharpness": -1.0}, "sharpness=-1.0"),
        (small_classifier, {"prior_var": -1.0}, "prior_var=-1.0"),
        (small_counts, {"drift_var": -1.0}, "drift_var=-1.0"),
        (small_counts, {"integration": "probit"}, "integration='probit'"),
    ],
)
def test_parameters_out_of_range(build, options, message):
    labels = {small_classifier: NUMBERS, small_ordinal: GRADED, small_counts: COUNTS}[build]
    model = build(warmup=10).fit(X[:20], labels[:20])
    before = state_bytes(model)
    parameters = model.get_params()
    model.set_params(**options)
    with pytest.raises(InputError, match=re.escape(message)):
        model.fit(X, labels)
    assert state_bytes(model.set_params(**parameters)) == before
