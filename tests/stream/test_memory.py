"""Memory does not grow with the stream."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from stream_runs import sources
from stream_runs.jobs import absorb, job_of
from stream_runs.models import write_config
from stream_runs.process import Running


def resident(pid: int) -> float:
    """MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")


@pytest.mark.slow
@pytest.mark.parametrize("out", ["out.jsonl", "out.csv"])
def test_resident_memory_is_flat_over_a_million_rows(tmp_path, out):
    """Between row 50,000 and the end it differs by less than 10 MiB; the source alone has 40 MB."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    table = np.round(rng.normal(size=(n, 3)), 6)
    np.savetxt(tmp_path / "in.csv", table, delimiter=",", header="a,b,y", comments="", fmt="%.6g")
    write_config(tmp_path)
    running = Running(
        tmp_path, "stream", "in.csv", "--target", "y", "--config", "small.toml", "--out", out, "--save", "m"
    )
    path, early, last = tmp_path / out, float("nan"), float("nan")
    while running.is_alive:
        running.process.join(0.05)
        if running.is_alive and path.exists():
            now = resident(running.process.pid)
            if np.isnan(early) and path.stat().st_size > 50_000 * 150:
                early = now
            last = now if np.isfinite(now) else last
    assert running.wait().code == 0
    assert abs(last - early) < 10.0, (early, last)


def test_rows_that_wait_and_ids_are_bounded():
    job = job_of(max_pending=50)
    absorb(job, [{"id": f"r{i}", "a": r["a"], "b": r["b"]} for i, r in enumerate(sources.numbers(2000))], 100)
    assert len(job.pending.rows) == 50
    assert len(job.pending.seen) == 50
    assert job.pending.n_dropped == 1950
