"""Times on axes, surprising rows, inputs, changes and how long a run took, as text of the page."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from report.report_runs import about
from stream_runs.digest_streams import TASKS, answers

from iegp.report import Timing, render_report
from iegp.report.about import Change
from iegp.report.clock import time_ticks
from iegp.report.text import setting_lines
from iegp.stream.digest import Digest

DAY = 86_400.0
NEW_YEAR = 1704067200.0


def page(task="regression", n=1500, step=3600.0, **changes):
    made = replace(answers(task, n), time=NEW_YEAR + step * np.arange(n), ids=tuple(f"r{i}" for i in range(n)))
    run = Digest(task)
    run.add(made)
    return run, render_report(run, about(task, **changes))


def section(text, anchor):
    return re.search(rf'<section id="{anchor}">.*?</section>', text, re.DOTALL)[0]


@pytest.mark.parametrize("task", TASKS)
def test_axes_show_times(task):
    _, text = page(task)
    assert "1 Jan 2024 00:00 to 3 Mar 2024 11:00" in text
    for anchor in ("predictions", "scores", "experts"):
        assert ">Feb</span>" in section(text, anchor)


def test_times_that_go_backwards_are_left_out():
    _, text = page(step=-3600.0)
    assert "2024" not in section(text, "scores")
    assert ">1,000</span>" in section(text, "scores")


@pytest.mark.parametrize(("span", "first", "n"), [
    (30.0, "00:00:05", 6), (7200.0, "00:30", 4), (2 * DAY, "12:00", 4), (10 * DAY, "2 Jan", 5), (80 * DAY, "Feb", 2),
    (900 * DAY, "Jul", 4), (9000 * DAY, "2025", 5),
])  # fmt: skip
def test_ticks_are_round_times(span, first, n):
    ticks = time_ticks(NEW_YEAR + 1.0, NEW_YEAR + span)
    assert (ticks[0][1], len(ticks)) == (first, n)
    assert all(NEW_YEAR < at <= NEW_YEAR + span for at, _ in ticks)


@pytest.mark.parametrize("task", TASKS)
def test_ten_surprising_rows_are_listed_with_id_and_time(task):
    run, text = page(task)
    found = section(text, "surprises")
    assert found.count("<tr>") == 11
    for own in run.results().surprises:
        assert f"<td>{own.row:,}</td>" in found
        assert f"<td>r{own.row}</td>" in found
    assert " 2024 " in found


def test_counts_are_listed_in_full():
    run, text = page("count")
    for own in run.results().surprises:
        assert f'<td class="number">{own.columns["label"]:,.0f}</td>' in section(text, "surprises")


def test_inputs_are_listed_by_relevance():
    found = section(page()[1], "inputs")
    assert found.index("q1") < found.index("load")
    assert "12 (0.8 %)" in found
    assert "70.0 %" in found


def test_changes_are_marked_and_listed():
    text = page()[1]
    assert 'class="line change" d="M' in section(text, "scores")
    assert "level" in section(text, "changes")
    assert "Where the level of the target, the noise, or the relation between inputs and target changed" in text
    assert 'id="changes"' not in page(changes=[])[1]


def test_how_long_it_took_and_when_it_was_written():
    text = page(timing=Timing(NEW_YEAR, 200.0, 1500))[1]
    assert "3 min 20 s, 7 rows per second" in text
    assert "1 Jan 2024 00:00 UTC" in text
    assert "rows per second" not in page(timing=Timing(NEW_YEAR))[1]


def test_glitches_do_not_stretch_the_axis_of_predictions_and_are_counted():
    stream = answers("regression", 4000)
    label = stream.label.copy()
    # Two of the last 400 rows, which the report opens on.
    label[np.r_[200:3500:264, 3700, 3900]] = 350.0
    label[3901] = -150.0
    run = Digest("regression")
    run.add(replace(stream, label=label))
    found = section(render_report(run, about()), "predictions")
    assert ">3 labels outside the axis<" in found
    assert found.count('<i class="edge above"') == 2
    assert '<i class="edge below" style="left:75.25%"' in found
    ticks = re.search(r'class="y-ticks">(.*?)</div>', found)[1]
    heights = [float(text.replace("−", "-")) for text in re.findall(r">([^<]+)</span>", ticks)]
    assert max(heights) < 30
    assert min(heights) > -20


@pytest.mark.parametrize("task", TASKS)
def test_nothing_is_said_of_the_axis_where_all_labels_are_on_it(task):
    _, text = page(task, n=300)
    found = section(text, "predictions")
    assert 'class="edge' not in found
    assert ('<li class="outside" hidden>' in found) == (task in ("regression", "count"))


@pytest.mark.parametrize("time", [NEW_YEAR, None])
def test_changes_have_times_where_rows_have_them(time):
    _, text = page(changes=[Change(700, time, "level", 12.0), Change(90, None, "noise", 9.0)])
    found = section(text, "changes")
    assert ("1 Jan 2024 00:00" in found) == (">Time<" in found) == (time == NEW_YEAR)
    assert found.index(">90<") < found.index(">700<")


def test_a_setting_that_is_an_empty_text_is_worded():
    assert setting_lines({"thousands": "", "decimal": "."}) == [("thousands", "none"), ("decimal", ".")]
