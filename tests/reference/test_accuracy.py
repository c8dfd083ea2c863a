"""What the default model has to reach on the paper's data (medians of 3 seeds; `make bench-accuracy` takes 5)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
accuracy = pytest.importorskip("accuracy", reason="benchmarks are not part of this checkout")

needs_data = pytest.mark.skipif(not os.environ.get("IEGP_DATA"), reason="$IEGP_DATA is not set: no data sets here")


@needs_data
def test_default_on_air_quality_with_one_seed():
    score = accuracy.score("default", "air_quality", 0)
    assert score.nmse <= accuracy.TARGETS["air_quality"][0]
    assert score.nll <= accuracy.TARGETS["air_quality"][1]
    assert 0.93 <= score.coverage <= 0.97


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("stream", accuracy.TARGETS)
def test_default_reaches_its_targets(stream):
    nmse, nll, coverage, *_ = np.median([accuracy.score("default", stream, seed) for seed in range(3)], axis=0)
    assert nmse <= accuracy.TARGETS[stream][0]
    assert nll <= accuracy.TARGETS[stream][1]
    assert 0.93 <= coverage <= 0.97


@needs_data
@pytest.mark.parametrize(
    ("model", "stream", "nmse"),
    [("ie_gp", "air_quality", 0.11), ("die_gp", "air_quality", 0.065), ("die_gp", "sarcos", 0.022)],
)
def test_the_papers_settings_give_what_prototypes_gave(model, stream, nmse):
    """Prototype figures 0.097, 0.048 and 0.020 (other frequencies drawn); the spread over seeds is about 15 %."""
    assert np.median([accuracy.score(model, stream, seed).nmse for seed in range(3)]) <= nmse
