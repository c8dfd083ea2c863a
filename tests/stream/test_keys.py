"""One model per key: first all rows teach one model, then each key's model is a copy of it that learns its own rows."""

from __future__ import annotations

import copy
from copy import deepcopy
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_runs import sources
from stream_runs.jobs import absorb, absorb_batch, job_of, table

from iegp import IEGPRegressor
from iegp.cli.models import settings_of
from iegp.core import model as online
from iegp.errors import IegpError, InputError, ModelFileError
from iegp.fleet.keyed_learner import Fleets
from iegp.fleet.pages import Pages
from iegp.kernels import RBF
from iegp.readers import Batch
from iegp.storage import model_file as modelfile
from iegp.stream import checkpoint
from iegp.stream.checkpoint import RunState
from iegp.stream.job import Job
from iegp.stream.plan import Plan

WARMUP = 40
COLUMNS = ("mean", "std", "lower", "upper", "log_score", "pit")
RECORDS = sources.keyed(130)


def keyed_job(**plan):
    return job_of(given_columns=True, key="sensor", **plan)


def columns_of(answers):
    """All answers as columns; pit too."""
    return table(answers) | {"pit": np.concatenate([answer.number("pit") for answer in answers])}


def single_models(records):
    """The oracle: one estimator for the first rows, then a copy of it for each key, each fed row by row."""
    shared = IEGPRegressor(
        [RBF(1.0)], n_frequencies=5, warmup=WARMUP, drift_var=(0.0, 1e-3), noise_var=0.1, random_state=0
    )
    own, rows = {}, []
    for number, record in enumerate(records):
        key = record["sensor"]
        model = shared if number < WARMUP else own.setdefault(key, deepcopy(shared))
        x, y = [[record["a"], record["b"]]], [record["y"]]
        pit = float(model.predict_dist(x).cdf(y)[0]) if number else np.nan
        run = model.prequential(x, y)
        rows.append([run.mean[0], run.std[0], run.lower[0], run.upper[0], run.log_score[0], pit])
    return dict(zip(COLUMNS, np.array(rows).T, strict=True)), own


def assert_same(got, wanted, first=1, tolerance=1e-8):
    for name in COLUMNS:
        np.testing.assert_allclose(got[name][first:], wanted[name][first:], tolerance, tolerance, err_msg=name)


def states(job):
    """Every number of every key."""
    fleet = job.learner.fleet
    return {key: fleet.online(key).state for key in fleet.keys}


def assert_same_states(one, other, tolerance=1e-9):
    assert states(one).keys() == states(other).keys()
    for key, state in states(other).items():
        for got, wanted in zip(states(one)[key], state, strict=True):
            np.testing.assert_allclose(got, wanted, tolerance, 1e-11, err_msg=key)


@settings(max_examples=6)
@given(data=st.data())
def test_every_key_is_a_single_model_whatever_the_order(data):
    """Rows in any order, cut into batches of any size."""
    order = data.draw(st.permutations(range(len(RECORDS))))
    size = data.draw(st.sampled_from([1, 7, 50, 1000]))
    records = [RECORDS[i] for i in order]
    job = keyed_job()
    answers = columns_of(absorb(job, records, size))
    wanted, own = single_models(records)
    assert_same(answers, wanted)
    assert set(job.learner.fleet.keys) == set(own)
    for key, model in own.items():
        np.testing.assert_allclose(job.learner.fleet.predict(key, [[0.3, 0.1]]), model.predict([[0.3, 0.1]]), 1e-8)


def test_no_label_changes_an_earlier_answer_and_no_key_another():
    before = columns_of(absorb(keyed_job(), RECORDS))
    t = 70
    changed = copy.deepcopy(RECORDS)
    changed[t]["y"] += 5.0
    after = columns_of(absorb(keyed_job(), changed))
    keys = np.array([record["sensor"] for record in RECORDS])
    others = keys != keys[t]
    for name in ("mean", "std", "lower", "upper"):
        np.testing.assert_array_equal(after[name][: t + 1], before[name][: t + 1], err_msg=name)
        np.testing.assert_array_equal(after[name][others], before[name][others], err_msg=name)
    later = np.flatnonzero(~others & (np.arange(len(keys)) > t))
    assert len(later)
    assert np.all(after["mean"][later] != before["mean"][later])


