"""Lags with one model per key: a row sees the labels of its own key, while the model is shared and after."""

from __future__ import annotations

import copy
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_runs import sources
from stream_runs.jobs import absorb, job_of, table

from iegp import IEGPRegressor
from iegp.errors import InputError, ModelFileError
from iegp.fleet.keyed_learner import Fleets
from iegp.kernels import RBF
from iegp.storage import model_file as modelfile
from iegp.stream import checkpoint
from iegp.stream.checkpoint import RunState

WARMUP, OFFSETS = 40, (1, 2, 5)
COLUMNS = ("mean", "std", "lower", "upper", "log_score")
RECORDS = sources.keyed(110)
# Columns written by hand are not standardised as labels are, so nothing is.
PLAIN = {"standardize": False, "robust": False}


def job_with(**parameters):
    return job_of(given_columns=True, key="sensor", parameters=parameters)


def by_hand(records):
    """The oracle: the labels of the key before each record, as columns; 0 where there is none."""
    seen, rows = defaultdict(list), []
    for record in records:
        own = seen[record["sensor"]]
        lags = {f"lag {o}": own[-o] if len(own) >= o else 0.0 for o in OFFSETS}
        rows.append({"a": record["a"], "b": record["b"], **lags, "y": record["y"], "sensor": record["sensor"]})
        own.append(record["y"])
    return rows


def assert_same(got, wanted, tolerance=1e-8):
    for name in COLUMNS:
        np.testing.assert_allclose(table(got)[name], table(wanted)[name], tolerance, tolerance, err_msg=name)


@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_lags_are_columns_written_by_hand_for_each_key(data):
    """Of shared rows and of those of each key's own model, rows in any order, cut into batches of any size."""
    order = data.draw(st.permutations(range(len(RECORDS))))
    records = [RECORDS[i] for i in order]
    job, wanted = job_with(lags=OFFSETS, **PLAIN), job_with(**PLAIN)
    found = absorb(job, records, data.draw(st.sampled_from([1, 7, 50, 1000])))
    expected = absorb(wanted, by_hand(records))
    assert_same(found, expected)
    assert set(job.learner.fleet.keys) == set(wanted.learner.fleet.keys)
    without = table(absorb(job_with(**PLAIN), records))
    assert np.abs(table(found)["mean"] - without["mean"])[:WARMUP].max() > 1e-3


def test_with_a_single_key_it_is_the_model_without_keys():
    """Standardised and robust, through every refit of the warm-up."""
    records = [record | {"sensor": "one"} for record in RECORDS]
    job = job_with(lags=3, kernels=[{"kernel": "RBF", "length_scale": 1.0}])
    found = table(absorb(job, records, 30))
    model = IEGPRegressor(
        [RBF(1.0)], n_frequencies=5, warmup=WARMUP, drift_var=(0.0, 1e-3), noise_var=0.1, random_state=0, lags=3
    )
    run = model.prequential([[r["a"], r["b"]] for r in records], [r["y"] for r in records])
    np.testing.assert_allclose(found["mean"][1:], run.mean[1:], 1e-8, 1e-8)
    np.testing.assert_allclose(found["std"][1:], run.std[1:], 1e-8, 1e-8)
    np.testing.assert_allclose(
        job.learner.fleet.online("one").state.recent, model.model_.state.recent, 1e-9, err_msg="the last labels"
    )


def test_late_labels_are_learned_with_the_lags_that_their_rows_saw():
    """Asked while the model is shared, with refits between, and after."""
    rows = [{"id": f"r{i}", **record} for i, record in enumerate(RECORDS[:90])]
    columns = [{"id": f"r{i}", **record} for i, record in enumerate(by_hand_with_late(rows))]
    found, expected = (
        absorb(job_with(**settings), late(own))
        for settings, own in (({"lags": OFFSETS} | PLAIN, rows), (PLAIN, columns))
    )
    assert_same(found, expected)


ASKED = {10: 13, 20: 38, 50: 70}
"""Rows whose labels come just before later ones."""


def late(rows):
    """Records in the order in which they come."""
    records = []
    for i, row in enumerate(rows):
        records += [{"id": f"r{a}", "y": rows[a]["y"]} for a, b in ASKED.items() if b == i]
        records.append({name: value for name, value in row.items() if name != "y" or i not in ASKED})
    return records


def by_hand_with_late(rows):
    """Columns of labels that are known when each row is asked."""
    seen, made = defaultdict(list), []
    for i, row in enumerate(rows):
        for a in (a for a, b in ASKED.items() if b == i):
            seen[rows[a]["sensor"]].append(rows[a]["y"])
        own = seen[row["sensor"]]
        lags = {f"lag {o}": own[-o] if len(own) >= o else 0.0 for o in OFFSETS}
        made.append({"a": row["a"], "b": row["b"], **lags, "y": row["y"], "sensor": row["sensor"]})
        if i not in ASKED:
            own.append(row["y"])
    return made


