"""What every baseline promises: no leak, any chunks, units, warm-up, errors that teach."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from competitors.data import moons, wave
from iegp_paper import competitors as baselines
from iegp_paper.competitors import (
    ISSGPR,
    AdaRaker,
    AdaRakerClassifier,
    BatchGP,
    BatchRandomFeatureGP,
    Raker,
    RakerClassifier,
)
from sklearn.base import clone

from iegp.errors import InputError
from iegp.kernels import RBF

HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="SSGP needs PyTorch (dependency group bench)")
KERNELS = (RBF(0.5), RBF(2.0))


def small_ssgp(**settings):
    return baselines.SSGP(batch_size=15, n_inducing=8, n_steps=3, random_state=0, **settings)


def small_ssgp_classifier(**settings):
    return baselines.SSGPClassifier(batch_size=15, n_inducing=6, n_steps=3, random_state=0, **settings)


REGRESSION = [
    pytest.param(lambda **s: Raker(KERNELS, n_frequencies=6, random_state=0, **s), id="raker"),
    pytest.param(lambda **s: AdaRaker(KERNELS, n_frequencies=6, random_state=0, **s), id="adaraker"),
    pytest.param(lambda **s: ISSGPR(n_frequencies=6, random_state=0, **s), id="issgpr"),
    pytest.param(lambda **s: BatchRandomFeatureGP(n_frequencies=6, random_state=0, **s), id="batch-rf"),
    pytest.param(lambda **s: BatchGP(**s), id="batch-gp"),
    pytest.param(small_ssgp, id="ssgp", marks=needs_torch),
]
CLASSIFICATION = [
    pytest.param(lambda **s: RakerClassifier(KERNELS, n_frequencies=6, random_state=0, **s), id="raker"),
    pytest.param(lambda **s: AdaRakerClassifier(KERNELS, n_frequencies=6, random_state=0, **s), id="adaraker"),
    pytest.param(small_ssgp_classifier, id="ssgp", marks=needs_torch),
]


@pytest.mark.parametrize("make", REGRESSION)
def test_regression_does_not_look_ahead(make):
    x, y = wave(100)
    changed = y.copy()
    changed[70:] = -5.0 * y[70:] + 3.0
    first, second = (make(warmup=40).prequential(x, labels) for labels in (y, changed))
    np.testing.assert_array_equal(first.mean[:71], second.mean[:71])
    np.testing.assert_array_equal(first.std[:71], second.std[:71])
    assert not np.array_equal(first.mean[86:], second.mean[86:])


@pytest.mark.parametrize("make", CLASSIFICATION)
def test_classification_does_not_look_ahead(make):
    x, y = moons(100)
    changed = y.copy()
    changed[70:] = np.where(y[70:] == "up", "down", "up")
    first, second = (make(warmup=40).prequential(x, labels) for labels in (y, changed))
    np.testing.assert_array_equal(first.proba[:71], second.proba[:71])
    assert not np.array_equal(first.proba[86:], second.proba[86:])


@pytest.mark.parametrize("make", REGRESSION)
def test_chunks_do_not_matter(make):
    x, y = wave(100)
    whole = make(warmup=40).prequential(x, y)
    model = make(warmup=40)
    parts = [model.prequential(x[i:j], y[i:j]) for i, j in ((0, 10), (10, 55), (55, 56), (56, 100))]
    mean = np.concatenate([part.mean for part in parts])
    np.testing.assert_allclose(mean, whole.mean, rtol=1e-8, atol=1e-10)
    assert whole.n_blind == 40
    assert np.isnan(whole.mean[:40]).all()
    assert np.isfinite(whole.mean[40:]).all()


@pytest.mark.parametrize("make", REGRESSION)
def test_the_warm_up_is_that_of_the_first_rows(make):
    x, y = wave(80)
    apart = make(warmup=40).warm_up(x[:40], y[:40]).prequential(x[40:], y[40:])
    together = make(warmup=40).prequential(x, y)
    np.testing.assert_allclose(together.mean[40:], apart.mean, rtol=1e-10)
    assert together.nmse == pytest.approx(nmse_of(y[40:], apart.mean))


def nmse_of(y, mean):
    return np.mean((y - mean) ** 2) / np.var(y)


@pytest.mark.parametrize("make", REGRESSION)
def test_units_do_not_matter(make):
    """To the tolerance of the optimisers of hyperparameters."""
    x, y = wave(80)
    plain = make(warmup=40).prequential(x, y)
    other = make(warmup=40).prequential(x * 100.0 + 7.0, 50.0 * y - 3.0)
    np.testing.assert_allclose(other.mean[40:], 50.0 * plain.mean[40:] - 3.0, rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(other.std[40:], 50.0 * plain.std[40:], rtol=1e-3)
    np.testing.assert_allclose(other.log_score[40:], plain.log_score[40:] - np.log(50.0), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("make", REGRESSION)
def test_they_learn(make):
    x, y = wave(500)
    run = make(warmup=100).prequential(x, y)
    assert nmse_of(y[300:], run.mean[300:]) < 0.6


@pytest.mark.parametrize("make", CLASSIFICATION)
def test_classifiers_learn_and_predict(make):
    x, y = moons(400)
    model = make(warmup=100)
    run = model.prequential(x, y)
    assert np.mean(run.predicted[200:] != y[200:]) < 0.25
    np.testing.assert_allclose(run.proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(run.proba[:100], 0.5)
    assert set(model.predict(x[:5])) <= {"up", "down"}
    assert model.predict_proba(x[:5]).shape == (5, 2)


def test_errors_say_what_to_do():
    x, y = wave(50)
    with pytest.raises(InputError, match="knows nothing yet"):
        Raker().predict(x)
    with pytest.raises(InputError, match=r"X has 1 columns, but the model has learned 2"):
        Raker().warm_up(x, y).predict(x[:, :1])
    with pytest.raises(InputError, match="one number per row"):
        ISSGPR().warm_up(x, y[:-1])
    bad = x.copy()
    bad[3, 1] = np.nan
    with pytest.raises(InputError, match="at row 3, column 1"):
        ISSGPR().warm_up(bad, y)
    with pytest.raises(InputError, match="tells two apart"):
        RakerClassifier().warm_up(x, np.arange(50))
    with pytest.raises(InputError, match="none of the classes"):
        RakerClassifier().warm_up(x, y > 0).prequential(x[:1], [7])
    with pytest.raises(InputError, match="level=2"):
        ISSGPR().warm_up(x, y).prequential(x, y, level=2)
    with pytest.raises(InputError, match="no rows to warm up on"):
        ISSGPR(warmup=0).prequential(x, y)


def test_a_baseline_shows_what_was_changed():
    assert repr(ISSGPR(n_frequencies=7)) == "ISSGPR(n_frequencies=7)"
    assert ISSGPR().get_params()["n_frequencies"] == 50


def test_every_public_name_is_there():
    for name in baselines.__all__:
        if HAS_TORCH or not name.startswith("SSGP"):
            assert getattr(baselines, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'Nobody'"):
        baselines.Nobody  # noqa: B018


WITHOUT_TORCH = """
import importlib.abc, sys

class Hide(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("hidden", name="torch")

sys.meta_path.insert(0, Hide())
from iegp_paper import competitors as baselines
print(baselines.AdaRaker().eta_0)
try:
    baselines.SSGP
except ImportError as error:
    print(error)
"""


def test_without_torch_only_ssgp_is_missing():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.splitlines() == ["1.0", "SSGP needs PyTorch, which is not installed; pip install torch"]


def test_a_buffer_that_is_used_again_for_every_row_does_not_change_the_warm_up():
    X, y = wave(60)
    one, other = Raker(warmup=20, random_state=0), Raker(warmup=20, random_state=0)
    x_buffer, y_buffer = np.empty((1, X.shape[1])), np.empty(1)
    for t in range(len(X)):
        x_buffer[0], y_buffer[0] = X[t], y[t]
        one.partial_fit(x_buffer, y_buffer)
    other.partial_fit(X, y)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9)


def test_scikit_learn_clones_them():
    assert clone(Raker(penalty=0.5)).penalty == 0.5
