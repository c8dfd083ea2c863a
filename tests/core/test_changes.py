"""Changes are noticed: as a slow version says, in any chunks, without touching what is learned."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import changes as oracle
from stream_runs.jobs import absorb, job_of

import iegp
from iegp.core import changes as chg
from iegp.core.changes import Change
from iegp.errors import InputError, ModelFileError
from iegp.evaluate.runs import PrequentialRun
from iegp.fleet.keyed_learner import Fleets
from iegp.kernels import RBF
from iegp.report.about import About
from iegp.report.about import Change as ReportedChange
from iegp.report.page import render_report
from iegp.storage import model_file as modelfile
from iegp.stream.alarm import Alarm
from iegp.stream.answer_text import csv_lines, json_lines
from iegp.stream.job import Job

N, AT = 600, 400
RNG = np.random.default_rng(2)
X = RNG.uniform(-2.0, 2.0, size=(N, 1))
E = 0.2 * RNG.normal(size=N)
F = np.sin(2.0 * X[:, 0])
AFTER = np.arange(N) >= AT
STREAMS = {
    "level": F + E + 0.6 * AFTER,
    "noise": F + E * np.where(AFTER, 5.0, 1.0),
    "relation": np.where(AFTER, 0.2, 1.0) * F + E,
}
SMALL = {"kernels": [RBF(1.0)], "n_frequencies": 8, "warmup": 100, "drift_var": (0.0, 1e-3), "random_state": 0}


def model(**changes):
    return iegp.IEGPRegressor(**(SMALL | changes))


@pytest.mark.parametrize("delay", [0, 1, 7])
def test_changes_are_those_of_the_slow_version(delay):
    rng = np.random.default_rng(1)
    scores, predictions = rng.normal(size=900), 2.0 + 3.0 * rng.normal(size=900)
    scores[200:300] += 1.0
    scores[500:] *= 2.0
    scores[750:] += 0.5 * predictions[750:]
    scores = np.clip(scores, -3.5, 3.5)
    rows, state = np.column_stack([scores, predictions]), chg.begin(1)
    for a, b in ((0, 1), (1, 250), (250, 900)):
        state = chg.watch(state, rows[a:b], chg.Span(a, None, delay, delay + 1))
    expected = oracle.changes(scores, predictions, delay)
    assert len(expected) >= (2 if delay else 3)
    assert [(c.row, c.kind) for c in state.since(0)] == [entry[:2] for entry in expected]
    assert_allclose([c.strength for c in state.since(0)], [entry[2] for entry in expected], rtol=1e-9)
    assert state.n_changes == len(expected)


@pytest.mark.parametrize("kind", STREAMS)
def test_a_change_is_noticed_soon_and_called_by_its_kind(kind):
    run = model().prequential(X, STREAMS[kind])
    assert [change.kind for change in run.changes[:1]] == [kind]
    assert AT <= run.changes[0].row < AT + 60
    assert np.isnan(run.changes[0].time)


def test_rows_of_adaptation_are_not_taken_for_usual():
    """A static expert takes many rows to follow a level; that scores are smaller after them is no change of noise."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, noise = rng.uniform(-3.0, 3.0, size=(1100, 1)), rng.normal(size=1100)
        y = np.sin(x[:, 0]) + 0.1 * noise
        y[800:] += 0.3
        run = model(n_frequencies=20, warmup=200, drift_var=0.0).prequential(x, y)
        assert [change.kind for change in run.changes] == ["level"]


def test_no_change_and_a_single_glitch_are_no_change():
    y = F + E
    y[450] += 50.0
    assert model().fit(X, y).changes_ == []


@pytest.mark.parametrize("delay", [0, 5])
def test_labels_that_stay_the_same_are_no_change(delay):
    """Of a sensor that is stuck it is said once that its noise is gone, not every hundred rows."""
    x = np.random.default_rng(5).uniform(-2.0, 2.0, size=(2500, 1))
    x[:N] = X
    assert model(delay=delay).prequential(x, np.full(2500, 3.7)).changes == ()
    stuck = np.full(2500, 0.3)
    stuck[:N] = F + E
    run = model(delay=delay, kernels=None, lags=None).prequential(x, stuck)
    assert [change.kind for change in run.changes] == ["relation", "noise"]


