"""Settings in a file that would take more memory than a file may ask for: refused at load, by name."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contracts.models import stream
from stream_runs.jobs import job_of

import iegp
from iegp.errors import ModelFileError, ModelTooLargeError
from iegp.kernels import HSGP, RBF, Linear
from iegp.storage import model_file as modelfile
from iegp.stream import checkpoint
from iegp.stream.checkpoint import RunState

X, Y = stream(80)
SHAPE: dict[str, Any] = {"kernels": [RBF(0.7), RBF(2.0)], "n_frequencies": 3, "warmup": 40, "random_state": 0}
ESTIMATORS = [
    iegp.IEGPRegressor,
    iegp.IEGPClassifier,
    iegp.IEGPCountRegressor,
    iegp.IEGPOrdinalClassifier,
    iegp.IEGPLVM,
]
VARIABLE = "IEGP_LARGEST_MODEL_GIB"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(VARIABLE, raising=False)
    return tmp_path / "model"


def change(path: Path, alter: Callable[[dict[str, Any]], None]) -> None:
    """Alter the header of a file, with a right checksum."""
    header, arrays = modelfile.read(path)
    alter(header)
    modelfile.write(path, header, arrays)


def map_in_its_warmup(path: Path) -> None:
    iegp.IEGPLVM(**SHAPE, n_components=1).fit(X[:10]).save(path)
    change(path, lambda header: header["latent"]["settings"].update(n_frequencies=3000))


def test_map_in_its_warmup_is_refused_unless_it_is_allowed(file, monkeypatch):
    map_in_its_warmup(file)
    with pytest.raises(
        ModelTooLargeError, match=rf"(?s){file}.*n_frequencies=3000 with 2 kernels.*{VARIABLE}=5"
    ) as caught:
        iegp.load(file)
    assert "damaged" not in str(caught.value)
    monkeypatch.setenv(VARIABLE, "5")
    assert iegp.load(file).model_.settings.n_frequencies == 3000


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_estimator_without_rows(file, kind):
    kind(n_frequencies=3).save(file)
    iegp.load(file)
    change(file, lambda header: header["parameters"].update(n_frequencies=4000))
    with pytest.raises(ModelTooLargeError, match="n_frequencies=4000"):
        iegp.load(file)


def test_whole_numbers_of_any_size(file):
    """No float holds the square of such a number."""
    iegp.IEGPRegressor().save(file)
    change(file, lambda header: header["parameters"].update(n_frequencies=10**300))
    with pytest.raises(ModelTooLargeError, match="n_frequencies=1000000"):
        iegp.load(file)


def test_many_terms_and_drifts_count(file):
    iegp.IEGPRegressor([RBF(1.0) + Linear()], n_frequencies=200, drift_var=0.0).save(file)
    iegp.load(file)
    change(file, lambda header: header["parameters"].update(drift_var=[0.0] * 1000))
    with pytest.raises(ModelTooLargeError, match="n_frequencies=200 with 1 kernel and 1000 drifts"):
        iegp.load(file)
    iegp.IEGPRegressor([HSGP(1.0, n_functions=500, columns=[3, 4])] * 100, drift_var=0.0).save(file)
    with pytest.raises(ModelTooLargeError, match="100 kernels"):
        iegp.load(file)


def test_arguments_that_fitting_refuses_do_not_stop_loading(file):
    iegp.IEGPRegressor(n_frequencies=0).save(file)
    assert iegp.load(file).n_frequencies == 0
    iegp.IEGPForecaster(0).save(file)
    assert iegp.IEGPForecaster.load(file).horizon == 0


def test_loading_draws_no_random_numbers(file):
    iegp.IEGPRegressor().save(file)
    np.random.seed(3)  # noqa: NPY002 the generator of old that scikit-learn uses
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    iegp.load(file)
    assert np.random.random() == expected  # noqa: NPY002


def test_fitted_model_is_as_large_as_its_file(file, monkeypatch):
    """However small the limit: its arrays are there."""
    iegp.IEGPRegressor(**SHAPE).fit(X, Y).save(file)
    monkeypatch.setenv(VARIABLE, "1e-9")
    iegp.load(file)


def test_limit_that_is_no_number(file, monkeypatch):
    iegp.IEGPRegressor().save(file)
    for text in ("much", "0", "-1", "nan"):
        monkeypatch.setenv(VARIABLE, text)
        with pytest.raises(ModelTooLargeError, match=f"{VARIABLE}='{text}' is not a number"):
            iegp.load(file)


def test_settings_of_a_warmup_have_the_features_of_the_experts(file):
    """The next refit makes experts from them."""
    iegp.IEGPRegressor(**SHAPE).fit(X[:10], Y[:10]).save(file)
    term = RBF(0.7).to_config()
    change(file, lambda header: header["online"]["settings"]["kernels"].__setitem__(0, {"sum": [term] * 50}))
    with pytest.raises(ModelFileError, match="kernels of the settings have other features"):
        iegp.load(file)


def test_forecaster_without_rows(file):
    iegp.IEGPForecaster(3).save(file)
    iegp.IEGPForecaster.load(file)
    change(file, lambda header: header["parameters"].update(horizon=2**31))
    with pytest.raises(ModelTooLargeError, match=f"horizon={2**31} of models of n_frequencies="):
        iegp.IEGPForecaster.load(file)


def test_models_of_a_forecaster_that_wait_count_together(file):
    """One of them alone would be allowed."""
    iegp.IEGPForecaster(8, lags=2, regressor=iegp.IEGPRegressor(**SHAPE)).fit(Y[:2]).save(file)

    def enlarge(header: dict[str, Any]) -> None:
        for own in header["forecast"]["models"][1:]:
            own["parameters"]["n_frequencies"] = 600

    change(file, enlarge)
    with pytest.raises(ModelTooLargeError, match="horizon=8, of which 7 models have not begun, with n_frequencies=600"):
        iegp.IEGPForecaster.load(file)


def test_run_without_rows(file):
    checkpoint.write(file, job_of("regression"), RunState(source="in.jsonl", schema={}, config={}))
    checkpoint.read(file)
    change(file, lambda header: header["settings"].update(n_frequencies=4000))
    with pytest.raises(ModelTooLargeError, match=rf"{file} cannot be loaded: n_frequencies=4000"):
        checkpoint.read(file)


PEAK = r"""
import re, sys, numpy as np, iegp
from pathlib import Path
from iegp.kernels import RBF
kind, n = getattr(iegp, sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = (X[:, 0] > 0.0).astype(int)

def used(n):
    model = kind(kernels=[RBF(0.7), RBF(2.0)], n_frequencies=n, warmup=40, random_state=0)
    asked, _ = model._requested_memory()
    rows = (X,) if kind is iegp.IEGPLVM else (X, y)
    model.fit(*(part[:20] for part in rows))
    (model.transform if kind is iegp.IEGPLVM else model.predict)(X)
    model.partial_fit(*rows)
    # Of this program alone; what getrusage tells begins with that of the process that started it.
    return asked, 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])

_, before = used(4)
asked, after = used(n)
print((after - before) / asked)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to know the peak")
@pytest.mark.parametrize("kind", ["IEGPRegressor", "IEGPClassifier", "IEGPLVM"])
def test_estimate_is_close_to_the_peak_of_a_process(kind):
    done = subprocess.run(
        [sys.executable, "-c", PEAK, kind, "300"],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 0.3 < float(done.stdout) < 1.1
