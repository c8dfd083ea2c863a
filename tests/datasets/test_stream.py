from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from iegp.datasets import Stream
from iegp.errors import InputError


def make(X, y, **changes):
    fields = {"name": "toy", "feature_names": ("a", "b"), "target_name": "t", "description": "toy"} | changes
    return Stream(X=X, y=y, **fields)


def test_arrays_become_contiguous_float64():
    X = np.asfortranarray(np.arange(10, dtype=np.int16).reshape(5, 2))
    stream = make(X, np.arange(5, dtype=np.uint8))
    assert stream.X.dtype == stream.y.dtype == np.float64
    assert stream.X.flags.c_contiguous
    np.testing.assert_array_equal(stream.X, X)
    assert len(stream) == 5


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        make(np.zeros((3, 2)), np.zeros(3)).name = "other"


def test_head_shares_memory_and_keeps_only_its_change_points():
    stream = make(np.zeros((6, 2)), np.arange(6.0), change_points=(2, 4))
    head = stream.head(4)
    assert len(head) == 4
    assert head.change_points == (2,)
    assert np.shares_memory(head.X, stream.X)
    assert len(stream.head(100)) == 6


def test_several_targets():
    assert make(np.zeros((4, 2)), np.zeros((4, 3))).y.shape == (4, 3)


@pytest.mark.parametrize(
    ("X", "y", "changes", "message"),
    [
        (np.zeros((3, 2)), np.zeros(4), {}, r"X has shape \(3, 2\) and y \(4,\)"),
        (np.zeros(3), np.zeros(3), {}, "one row of X per row of y"),
        (np.zeros((3, 2)), np.zeros(3), {"feature_names": ("a",)}, "1 feature names for 2 columns"),
        (np.array([[0.0, 1.0], [np.nan, 0.0]]), np.zeros(2), {}, r"X\[1, 0\] is nan"),
        (np.zeros((2, 2)), np.array([0.0, np.inf]), {}, r"y\[1\] is inf"),
    ],
)
def test_unusable_arrays_are_refused(X, y, changes, message):
    with pytest.raises(InputError, match=message):
        make(X, y, **changes)


def test_negative_head_is_refused():
    with pytest.raises(InputError, match="negative"):
        make(np.zeros((3, 2)), np.zeros(3)).head(-1)


@pytest.mark.parametrize(
    ("task", "y", "expected"),
    [
        ("classification", np.array([1, 0, 255], dtype=np.uint8), np.int64),
        ("classification", np.array([-1.0, 1.0, 1.0]), np.int64),
        ("classification", [True, False, True], np.bool_),
        ("classification", ["sky", "path", "sky"], "<U4"),
        ("classification", np.array(["sky", "path", "sky"], dtype=object), "<U4"),
        ("counts", [0.0, 7.0, 2.0], np.int64),
        ("ordinal", [3, 1, 2], np.int64),
    ],
)
def test_labels_have_the_type_of_their_task(task, y, expected):
    stream = make(np.zeros((3, 2)), y, task=task)
    assert stream.y.dtype == expected
    assert stream.y.tolist() == list(y)
    assert stream.task in repr(stream)
    head = stream.head(2)
    assert head.task == task
    assert np.shares_memory(head.y, stream.y)


@pytest.mark.parametrize(
    ("task", "y", "message"),
    [
        ("ranking", [0, 1], "'ranking' is unknown; choose one of 'regression'"),
        ("classification", [0.5, 1.0], r"y\[0\] is 0.5, unfit for classification"),
        ("classification", [0.0, np.nan], r"y\[1\] is nan"),
        ("classification", [[0], [1]], r"y has shape \(2, 1\)"),
        ("classification", np.array(["sky", np.nan], dtype=object), "mixes types, such as 'sky' \\(str\\), nan"),
        ("classification", np.array([1j, 2j]), "complex128, unfit for classification"),
        ("counts", [1, -1], r"y\[1\] is -1, unfit for counts; pass whole numbers from 0 up"),
        ("counts", ["1", "2"], "<U1, unfit for counts"),
        ("ordinal", ["low", "high"], "unfit for ordinal; pass whole numbers"),
    ],
)
def test_labels_that_no_task_can_use_are_refused(task, y, message):
    with pytest.raises(InputError, match=message):
        make(np.zeros((2, 2)), y, task=task)