def late_stream(noise, seed, n_rows):
    """Inputs and labels whose noise is a stationary autoregression with this coefficient, of variance one."""
    rng = np.random.default_rng(seed)
    x, e = rng.normal(size=(n_rows, 2)), rng.normal(size=n_rows)
    for t in range(1, n_rows):
        e[t] = noise * e[t - 1] + np.sqrt(1.0 - noise**2) * e[t]
    return x, np.sin(x[:, 0]) + e


@pytest.mark.plain_cases(3)
@pytest.mark.parametrize("noise", [0.97, 0.9, 0.0])
@pytest.mark.parametrize("delay", [1, 5, 24])
def test_errors_that_overlap_are_no_change(delay, noise):
    """At most one false alarm in 10,000 rows."""
    found = [model(delay=delay).prequential(*late_stream(noise, seed, 5000)).changes for seed in range(2)]
    assert sum(map(len, found)) <= 1


@pytest.mark.parametrize("delay", [1, 5, 24])
def test_a_level_is_noticed_soon_after_its_first_label(delay):
    for seed in range(3):
        x, y = late_stream(0.0, seed, 1000)
        y[700:] += 4.0
        rows = [change.row for change in model(delay=delay).prequential(x, y).changes]
        assert len(rows) == 1
        assert 700 + delay < rows[0] <= 700 + 2 * delay + 4


@pytest.mark.parametrize("delay", [0, 4])
def test_cuts_and_methods_do_not_matter_and_nothing_learned_depends_on_it(delay, tmp_path):
    y = STREAMS["level"]
    whole, cut, blind = model(delay=delay), model(delay=delay), model(delay=delay)
    run = whole.prequential(X, y)
    cut.partial_fit(X[:130], y[:130])
    parts = [cut.prequential(X[a:b], y[a:b]) for a, b in ((130, 131), (131, 401), (401, 407))]
    cut.save(tmp_path / "model")
    cut = iegp.load(tmp_path / "model")
    parts.append(cut.prequential(X[407:], y[407:]))
    assert PrequentialRun.concatenate(parts).changes
    assert [c[:1] + c[2:3] for c in cut.changes_] == [c[:1] + c[2:3] for c in whole.changes_]
    assert cut.n_changes_ == whole.n_changes_ == len(run.changes)
    blind.partial_fit(X[:1], y[:1])
    blind.model_.changes = None
    other = blind.prequential(X[1:], y[1:])
    for name in ("mean", "std", "lower", "upper", "pit", "log_score"):
        assert_allclose(getattr(other, name), getattr(run, name)[1:], rtol=1e-8)
    rest = model(delay=delay)
    first = rest.prequential(X, y)
    assert_array_equal(first.mean, run.mean)


def test_single_rows_are_watched_together_and_nothing_is_lost(tmp_path):
    y = STREAMS["level"]
    whole, single = model(conformal="online"), model(conformal="online")
    whole.prequential(X, y)
    single.partial_fit(X[:300], y[:300])
    for i in range(300, N):
        single.partial_fit(X[i : i + 1], y[i : i + 1])
    assert single.model_.unfollowed
    assert [c[:1] + c[2:3] for c in single.changes_] == [c[:1] + c[2:3] for c in whole.changes_] != []
    assert_allclose(single.predict_interval(X[:2], horizon=1), whole.predict_interval(X[:2], horizon=1), rtol=1e-8)
    single.save(tmp_path / "single")
    again = iegp.load(tmp_path / "single")
    assert again.changes_[0][:1] == whole.changes_[0][:1]
    assert_allclose(again.model_.conformal.track, whole.model_.conformal.track, rtol=1e-9)


