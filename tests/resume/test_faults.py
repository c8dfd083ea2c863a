"""Every call that changes a file made to fail, one at a time: what is left goes on to the bytes of a run left alone.

The whole sweep is ``make test-faults``; here every so many calls are tried.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from faulty_runs.command import Ended, run
from faulty_runs.injection import Call, Fault
from faulty_runs.scenarios import (
    ALL,
    FILE_IN_PLACE_OF_A_PIPE,
    IN_PLACE_OF_A_PIPE,
    PICTURE,
    PIPE,
    TO_STANDARD_OUTPUT,
    WITH_ALARMS,
    Scenario,
    fresh,
    left_behind,
    made,
)

# How a call fails. That it was done all the same, or that all fails from there on, does not depend on the error.
HOWS = (
    (errno.ENOSPC, "before"),
    (errno.EIO, "before"),
    (errno.EDQUOT, "before"),
    (errno.EINTR, "before"),
    (errno.EIO, "after"),
    (errno.ENOSPC, "lasting"),
)
# A prime, so that the tried calls are of all kinds.
STRIDE = 97
# Runs with several faults, of every kind.
N_DRAWN = 20
# Lines of a pipe that are answered together, in these runs.
BATCH = 16


@dataclass
class Whole:
    """A run that was left alone."""

    template: Path
    calls: list[Call]
    made: dict[str, bytes]
    out: str


def left_alone(scenario: Scenario, folder: Path) -> Whole:
    template = folder / "template"
    template.mkdir()
    scenario.prepare(template)
    return left_alone_in(scenario, template, folder / "whole")


def left_alone_in(scenario: Scenario, template: Path, folder: Path) -> Whole:
    ended = scenario.start(fresh(template, folder))
    assert ended.code == 0, ended.err
    assert not left_behind(folder)
    return Whole(template, ended.calls, made(folder), ended.out)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """By the name of a scenario."""
    return cache(lambda name: left_alone(ALL[name], tmp_path_factory.mktemp("left-alone")))


def check_message(ended: Ended, about: str) -> None:
    """One line that names a file, and no traceback."""
    lines = [line for line in ended.err.splitlines() if line.startswith("iegp: ")]
    assert len(lines) == 1, f"{about}: {ended.err}"
    assert re.match(r"iegp: (the journal )?[\w.]+[: ]", lines[0]), f"{about}: {lines[0]}"


def check(scenario: Scenario, whole: Whole, folder: Path, *faults: Fault) -> None:
    """The run with the first fault, gone on with the next, and so on, and then without any."""
    ended = scenario.start(fresh(whole.template, folder), faults[0])
    about = f"{'; then '.join(map(str, faults))} (the first: {whole.calls[faults[0].at]})"
    for following in (*faults[1:], None):
        assert ended.code in (0, 1), f"{about}: {ended.err}"
        if ended.code == 0:
            assert made(folder) == whole.made, about
        else:
            check_message(ended, about)
        ended = scenario.go_on(folder, following)
    assert ended.code == 0, f"{about}: {ended.err}"
    found = made(folder)
    assert found.keys() == whole.made.keys(), about
    for name, content in whole.made.items():
        assert found[name] == content, f"{about}: {name} differs"
    assert not left_behind(folder), about


def all_faults(calls: list[Call]) -> list[Fault]:
    return [Fault(at, error, how) for at in range(len(calls)) for error, how in HOWS]


# -- one at a time -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_some_calls_that_fail(name, whole, tmp_path):
    for fault in all_faults(whole(name).calls)[list(ALL).index(name) :: STRIDE]:
        check(ALL[name], whole(name), tmp_path / "run", fault)


@pytest.mark.faults
@pytest.mark.parametrize("name", ALL)
def test_every_call_that_fails(name, whole, tmp_path):
    for fault in all_faults(whole(name).calls):
        check(ALL[name], whole(name), tmp_path / "run", fault)


@pytest.mark.faults
@pytest.mark.parametrize("name", ALL)
def test_calls_that_fail_in_a_run_and_again_when_it_goes_on(name, whole, tmp_path):
    """Three faults each, drawn; some do not come to pass, because the run is over before."""
    rng = np.random.default_rng(list(ALL).index(name))
    faults = all_faults(whole(name).calls)
    for _ in range(N_DRAWN):
        drawn = [faults[place] for place in rng.integers(len(faults), size=3)]
        check(ALL[name], whole(name), tmp_path / "run", *drawn)


@pytest.mark.parametrize("stride", [5, pytest.param(1, marks=pytest.mark.faults)])
def test_a_picture_is_there_whole_or_not_at_all(stride, tmp_path):
    alone = left_alone(PICTURE, tmp_path)
    places = [at for at, call in enumerate(alone.calls) if "map.png" in call.name]
    assert {alone.calls[at].kind for at in places} == {"open", "write", "fsync", "rename"}
    for at in places[::stride]:
        check(PICTURE, alone, tmp_path / "run", Fault(at, errno.ENOSPC, "after"))


# -- standard output ---------------------------------------------------------------------------------------------------


def whole_lines(out: str) -> list[str]:
    return [line for line in out.splitlines(keepends=True) if line.endswith("\n")]


@pytest.mark.parametrize("stride", [STRIDE, pytest.param(1, marks=pytest.mark.faults)])
def test_answers_on_standard_output_are_lost_by_no_fault(stride, tmp_path):
    """A batch that was answered, but not marked as such, is answered again; no other is, and none differs."""
    alone, folder = left_alone(TO_STANDARD_OUTPUT, tmp_path), tmp_path / "run"
    expected = whole_lines(alone.out)
    for fault in all_faults(alone.calls)[::stride]:
        first = TO_STANDARD_OUTPUT.start(fresh(alone.template, folder), fault)
        # Without a model nothing has begun, and the answers of the second run are all there are.
        out = whole_lines(first.out) if (folder / "m").exists() else []
        rest = TO_STANDARD_OUTPUT.go_on(folder)
        assert rest.code == 0, f"{fault}: {rest.err}"
        found = out + whole_lines(rest.out)
        assert list(dict.fromkeys(found)) == expected, str(fault)
        assert len(found) - len(expected) <= BATCH, str(fault)
        assert made(folder) == alone.made, str(fault)


# -- alarms ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stride", [STRIDE, pytest.param(1, marks=pytest.mark.faults)])
def test_alarms_are_reported_at_least_once(stride, tmp_path):
    """Those since the last checkpoint are told again; every other file is that of the run left alone."""
    alone, folder = left_alone(WITH_ALARMS, tmp_path), tmp_path / "run"
    expected = alone.made.pop("alarms.jsonl").splitlines()
    assert expected
    for fault in all_faults(alone.calls)[::stride]:
        WITH_ALARMS.start(fresh(alone.template, folder), fault)
        ended = WITH_ALARMS.go_on(folder)
        assert ended.code == 0, f"{fault}: {ended.err}"
        found = made(folder)
        told = found.pop("alarms.jsonl").splitlines()
        assert list(dict.fromkeys(told)) == expected, str(fault)
        assert found == alone.made, str(fault)


# -- runs that take the place of others --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("stride", [STRIDE, pytest.param(1, marks=pytest.mark.faults)])
def test_a_run_that_cannot_take_the_place_of_another_leaves_it_whole(form, stride, whole, tmp_path):
    """After the fault the model is that of the old run or of the new one, and either goes on to its own bytes."""
    name, folder = f"in place of another to {form}", tmp_path / "run"
    scenario, alone = ALL[name], whole(name)
    for fault in all_faults(alone.calls)[::stride]:
        scenario.start(fresh(alone.template, folder), fault)
        is_old = (folder / "m").read_bytes() == (alone.template / "m").read_bytes()
        ended = run(folder, [*scenario.before, "--resume"])
        assert ended.code == 0, f"{fault}: {ended.err}"
        assert made(folder) == (made(alone.template) if is_old else alone.made), str(fault)


@pytest.fixture(scope="module")
def broken_pipe(whole, tmp_path_factory) -> Path:
    """The files of a run over a pipe after its last checkpoint failed: its last batch is in the journal."""
    folder, alone = tmp_path_factory.mktemp("broken") / "run", whole("pipe to csv")
    last = max(at for at, call in enumerate(alone.calls) if call == Call("rename", "m"))
    assert PIPE.start(fresh(alone.template, folder), Fault(last, errno.EIO)).code == 1
    assert (folder / "m.journal").stat().st_size
    (folder / ".stdout").unlink()
    return folder


@pytest.mark.parametrize("stride", [STRIDE, pytest.param(1, marks=pytest.mark.faults)])
def test_the_journal_of_a_run_stays_until_another_has_taken_its_place(stride, broken_pipe, whole, tmp_path):
    folder = tmp_path / "run"
    alone = left_alone_in(IN_PLACE_OF_A_PIPE, broken_pipe, folder)
    old = (broken_pipe / "m").read_bytes()
    for fault in all_faults(alone.calls)[::stride]:
        IN_PLACE_OF_A_PIPE.start(fresh(broken_pipe, folder), fault)
        expected = whole("pipe to csv").made if (folder / "m").read_bytes() == old else alone.made
        ended = PIPE.go_on(folder)
        assert ended.code == 0, f"{fault}: {ended.err}"
        assert made(folder) == expected, str(fault)


def test_the_journal_of_a_run_is_not_taken_for_that_of_its_successor(broken_pipe, tmp_path):
    """A file is read in the place of a pipe, and the disk fails before the journal of the pipe is cleared."""
    template, folder = tmp_path / "template", tmp_path / "run"
    FILE_IN_PLACE_OF_A_PIPE.prepare(fresh(broken_pipe, template))
    alone = left_alone_in(FILE_IN_PLACE_OF_A_PIPE, template, folder)
    (clearing,) = [at for at, call in enumerate(alone.calls) if call == Call("ftruncate", "m.journal")][:1]
    assert FILE_IN_PLACE_OF_A_PIPE.start(fresh(template, folder), Fault(clearing, errno.EIO)).code == 1
    assert (folder / "m.journal").stat().st_size
    command = [part for part in FILE_IN_PLACE_OF_A_PIPE.command if part != "--overwrite"]
    assert run(folder, [*command, "--resume"]).code == 0
    assert made(folder) == alone.made
