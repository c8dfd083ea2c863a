"""Model files of every format that was ever released still load and predict what they did.

``tools/make_model_files.py`` made the files, each with the version of its format.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from iegp import Fleet, IEGPForecaster, load
from iegp.fleet.keyed_learner import Fleets
from iegp.readers import Batch, object_array
from iegp.storage import model_file
from iegp.storage.conversions import CONVERSIONS
from iegp.stream import checkpoint

sys.path.append(str(Path(__file__).parents[2] / "tools"))
from make_model_files import rows

FOLDER = Path(__file__).parent / "formats"
FORMATS = sorted(path.name for path in FOLDER.iterdir())


def predicted(folder: Path, name: str):
    """What the tool wrote down, from the stored model."""
    path, x = folder / f"{name}.model", rows()[0][:3]
    if name == "fleet":
        return Fleet.load(path).predict([0, 1, 0], x)
    if name == "forecaster":
        return IEGPForecaster.load(path).predict()
    if name == "stream":
        job, _ = checkpoint.read(path, by_key=Fleets())
        columns = {"a": x[:, 0], "b": x[:, 1], "place": object_array(["n", "s", "e"])}
        return job.predict(Batch(columns, np.arange(3))).predictions.mean
    model = load(path)
    if name == "map":
        return model.inverse_transform(model.embedding_[:3])[:, 0]
    return model.predict_proba(x)[:, 1] if name == "classifier" else model.predict(x)


@pytest.mark.parametrize("name", ["regressor", "classifier", "fleet", "map", "forecaster", "stream"])
@pytest.mark.parametrize("number", FORMATS)
def test_files_of_every_format_load_and_predict_what_they_did(number, name):
    expected = json.loads((FOLDER / number / "expected.json").read_text())[name]
    np.testing.assert_allclose(np.ravel(predicted(FOLDER / number, name)), np.ravel(expected), rtol=1e-6, atol=1e-8)


def test_files_of_the_present_format_are_kept():
    assert str(model_file.FORMAT) in FORMATS, "run tools/make_model_files.py"


def test_conversions_lead_to_the_present_format():
    assert all(number < model_file.FORMAT for number in CONVERSIONS)


def test_an_older_file_with_a_plan_that_is_none_is_damaged(tmp_path):
    header, arrays = model_file.read(FOLDER / "4" / "stream.model")
    model_file.write(tmp_path / "m", header | {"format": 4, "plan": 7}, arrays)
    with pytest.raises(model_file.ModelFileError, match="damaged"):
        model_file.read(tmp_path / "m")
