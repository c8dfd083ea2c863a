"""Files of every kind, altered at random with right checksums: refused, or as good as any; never a crash or a hang."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from resume.file_kinds import KINDS

TESTS = Path(__file__).parents[1]
N_CASES, N_PARTS = 100_000, 20
# Five of each kind; those that follow are among the hundred thousand.
N_FEW = 5 * len(KINDS)
MOST_BAD = 100


def fuzz(folder: Path, first: int, last: int) -> Counter[str]:
    """Cases ``first`` to ``last`` in a process of their own; how they ended.

    After a case that ends the process, another one goes on, so that no case hides those after it.
    """
    bad: list[str] = []
    tally: Counter[str] = Counter()
    while first < last:
        ended, first = _part(folder, first, last, tally)
        bad += ended
        assert len(bad) < MOST_BAD, "too many, first ones:\n" + "\n".join(bad[:10])
    assert not bad, f"{len(bad)} are not as they must be:\n" + "\n".join(bad)
    return tally


def _part(folder: Path, first: int, last: int, tally: Counter[str]) -> tuple[list[str], int]:
    """Cases that ended badly, and the case to go on with; outcomes of the others are counted."""
    progress, results = folder / "progress", folder / "results"
    results.unlink(missing_ok=True)
    where = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "resume.file_fuzzer", "--first", str(first), "--last", str(last)]
    done = subprocess.run(
        [*command, "--progress", str(progress), "--results", str(results)],
        env=os.environ | {"PYTHONPATH": where, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    case = progress.read_text().strip()
    assert case, f"no case began: {done.stderr[-2000:]}"
    lines = results.read_text().splitlines() if results.exists() else []
    if done.returncode == 0:
        *lines, summary = lines
        tally.update(json.loads(summary)["tally"])
        return lines, last
    return [*lines, f"case {case} ended with {done.returncode}: {done.stderr[-2000:]}"], int(case) + 1


def test_a_few_altered_files(tmp_path):
    tally = fuzz(tmp_path, 0, N_FEW)
    assert tally.total() == N_FEW
    assert tally["refused"] > 0.4 * N_FEW
    assert tally["fine"] > 0.1 * N_FEW


def test_a_case_that_ends_the_process_hides_none_after_it(tmp_path, monkeypatch):
    started = []

    def run(command, **_):
        options = dict(zip(command[3::2], command[4::2], strict=True))
        started.append((options["--first"], options["--last"]))
        is_first = len(started) == 1
        Path(options["--progress"]).write_text("3\n" if is_first else "9\n")
        lines = ["USE FAILED: case 1"] if is_first else ["NOT FINITE: case 7", json.dumps({"tally": {"fine": 5}})]
        Path(options["--results"]).write_text("\n".join(lines))
        return subprocess.CompletedProcess(command, -signal.SIGPROF if is_first else 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(AssertionError, match=r"(?s)3 are not.*case 1\n.*case 3 ended with -27.*\n.*case 7"):
        fuzz(tmp_path, 0, 10)
    assert started == [("0", "10"), ("4", "10")]


def test_compiling_counts_neither_as_time_nor_as_memory():
    """In a process of its own: the memory of this one stays as it is."""
    code = """
import resource, signal
from resume import file_fuzzer as fuzzer
watch = fuzzer.Uncounted()
fuzzer._limit_memory(fuzzer._used() + fuzzer.MEMORY)
fuzzer._limit_time(5.0, 60)
watch.on_start(None)
watch.on_start(None)
kept = bytearray(2 * fuzzer.MEMORY)
watch.on_end(None)
assert signal.getitimer(signal.ITIMER_PROF)[0] == 0.0
watch.on_end(None)
assert 0.0 < signal.getitimer(signal.ITIMER_PROF)[0] < 5.1
left = resource.getrlimit(resource.RLIMIT_AS)[0] - fuzzer._used()
assert 0.9 * fuzzer.MEMORY < left < 1.1 * fuzzer.MEMORY, left
try:
    bytearray(2 * fuzzer.MEMORY)
except MemoryError:
    print("limited")
"""
    env = os.environ | {"PYTHONPATH": str(TESTS), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.stdout == "limited\n", done.stderr


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(N_PARTS))
def test_many_altered_files(part, tmp_path):
    n = N_CASES // N_PARTS
    assert fuzz(tmp_path, part * n, (part + 1) * n).total() == n
