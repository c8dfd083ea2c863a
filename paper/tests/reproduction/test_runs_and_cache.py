"""Tasks are identified by what decides them; outcomes survive on disk; limits are kept."""

from __future__ import annotations

import json
import math
import os
import re
import time
from dataclasses import replace

import pytest
from iegp_paper import machine
from iegp_paper.cache import Cache
from iegp_paper.catalogue import chosen, load_experiments
from iegp_paper.cell import cell_of
from iegp_paper.plan import Scale, all_tasks, runs_of, tasks_of
from iegp_paper.pool import run_all
from iegp_paper.runs.support import base_name
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


def test_slow_methods_have_fewer_runs_by_default():
    nmse, maps = load_experiments()["nmse"], load_experiments()["maps"]
    air = next(own for own in nmse.data if own.name == "air_quality")
    assert runs_of(nmse, air, "SSGP", Scale()) < runs_of(nmse, air, "IE-GP", Scale()) == 101
    assert runs_of(nmse, air, "SSGP", Scale(runs=101)) == 101
    oil, mnist = (next(own for own in maps.data if own.name == name) for name in ("oil_flow", "mnist"))
    assert runs_of(maps, mnist, "GPLVM", Scale()) < runs_of(maps, oil, "GPLVM", Scale()) == 11
    assert runs_of(maps, oil, "varGPLVM", Scale()) < 11


@pytest.mark.parametrize(("flags", "kernels"), [("fpu avx2 avx512f", "Haswell"), ("fpu avx", "its own")])
def test_runs_round_alike_on_all_processors_with_avx2(monkeypatch, tmp_path, flags, kernels):
    (tmp_path / "cpuinfo").write_text(f"flags : {flags} sse4_2\n", "utf-8")
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    seen: dict[str, str] = {}
    monkeypatch.setattr("iegp_paper.pool._hand_out", lambda *_: seen.update(os.environ))
    assert list(run_all([TASK], 1, stopped=lambda: bool(seen))) == []
    assert seen.get("OPENBLAS_CORETYPE", "its own") == kernels
    assert seen["OPENBLAS_NUM_THREADS"] == "1"
    assert "OPENBLAS_CORETYPE" not in os.environ
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Zen")
    assert machine.same_rounding() == {}


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
            assert {base_name(method) for method in own.methods} <= set(module.METHODS)


def test_whatever_goes_wrong_is_an_outcome():
    assert perform(replace(TASK, method="nobody")).status == "failed"
    assert perform(replace(TASK, kind="regression", data="no_such_set")).status == "missing"
    with pytest.raises(InputError, match="kind"):
        runner_of("sorcery")


def test_a_run_that_takes_too_long_is_killed_and_reported():
    endless = Task("static_regret", "x", "IE-GP", 0, options={"sizes": [9000] * 50, "longest_rkhs": 9000}, seconds=4.0)
    begin = time.monotonic()
    [(task, outcome)] = list(run_all([endless], 1))
    assert time.monotonic() - begin < 30.0
    assert task == endless
    assert (outcome.status, outcome.limit) == ("timeout", 4.0)


def cell(outcomes, metric="nMSE"):
    return cell_of([replace(TASK, seed=seed) for seed in range(len(outcomes))], outcomes, metric)


def test_every_score_has_its_own_median_and_lines_are_of_the_median_run():
    outcomes = [Outcome("done", {"nMSE": n, "seconds": s}, {"l": [n]}) for n, s in ((3.0, 1.0), (1.0, 5.0), (2.0, 9.0))]
    own = cell([*outcomes, Outcome("timeout", note="not done after 4 s")])
    assert dict(own.scores) == {"nMSE": 2.0, "seconds": 5.0}
    assert (own.intervals["nMSE"].low, own.intervals["nMSE"].high) == (1.0, 3.0)
    assert (own.lines["l"], own.run) == ([2.0], 3)
    assert [run["l"] for run in own.runs] == [[3.0], [1.0], [2.0]]
    assert own.values["seconds"] == {0: 1.0, 1: 5.0, 2: 9.0}
    assert (own.n_done, own.n_runs, own.n_failed) == (3, 4, 1)
    assert "not done after 4 s" in own.note


def test_a_run_that_diverged_is_the_worst_of_its_cell():
    for values, middle in (([1.0, math.nan, 3.0, 2.0, 0.0], 2.0), ([3.0, math.nan, 1.0], 3.0)):
        own = cell([Outcome("done", {"nMSE": value}) for value in values])
        assert own.scores["nMSE"] == middle
        assert own.intervals["nMSE"].high == math.inf


def test_the_commit_of_a_run_is_kept_with_it(tmp_path):
    made = [Outcome("done", {"nMSE": 1.0}, commit=name) for name in ("abc", "abc", "def")] + [DONE]
    cache = Cache(tmp_path)
    cache.put(TASK, made[0])
    assert cache.get(TASK) == made[0]
    assert cell(made).commits == {"abc": 2, "def": 1, "not recorded": 1}
    assert re.fullmatch(r"([0-9a-f]{10}\+?)?", machine.commit())


def test_methods_of_the_paper_have_variants_in_sensitivity_runs_alone():
    assert base_name("IE-GP (min-max global)") == "IE-GP"
    for own in load_experiments().values():
        for method in own.methods:
            is_own = method in own.extra
            assert method == base_name(method) or own.sensitivity_of or is_own, (own.name, method)


@pytest.mark.parametrize("outcome", [{"scores": None}, {"scores": {"nMSE": "low"}}, {"scores": {}}, {"limit": "long"}])
def test_a_stored_outcome_of_the_wrong_kind_is_run_again(outcome, tmp_path):
    cache = Cache(tmp_path)
    cache.put(TASK, Outcome("done", {"nMSE": 1.0}))
    assert cache.get(TASK) is not None
    stored = json.loads(cache.path(TASK).read_text())
    stored["outcome"] |= outcome
    cache.path(TASK).write_text(json.dumps(stored))
    assert cache.get(TASK) is None
