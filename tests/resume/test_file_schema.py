"""Numbers in a file that compiled code would use as an index or divide by: refused by name, with a right checksum."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contracts.models import stream

import iegp
from iegp.errors import ModelFileError
from iegp.kernels import RBF
from iegp.run import modelfile

X, Y = stream(80)
SHAPE: dict[str, Any] = {"kernels": [RBF(1.0)], "n_frequencies": 3, "random_state": 0}
Altered = Callable[..., str]


@pytest.fixture
def refused(tmp_path: Path) -> Altered:
    """Save a model, put ``value`` at ``place`` of an array, expect a ModelFileError; its message."""

    def check(model: Any, name: str, value: float, place: Any = 0) -> str:
        model.save(tmp_path / "m")
        header, arrays = modelfile.read(tmp_path / "m")
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value
        modelfile.write(tmp_path / "m", header, arrays)
        with pytest.raises(ModelFileError) as caught:
            iegp.load(tmp_path / "m")
        return str(caught.value)

    return check


def classes(n: int) -> Any:
    return np.digitize(Y, np.quantile(Y, np.arange(1, n) / n))


def models_of_labels() -> dict[str, Any]:
    return {
        "two classes": iegp.IEGPClassifier(**SHAPE).fit(X, classes(2)),
        "three classes": iegp.IEGPClassifier(**SHAPE).fit(X, classes(3)),
        "levels": iegp.IEGPOrdinalClassifier(**SHAPE).fit(X, classes(3)),
        "counts": iegp.IEGPCountRegressor(**SHAPE).fit(X, classes(4)),
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [("y_mean", 1e18), ("y_mean", -2000.0), ("y_mean", 0.5), ("y_scale", -1.0), ("y_scale", 0.0), ("y_scale", np.nan)],
)
def test_labels_are_not_moved_out_of_range(refused, name, value):
    """Labels are checked as they are given, so no file may say that they are to be shifted afterwards."""
    for model in models_of_labels().values():
        assert f"scaling.{name}" in refused(model, f"scaling.{name}", value)
