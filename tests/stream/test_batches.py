"""How a stream is cut into batches does not matter; what comes later cannot be known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_runs import sources
from stream_runs.jobs import absorb_batch, job_of, table


def everything(n: int, task: str) -> list[sources.Record]:
    """Categories and columns that appear, gaps, times, ids, late and superfluous labels."""
    rng = np.random.default_rng(5)
    records: list[sources.Record] = []
    for i, record in enumerate(sources.mixed(n, seed=5)):
        record = {"id": f"r{i}", **{name: value for name, value in record.items() if value is not None}}
        if task != "regression":
            record["y"] = "up" if record["y"] > 0.2 else "down" if i < 30 or record["y"] < -0.2 else "level"
        if i >= 13 and rng.random() < 0.5:
            record["c"] = float(rng.normal())
        if i >= 37 and rng.random() < 0.5:
            record["d"] = str(rng.choice(["x", "y"]))
        if i % 7 == 3:
            label = record.pop("y")
            records += [record, *([{"id": f"r{i - 5}", "y": label}] if i % 2 else []), {"id": f"r{i}", "y": label}]
        else:
            records.append(record)
        if i % 11 == 4:
            records.append({**record, "id": f"r{i}"})
    return records


def answered(records: list[sources.Record], cuts: list[int], task: str) -> tuple[dict, object]:
    job, kinds, answers = job_of(task, time="when", max_pending=3), {}, []
    for start, stop in zip([0, *cuts], [*cuts, len(records)], strict=True):
        if stop > start:
            absorb_batch(job, records[start:stop], kinds, answers)
    return table(answers), job


@pytest.mark.parametrize("task", ["regression", "classification"])
@settings(max_examples=12)
@given(data=st.data())
def test_any_cutting_gives_the_same_answers(task, data):
    records = everything(70, task)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(records)), max_size=12)))
    whole, one = answered(records, [], task)
    parts, other = answered(records, cuts, task)
    assert one.counters == other.counters
    assert one.encoder.columns == other.encoder.columns
    assert list(one.pending.rows) == list(other.pending.rows)
    for name, values in whole.items():
        np.testing.assert_allclose(parts[name], values, rtol=1e-8, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_one_by_one_gives_the_same_answers(task):
    records = everything(90, task)
    whole, one = answered(records, [], task)
    parts, other = answered(records, list(range(1, len(records))), task)
    assert one.counters == other.counters
    for name, values in whole.items():
        np.testing.assert_allclose(parts[name], values, rtol=1e-8, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("t", [0, 1, 33, 40, 66])
@pytest.mark.parametrize("size", [1, 1000])
def test_labels_from_row_t_on_change_no_answer_up_to_row_t(task, t, size):
    records = sources.numbers(80) if task == "regression" else sources.classes(80)
    changed = [
        {**record, "y": 50.0 * record["y"] + 7.0 if task == "regression" else "another"} if i >= t else record
        for i, record in enumerate(records)
    ]
    cuts = list(range(size, len(records), size))
    before, _ = answered([{**r, "when": "2024-03-01"} for r in records], cuts, task)
    after, _ = answered([{**r, "when": "2024-03-01"} for r in changed], cuts, task)
    for name, values in before.items():
        if name in after:
            # The score is of the label, so it may differ at row t itself.
            stop = t if name == "log_score" else t + 1
            # An unknown class ends a block, and sums over another block round differently.
            np.testing.assert_allclose(after[name][:stop], values[:stop], rtol=1e-13, err_msg=name)
