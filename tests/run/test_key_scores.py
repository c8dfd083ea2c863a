"""Scores by key: those of a naive count over each key's rows, however the rows were cut."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run.digest_streams import answers, part

from iegp.errors import InputError
from iegp.run.digest import Digest, KeyScores

N = 300


def keyed(seed=0):
    rng = np.random.default_rng(seed)
    made = answers("regression", N, seed=seed, unlabelled=0.1)
    return replace(made, keys=tuple(f"k{int(7 * u * u)}" for u in rng.random(N)))


def cut(made, which):
    return replace(part(made, which), keys=tuple(np.array(made.keys, dtype=object)[which]))


def test_scores_are_those_of_each_key_alone():
    made = keyed()
    scores = KeyScores()
    scores.add(made, late=False)
    keys = np.array(made.keys)
    assert len(scores) == len(set(made.keys))
    for entry in scores.busiest(100):
        own = keys == entry.key
        scored = own & ~np.isnan(made.label) & ~np.isnan(made.mean)
        y, mean = made.label[scored], made.mean[scored]
        assert (entry.rows, entry.scored) == (own.sum(), scored.sum())
        assert entry.nmse == pytest.approx(((y - mean) ** 2).mean() / y.var(), rel=1e-9)
        assert entry.log_score == pytest.approx(np.nanmean(made.log_score[scored]), rel=1e-9)
        assert entry.coverage == np.mean((made.lower[scored] <= y) & (y <= made.upper[scored]))


def test_busiest_and_worst_are_ordered_and_bounded():
    scores = KeyScores()
    scores.add(keyed(), late=False)
    rows = [entry.rows for entry in scores.busiest(3)]
    assert rows == sorted(rows, reverse=True)
    assert len(rows) == 3
    worst = scores.worst(2)
    assert worst[0].nmse >= worst[1].nmse
    assert all(entry.scored >= 20 for entry in worst)


@settings(max_examples=20)
@given(cuts=st.lists(st.integers(0, N), max_size=6))
def test_cuts_and_a_stop_do_not_matter_to_the_bit(cuts):
    made, whole, pieces = keyed(), Digest("regression"), Digest("regression")
    whole.add(made)
    edges = sorted({0, *cuts, N})
    for start, stop in pairwise(edges):
        pieces.add(cut(made, slice(start, stop)))
        pieces = Digest.restore(pieces.config(), pieces.arrays())
    assert pieces.config() == whole.config()
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(pieces.arrays()[name], array, err_msg=name)


def test_a_late_label_scores_and_is_no_row_of_its_own():
    made = keyed()
    unlabelled = replace(made, label=np.full(N, np.nan), log_score=np.full(N, np.nan))
    one, other = KeyScores(), KeyScores()
    one.add(made, late=False)
    other.add(unlabelled, late=False)
    other.add(made, late=True)
    assert other.busiest(100) == one.busiest(100)


def test_damaged_scores_are_refused():
    scores = KeyScores()
    scores.add(keyed(), late=False)
    config, arrays = scores.config(), scores.arrays("keys")
    assert KeyScores.restore(config, arrays, "keys").busiest(5) == scores.busiest(5)
    for wrong in (None, "text", [1, *config[1:]], [config[1], *config[1:]], config[1:]):
        with pytest.raises(InputError):
            KeyScores.restore(wrong, arrays, "keys")
    for name in arrays:
        with pytest.raises(InputError):
            KeyScores.restore(config, {key: value for key, value in arrays.items() if key != name}, "keys")
    with pytest.raises(InputError):
        KeyScores.restore(config, arrays | {"keys.rows": -arrays["keys.rows"]}, "keys")
