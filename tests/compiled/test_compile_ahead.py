"""The second process that compiles: what it compiles, how the two divide the work, and when there is none."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from iegp import _compile, _compile_ahead
from iegp import _compile_helper as helping

pytestmark = pytest.mark.skipif(not _compile.COMPILED, reason="compilation is off")
ROOT = Path(__file__).parents[2]


# --- plans ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", ["IEGPRegressor", "IEGPClassifier", "stream"])
def test_the_plan_is_what_a_first_call_needs(plan, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    compile_plan = import_module("compile_plan")
    stored = [
        [helping.path_of(entry.py_func), [helping.describe(one) for one in types]]
        for entry, types in helping.read_plan(plan)
    ]
    assert stored == compile_plan.record(compile_plan.NAMES[plan]), "run `python benchmarks/compile_plan.py`"


def test_the_file_holds_the_plans_that_there_are():
    stored = json.loads(helping.PLANS.read_text())
    assert set(stored) == {"types", *_compile_ahead.PLANS}


def test_calls_without_a_plan_expect_nothing(monkeypatch):
    monkeypatch.setattr(_compile_ahead, "_expected", [])
    _compile_ahead.expect("IEGPLVM")
    assert not _compile_ahead._expected
    _compile_ahead.expect("stream")
    _compile_ahead.expect("IEGPRegressor")
    assert _compile_ahead._expected == ["stream"]


# Two small functions.
SMALL = {
    "types": [],
    "small": [
        ["iegp.core.expert.belief:is_moving", ["float64:1C"]],
        ["iegp.core.expert.sweep:block_rows", ["int64", "boolean", "boolean"]],
    ],
}
HELP = """
import sys
from pathlib import Path
from iegp import _compile_helper
_compile_helper.PLANS = Path(sys.argv[1])
_compile_helper.compile_backwards("small")
if "wait" in sys.argv:
    import time
    time.sleep(600)