def test_the_key_is_no_feature_and_goes_with_the_answers():
    job = keyed_job()
    answers = absorb(job, RECORDS)
    assert [column.name for column in job.encoder.columns] == ["a", "b"]
    assert [key for answer in answers for key in answer.keys] == [record["sensor"] for record in RECORDS]


def test_a_late_label_is_learned_by_the_key_of_its_row():
    """Whatever key the label itself says, and whether or not the fleet was there when the row was asked.

    Of experts that learn the same in whatever order labels come.
    """
    static = {"drift_var": 0.0, "weights": "bayes", "noise_forgetting": None}
    rows = [{"id": f"r{i}", **record} for i, record in enumerate(RECORDS)]
    for place in (20, 60):
        asked = rows[place]
        bare = {name: value for name, value in asked.items() if name != "y"}
        label = {"id": asked["id"], "y": asked["y"], "sensor": "another key"}
        one, other = keyed_job(parameters=static), keyed_job(parameters=static)
        absorb(one, [*rows[:place], bare, *rows[place + 1 : 90], label, *rows[90:]])
        absorb(other, [*rows[:place], *rows[place + 1 : 90], asked, *rows[90:]])
        assert one.counters.late == 1
        assert_same_states(one, other)


def test_rows_without_a_key_are_bad_and_change_nothing():
    told = []
    spoiled = [*RECORDS[:60], {**RECORDS[60], "sensor": None}, *RECORDS[60:]]
    one, other = keyed_job(), keyed_job()
    batch_of = {name: [record.get(name) for record in spoiled] for name in ("a", "b", "y", "sensor")}
    columns = {name: np.array(values, dtype=object if name == "sensor" else float) for name, values in batch_of.items()}
    lines = np.arange(len(spoiled))
    one.absorb(Batch(columns, lines), lambda _: None, lambda i, problem: told.append((i, problem)))
    absorb(other, RECORDS)
    assert [(i, problem.column) for i, problem in told] == [(60, "sensor")]
    assert "no key" in told[0][1].reason
    assert_same_states(one, other)


def test_columns_and_categories_that_come_with_the_fleet_are_counted_and_not_used():
    late = [{**record, "new": 1.0, "place": "north"} for record in RECORDS[60:]]
    one, other = job_of(key="sensor"), job_of(key="sensor")
    absorb(one, [*RECORDS[:60], *late], size=10)
    absorb(other, RECORDS, size=10)
    assert one.encoder.n_unknown == {"new": 70, "place": 70}
    assert_same_states(one, other)


def test_a_column_without_any_value_counts_as_its_centre():
    """A fleet itself takes no gaps; what is missing is the centre of its column, as to a single model."""
    empty = [{**record, "void": None} for record in RECORDS]
    one, other = keyed_job(), keyed_job()
    answers = []
    absorb_batch(one, empty, {"void": False}, answers)
    absorb_batch(other, [{**record, "void": 0.0} for record in RECORDS], {"void": False}, [])
    assert np.isfinite(columns_of(answers)["mean"][1:]).all()
    assert_same_states(one, other)


@pytest.mark.parametrize("n", [0, 25, 60])
def test_a_checkpoint_brings_every_key_back(tmp_path, n):
    """Before the first row, among the shared rows, and with a fleet; new keys come afterwards."""
    whole = keyed_job()
    absorb(whole, [{"id": i, **record} for i, record in enumerate(RECORDS[:n])])
    asked = {"id": "ask", "a": 0.1, "b": 0.2, "sensor": "s1"}
    absorb(whole, [asked] if n else [])
    checkpoint.write(tmp_path / "m", whole, RunState("in.csv", {}, {}))
    cut, _ = checkpoint.read(tmp_path / "m", by_key=Fleets())
    rest = [{"id": i, **record} for i, record in enumerate(RECORDS[n:], n)]
    rest += [{"id": "ask", "y": 1.0}] if n else []
    one, two = absorb(whole, rest), absorb(cut, rest)
    for name, values in table(one).items():
        np.testing.assert_array_equal(table(two)[name], values)
    assert_same_states(cut, whole, 0.0)
    assert n == 0 or len(cut.learner.fleet) > len({record["sensor"] for record in RECORDS[:n]})
    for job in (whole, cut):
        checkpoint.write(tmp_path / f"{job is cut}", job, RunState("in.csv", {}, {}))
    assert (tmp_path / "True").read_bytes() == (tmp_path / "False").read_bytes()