@pytest.mark.parametrize("t", [20, 70])
def test_no_label_changes_an_earlier_answer(t):
    changed = copy.deepcopy(RECORDS)
    changed[t]["y"] += 5.0
    before, after = (table(absorb(job_with(lags=3), records)) for records in (RECORDS, changed))
    keys = np.array([record["sensor"] for record in RECORDS])
    for name in ("mean", "std", "lower", "upper"):
        np.testing.assert_array_equal(after[name][: t + 1], before[name][: t + 1], err_msg=name)
        if t >= WARMUP:
            np.testing.assert_array_equal(after[name][keys != keys[t]], before[name][keys != keys[t]], err_msg=name)
    later = np.flatnonzero((keys == keys[t]) & (np.arange(len(keys)) > t))[:3]
    assert np.all(after["mean"][later] != before["mean"][later])


@pytest.mark.parametrize("n", [1, 25, 45])
def test_a_checkpoint_brings_the_labels_of_every_key_back(tmp_path, n):
    """Among the shared rows, and while some keys that were seen have no model of their own yet."""
    whole = job_with(lags=OFFSETS)
    absorb(whole, [{"id": i, **record} for i, record in enumerate(RECORDS[:n])])
    absorb(whole, [{"id": "ask", "a": 0.1, "b": 0.2, "sensor": "s1"}])
    assert whole.learner.recent
    checkpoint.write(tmp_path / "m", whole, RunState("in.csv", {}, {}))
    cut, _ = checkpoint.read(tmp_path / "m", by_key=Fleets())
    rest = [{"id": i, **record} for i, record in enumerate(RECORDS[n:], n)] + [{"id": "ask", "y": 1.0}]
    one, two = absorb(whole, rest), absorb(cut, rest)
    for name, values in table(one).items():
        np.testing.assert_array_equal(table(two)[name], values)
    for job in (whole, cut):
        checkpoint.write(tmp_path / f"{job is cut}", job, RunState("in.csv", {}, {}))
    assert (tmp_path / "True").read_bytes() == (tmp_path / "False").read_bytes()
    # Nothing is kept beside the models once every key has its own.
    assert not set(whole.learner.recent) & set(whole.learner.fleet.keys)


def test_a_checkpoint_whose_labels_do_not_fit_is_refused(tmp_path):
    job = job_with(lags=2)
    absorb(job, RECORDS[:25])
    checkpoint.write(tmp_path / "m", job, RunState("in.csv", {}, {}))
    header, arrays = modelfile.read(tmp_path / "m")
    names = header["by_key"]["recent"]
    online = header["online"]
    wrong = [{"by_key": {"recent": value}} for value in (names[:-1], [[7, 1]], [["a", -1]], [["a", 10**9]], 3)]
    wrong += [{"online": online | {"rows_bring_lags": value}} for value in (False, 1)]
    for change in wrong:
        modelfile.write(tmp_path / "bad", header | change, arrays)
        with pytest.raises(ModelFileError):
            checkpoint.read(tmp_path / "bad", by_key=Fleets())


def test_a_key_without_a_model_is_answered_with_its_own_labels():
    """Seen while the model was shared and not since: rows that are predicted see its labels."""
    records = [record | {"sensor": "rare" if i in (3, 30, 35) else "usual"} for i, record in enumerate(RECORDS[:50])]
    job = job_with(lags=OFFSETS, **PLAIN)
    absorb(job, records)
    assert set(job.learner.fleet.keys) == {"usual"}
    row = {"a": 0.1, "b": 0.2, "y": 0.0, "sensor": "rare"}
    expected = table(absorb(job_with(**PLAIN), by_hand([*records, row])))["mean"][-1]
    predicted = job.learner.predict(np.array([[0.1, 0.2]]), ("rare",)).mean.ravel()[0]
    assert predicted == pytest.approx(expected, rel=1e-8)
    assert table(absorb(job, [row]))["mean"][-1] == pytest.approx(expected, rel=1e-8)
    assert not job.learner.recent


def test_new_columns_while_labels_are_seen():
    records = copy.deepcopy(RECORDS)
    for record in records[20:]:
        record["c"] = record["a"] ** 2
    job = job_of(key="sensor", parameters={"lags": 3})
    found = table(absorb(job, records, 10))
    assert np.isfinite(found["mean"][1:]).all()
    assert job.learner.fleet is not None
    again = table(absorb(job_of(key="sensor", parameters={"lags": 3}), records, 1))
    np.testing.assert_allclose(again["mean"][1:], found["mean"][1:], 1e-7, 1e-7)


def test_a_glitch_is_a_usual_label_to_later_rows():
    glitched = copy.deepcopy(RECORDS)
    glitched[36]["y"] = 1e6
    mean = table(absorb(job_with(lags=3, warmup=80), glitched))["mean"]
    assert np.abs(mean[80:]).max() < 20.0


def test_a_delay_is_refused():
    with pytest.raises(InputError, match="without delay"):
        absorb(job_with(lags=(3,), delay=2), RECORDS)