"""


def _help(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    plans = folder / "plans.json"
    plans.write_text(json.dumps(SMALL))
    return subprocess.Popen(
        [sys.executable, "-c", HELP, str(plans), *arguments],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_helper_compiles_its_plan_backwards_and_only_what_is_missing(tmp_path):
    with _help(tmp_path) as helper:
        verbs = [line.split() for line in helper.stdout]
    assert helper.returncode == 0
    assert [verb for verb, _ in verbs] == ["begin", "done"] * 2
    first, second = verbs[0][1], verbs[2][1]
    assert "block_rows" in first
    assert "is_moving" in second
    on_disk = {file.name for file in (tmp_path / "cache").glob("**/*.nbc")}
    assert {first, second} == on_disk
    with _help(tmp_path) as helper:
        assert helper.stdout.read() == ""


def test_a_helper_leaves_alone_what_the_first_process_names(tmp_path, monkeypatch):
    (tmp_path / "plans.json").write_text(json.dumps(SMALL))
    monkeypatch.setattr(helping, "PLANS", tmp_path / "plans.json")
    entry, signature = helping.read_plan("small")[0]
    with _help(tmp_path) as helper:
        helper.stdin.write(f"{helping.files_of(entry).name_of(signature, entry.targetctx)}\n")
        helper.stdin.flush()
        begun = [line for line in helper.stdout if line.startswith("begin")]
    assert len(begun) == 1
    assert "block_rows" in begun[0]


def test_a_helper_ends_with_the_first_process(tmp_path):
    with _help(tmp_path, "wait") as helper:
        helper.stdout.readline()
        helper.stdin.close()
        assert helper.wait(timeout=120) == 0


# --- the first process ----------------------------------------------------------------------------------------------


@pytest.fixture
def helped():
    """Start helpers that are short programs, and end them."""
    started = []

    def start(program: str) -> _compile_ahead.Helper:
        started.append(_compile_ahead.Helper([sys.executable, "-I", "-c", program]))
        return started[-1]

    yield start
    for helper in started:
        helper.stop()
        assert helper.process.poll() is not None


def _until_begun(helper: _compile_ahead.Helper, name: str) -> None:
    with helper._state:
        assert helper._state.wait_for(lambda: name in helper._begun, timeout=60)


ECHO = """
print("begin a", flush=True)
told = input()
print("begin told-" + told, flush=True)
print("done a", flush=True)
input()
"""


def test_what_the_helper_has_begun_is_waited_for_and_the_rest_is_told_to_it(helped):
    helper = helped(ECHO)
    _until_begun(helper, "a")
    assert not helper.is_done("b")
    _until_begun(helper, "told-b")
    assert helper.is_done("a")


def test_nothing_waits_for_a_helper_that_died(helped):
    helper = helped("print('begin a', flush=True); raise SystemExit(1)")
    _until_begun(helper, "a")
    assert not helper.is_done("a")
    helper.process.wait(timeout=60)
    assert not helper.is_done("b")


def test_nothing_waits_forever_for_a_helper_that_hangs(helped, monkeypatch):
    monkeypatch.setattr(_compile_ahead, "PATIENCE", 0.1)
    helper = helped("print('begin a', flush=True); input()")
    _until_begun(helper, "a")
    assert not helper.is_done("a")


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (os, "sched_getaffinity", lambda _: {0}),
        (multiprocessing, "parent_process", object),
        (sys, "executable", ""),
        (sys, "frozen", True),
        (os, "environ", {"IEGP_COMPILE_PROCESSES": "1"}),
        (_compile_ahead, "_is_forked", True),
    ],
    ids=["one core", "a worker", "no Python", "a frozen program", "turned off", "a fork"],
)
def test_there_is_no_second_process(monkeypatch, owner, name, value):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.delenv("IEGP_COMPILE_PROCESSES", raising=False)
    assert _compile_ahead._may_start() or multiprocessing.parent_process() is not None
    monkeypatch.setattr(owner, name, value, raising=False)
    assert not _compile_ahead._may_start()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_fork_is_known_as_one():
    code = (
        "import os, sys\nfrom iegp import _compile_ahead\npid = os.fork()\n"
        "if pid == 0: os._exit(7 if _compile_ahead._is_forked else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) + _compile_ahead._is_forked)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7


def test_a_process_that_cannot_be_started_is_done_without(monkeypatch):
    monkeypatch.setattr(_compile_ahead, "_may_start", lambda: True)
    monkeypatch.setattr(_compile_ahead, "_expected", ["IEGPRegressor"])
    monkeypatch.setattr(_compile_ahead, "_helpers", [])
    monkeypatch.setattr(sys, "executable", str(ROOT / "no" / "python"))
    assert not _compile_ahead.is_done("a")
    assert not _compile_ahead._helpers


# --- files ----------------------------------------------------------------------------------------------------------


def test_two_writers_of_one_function_lose_nothing(tmp_path):
    one, other = (_compile._OneFileEach(str(tmp_path), "function", "stamp") for _ in range(2))
    one.save("first", 1)
    other.save("second", 2)
    one.save("third", 3)
    assert [other.load(key) for key in ("first", "second", "third", "fourth")] == [1, 2, 3, None]


def test_files_of_other_sources_and_broken_files_are_not_read(tmp_path):
    files = _compile._OneFileEach(str(tmp_path), "function", "stamp")
    files.save("key", 1)
    assert _compile._OneFileEach(str(tmp_path), "function", "other stamp").load("key") is None
    path = tmp_path / files.name_of("key")
    whole = path.read_bytes()
    for n_bytes in (0, 3, len(whole) - 3):
        path.write_bytes(whole[:n_bytes])
        assert files.load("key") is None


def test_a_file_holds_the_key_it_belongs_to(tmp_path):
    files = _compile._OneFileEach(str(tmp_path), "function", "stamp")
    files.save("key", 1)
    (tmp_path / files.name_of("key")).rename(tmp_path / files.name_of("another"))
    assert files.load("another") is None


# --- both -----------------------------------------------------------------------------------------------------------

FIRST_CALL = """
import sys
import numpy as np
from iegp import IEGPRegressor, _compile_ahead
x = np.random.default_rng(0).normal(size=(300, 3))
model = IEGPRegressor(random_state=0).fit(x, x[:, 0])
np.save(sys.argv[1], model.predict(x[:20]))
for helper in _compile_ahead._helpers:
    print(len(helper._done))
"""


@pytest.mark.slow
def test_results_do_not_depend_on_who_compiled(tmp_path):
    found = []
    for n_processes in ("1", "2"):
        variables = {"NUMBA_CACHE_DIR": str(tmp_path / n_processes), "IEGP_COMPILE_PROCESSES": n_processes}
        answers = tmp_path / f"{n_processes}.npy"
        done = subprocess.run(
            [sys.executable, "-c", FIRST_CALL, str(answers)],
            env={**os.environ, **variables},
            check=True,
            capture_output=True,
            text=True,
        )
        found.append((answers.read_bytes(), done.stdout.strip()))
    (alone, none), (together, n_helped) = found
    assert alone == together
    assert none == ""
    assert (os.cpu_count() or 1) < 2 or int(n_helped) > 0
