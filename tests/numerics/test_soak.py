"""Soak tests: very long streams and very large problems. ``make test-soak``; hours, or less with ``IEGP_SOAK_ROWS``.

The long streams have ``IEGP_SOAK_ROWS`` rows, which ``make`` sets to ten million; the large problems grow with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import psutil
import pytest

from iegp import IEGPClassifier, IEGPCountRegressor, IEGPRegressor, presets
from iegp.core.state import belief_at
from iegp.errors import InputError
from iegp.kernels import RBF
from iegp.typing import Float

pytestmark = pytest.mark.soak

ROWS = int(float(os.environ.get("IEGP_SOAK_ROWS", "1e4")))
CHUNK = min(50_000, max(ROWS // 20, 1))
# Rows that a fresh model learns to be compared with, and that both are then scored on.
RECENT, SCORED = min(20_000, ROWS // 2), 2_000
NOISE = 0.1


def chunks(n: int, seed: int = 0) -> Iterator[tuple[Float, Float]]:
    """A smooth function of three inputs with noise, without an end."""
    rng = np.random.default_rng(seed)
    for start in range(0, n, CHUNK):
        x = rng.normal(size=(min(CHUNK, n - start), 3))
        yield x, np.sin(x @ np.array([1.0, -0.5, 0.3])) + NOISE * rng.normal(size=len(x))


def check(model: IEGPRegressor, run: Any) -> None:
    """Everything is finite, spreads are positive, weights sum to one, beliefs are beliefs."""
    for name in ("mean", "std", "lower", "upper", "log_score"):
        assert np.isfinite(getattr(run, name)).all(), name
    assert (run.std > 0.0).all()
    np.testing.assert_allclose(run.weights.sum(axis=1), 1.0, atol=1e-9)
    ensemble, state = model.model_.experts.ensemble, model.model_.state
    assert (state.noise_scale > 0.0).all()
    for number, drift in enumerate(ensemble.drifts):
        matrix = belief_at(ensemble.layout, state, number).matrix
        assert np.isfinite(matrix).all()
        assert (np.diagonal(matrix) > 0.0).all()
        if drift:
            np.testing.assert_array_equal(matrix, matrix.T)
            assert np.linalg.eigvalsh(matrix)[0] > 0.0


def soak(make: Callable[[], IEGPRegressor], worse_by: float) -> None:
    """Learn all rows; memory stays flat, and at the end the model is no worse than one that learned recent rows."""
    model, process, after_first = make(), psutil.Process(), 0
    recent: list[tuple[Float, Float]] = []
    for number, (x, y) in enumerate(chunks(ROWS)):
        check(model, model.prequential(x, y))
        recent = [*recent, (x, y)][-RECENT // CHUNK :]
        if number == 1:
            after_first = process.memory_info().rss
    assert model.n_samples_seen_ == ROWS
    assert process.memory_info().rss - after_first < 64 << 20
    fresh = make().fit(*(np.concatenate(part) for part in zip(*recent, strict=True)))
    x, y = (part[:SCORED] for part in next(chunks(SCORED, seed=1)))
    scores = [float(np.mean(each.prequential(x, y).log_score)) for each in (model, fresh)]
    assert scores[0] > scores[1] - worse_by, f"{scores[0]:.4f}, refitted {scores[1]:.4f}"


@pytest.mark.parametrize("name", ["ie_gp", "die_gp", "sie_gp", "dsie_gp", "light", "default"])
def test_presets_and_the_default(name):
    make = IEGPRegressor if name == "default" else getattr(presets, name)
    soak(lambda: make(random_state=0), worse_by=0.05)


@pytest.mark.parametrize("drift", [0.0, 1e-3, 10.0])
@pytest.mark.parametrize("ratio", [1e-6, 1.0, 1e6, 1e12])
def test_extreme_ratios(ratio, drift):
    """Prior over noise, with the noise of the stream; the default's kernels, of which a few frequencies."""
    given = {"noise_var": NOISE**2, "prior_var": ratio * NOISE**2, "drift_var": drift}
    kernels = [RBF(0.5), RBF(2.0)]
    soak(lambda: IEGPRegressor(kernels, **given, n_frequencies=15, warmup=0, random_state=0), worse_by=0.05)


def test_thousands_of_classes():
    n_classes = int(np.clip(ROWS // 5_000, 20, 2_000))
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_classes)])
    x = rng.normal(size=(len(y), 2)) + 0.01 * y[:, None]
    run = IEGPClassifier([RBF(1.0)], n_frequencies=2, drift_var=0.0, warmup=0, random_state=0).prequential(x, y)
    assert np.isfinite(run.log_score).all()
    np.testing.assert_allclose(run.proba.sum(axis=1), 1.0, atol=1e-9)


def test_thousands_of_columns():
    n_columns = int(np.clip(ROWS // 2_000, 100, 5_000))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1_500, n_columns))
    y = x[:, 0] + 0.1 * rng.normal(size=len(x))
    model = IEGPRegressor(n_frequencies=20, warmup=200, random_state=0)
    check(model, model.prequential(x, y))


@pytest.mark.parametrize("largest", [1e6, 1e9])
def test_counts_of_a_billion(largest):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(min(ROWS, 20_000), 2))
    y = rng.poisson(largest * np.exp(np.minimum(x[:, 0], 0.0) - 1e-3))
    model = IEGPCountRegressor([RBF(1.0)], n_frequencies=10, random_state=0)
    run = model.prequential(x, y)
    for name in ("mean", "std", "log_score"):
        assert np.isfinite(getattr(run, name)).all(), name
    assert (run.std > 0.0).all()


def test_an_exposure_of_zero_is_refused_and_a_tiny_one_is_learned():
    rng = np.random.default_rng(0)
    x, y, exposure = rng.normal(size=(2_000, 2)), rng.poisson(3.0, size=2_000), np.ones(2_000)
    model = IEGPCountRegressor([RBF(1.0)], n_frequencies=10, random_state=0)
    exposure[7] = 0.0
    with pytest.raises(InputError, match="exposure"):
        model.fit(x, y, exposure)
    exposure[7], y[7] = 1e-12, 0
    assert np.isfinite(model.prequential(x, y, exposure).log_score).all()
