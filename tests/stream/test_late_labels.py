"""Labels that come late teach the features that were predicted, once; others are counted and learn nothing."""

from __future__ import annotations

import numpy as np
import pytest
from stream_runs import sources
from stream_runs.jobs import absorb, job_of, model_bits
from stream_runs.models import write_config
from stream_runs.process import iegp

from iegp.stream.answer_text import json_lines

ROWS = [{"id": f"r{i}", **record} for i, record in enumerate(sources.numbers(80))]


# Experts that learn the same in whatever order labels come, and nothing from the answer that was given.
STATIC = {"drift_var": 0.0, "weights": "bayes"}
PLAIN = STATIC | {"noise_forgetting": None}


def without_label(record):
    return {name: value for name, value in record.items() if name != "y"}


def learned(job):
    """What the model has learned; the watch for changes follows the answers that were given, which knew less."""
    return {name: values for name, values in model_bits(job).items() if not name.startswith("changes.")}


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_late_label_is_learned_as_if_row_and_label_came_then(task):
    rows = ROWS if task == "regression" else [{**r, "y": "up" if r["y"] > 0 else "down"} for r in ROWS]
    asked = rows[50]
    late = [*rows[:50], without_label(asked), *rows[51:70], {"id": asked["id"], "y": asked["y"]}, *rows[70:]]
    in_time = [*rows[:50], *rows[51:70], asked, *rows[70:]]
    parameters = PLAIN if task == "regression" else STATIC
    one, other = job_of(task, parameters=parameters), job_of(task, parameters=parameters)
    absorb(one, late)
    absorb(other, in_time)
    assert one.counters.late == 1
    assert one.counters.learned == other.counters.learned == 80
    for name, values in learned(other).items():
        np.testing.assert_allclose(learned(one)[name], values, rtol=1e-9, atol=1e-12, err_msg=name)


def test_gaps_are_those_of_the_prediction_not_of_the_day_the_label_comes():
    """The row had a gap, filled with the mean so far; values that come later do not change what it is taught with."""
    gap = {"id": "gap", "a": 0.3}
    one, other = job_of(parameters=PLAIN), job_of(parameters=PLAIN)
    absorb(one, [*ROWS[:50], gap, *[{**r, "b": 1000.0 + r["b"]} for r in ROWS[50:60]], {"id": "gap", "y": 0.5}])
    mean = float(np.mean([r["b"] for r in ROWS[:50]]))
    filled = {"id": "gap", "a": 0.3, "b": mean, "y": 0.5}
    absorb(other, [*ROWS[:50], *[{**r, "b": 1000.0 + r["b"]} for r in ROWS[50:60]], filled])
    for name, values in learned(other).items():
        np.testing.assert_allclose(learned(one)[name], values, rtol=1e-7, atol=1e-9, err_msg=name)


def test_a_category_that_came_since_is_none_of_the_row():
    rows = [*ROWS[:5], {"id": "ask", "a": 0.1, "b": 0.2}, {**ROWS[6], "c": "new"}, *ROWS[7:20]]
    one, other = job_of(parameters=PLAIN), job_of(parameters=PLAIN)
    absorb(one, [*rows, {"id": "ask", "y": 0.4}])
    absorb(other, [*rows[:5], *rows[6:], {"id": "ask", "a": 0.1, "b": 0.2, "y": 0.4}])
    for name, values in learned(other).items():
        np.testing.assert_allclose(learned(one)[name], values, rtol=1e-7, atol=1e-9, err_msg=name)


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


def late_by(n, rows):
    """Every row without its label, which comes n rows later."""
    labels = [{"id": row["id"], "y": row["y"]} for row in rows]
    for i, row in enumerate(rows):
        yield without_label(row)
        if i >= n:
            yield labels[i - n]


