"""The codec of labels: to numbers and back, what is new, what is refused, and how a model grows with it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from contracts.models import small_classifier, small_ordinal
from numpy.testing import assert_array_equal

from iegp.core import model as online
from iegp.errors import InputError, ModelFileError
from iegp.labels import ClassLabels, CountLabels, NumberLabels, as_labels, grow

TUPLES = ((1, 2), (3,))


# -- numbers and counts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [[1, 2.5, True], np.array([1.0, 2.5, 1.0]), np.array([1, 2.5, 1], dtype=object)])
def test_numbers_become_a_column(y):
    columns = NumberLabels().encode(y)
    assert_array_equal(columns, [[1.0], [2.5], [1.0]])
    assert columns.dtype == np.float64
    assert columns.flags.c_contiguous


def test_several_outputs_keep_their_columns():
    y = np.arange(6.0).reshape(3, 2)
    codec = NumberLabels.of(y)
    assert codec == NumberLabels(2, single_output=False)
    assert_array_equal(codec.encode(y), y)
    assert NumberLabels.from_config(codec.to_config(), 2) == codec
    with pytest.raises(InputError, match=r"y has shape \(3,\).*2 columns"):
        codec.encode(y[:, 0])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("3.5", "y is '3.5' at row 1, which is not a number"),
        (None, "y is None at row 1"),
        (1j, "y is 1j at row 1"),
        ([1.0], r"y is \[1.0\] at row 1"),
        (float("nan"), "NaN at row 1"),
        (10**400, "infinity at row 1"),
    ],
)
@pytest.mark.parametrize("codec", [NumberLabels(), CountLabels()])
def test_what_is_not_a_finite_number_is_named(codec, value, message):
    with pytest.raises(InputError, match=f"{message}.*model is unchanged"):
        codec.encode([1.0, value, 2.0])


def test_counts_have_exposures():
    assert_array_equal(CountLabels().encode([3, 0]), [[3.0, 1.0], [0.0, 1.0]])
    assert_array_equal(CountLabels().encode([3, 0], 2.0), [[3.0, 2.0], [0.0, 2.0]])
    with pytest.raises(InputError, match=r"y has -1 at row 1.*negative"):
        CountLabels().encode([3, -1])
    with pytest.raises(InputError, match="exposure is missing"):
        CountLabels(has_exposure=True).encode([3, 0])


# -- classes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "classes",
    [[0, 1, 2], ["b", "a"], [True, False], [1.5, 2.0], np.array(["no", "yes"]), np.arange(3, dtype=np.int8), [0, "a"]],
    ids=str,
)
def test_labels_come_back_in_their_type(classes):
    codec = ClassLabels.declared(classes)
    numbers = codec.encode(list(classes)[::-1])
    assert_array_equal(numbers[:, 0], np.arange(len(classes))[::-1])
    back = codec.decode(numbers)
    assert back.tolist() == list(classes)[::-1]
    assert back.dtype == (object if 0 in classes and "a" in classes else np.asarray(classes).dtype)
    assert ClassLabels.from_config(codec.to_config(), len(classes)) == codec
    assert pickle.loads(pickle.dumps(codec)) == codec


def test_anything_that_can_be_a_key_is_a_label():
    codec = ClassLabels.declared(TUPLES)
    assert codec.decode(codec.encode([(3,), (1, 2)])).tolist() == [(3,), (1, 2)]
    with pytest.raises(InputError, match="cannot be stored"):
        codec.to_config()
    with pytest.raises(InputError, match=r"y is \[1\] at row 1, which cannot be a label"):
        as_labels(["a", [1]])


def test_equal_labels_of_other_types_are_the_same_class():
    codec = ClassLabels.declared([0, 1])
    assert_array_equal(codec.encode([True, 0.0, np.int8(1), np.float32(0)])[:, 0], [1, 0, 1, 0])


@pytest.mark.parametrize("label", [None, float("nan"), np.float64("nan"), float("inf")])
def test_a_missing_label_is_named(label):
    with pytest.raises(InputError, match=r"at row 2.*model is unchanged"):
        ClassLabels.declared(["a", "b"]).encode(["a", "b", label])


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"labels": "ab", "type": "<U1"}, "not a list"),
        ({"labels": [None, 1], "type": "object"}, "not a list"),
        ({"labels": [0, 1], "type": "<M8[ns]"}, "type"),
        ({"labels": [0, 0], "type": "<i8"}, "different"),
        ({"labels": [0, 300], "type": "|i1"}, "type|out of bounds"),
        ({"labels": [0, 1, 2], "type": "<i8"}, "3 class labels but 2"),
    ],
)
def test_stored_classes_that_cannot_be(config, message):
    with pytest.raises((ModelFileError, OverflowError), match=message):
        ClassLabels.from_config({"classes": config}, 2)


# -- new labels ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", ["", "a", "c", "aab", "abc", "ccc", "cdcdab", "aacaadaa"])
def test_stretches_cut_where_a_label_is_new(labels):
    codec, known, pieces = ClassLabels(("a", "b")), {"a", "b"}, list(ClassLabels(("a", "b")).segments(list(labels)))
    assert [row for start, stop, _ in pieces for row in range(start, stop)] == list(range(len(labels)))
    for start, stop, is_new in pieces:
        assert is_new == (labels[start] not in known)
        assert not is_new or stop == start + 1
        known |= set(labels[start:stop])
    assert codec.classes == ("a", "b")


def fresh(kind, n_classes):
    return online.begin(kind().settings(n_classes), 3, n_classes)


def test_a_class_comes_last_and_a_level_takes_its_place():
    model, codec = fresh(small_classifier, 2), ClassLabels((5, 1))
    grown, more = grow(model, codec, 3)
    assert (more.classes, grown.n_outputs) == ((5, 1, 3), 3)
    assert (codec.classes, model.n_outputs) == ((5, 1), 2)
    model, codec = fresh(small_ordinal, 2), ClassLabels((1, 5), is_ordered=True)
    grown, more = grow(model, codec, 3)
    assert (more.classes, grown.n_outputs) == ((1, 3, 5), 3)


def test_a_new_label_may_be_of_another_type():
    for first in ((), (0, 1), ("a", "b")):
        codec = ClassLabels.declared(first)
        for label in ("word", 2.5, (7,)):
            codec = codec.with_label(label, len(codec.classes))
        assert codec.decode(codec.encode([(7,), "word", 2.5])).tolist() == [(7,), "word", 2.5]


def test_the_second_name_needs_no_new_class():
    for kind, is_ordered in ((small_classifier, False), (small_ordinal, True)):
        model, codec = fresh(kind, 2), ClassLabels(is_ordered=is_ordered)
        for label in (4, 2):
            model, codec = grow(model, codec, label)
        assert model.n_outputs == codec.n_outputs == 2
        assert codec.classes == ((2, 4) if is_ordered else (4, 2))


def test_levels_sort_by_their_key():
    model, codec = fresh(small_ordinal, 2), ClassLabels(("2", "10"), is_ordered=True, key=float)
    assert grow(model, codec, "3")[1].classes == ("2", "3", "10")
    with pytest.raises(InputError, match=r"row 7.*'high'.*cannot be compared with '2'"):
        grow(model, codec, "high", 7)


def test_fixed_classes_refuse_what_they_do_not_know():
    model = fresh(small_ordinal, 2)
    codec = ClassLabels.declared(["low", "high"], "order", is_ordered=True, is_fixed=True)
    with pytest.raises(InputError, match=r"'mid' at row 4.*order=\('low', 'high'\).*model is unchanged"):
        grow(model, codec, "mid", 4)
