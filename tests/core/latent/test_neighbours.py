"""Neighbours are found in order, and do not depend on how rows arrive or an index was built."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from iegp.core.compute.tolerances import GRAPH_BLOCK
from iegp.core.latent.neighbours import Neighbours


def rows(n=500, d=8, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def built(vectors, cuts=()):
    index = Neighbours(vectors.shape[1])
    for part in np.split(vectors, cuts):
        index.add(part)
    return index


def test_it_nearly_always_finds_the_nearest():
    vectors, asked = rows(2000), rows(200, seed=1)
    exact = ((asked[:, None] - vectors[None]) ** 2).sum(axis=2).argsort(axis=1)[:, :3]
    assert np.mean(built(vectors).nearest(asked, 3) == exact) > 0.97


@pytest.mark.parametrize("cuts", [(1,), (63, 64, 65), (100, 300), tuple(range(1, 400, 7))])
def test_neighbours_do_not_depend_on_the_cuts_between_calls(cuts):
    vectors, asked = rows(), rows(100, seed=1)
    assert (built(vectors, cuts).nearest(asked, 3) == built(vectors).nearest(asked, 3)).all()


def test_a_rebuilt_index_goes_on_like_the_original():
    vectors, later, asked = rows(1000), rows(1000, seed=2), rows(300, seed=1)
    original = built(vectors)
    original.nearest(asked, 3)
    rebuilt = built(original.rows())
    copy = pickle.loads(pickle.dumps(original))
    for index in (original, rebuilt, copy):
        index.add(later)
    expected = original.nearest(asked, 5)
    assert (rebuilt.nearest(asked, 5) == expected).all()
    assert (copy.nearest(asked, 5) == expected).all()
    assert (original.rows() == np.vstack([vectors, later])).all()


def test_in_order_each_row_sees_those_before_it():
    vectors = rows(GRAPH_BLOCK + 40)
    index = built(vectors[: GRAPH_BLOCK + 10])
    found = index.nearest_in_order(vectors[GRAPH_BLOCK + 10 :], 3)
    assert len(index) == GRAPH_BLOCK + 10
    for t in range(30):
        alone = built(vectors[: GRAPH_BLOCK + 10 + t])
        assert (found[t] == alone.nearest(vectors[GRAPH_BLOCK + 10 + t :][:1], 3)[0]).all()


def test_few_rows_are_repeated():
    index = built(rows(1))
    assert (index.nearest(rows(4, seed=1), 3) == 0).all()
    assert index.nearest_in_order(rows(3, seed=1), 3).max() == 2
    assert (index.nearest_in_order(rows(3, seed=1), 3)[0] == 0).all()


def test_rows_waiting_and_in_the_graph_come_back():
    vectors = rows(GRAPH_BLOCK + 5)
    assert (built(vectors).rows_at(np.array([3, GRAPH_BLOCK + 2])) == vectors[[3, GRAPH_BLOCK + 2]]).all()
