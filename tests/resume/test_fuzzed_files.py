"""Files of every kind, altered at random with right checksums: refused, or as good as any; never a crash or a hang."""

from __future__ import annotations

import json
import os
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


def fuzz(folder: Path, first: int, last: int) -> Counter[str]:
    """Cases ``first`` to ``last`` in a process of their own; how they ended."""
    progress, results = folder / "progress", folder / "results"
    where = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "resume.file_fuzzer", "--first", str(first), "--last", str(last)]
    done = subprocess.run(
        [*command, "--progress", str(progress), "--results", str(results)],
        env=os.environ | {"PYTHONPATH": where, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"case {progress.read_text()} ended with {done.returncode}: {done.stderr[-2000:]}"
    *bad, summary = results.read_text().splitlines()
    assert not bad, f"{len(bad)} of {last - first}, first ones:\n" + "\n".join(bad[:10])
    return Counter(json.loads(summary)["tally"])


def test_a_few_altered_files(tmp_path):
    tally = fuzz(tmp_path, 0, N_FEW)
    assert tally.total() == N_FEW
    assert tally["refused"] > 0.4 * N_FEW
    assert tally["fine"] > 0.1 * N_FEW


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(N_PARTS))
def test_many_altered_files(part, tmp_path):
    n = N_CASES // N_PARTS
    assert fuzz(tmp_path, part * n, (part + 1) * n).total() == n
