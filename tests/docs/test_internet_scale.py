"""The page's figures are those its script prints, and the script's sizes are those of fleets."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from iegp import Fleet, IEGPRegressor
from iegp.kernels import RBF

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "internet_scale.py"


def test_the_page_shows_what_the_script_prints(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(SCRIPT)])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert len(printed) > 40
    page = (ROOT / "docs" / "internet-scale.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in printed if line not in page] == []


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sizes_are_those_of_fleets(dtype):
    model = IEGPRegressor(
        [RBF(1.0), RBF(2.0)], n_frequencies=3, drift_var=(0.0, 1e-3), noise_forgetting=(None, 0.9, 0.8), random_state=0
    ).warm_up(np.arange(10.0)[:, None], np.arange(10.0))
    sizes = runpy.run_path(str(SCRIPT))["Model"]("", beliefs=4, features=6, noise_models=3)
    assert Fleet(model, dtype=dtype).bytes_per_key == sizes.bytes_per_key(8 if dtype == "float64" else 4)
