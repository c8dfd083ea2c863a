from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from iegp.errors import InputError
from iegp.streams import Stream


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