def test_labels_in_order_are_those_of_a_delay():
    """Answers, scores and naive forecasts of `--delay 5` once all rows wait, and scores of the answers given."""
    by_id, delayed = job_of(), job_of(parameters={"delay": 5})
    found = absorb(by_id, list(late_by(5, ROWS)))
    run = absorb(delayed, ROWS)
    wanted = {
        name: np.concatenate([a.number(name) for a in run])[: len(ROWS) - 5] for name in ("mean", "std", "log_score")
    }
    told = [a for a in found if a.note == "late"]
    for name, values in wanted.items():
        got = np.concatenate([a.number(name) for a in told])
        np.testing.assert_allclose(got[10:], values[10:], rtol=1e-7, atol=1e-9, err_msg=name)
    for one, other in zip(by_id.learner.model.state, delayed.learner.model.state, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


def test_changes_are_noticed_at_the_same_row_as_with_a_delay():
    """At the row that was answered last when the label came; the answer to the label tells it."""
    rows = [{"id": f"r{i}", **record} for i, record in enumerate(sources.numbers(500))]
    rows = [row | {"y": row["y"] + 20.0 * (i >= 350)} for i, row in enumerate(rows)]
    by_id, delayed = job_of(), job_of(parameters={"delay": 5})
    found = absorb(by_id, list(late_by(5, rows)))
    absorb(delayed, rows)
    assert delayed.changes
    # Of the last row the delayed run has no label.
    assert [(c.row, c.kind) for c in by_id.changes] == [(c.row, c.kind) for c in delayed.changes]
    assert by_id.changes[0].row >= 355
    told = next(answers for answers in found if answers.changes)
    assert told.row.tolist() == [by_id.changes[0].row - 5]
    assert b'"change":"' in json_lines(told)


@pytest.mark.parametrize("task", ["regression", "classification", "count", "ordinal"])
def test_scores_are_those_of_the_answer_given(task):
    """Whatever is learned between the answer and its label, refits and new classes included."""
    values = {
        "regression": [r["y"] for r in ROWS],
        "classification": [f"c{i % 3}" for i in range(80)],
        "count": [i % 4 for i in range(80)],
        "ordinal": [str(i % 3) for i in range(80)],
    }[task]
    rows = [{**r, "y": y} for r, y in zip(ROWS, values, strict=True)]
    for place in (5, 30, 60):
        asked, label = without_label(rows[place]), {"id": rows[place]["id"], "y": rows[place]["y"]}
        late, in_time = job_of(task), job_of(task)
        told = [a for a in absorb(late, [*rows[:place], asked, *rows[place + 1 :], label]) if a.note == "late"]
        wanted = absorb(in_time, rows[: place + 1])[-1]
        got, on_time = told[0].predictions, wanted.predictions
        np.testing.assert_allclose(got.log_score, on_time.log_score[-1:], rtol=1e-9)
        for name in ("mean", "std", "lower", "upper", "proba"):
            np.testing.assert_allclose(getattr(got, name), getattr(on_time, name)[-1:], rtol=1e-9, err_msg=name)
        if task == "regression":
            np.testing.assert_allclose(got.pit, on_time.pit[-1:], rtol=1e-9)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_naive_forecasts_know_what_was_known_when_the_row_was_answered(task):
    """Labels five rows late, by id: the last label is that of six rows before."""
    rows = ROWS if task == "regression" else [{**r, "y": "up" if r["y"] > 0 else "down"} for r in ROWS]
    by_id, delayed = job_of(task), job_of(task, parameters={"delay": 5})
    absorb(by_id, list(late_by(5, rows)))
    absorb(delayed, rows[:-5])
    one, other = by_id.digest.results().curves.sums, delayed.digest.results().curves.sums
    y = [r["y"] for r in rows]
    if task == "regression":
        errors = [(y[i] - y[i - 6]) ** 2 for i in range(7, 75)]
        np.testing.assert_allclose(one["last_loss"][7:].sum(), sum(errors), rtol=1e-9)
    else:
        wrong = [y[i] != y[i - 6] for i in range(6, 75)]
        assert one["last_loss"][6:].sum() == sum(wrong)
    # Log scores are compared where the model has one: by id there is none before the first class is known.
    for name in ("naive_loss", "last_loss", *(["naive_log"] if task == "regression" else [])):
        np.testing.assert_allclose(one[name].sum(), other[name].sum(), rtol=1e-9, err_msg=name)


def test_intervals_cover_and_the_report_agrees_with_itself():
    """Labels 24 rows late on a random walk: coverage by intervals and by the calibration is the same number."""
    rng = np.random.default_rng(2)
    y = np.cumsum(0.05 * rng.normal(size=3000)) + 0.3 * rng.normal(size=3000)
    rows = [{"id": f"r{i}", "a": 0.0, "y": float(v)} for i, v in enumerate(y)]
    kernels = [{"kernel": "Constant", "prior_var": 1.0}]
    parameters = {"kernels": kernels, "drift_var": 0.0025, "noise_var": 0.09, "noise_forgetting": None}
    job = job_of(parameters=parameters | {"standardize": False, "robust": False})
    absorb(job, list(late_by(24, rows)))
    results = job.digest.results()
    assert 0.93 < results.coverage < 0.97
    by_pit = results.inside[np.isclose(results.levels, 0.95)][0]
    assert by_pit == pytest.approx(results.coverage, abs=1e-3)


def test_a_stop_between_answer_and_label_changes_nothing(tmp_path):
    write_config(tmp_path)
    sources.write(tmp_path / "in.jsonl", list(late_by(7, ROWS)))
    command = ["stream", "in.jsonl", "--target", "y", "--config", "small.toml", "--save", "m"]
    whole = iegp(tmp_path, *command, "--out", "whole.jsonl")
    assert whole.code == 0, whole.err
    (tmp_path / "m").unlink()
    assert iegp(tmp_path, *command, "--out", "cut.jsonl", "--limit", "61").code == 0
    assert iegp(tmp_path, *command, "--out", "cut.jsonl", "--resume").code == 0
    assert (tmp_path / "cut.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_a_late_label_and_a_delay_exclude_each_other():
    job = job_of(parameters={"delay": 2})
    with pytest.raises(AssertionError, match="leave --delay out"):
        absorb(job, [*ROWS[:5], without_label(ROWS[5]), {"id": ROWS[5]["id"], "y": 1.0}])