def test_a_checkpoint_of_keys_that_was_altered_is_refused(tmp_path):
    job = keyed_job()
    absorb(job, RECORDS[:60])
    checkpoint.write(tmp_path / "m", job, RunState("in.csv", {}, {}))
    header, arrays = modelfile.read(tmp_path / "m")
    with pytest.raises(ModelFileError, match="by_key"):
        checkpoint.read(tmp_path / "m")
    keys = header["by_key"]["keys"]
    wrong = [{"keys": keys[:-1]}, {"keys": [*keys[:-1], keys[0]]}, {"keys": [*keys[:-1], 7]}, {"keys": None}]
    wrong += [{"n_pages": 0}, {"n_pages": 2}, {"dtype": "float32"}, {"single_output": False}, {"feature_names": ["a"]}]
    headers = [header | {"by_key": header["by_key"] | change} for change in wrong]
    headers.append({name: value for name, value in header.items() if name != "by_key"})
    headers += [header | {"digest": header["digest"] | {"keys": change["keys"]}} for change in wrong[:3]]
    headers.append(header | {"plan": header["plan"] | {"key": 3}})
    for changed in headers:
        modelfile.write(tmp_path / "bad", changed, arrays)
        with pytest.raises(ModelFileError):
            checkpoint.read(tmp_path / "bad", by_key=Fleets())


def test_normal_intervals_are_mean_and_std():
    job = keyed_job(intervals="normal", level=0.9)
    asked = {"id": "ask", "a": 0.1, "b": 0.2, "sensor": "s1"}
    answers = table(absorb(job, [*RECORDS, asked]))
    reach = NormalDist().inv_cdf(0.95) * answers["std"][1:]
    np.testing.assert_allclose(answers["lower"][1:], answers["mean"][1:] - reach)
    np.testing.assert_allclose(answers["upper"][1:], answers["mean"][1:] + reach)


def test_an_unknown_key_is_predicted_by_the_shared_model_and_appears_with_its_first_label():
    job = keyed_job()
    absorb(job, RECORDS)
    (answer,) = absorb(job, [{"id": "ask", "a": 0.1, "b": 0.2, "sensor": "stranger"}])
    assert "stranger" not in job.learner.fleet
    assert answer.number("mean")[0] == online.predict(job.learner.model, np.array([[0.1, 0.2]])).mean[0, 0]
    absorb(job, [{"id": "ask", "y": 1.0}])
    assert job.learner.fleet.n_samples_seen_["stranger"] == WARMUP + 1


def test_a_model_without_warm_up_is_shared_while_columns_may_come():
    settings_off = {"standardize": False, "prior_var": 1.0, "noise_var": 0.1, "warmup": 0}
    kernels = [{"kernel": "RBF", "length_scale": 1.0}]
    plain = settings_of("default", "regression", 0, {"n_frequencies": 3, "kernels": kernels, **settings_off})
    job = Job(Plan(target="y", task="regression", key="sensor"), plain, True, Fleets())
    absorb(job, sources.keyed(1100), size=300)
    assert job.learner.model.n_seen == 1000
    assert sum(job.learner.fleet.n_samples_seen_.values()) - 1000 * len(job.learner.fleet) == 100


def test_too_many_keys_for_the_memory_are_said_to_be_too_many(monkeypatch):
    job = keyed_job()
    absorb(job, RECORDS[:60])
    before = states(job)
    monkeypatch.setattr(Pages, "_empty", no_memory)
    strangers = [{**record, "sensor": f"x{i}"} for i, record in enumerate(sources.numbers(5000))]
    with pytest.raises(IegpError, match="no memory for more than 4 keys"):
        absorb(job, strangers, size=5000)
    for key, state in states(job).items():
        for got, wanted in zip(state, before[key], strict=True):
            np.testing.assert_array_equal(got, wanted)


def no_memory(_):
    raise MemoryError


def test_a_plan_with_a_key_needs_by_key():
    with pytest.raises(InputError, match="by_key"):
        Job(Plan(target="y", task="regression", key="sensor"), keyed_job().settings, True)
