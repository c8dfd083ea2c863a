"""Scores by key: those of a naive count over each key's rows, however the rows were cut."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import by_key as oracle
from stream_runs.digest_streams import answers, numbers, part

from iegp.errors import InputError
from iegp.stream.digest import Digest, KeyScores

N = 300


def keyed(seed=0, n=N, n_keys=7):
    rng = np.random.default_rng(seed)
    made = answers("regression", n, seed=seed, unlabelled=0.1)
    return replace(made, keys=tuple(f"k{int(n_keys * u * u)}" for u in rng.random(n)))


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
        scored = own & ~np.isnan(made.label) & ~np.isnan(made.number("mean"))
        y, mean = made.label[scored], made.number("mean")[scored]
        assert (entry.rows, entry.scored) == (own.sum(), scored.sum())
        assert entry.nmse == pytest.approx(((y - mean) ** 2).mean() / y.var(), rel=1e-9)
        assert entry.log_score == pytest.approx(np.nanmean(made.number("log_score")[scored]), rel=1e-9)
        assert entry.coverage == np.mean((made.number("lower")[scored] <= y) & (y <= made.number("upper")[scored]))


def test_busiest_and_worst_are_ordered_and_bounded():
    scores = KeyScores()
    scores.add(keyed(), late=False)
    rows = [entry.rows for entry in scores.busiest(3)]
    assert rows == sorted(rows, reverse=True)
    assert len(rows) == 3
    worst = scores.worst(2)
    assert worst[0].recent_nmse >= worst[1].recent_nmse
    assert all(entry.scored >= 40 for entry in worst)


@pytest.mark.parametrize("size", [1, 37, 1000])
def test_recent_scores_are_those_of_the_last_windows(size):
    made = keyed(n=1000)
    scores = KeyScores()
    for start in range(0, 1000, size):
        scores.add(cut(made, slice(start, start + size)), late=False)
    wanted = oracle.recent_nmse(made.keys, made.label, made.number("mean"))
    got = {entry.key: entry.recent_nmse for entry in scores.busiest(100)}
    assert set(got) == set(wanted)
    for key, value in wanted.items():
        assert got[key] == pytest.approx(value, rel=1e-9, nan_ok=True)


def test_a_bad_start_does_not_make_a_key_the_worst():
    """One key was far off while it started, another is somewhat off now."""
    n = 200
    label = np.random.default_rng(0).standard_normal(n)
    mean = 0.1 * label
    mean[:40:2] += 1000.0
    mean[1::2] += 1.0
    made = numbers(np.arange(n), label, np.zeros(n), mean, np.ones(n), mean - 2.0, mean + 2.0, keys=("a", "b") * 100)
    scores = KeyScores()
    scores.add(made, late=False)
    assert [entry.key for entry in scores.worst(2)] == ["b", "a"]


@pytest.mark.parametrize("n_keys", [1, 7, 200])
def test_naive_forecasts_are_those_of_the_row_s_own_key(n_keys):
    """More rows than one block holds; keys of very different size and level."""
    made = keyed(n=1200, n_keys=n_keys)
    level = np.array([10.0 ** (int(key[1:]) % 5) for key in made.keys])
    made = replace(made, label=made.label * level).predicting(mean=made.number("mean") * level)
    digest = Digest("regression")
    digest.add(made)
    results = digest.results()
    wanted = oracle.naive_scores(made.keys, made.label, made.number("mean"), made.number("log_score"))
    assert results.n_scored == wanted["n"]
    for name, total in wanted.items():
        assert results.curves.sums[name].sum() == pytest.approx(total, rel=1e-9), name


def test_keys_come_with_all_rows_or_with_none():
    with_keys, without = keyed(), answers("regression", N)
    for first, then in ((with_keys, without), (without, with_keys)):
        digest = Digest("regression")
        digest.add(first)
        with pytest.raises(InputError, match="some rows have keys"):
            digest.add(replace(then, row=then.row + N))


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
    unlabelled = replace(made, label=np.full(N, np.nan)).predicting(log_score=np.full(N, np.nan))
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


def test_damaged_labels_by_key_are_refused():
    digest = Digest("regression")
    digest.add(keyed(n=600))
    config, arrays = digest.config(), digest.arrays()
    assert Digest.restore(config, arrays).results().loss == digest.results().loss
    waiting, moments = arrays["pending.rows"], arrays["scores.by_key"]
    for slot in (-1.0, 0.5, float(len(digest.keys)), np.nan):
        with pytest.raises(InputError):
            Digest.restore(config, arrays | {"pending.rows": np.column_stack([waiting[:, :-1], [slot] * len(waiting)])})
    for wrong in (moments[:, :3], -moments, np.vstack([moments, moments])):
        with pytest.raises(InputError):
            Digest.restore(config, arrays | {"scores.by_key": wrong})
    with pytest.raises(InputError):
        Digest.restore(config | {"task": "classification"}, arrays)
