"""A digest does not care how rows were cut into calls, is stored to the bit, and does not grow."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_runs.digest_streams import TASKS, answers, digested, part, same_bits

from iegp.stream.digest import Digest

# Long enough for points to be thinned twice and intervals to be joined.
LONG = 4500


@pytest.fixture(scope="module", params=TASKS)
def whole(request):
    made = answers(request.param, LONG, unlabelled=0.1)
    return request.param, made, digested(request.param, made)


@given(cuts=st.lists(st.integers(0, LONG), max_size=12))
@settings(max_examples=15)
def test_cuts_do_not_matter_to_the_bit(whole, cuts):
    task, made, at_once = whole
    assert same_bits(digested(task, made, cuts), at_once)


def test_row_by_row_gives_the_same_bits(whole):
    task, made, _ = whole
    first = part(made, slice(0, 700))
    assert same_bits(digested(task, first, range(1, 700)), digested(task, first))


@given(cut=st.integers(0, LONG))
@settings(max_examples=10)
def test_stored_and_restored_anywhere_it_goes_on_to_the_same_bits(whole, cut):
    task, made, at_once = whole
    before = digested(task, part(made, slice(0, cut)))
    digest = Digest.restore(json.loads(json.dumps(before.config())), before.arrays())
    assert same_bits(digest, before)
    digest.add(part(made, slice(cut, None)))
    assert same_bits(digest, at_once)


def test_results_do_not_change_the_digest(whole):
    task, made, at_once = whole
    digest = digested(task, made)
    digest.results()
    assert same_bits(digest, at_once)


@pytest.mark.parametrize("task", TASKS)
def test_memory_does_not_grow(task):
    digest, made = Digest(task), answers(task, 5000)
    sizes = []
    for begin in range(0, 200_000, 5000):
        digest.add(replace(made, row=made.row + begin))
        sizes.append(sum(array.nbytes for array in digest.arrays().values()))
    assert max(sizes) < 400_000
    results = digest.results()
    assert results.n_rows == 200_000
    assert 1000 <= len(results.predictions.row) < 2000
    assert np.all(results.predictions.row % results.predictions.step == 0)
    assert len(results.weights.row) < 512


def damage(arrays, name):
    """Every way an array can be wrong, one at a time."""
    array = arrays[name]
    yield {key: value for key, value in arrays.items() if key != name}
    yield {**arrays, name: array.astype(np.float32)}
    yield {**arrays, name: array[None]}
    yield {**arrays, name: np.zeros((*array.shape, 2), dtype=array.dtype)}


@pytest.mark.parametrize("task", TASKS)
def test_damaged_arrays_are_refused(task):
    digest = digested(task, answers(task, 300))
    config, arrays = digest.config(), digest.arrays()
    for name in arrays:
        for damaged in damage(arrays, name):
            with pytest.raises(ValueError, match="stored digest"):
                Digest.restore(config, damaged)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("column", [0, 1, 3])
def test_waiting_rows_that_cannot_be_are_refused(task, column):
    digest = digested(task, answers(task, 100))
    arrays = digest.arrays()
    arrays["pending.rows"][5, column] = -7.0
    if task in ("regression", "count") and column:
        assert Digest.restore(digest.config(), arrays).results().n_rows == 100
        return
    with pytest.raises(ValueError, match="stored digest"):
        Digest.restore(digest.config(), arrays)


@pytest.mark.parametrize("scale", [1e-300, 1e150, 1e300])
def test_extreme_numbers_do_no_harm(scale):
    made = answers("regression", 300)
    scaled = {name: scale * made.number(name) for name in ("mean", "std", "lower", "upper")}
    results = digested("regression", replace(made, label=scale * made.label).predicting(**scaled)).results()
    assert results.n_scored == 298
    assert 0.9 < results.coverage <= 1.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"task": "guessing"}, {"task": None}, {"level": 2.0}, {"level": "0.95"}, {"n_rows": -1}, {"n_rows": True},
        {"last_row": None},
        {"n_labelled": 1.5}, {"classes": None}, {"classes": {"labels": [[]]}}, {"classes": {"labels": ["a", "a"]}},
        {"n_experts": "4"}, {"n_experts": 5}, {"strip_width": 10**9}, {"n_experts": 10**12},
    ],
)  # fmt: skip
def test_a_damaged_configuration_is_refused(wrong):
    digest = digested("classification", answers("classification", 300))
    with pytest.raises(ValueError, match=r"."):
        Digest.restore({**digest.config(), **wrong}, digest.arrays())


def test_rows_out_of_order_are_refused():
    digest = digested("regression", answers("regression", 10))
    for rows in (np.arange(10), np.arange(20, 10, -1)):
        with pytest.raises(ValueError, match="do not follow row 9"):
            digest.add(replace(answers("regression", 10), row=rows))
    with pytest.raises(ValueError, match="do not follow row 9"):
        digest.add(replace(answers("regression", 1), row=np.array([10])), late=True)


def test_another_number_of_experts_is_refused():
    digest = digested("regression", answers("regression", 10))
    with pytest.raises(ValueError, match="5 experts after 4"):
        digest.add(replace(answers("regression", 10, experts=5), row=np.arange(10, 20)))


@pytest.mark.parametrize("arguments", [("guessing",), ("regression", 0.0), ("regression", 1.0)])
def test_unknown_tasks_and_levels_are_refused(arguments):
    with pytest.raises(ValueError, match=r"must lie between|is unknown"):
        Digest(*arguments)
