"""Labels by id with lags: rows keep the lags that they were predicted with, in the warm-up and after it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from stream_runs.jobs import absorb, job_of, model_bits

from iegp.core import model as online
from iegp.core.lags import with_lags, with_lags_seen
from iegp.core.model import warmup
from iegp.stream.job import Job

N = 90
RNG = np.random.default_rng(3)
Y = np.cumsum(0.3 * RNG.normal(size=N)) + 0.1 * RNG.normal(size=N)
ROWS = [
    {"id": f"r{i}", "a": float(a), "y": float(y)} for i, (a, y) in enumerate(zip(RNG.normal(size=N), Y, strict=True))
]
LAGS = {"lags": [1, 2, 4]}


def arrivals(seed=5):
    """Records, and the order in which the labels come: by id, a random number of rows late, or with the row."""
    rng = np.random.default_rng(seed)
    when: dict[int, list[int]] = {}
    records, order = [], []
    for i, row in enumerate(ROWS):
        lateness = int(rng.integers(0, 7)) if rng.random() < 0.6 else 0
        if lateness:
            when.setdefault(i + lateness, []).append(i)
            records.append({name: value for name, value in row.items() if name != "y"})
        else:
            records.append(row)
            order.append((i, len(order)))
        for late in when.pop(i, []):
            records.append({"id": ROWS[late]["id"], "y": ROWS[late]["y"]})
            order.append((late, None))
    return records, order


def known_at(records):
    """Of each row, by number, how many labels were known when it was answered."""
    known, n_labels, row = {}, 0, 0
    for record in records:
        if "a" in record:
            known[row] = n_labels
            row += 1
        n_labels += "y" in record
    return known


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_fits_and_replays_see_the_lags_that_rows_were_predicted_with(monkeypatch, size):
    records, order = arrivals()
    known, fitted = known_at(records), []
    original = warmup.fit_experts

    def spy(settings, inputs, rows, y, n_outputs):
        fitted.append(rows.copy())
        return original(settings, inputs, rows, y, n_outputs)

    monkeypatch.setattr(warmup, "fit_experts", spy)
    job = job_of(parameters=LAGS | {"robust": False})
    absorb(job, records, size)
    arrived = [i for i, _ in order]
    assert fitted
    for rows in fitted:
        n, d = len(rows), rows.shape[1] - 3
        y = Y[arrived[:n]]
        mean, scale = y.mean(), y.std()
        for place in range(n):
            wanted = [
                (y[known[arrived[place]] - o] - mean) / scale if known[arrived[place]] >= o else 0.0 for o in (1, 2, 4)
            ]
            np.testing.assert_allclose(rows[place, d:], wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", [1, 1000])
def test_a_warm_up_of_late_labels_is_that_of_rows_that_bring_these_lags(size):
    """State and experts, where nothing is learned from answers; the oracle is told every lag in a column."""
    parameters = LAGS | {"drift_var": 0.0, "weights": "bayes", "noise_forgetting": None, "warmup": 40}
    records, order = arrivals()
    known = known_at(records)
    cut = [i for i, record in enumerate(records) if "y" in record][39] + 1
    job = job_of(parameters=parameters)
    absorb(job, records[:cut], size)
    model = job.learner.model
    assert not model.is_warming_up
    arrived = [i for i, _ in order[:40]]
    y = Y[arrived]
    lags = np.array([[y[known[i] - o] if known[i] >= o else np.nan for o in (1, 2, 4)] for i in arrived])
    brought = online.bringing_lags(
        online.begin(model.settings, model.n_columns, 1, column_keys=model.column_keys, fills_gaps=True)
    )
    x = np.array([[ROWS[i]["a"]] for i in arrived])
    online.absorb(brought, np.concatenate([x, lags], axis=1), y[:, None])
    for one, other in zip(model.state[:6], brought.state[:6], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


def test_a_label_changes_no_answer_before_it_came():
    records, _ = arrivals()
    at = next(i for i, record in enumerate(records) if i > 30 and "a" not in record)
    other = [*records[:at], records[at] | {"y": 50.0}, *records[at + 1 :]]
    one, two = (absorb(job_of(parameters=LAGS), some, 1) for some in (records, other))
    for before, after in zip(one[:at], two[:at], strict=True):
        np.testing.assert_array_equal(before.predictions.mean, after.predictions.mean)
        np.testing.assert_array_equal(before.predictions.std, after.predictions.std)
    assert any(
        not np.array_equal(a.predictions.mean, b.predictions.mean) for a, b in zip(one[at:], two[at:], strict=True)
    )


@pytest.mark.parametrize("task", ["regression", "classification", "count", "ordinal"])
@pytest.mark.parametrize("lags", [[1, 2, 4], "auto"])
def test_a_file_in_the_middle_changes_nothing(task, lags):
    values = {
        "regression": Y.tolist(),
        "classification": [f"c{i % 3}" for i in range(N)],
        "count": [float(i % 4) for i in range(N)],
        "ordinal": [str(i % 3) for i in range(N)],
    }[task]
    number = {row["id"]: i for i, row in enumerate(ROWS)}
    records = [record | ({"y": values[number[record["id"]]]} if "y" in record else {}) for record in arrivals()[0]]
    whole = job_of(task, parameters={"lags": lags})
    wanted = absorb(whole, records, 1)
    for cut in (12, 40, 66, 75):
        job = job_of(task, parameters={"lags": lags})
        found = absorb(job, records[:cut], 1)
        header, arrays = job.to_parts()
        # Which columns are text is known to the reader; the first rows have all of them.
        resumed = Job.from_parts(header, {name: array.copy() for name, array in arrays.items()})
        found += absorb(resumed, records[cut:], 1) if cut < len(records) else []
        assert len(found) == len(wanted)
        for name, values_of in model_bits(whole).items():
            np.testing.assert_array_equal(model_bits(resumed)[name], values_of, err_msg=name)


@pytest.mark.parametrize("size", [3, 1000])
def test_any_chunking_leaves_the_same_model(size):
    records, _ = arrivals()
    one, other = job_of(parameters=LAGS), job_of(parameters=LAGS)
    absorb(one, records, 1)
    absorb(other, records, size)
    for name, values in model_bits(one).items():
        np.testing.assert_allclose(model_bits(other)[name], values, rtol=1e-7, atol=1e-9, err_msg=name)


def test_a_row_that_waits_beyond_the_warm_up_is_learned_with_the_lags_of_its_answer(monkeypatch):
    """Its experts are no more; the labels that it saw are."""
    seen = []
    original = online.late_labels.learn_asked_row
    monkeypatch.setattr(
        online.late_labels, "learn_asked_row", lambda *args: (seen.append(args[4].lags), original(*args))[1]
    )
    asked = {"id": "late", "a": 0.3}
    job = job_of(parameters=LAGS | {"robust": False})
    absorb(job, [*ROWS[:30], asked, *ROWS[30:60], {"id": "late", "y": 0.5}])
    model = job.learner.model
    assert not model.is_warming_up
    labels = np.array([Y[29], Y[28], Y[26]])
    wanted = (labels - model.scaling.y_mean) / model.scaling.y_scale
    np.testing.assert_allclose(seen[-1], wanted[None], rtol=1e-9)


def test_lags_seen_by_rows_in_order_are_those_of_a_pass():
    model = job_of(parameters=LAGS)
    absorb(model, ROWS[:50])
    lags = model.learner.model.experts.ensemble.lags
    x, y = np.zeros((20, 2)), Y[:20, None]
    wanted = with_lags(lags, np.zeros((lags.n_recent, 1)), x, y)
    np.testing.assert_array_equal(with_lags_seen(lags, x, y, np.arange(20)), wanted)


def test_keys_keep_the_lags_of_their_answers():
    """While keys share a model, a row that was answered before the first label of all has seen none."""
    rows = [row | {"k": "ab"[i % 2]} for i, row in enumerate(ROWS)]
    first = {"id": "first", "a": 0.1, "k": "a"}
    label = {"id": "first", "y": 0.2}
    job = job_of(parameters=LAGS, key="k")
    absorb(job, [first, *rows[:10], label])
    kept = job.learner.model.kept_x[-1]
    assert np.isnan(kept[-3:]).all()


def test_rows_without_late_labels_store_nothing_more():
    job = job_of(parameters=LAGS)
    absorb(job, ROWS)
    assert not {"kept.known", "warmup.labels"} & set(model_bits(job))
    assert replace(job.learner.model).kept_known is None
