"""Tasks are identified by what decides them; outcomes survive on disk; limits are kept."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace

import pytest
from iegp_paper.cache import Cache
from iegp_paper.catalogue import chosen, load_experiments
from iegp_paper.plan import Scale, all_tasks, runs_of, tasks_of
from iegp_paper.pool import run_all
from iegp_paper.results import cell_of
from iegp_paper.runs.static_regret import growth
from iegp_paper.task import Outcome, Task
from iegp_paper.worker import KINDS, perform, runner_of
from reproduction.tiny import write_experiments

from iegp.errors import InputError

TASK = Task("uncertainty", "sines", "IE-GP", 0, rows=30)
DONE = Outcome("done", {"width ratio": 0.25}, {"x": [1.0, 2.0]})


def test_the_digest_has_everything_but_the_time_limit():
    assert replace(TASK, seconds=1.0).digest == TASK.digest
    changed = [
        replace(TASK, seed=1),
        replace(TASK, rows=31),
        replace(TASK, method="iegp default"),
        replace(TASK, settings={"n_frequencies": 5}),
        replace(TASK, options={"warmup": 5}),
    ]
    assert len({task.digest for task in [TASK, *changed]}) == 6


def test_the_digest_has_the_version_of_the_package(monkeypatch):
    before = TASK.digest
    monkeypatch.setattr("iegp_paper.task.version", lambda _: "99")
    assert TASK.digest != before


def test_the_cache_gives_back_what_it_was_given(tmp_path):
    cache = Cache(tmp_path / "cache")
    assert cache.get(TASK) is None
    cache.put(TASK, DONE)
    assert cache.get(TASK) == DONE
    assert [path.name for path in cache.folder.iterdir()] == [cache.path(TASK).name]


def test_a_damaged_file_is_as_good_as_none(tmp_path):
    cache = Cache(tmp_path)
    cache.put(TASK, DONE)
    whole = cache.path(TASK).read_text("utf-8")
    for text in ("", whole[: len(whole) // 2], "[]", json.dumps({"task": {}, "outcome": {"status": "done"}})):
        cache.path(TASK).write_text(text, "utf-8")
        assert cache.get(TASK) is None


def test_failures_are_not_kept_and_timeouts_run_again_with_more_time(tmp_path):
    cache = Cache(tmp_path)
    for status in ("failed", "missing"):
        cache.put(TASK, Outcome(status))
        assert cache.get(TASK) is None
    late = replace(TASK, seconds=10.0)
    cache.put(late, Outcome("timeout", limit=10.0))
    assert cache.get(late) is not None
    assert cache.get(replace(TASK, seconds=5.0)) is not None
    assert cache.get(replace(TASK, seconds=20.0)) is None


def test_experiments_share_runs(tmp_path):
    known = load_experiments(write_experiments(tmp_path / "experiments"))
    assert list(known) == ["points", "stream", "times"]
    assert {t.digest for t in all_tasks([known["stream"]], Scale())} == {
        t.digest for t in all_tasks([known["times"]], Scale())
    }
    tasks = all_tasks(list(known.values()), Scale())
    assert len(tasks) == 6 + 2 * 2
    assert [task.seed for task in tasks] == sorted(task.seed for task in tasks)
    assert len(all_tasks(list(known.values()), Scale(quick=True))) == 4 + 2
    assert len(all_tasks(list(known.values()), Scale(runs=3))) == 3 + 6


def test_quick_runs_have_fewer_rows(tmp_path):
    own = load_experiments(write_experiments(tmp_path / "experiments"))["stream"]
    assert tasks_of(own, Scale())["diabetes", "Raker"][0].rows is None
    assert tasks_of(own, Scale(quick=True))["diabetes", "Raker"][0].rows == 200


def test_slow_methods_have_fewer_runs_unless_told():
    nmse = load_experiments()["nmse"]
    assert runs_of(nmse, "SSGP", Scale()) < runs_of(nmse, "IE-GP", Scale())
    assert runs_of(nmse, "SSGP", Scale(runs=101)) == 101


def test_unknown_names_are_met_with_the_nearest():
    with pytest.raises(InputError, match="nmse"):
        chosen(load_experiments(), ["nmsee"])


def test_every_experiment_of_the_package_names_methods_and_data_that_exist():
    experiments = load_experiments()
    assert len(experiments) >= 11
    for own in experiments.values():
        assert own.kind in KINDS
        names = {data.name for data in own.data}
        for claim in own.claims:
            assert set(claim.rule.data) <= names, own.name
            assert {*claim.rule.ours, *claim.rule.others} <= set(own.methods), own.name
        assert set(own.runs_of) | set(own.settings) | set(own.quick_settings) <= set(own.methods), own.name
        if own.kind in ("regression", "classification"):
            module = __import__(f"iegp_paper.runs.{own.kind}", fromlist=["METHODS"])
            assert set(own.methods) <= set(module.METHODS)


def test_whatever_goes_wrong_is_an_outcome():
    assert perform(replace(TASK, method="nobody")).status == "failed"
    assert perform(replace(TASK, kind="regression", data="no_such_set")).status == "missing"
    with pytest.raises(InputError, match="kind"):
        runner_of("sorcery")


def test_a_run_that_takes_too_long_is_killed_and_said_so():
    endless = Task("static_regret", "x", "IE-GP", 0, options={"sizes": [9000] * 50, "longest_rkhs": 9000}, seconds=4.0)
    begin = time.monotonic()
    [(task, outcome)] = list(run_all([endless], 1))
    assert time.monotonic() - begin < 30.0
    assert task == endless
    assert (outcome.status, outcome.limit) == ("timeout", 4.0)


def test_the_median_run_is_reported():
    outcomes = [Outcome("done", {"nMSE": n, "seconds": s}, {"l": [n]}) for n, s in ((3.0, 1.0), (1.0, 5.0), (2.0, 9.0))]
    cell = cell_of([TASK] * 4, [*outcomes, Outcome("timeout", note="not done after 4 s")], "nMSE")
    assert (cell.scores["nMSE"], cell.lowest, cell.highest, cell.lines["l"]) == (2.0, 1.0, 3.0, [2.0])
    assert cell.scores["seconds"] == 5.0
    assert (cell.n_done, cell.n_runs) == (3, 4)
    assert "not done after 4 s" in cell.note


def test_growth_tells_log_from_linear():
    sizes = [100, 200, 400, 800, 1600]
    assert growth(sizes, [5.0 * len(str(bin(n))) for n in sizes]) < 1.2
    assert growth(sizes, [float(n) for n in sizes]) > 4.0
    assert growth(sizes, [1.0, 1.0, 1.0, 1.0, -1.0]) == 0.0
    assert growth(sizes, [1.0, 0.0, 1.0, 1.0, 1.0]) == float("inf")


def test_a_run_that_diverged_is_the_worst_of_its_cell():
    for values, middle in (([1.0, math.nan, 3.0, 2.0, 0.0], 2.0), ([3.0, math.nan, 1.0], 3.0)):
        cell = cell_of([TASK] * len(values), [Outcome("done", {"nMSE": value}) for value in values], "nMSE")
        assert cell.scores["nMSE"] == middle
        assert (cell.lowest, cell.highest) == (min(v for v in values if v == v), math.inf)


@pytest.mark.parametrize("outcome", [{"scores": None}, {"scores": {"nMSE": "low"}}, {"scores": {}}, {"limit": "long"}])
def test_a_stored_outcome_of_the_wrong_kind_is_run_again(outcome, tmp_path):
    cache = Cache(tmp_path)
    cache.put(TASK, Outcome("done", {"nMSE": 1.0}))
    assert cache.get(TASK) is not None
    stored = json.loads(cache.path(TASK).read_text())
    stored["outcome"] |= outcome
    cache.path(TASK).write_text(json.dumps(stored))
    assert cache.get(TASK) is None
