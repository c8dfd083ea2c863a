"""From records to numbers: categories, gaps, times, and which columns are used."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import numpy as np
import pytest
from stream_runs import sources
from stream_runs.jobs import absorb, job_of

from iegp.preprocessing.encoder import MOST_CATEGORIES, NUMBER, Column
from iegp.preprocessing.time_features import read_time, time_features
from iegp.readers import Batch


class Seen:
    """A job that notes its rows as the model gets them."""

    def __init__(self, records, size=1000, **plan):
        self.job = job_of(**plan)
        self.rows = []
        filled = type(self.job.encoder).filled

        def noted(raw):
            x = filled(self.job.encoder, raw)
            self.rows += x.tolist()
            return x

        self.job.encoder.filled = noted
        absorb(self.job, records, size)
        self.names = [column.name for column in self.job.encoder.columns]

    def column(self, name):
        place = self.names.index(name)
        return [row[place] if place < len(row) else None for row in self.rows]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_text_becomes_one_column_per_category_also_after_the_warm_up(size):
    """The warm-up of the small model has 40 rows."""
    kinds = ["red"] * 10 + ["green"] * 29 + ["last"] + ["blue"] * 5
    seen = Seen([{**r, "kind": k} for r, k in zip(sources.numbers(45), kinds, strict=True)], size)
    assert seen.names == ["a", "b", "kind=red", "kind=green", "kind=last", "kind=blue"]
    assert seen.column("kind=red") == [1.0] * 10 + [0.0] * 35
    assert [row[2:] for row in seen.rows[40:]] == [[0.0, 0.0, 0.0, 1.0]] * 5
    assert (seen.job.encoder.n_late, seen.job.encoder.n_unknown) == (1, {})
    assert seen.job.learner.model.n_columns == 6


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_so_many_columns_may_come_after_the_warm_up(size):
    records = [{**r, "kind": f"k{i}"} if i >= 40 else r for i, r in enumerate(sources.numbers(45))]
    records[44]["c"] = 1.0
    seen = Seen([])
    seen.job.encoder.most_late = 3
    absorb(seen.job, records, size)
    assert [column.name for column in seen.job.encoder.columns] == ["a", "b", "kind=k40", "kind=k41", "kind=k42"]
    assert seen.job.encoder.n_unknown == {"kind": 2, "c": 1}


def test_a_late_category_is_learned():
    """Its rows have labels of their own, and are soon predicted as well as others."""
    rng = np.random.default_rng(2)
    kinds = ["red", "green"] * 50 + ["up", "down"] * 60
    sizes = {"red": 0.0, "green": 1.0, "up": 5.0, "down": -5.0}
    records = [{"a": float(rng.normal()), "kind": kind, "y": sizes[kind] + 0.1 * rng.normal()} for kind in kinds]
    answers = absorb(job_of(), records)
    errors = np.concatenate([part.predictions.mean[:, 0] - part.label for part in answers])
    assert np.abs(errors[-40:]).mean() < 1.0


def test_late_labels_do_not_shorten_the_warm_up():
    records = [{"id": f"r{i}", **r} for i, r in enumerate(sources.numbers(41))]
    with_labels = [part for r in records for part in (r, {"id": "unknown", "y": 0.0})]
    for size in (1, 7, 1000):
        early = Seen([*with_labels[:78], {**records[39], "kind": "in"}, {**records[40], "kind": "out"}], size)
        assert early.names == ["a", "b", "kind=in", "kind=out"]
        assert early.job.encoder.n_late == 1


def test_a_column_has_at_most_so_many_categories():
    records = [{**r, "a": r["a"], "name": f"n{i}"} for i, r in enumerate(sources.numbers(60))]
    job = job_of()
    job.encoder.n_open = 1000
    absorb(job, records, 7)
    assert job.encoder.n_categories("name") == MOST_CATEGORIES
    assert job.encoder.n_unknown["name"] == 60 - MOST_CATEGORIES


def test_truth_values_are_categories_of_their_own():
    seen = Seen([{"a": 1.0, "t": "true", "y": 0.0}, {"a": 2.0, "t": "false", "y": 1.0}])
    assert seen.names == ["a", "t=true", "t=false"]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_gaps_are_filled_with_the_mean_so_far(size):
    rng = np.random.default_rng(1)
    values = [None if rng.random() < 0.3 else float(rng.normal()) for _ in range(60)]
    values[0] = 1.0
    seen = Seen([{"b": b, "a": 0.0, "y": 1.0} for b in values], size)
    known: list[float] = []
    for value, got in zip(values, seen.column("b"), strict=True):
        expected = sum(known) / len(known) if value is None else value
        assert got == pytest.approx(expected, rel=1e-14)
        if value is not None:
            known.append(value)
    assert seen.job.encoder.n_filled == {"b": sum(value is None for value in values)}


def test_times_become_time_of_day_day_of_week_and_trend():
    stamps = ["2024-03-01T00:00:00", "2024-03-01T06:00:00", "2024-03-02T00:00:00", "2024-03-08 12:30"]
    seen = Seen([{"when": when, "y": 0.0} for when in stamps], time="when")
    for row, text in zip(seen.rows, stamps, strict=True):
        time = datetime.fromisoformat(text)
        day = (time.hour + time.minute / 60) / 24
        week = (time.weekday() + day) / 7
        turns = [math.tau * day, math.tau * week]
        trend = (time - datetime(2024, 3, 1)) / (datetime(2024, 3, 2) - datetime(2024, 3, 1))
        expected = [math.sin(turns[0]), math.cos(turns[0]), math.sin(turns[1]), math.cos(turns[1]), trend]
        assert row == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("text", ["1709294400", "1709294400.0", "1709294400000", "1.7092944e9", "2024-03-01T12:00Z"])
def test_times_may_be_numbers(text):
    assert read_time(text) == datetime(2024, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "noon", "2024-13-01", "nan", "inf", "-1e400", "1e99", "٣"])
def test_an_invalid_time_is_reported(text):
    time = read_time(text)
    assert time is None or math.isfinite(time_features(time, 0.0)[-1])


@pytest.mark.parametrize("text", ["0001-01-01T00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_the_ends_of_the_calendar(text):
    time = read_time(text)
    assert time is not None
    assert all(map(math.isfinite, time_features(time, 0.0)))


def test_features_and_ignore():
    records = [{**r, "c": 1.0, "when": "2024-03-01"} for r in sources.numbers(3)]
    assert Seen(records, features=("a", "c")).names == ["a", "c"]
    assert Seen(records, ignore=("c", "when")).names == ["a", "b"]
    assert Seen(records, features=("a",), time="when").names[-1] == "a"
    assert len(Seen(records, features=("a",), time="when").names) == 6


def test_missing_error_refuses_a_gap():
    with pytest.raises(AssertionError, match=r"record 2.*column='b'.*--missing error"):
        absorb(job_of(missing="error"), [*sources.numbers(2), {"a": 1.0, "b": None, "y": 1.0}])


def test_a_record_that_cannot_be_used_leaves_no_column_behind():
    told = []
    job = job_of(time="when")
    columns = {
        "when": np.array(["2024-03-01", "noon", "2024-03-02"], dtype=object),
        "a": np.array([1.0, 2.0, 3.0]),
        "kind": np.array([None, "odd", None], dtype=object),
        "y": np.array([1.0, 2.0, 3.0]),
    }
    lines = np.arange(3)
    job.absorb(Batch(columns, lines), lambda _: None, lambda index, problem: told.append((index, problem.column)))
    assert told == [(1, "when")]
    assert [column.name for column in job.encoder.columns if column.source != "when"] == ["a"]
    assert job.counters.learned == 2


def test_truth_values_written_as_text_say_how_numbers_would_be_written():
    encoder = job_of().encoder
    encoder.add([Column(NUMBER, "a")])
    batch = Batch({"a": np.array(["True", "north"], dtype=object)}, np.arange(2))
    reasons = [problem.reason for problem in encoder.problems(batch, np.ones(2, dtype=bool))]
    assert reasons[0].endswith("; write 1 for true and 0 for false")
    assert reasons[1].endswith("when the model learned")