def test_times_of_changes_are_those_of_their_rows():
    time = 10.0 * np.arange(N)
    run = model(drift_per="time").prequential(X, STREAMS["level"], time=time)
    assert run.changes
    assert run.changes[0].time == time[run.changes[0].row]


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("sums", (0, 0), -1.0), ("usual", (0, 1), 0.0), ("log", (0, 2), 3.0), ("total", 0, 7.0)],
)
def test_damaged_numbers_are_refused(tmp_path, name, place, value):
    model().fit(X, STREAMS["level"]).save(tmp_path / "m")
    header, arrays = modelfile.read(tmp_path / "m")
    arrays[f"changes.{name}"] = arrays[f"changes.{name}"].copy()
    arrays[f"changes.{name}"][place] = value
    modelfile.write(tmp_path / "m", header, arrays)
    with pytest.raises(ModelFileError, match="changes"):
        iegp.load(tmp_path / "m")


# -- in a stream -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def streamed():
    y = STREAMS["level"]
    records = [{"id": f"r{i}", "a": X[i, 0], "y": y[i]} for i in range(N)]
    # Rows without a label, so that the rows of the stream are not those of the model.
    records[50:50] = [{"id": f"u{i}", "a": 0.1} for i in range(5)]
    job = job_of(parameters={"warmup": 100, "noise_var": "evidence"})
    return job, absorb(job, records, size=100)


def test_answers_checkpoints_and_reports_carry_changes(streamed):
    job, answers = streamed
    (marked,) = [some for some in answers if some.changes]
    change = marked.changes[0]
    lines = [json.loads(line) for line in json_lines(marked).splitlines()]
    assert [line["row"] for line in lines if "change" in line] == [change.row]
    assert [line["change"] for line in lines if "change" in line] == [change.kind]
    assert AT + 5 <= change.row < AT + 65
    assert f",{change.kind} change\n".encode() in csv_lines(marked)
    again = Job.from_parts(*job.to_parts(), by_key=Fleets())
    assert [c[:1] + c[2:] for c in again.changes] == [c[:1] + c[2:] for c in job.changes]
    about = About(
        "t", "s", "y", "regression", "default", 1, changes=[ReportedChange(change.row, None, change.kind, 12.0)]
    )
    assert "change noticed" in render_report(job.digest, about)


FULL = """
import resource, sys
from iegp.core.changes import Change
from iegp.stream.alarm import Alarm
alarm, changes = Alarm(sys.argv[1]), [Change(i, float("nan"), "noise", 11.0) for i in range(3)]
alarm.report(changes[:1])
size, limits = len(open(sys.argv[1], "rb").read()), resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 9, limits[1]))
try:
    alarm.report(changes[1:2])
except OSError as error:
    print(error.filename == sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
alarm.report(changes[2:])
"""


def test_an_alarm_that_fits_in_part_leaves_no_part_of_a_line(tmp_path):
    """In a process of its own, whose files may not grow beyond nine bytes of the second line."""
    path = tmp_path / "alarms.jsonl"
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr
    assert [json.loads(line)["row"] for line in path.read_text().splitlines()] == [0, 2]


def test_alarms_are_lines_of_a_file_and_a_command_without_a_shell(tmp_path):
    changes = [Change(i, float("nan"), "noise", 11.0) for i in range(3)]
    told = tmp_path / "told"
    script = f"import sys, pathlib; pathlib.Path({str(told)!r}).open('a').write(sys.stdin.read() + '|')"
    alarm = Alarm(str(tmp_path / "alarms.jsonl"), (sys.executable, "-c", script))
    alarm.report(changes[:1])
    alarm.report(changes[1:2])
    alarm.report(changes[2:])
    for process in alarm._started:
        process.wait()
    alarm.close()
    for process in alarm._started:
        process.wait()
    lines = (tmp_path / "alarms.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"row": i, "kind": "noise", "strength": 11.0} for i in range(3)]
    first, second, _ = told.read_text().split("|")
    assert first.splitlines() == lines[:1]
    assert second.splitlines() == lines[1:]
    with pytest.raises(InputError, match="--alarm-command cannot be started"):
        Alarm(None, ("no such program",)).report(changes)
