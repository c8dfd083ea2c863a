"""One policy for processes: threads of BLAS, caches of compiled code, and a start where nothing is writable."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import iegp
from iegp import _compile, _processes


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A temporary folder of this test alone, and a process that has not compiled yet."""
    monkeypatch.setattr(_processes.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(_processes, "_compiled", [])
    return tmp_path


def test_an_actor_has_one_thread_and_a_cache_that_it_finds_again(machine):
    first, again = (_processes.actor_environment(Path("checkpoints"), 3) for _ in range(2))
    assert first == again
    assert first["OPENBLAS_NUM_THREADS"] == "1"
    assert Path(first["NUMBA_CACHE_DIR"]).is_relative_to(machine)
    others = [_processes.actor_environment(Path(folder), shard) for folder, shard in [("checkpoints", 4), ("more", 3)]]
    assert len({env["NUMBA_CACHE_DIR"] for env in [first, *others]}) == 3


def test_a_cache_is_copied_without_what_is_already_there(machine, monkeypatch):
    filled, own = machine / "filled", machine / "own"
    for folder, text in [(filled / "a", "theirs"), (own / "a", "ours")]:
        folder.mkdir(parents=True)
        (folder / "one.nbi").write_text(text)
    (filled / "a" / "two.nbc").write_text("theirs")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(own))
    _processes.copy_cache(str(filled))
    assert {file.name: file.read_text() for file in (own / "a").iterdir()} == {"one.nbi": "ours", "two.nbc": "theirs"}


@pytest.mark.usefixtures("machine")
def test_a_process_compiles_once():
    calls = []
    for _ in range(2):
        _processes.compile_in_turn(lambda: calls.append(1))
    assert calls == [1]


IN_TURN = """
import os, sys, tempfile, time
tempfile.tempdir = sys.argv[1]
from iegp import _processes

def compile_all():
    marker = os.path.join(sys.argv[1], "busy")
    os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    time.sleep(0.1)
    os.unlink(marker)

_processes.compile_in_turn(compile_all)
"""


def test_processes_compile_one_at_a_time(tmp_path):
    processes = [subprocess.Popen([sys.executable, "-c", IN_TURN, str(tmp_path)]) for _ in range(4)]
    assert [process.wait(timeout=60) for process in processes] == [0] * 4


def test_the_environment_is_as_before_afterwards(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with _processes.environment():
        assert os.environ["OPENBLAS_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["OPENBLAS_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_a_command_keeps_the_number_of_threads_that_the_user_chose(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    monkeypatch.setenv("MKL_NUM_THREADS", "")
    monkeypatch.delenv("MKL_NUM_THREADS")
    _processes.limit_this_process()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "7"
    assert os.environ["MKL_NUM_THREADS"] == "1"


def test_a_command_sets_threads_before_numpy_is_loaded():
    script = "import sys, iegp.cli.app; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


UNWRITABLE = """
import sys, warnings
import numpy as np
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from iegp.core.compute.sincos import sincos
    from iegp.core.predictive import student
    sines, cosines = np.empty((2, 1))
    sincos(np.ones(1), sines, cosines)
    student.student_cdf_pdf(1.0, 2.0, 0.0)
said = [str(warning.message) for warning in caught if "NUMBA_CACHE_DIR" in str(warning.message)]
assert len(said) == 1, said
from iegp.core.likelihoods import named
assert named("bernoulli-logit").derivatives_address
np.testing.assert_allclose([sines[0], cosines[0]], [np.sin(1.0), np.cos(1.0)])
print(sys.modules["iegp"].__file__)
"""


def _twice(x: float) -> float:
    return 2.0 * x


@pytest.mark.skipif(not _compile.COMPILED, reason="nothing is compiled, so no cache is written")
def test_a_full_disk_does_not_stop_what_was_compiled(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    twice = _compile.compiled(_twice)
    monkeypatch.setattr(_compile._OneFileEach, "save", full)
    monkeypatch.setattr(_compile._OneFileEach, "load", lambda *_: None)
    _compile._say_nothing_is_kept.cache_clear()
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        assert twice(3.0) == 6.0


@pytest.mark.skipif(not _compile.COMPILED, reason="nothing is compiled, so no cache is written")
def test_where_nothing_is_writable_code_is_compiled_and_one_warning_says_so(tmp_path):
    copy = tmp_path / "iegp"
    shutil.copytree(Path(iegp.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    # A file where the folder should be stops even a superuser; permissions do not.
    for folder in [copy, *(path for path in copy.glob("**/*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    nowhere = str(tmp_path / "iegp" / "py.typed")
    variables = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    variables |= {"PYTHONPATH": str(tmp_path), "HOME": nowhere, "XDG_CACHE_HOME": nowhere}
    done = subprocess.run(
        [sys.executable, "-c", UNWRITABLE], env=variables, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(copy / "__init__.py")
