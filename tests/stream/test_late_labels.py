"""Labels that come late teach the features that were predicted, once; others are counted and learn nothing."""

from __future__ import annotations

import numpy as np
import pytest
from stream_runs import sources
from stream_runs.jobs import absorb, job_of, model_bits
from stream_runs.models import write_config
from stream_runs.process import iegp

ROWS = [{"id": f"r{i}", **record} for i, record in enumerate(sources.numbers(80))]


def without_label(record):
    return {name: value for name, value in record.items() if name != "y"}


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_late_label_teaches_as_if_row_and_label_had_come_there(task):
    rows = ROWS if task == "regression" else [{**r, "y": "up" if r["y"] > 0 else "down"} for r in ROWS]
    asked = rows[50]
    late = [*rows[:50], without_label(asked), *rows[51:70], {"id": asked["id"], "y": asked["y"]}, *rows[70:]]
    in_time = [*rows[:50], *rows[51:70], asked, *rows[70:]]
    one, other = job_of(task), job_of(task)
    absorb(one, late)
    absorb(other, in_time)
    assert one.counters.late == 1
    assert one.counters.learned == other.counters.learned == 80
    for name, values in model_bits(other).items():
        np.testing.assert_allclose(model_bits(one)[name], values, rtol=1e-9, atol=1e-12, err_msg=name)


def test_gaps_are_those_of_the_prediction_not_of_the_day_the_label_comes():
    """The row had a gap, filled with the mean so far; values that come later do not change what it is taught with."""
    gap = {"id": "gap", "a": 0.3}
    one, other = job_of(), job_of()
    absorb(one, [*ROWS[:50], gap, *[{**r, "b": 1000.0 + r["b"]} for r in ROWS[50:60]], {"id": "gap", "y": 0.5}])
    mean = float(np.mean([r["b"] for r in ROWS[:50]]))
    filled = {"id": "gap", "a": 0.3, "b": mean, "y": 0.5}
    absorb(other, [*ROWS[:50], *[{**r, "b": 1000.0 + r["b"]} for r in ROWS[50:60]], filled])
    for name, values in model_bits(other).items():
        np.testing.assert_allclose(model_bits(one)[name], values, rtol=1e-7, atol=1e-9, err_msg=name)


def test_a_category_that_came_since_is_none_of_the_row():
    rows = [*ROWS[:5], {"id": "ask", "a": 0.1, "b": 0.2}, {**ROWS[6], "c": "new"}, *ROWS[7:20]]
    one, other = job_of(), job_of()
    absorb(one, [*rows, {"id": "ask", "y": 0.4}])
    absorb(other, [*rows[:5], *rows[6:], {"id": "ask", "a": 0.1, "b": 0.2, "y": 0.4}])
    for name, values in model_bits(other).items():
        np.testing.assert_allclose(model_bits(one)[name], values, rtol=1e-7, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_duplicates_and_unknown_ids_are_counted_and_not_learned(size):
    label = {"id": "ask", "y": 1.0}
    job = job_of()
    answers = absorb(
        job,
        [
            *ROWS[:5],
            {"id": "ask", "a": 0.0, "b": 0.0},
            label,
            label,
            {"id": "unknown", "y": 2.0},
            ROWS[3],
            {"id": "r1"},
        ],
        size,
    )
    assert job.counters.learned == 6
    assert job.counters.late == 1
    assert job.counters.duplicates == 1
    assert job.counters.unknown_ids == 3
    assert job.counters.rows == 7
    assert [note for answer in answers for note in [answer.note] * len(answer)].count("duplicate") == 1


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_the_oldest_row_that_waits_is_dropped_and_counted(size):
    asked = [{"id": f"ask {i}", "a": float(i), "b": 0.0} for i in range(4)]
    labels = [{"id": f"ask {i}", "y": 0.5} for i in range(4)]
    job = job_of(max_pending=2)
    absorb(job, [*ROWS[:3], *asked, *labels], size)
    assert job.pending.n_dropped == 2
    assert job.counters.late == 2
    assert job.counters.unknown_ids == 2
    assert job.counters.learned == 5


def test_a_label_before_any_row_matches_no_row():
    job = job_of()
    absorb(job, [{"id": "early", "y": 1.0}, *ROWS[:3]])
    assert job.counters.unknown_ids == 1
    assert job.counters.rows == 3


def test_rows_that_wait_survive_a_stop_and_its_report_names_them(tmp_path):
    write_config(tmp_path)
    asked = [without_label(record) for record in ROWS[40:60]]
    labels = [{"id": record["id"], "y": record["y"]} for record in ROWS[40:60]]
    sources.write(tmp_path / "in.jsonl", [*ROWS[:40], *asked, *labels])
    command = ["stream", "in.jsonl", "--target", "y", "--config", "small.toml", "--save", "m", "--out", "out.jsonl"]
    assert "20 rows wait for their labels" in iegp(tmp_path, *command, "--limit", "60").err
    done = iegp(tmp_path, *command, "--resume")
    assert done.code == 0, done.err
    assert "60 learned" in done.err
    assert "Late labels: 20" in done.err
    answers = sources.answers(tmp_path / "out.jsonl")
    assert len(answers) == 80
    for asked_answer, late_answer in zip(answers[40:60], answers[60:], strict=True):
        assert late_answer["late"] is True
        for name in ("row", "id", "mean", "std", "lower", "upper"):
            assert late_answer[name] == asked_answer[name]
        assert asked_answer["label"] is None
        assert late_answer["label"] is not None
