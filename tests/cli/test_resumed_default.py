"""Runs of the default model stop and go on: also after a late column, with a key and with late labels."""

from __future__ import annotations

import json

import numpy as np
import pytest
from stream_runs.process import iegp

N_ROWS, FIRST_LATE = 900, 620


@pytest.fixture
def records(tmp_path):
    """A file of labels that follow their row alone, whose rows have a third column from ``FIRST_LATE`` on."""
    rng = np.random.default_rng(0)
    with (tmp_path / "in.jsonl").open("w") as file:
        for row, (a, b, noise) in enumerate(rng.normal(size=(N_ROWS, 3))):
            late = {"c": noise} if row >= FIRST_LATE else {}
            file.write(json.dumps({"a": a, "b": b, "y": a - b + 0.1 * noise, "k": "uv"[row % 2], **late}) + "\n")
    return tmp_path


def means(path):
    return np.array([json.loads(line)["mean"] for line in path.read_text().splitlines()][1:], dtype=float)


@pytest.mark.parametrize("flags", [(), ("--key", "k"), ("--delay", "3")], ids=["plain", "key", "delay"])
def test_a_stopped_run_is_inspected_and_goes_on(records, flags):
    command = ("stream", "in.jsonl", "--target", "y", "--quiet", *flags)
    steps = (
        (*command, "--out", "whole.jsonl"),
        (*command, "--out", "parts.jsonl", "--save", "m", "--limit", str(FIRST_LATE + 50)),
        ("inspect", "m"),
        (*command, "--out", "parts.jsonl", "--save", "m", "--resume"),
    )
    for step in steps:
        done = iegp(records, *step)
        assert done.code == 0, done.err
    np.testing.assert_allclose(means(records / "parts.jsonl"), means(records / "whole.jsonl"), rtol=1e-9, atol=1e-9)
