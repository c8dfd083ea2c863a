"""Errors in units of the labels, the most surprising rows and the latest ones, against plain NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from stream_runs.digest_streams import answers, digested, without_labels

from iegp.stream.digest import Digest


def test_absolute_and_root_mean_squared_errors():
    made = answers("regression", 700)
    y, mean = made.label[2:], made.number("mean")[2:]
    before = np.array([made.label[:i].mean() for i in range(2, 700)])
    results = digested("regression", made, [3, 500]).results()
    for found, power in ((results.mae, 1.0), (np.square(results.rmse), 2.0)):
        errors = [np.mean(np.abs(y - forecast) ** power) for forecast in (mean, before, made.label[1:-1])]
        assert_allclose(found, errors)


def test_rows_without_an_interval_are_not_counted_as_missed():
    made = answers("regression", 400)
    lower = made.number("lower").copy()
    whole = digested("regression", made).results().coverage
    lower[::2] = np.nan
    assert digested("regression", made.predicting(lower=lower)).results().coverage == pytest.approx(whole, abs=0.03)
    none = digested("regression", made.predicting(lower=np.full(400, np.nan)))
    assert np.isnan(none.results().coverage)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_most_surprising_rows_are_those_of_a_sort(task):
    made = replace(answers(task, 900), ids=tuple(f"r{i}" for i in range(900)))
    if task == "regression":
        surprise = np.abs(made.label - made.number("mean")) / made.number("std")
    else:
        own = made.label[:, None] == np.array(made.classes, dtype=object)
        surprise = 1.0 - made.predictions.proba[own]
    wanted = 20 + np.argsort(-surprise[20:], kind="stable")[:10]
    run = Digest(task)
    for begin in range(0, 900, 37):
        run.add(made.part(begin, min(begin + 37, 900)))
    found = Digest.restore(run.config(), run.arrays()).results().surprises
    assert [own.row for own in found] == wanted.tolist()
    assert [own.id for own in found] == [f"r{row}" for row in wanted]
    assert_allclose([own.surprise for own in found], surprise[wanted])


def test_a_late_label_can_be_the_most_surprising():
    made = replace(answers("regression", 100), time=1e9 + np.arange(100.0))
    hidden = np.arange(100) == 50
    run = Digest("regression")
    run.add(without_labels(made, hidden))
    label = made.label.copy()
    label[50] = 1e6
    late = replace(made, label=label).part(50, 51)
    run.add(late, late=True)
    first, results = run.results().surprises[0], run.results()
    assert (first.row, first.columns["label"], first.columns["time"]) == (50, 1e6, 1e9 + 50)
    assert results.recent.columns["label"][50] == results.predictions.columns["label"][50] == 1e6


def test_every_one_of_the_latest_rows_is_kept():
    made = answers("regression", 4500)
    results = digested("regression", made, [4200, 4450]).results()
    assert_array_equal(results.recent.row, np.arange(4100, 4500))
    assert_array_equal(results.recent.columns["mean"], made.number("mean")[4100:])
    assert results.predictions.step == 4


@pytest.mark.parametrize("names", [None, [], [["a", "b"]] * 9, [["a"]] * 10, [[1, None]] * 10])
def test_damaged_names_are_refused(names):
    run = digested("regression", answers("regression", 100))
    with pytest.raises(ValueError, match="stored digest"):
        Digest.restore({**run.config(), "surprises": names}, run.arrays())
