"""Checkpoints that take long come seldom: a run must not do nothing but save."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from stream_runs.jobs import job_of

from iegp.stream import runner
from iegp.stream.checkpoint import RunState
from iegp.stream.runner import Every, Files, Runner


@pytest.mark.parametrize(("takes", "wait"), [(0.1, 10.0), (5.0, 45.0)])
def test_at_most_a_tenth_of_the_time_goes_into_checkpoints_by_time(tmp_path, monkeypatch, takes, wait):
    clock = SimpleNamespace(now=100.0)

    def write(*_):
        clock.now += takes

    monkeypatch.setattr(runner.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(runner.checkpoint, "write", write)
    run = Runner(job_of(), RunState("in.csv", {}, {}), Files(model=tmp_path / "m"), every=Every(seconds=10.0))
    clock.now += 10.0
    assert run._is_due()
    run.save()
    clock.now += wait - 0.01
    assert not run._is_due()
    clock.now += 0.02
    assert run._is_due()
