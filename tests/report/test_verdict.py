"""The sentence on top of a report, for every kind of label."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from report.report_runs import about, digest
from stream_runs.digest_streams import answers, classes, digested, numbers

from iegp.report import Change, render_report
from iegp.report.verdict import target_and_unit, verdict
from iegp.stream.digest import Digest


def run(y, mean, reach=1.0, task="regression", delay=0):
    """Answers with intervals of ``reach`` around the mean."""
    made = Digest(task, delay=delay)
    n = len(y)
    made.add(numbers(np.arange(n), y, np.zeros(n), mean, np.ones(n), mean - reach, mean + reach))
    return made.results()


def zigzag(n=202):
    return np.where(np.arange(n) % 2, 10.0, -10.0)


def test_numbers_are_judged_in_their_unit_beside_the_better_naive_forecast():
    y = zigzag()
    said = verdict(run(y, y + 5.0), about(target="rentals (bikes)", changes=[]))
    assert said == (
        "Off by 5.0 bikes on average, 51 % better than the mean so far; 0 of 100 values fell in the predicted range, "
        "where 95 were promised."
    )
    steady = np.arange(200.0)
    said = verdict(run(steady, steady + 0.25), about(target="level", changes=[]))
    assert said.startswith(
        "Predictions of level are off by 0.25 on average, 75 % better than repeating the last value;"
    )
    assert "100 of 100 values" in said


def test_what_is_worse_or_no_better_is_called_so():
    steady = np.arange(200.0)
    assert "50 % worse than repeating the last value" in verdict(run(steady, steady + 1.5), about())
    assert "as good as repeating the last value" in verdict(run(steady, steady + 1.0), about())
    assert "while repeating the last value is always right" in verdict(run(np.ones(50), np.zeros(50)), about())
    assert "repeating the last known value" in verdict(run(steady, steady + 1.0, delay=3), about())


def test_without_intervals_nothing_is_said_about_them():
    y = zigzag()
    results = run(y + 10.0, y + 15.0, np.nan, "count")
    assert np.isnan(results.coverage)
    assert "range" not in verdict(results, about("count"))
    made = answers("count", 300)
    nothing = np.full(300, np.nan)
    page = render_report(digested("count", made.predicting(lower=nothing, upper=nothing)), about("count"))
    assert "interval</h3>" not in page
    assert "% interval" not in page
    assert "gives no intervals" in page


def test_classes_are_counted():
    n, names = 200, ("a", "b")
    label = np.array(names, dtype=object)[(np.arange(n) // 2) % 2]
    proba = np.where(label[:, None] == np.array(names, dtype=object), 0.9, 0.1)
    proba[::10] = proba[::10, ::-1]
    results = digested("classification", classes(np.arange(n), label, np.log(proba.max(1)), proba=proba, classes=names))
    said = verdict(results.results(), about("classification", target="weather", changes=[]))
    assert said == "90 of 100 rows were given the right weather; always naming the most frequent class is right for 50."


def test_ordered_labels_are_also_counted_if_nearly_right():
    n, names = 90, ("1", "10", "2")
    label = np.array(names, dtype=object)[np.arange(n) % 3]
    proba = np.tile([0.2, 0.2, 0.6], (n, 1))
    results = digested("ordinal", classes(np.arange(n), label, np.zeros(n), proba=proba, classes=names)).results()
    # Always 2: never more than one level off, because 10 comes after 2.
    assert "33 of 100 rows were given the right grade, 100 at most one level off" in verdict(
        results, about(target="grade")
    )


@pytest.mark.parametrize(("n", "words"), [(0, "No labels"), (5, "too few"), (25, "on average")])
def test_short_runs_have_no_verdict(n, words):
    assert words in verdict(digest("regression", n).results(), about(target="y"))


def test_changes_are_reported():
    results = digest("regression", 100).results()
    times = [Change(10, 1709424000.0, "level", 2.0), Change(50, 1717891200.0, "level", 2.0)]
    assert verdict(results, about(changes=times)).endswith("; changes noticed on 3 Mar 2024 and on 9 Jun 2024.")
    rows = [Change(10 * k, None, "level", 2.0) for k in range(1, 5)]
    assert verdict(results, about(changes=rows)).endswith("; 4 changes noticed, the last at row 40.")


def test_the_unit_stands_behind_the_name_or_is_given():
    made = about(target="power [kW]")
    assert target_and_unit(made) == ("power", "kW")
    assert target_and_unit(replace(made, unit="MW")) == ("power", "MW")
    assert target_and_unit(about(target="(odd)")) == ("(odd)", "")
