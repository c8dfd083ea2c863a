"""The naive forecast equals the obvious loop, and is what a run is compared with."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from iegp.evaluate.naive import running_mean


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("skip", [2, 5])
def test_it_is_mean_and_spread_of_all_labels_before(shift, skip):
    y = np.random.default_rng(0).normal(size=40) + shift
    run = running_mean(y, skip)
    for t in range(skip, len(y)):
        mean, std = y[:t].mean(), y[:t].std()
        assert_allclose(run.mean[t - skip], mean, rtol=1e-12)
        assert_allclose(run.std[t - skip], std, rtol=1e-8)
        assert_allclose(run.log_score[t - skip], stats.norm.logpdf(y[t], mean, std), rtol=1e-6)
    assert_allclose(run.upper - run.mean, stats.norm.ppf(0.975) * run.std, rtol=1e-6)
    assert_allclose(run.mean - run.lower, stats.norm.ppf(0.975) * run.std, rtol=1e-6)
