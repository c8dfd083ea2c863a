"""Write one small model file of every kind, and what they predict: ``python tools/make_model_files.py``.

Run it when a format is released, and keep what it writes: ``tests/storage/test_formats.py`` loads the files of every
format. They are a few kilobytes each, so models are tiny. The folder is named after the format.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from iegp import IEGPLVM, Fleet, IEGPClassifier, IEGPForecaster, IEGPRegressor
from iegp.cli.app import app
from iegp.kernels import RBF
from iegp.storage.model_file import FORMAT

FOLDER = Path(__file__).parents[1] / "tests" / "storage" / "formats"
N_ROWS = 40
SMALL: dict[str, Any] = {"kernels": [RBF(1.0)], "n_frequencies": 2, "warmup": 16, "random_state": 0}
_CONFIG = """[parameters]
n_frequencies = 2
warmup = 16
[[parameters.kernels]]
kernel = "RBF"
length_scale = 1.0
"""


def rows() -> tuple[Any, Any]:
    """Inputs (n, 2) and labels (n,), without a random generator."""
    t = np.arange(N_ROWS, dtype=np.float64)
    x = np.column_stack([np.sin(1.7 * t), np.cos(0.9 * t)])
    return x, x[:, 0] - 0.5 * x[:, 1] + 0.1 * np.sin(11.0 * t)


def main() -> int:
    """Write all files."""
    folder = FOLDER / str(FORMAT)
    folder.mkdir(parents=True, exist_ok=True)
    x, y = rows()
    regressor = IEGPRegressor(**SMALL, lags=2, delay=1, conformal="online").partial_fit(x, y)
    classifier = IEGPClassifier(**SMALL).fit(x, np.where(y > 0.0, "up", "down"))
    fleet = Fleet(IEGPRegressor(**SMALL).fit(x, y))
    fleet.learn(np.arange(N_ROWS) % 2, x, y)
    latent = IEGPLVM(n_frequencies=2, warmup=16, init="pca", max_stored=16, random_state=0).fit(x)
    forecaster = IEGPForecaster(2, regressor=IEGPRegressor(**SMALL)).partial_fit(y)
    models = {"regressor": regressor, "classifier": classifier, "fleet": fleet, "map": latent, "forecaster": forecaster}
    for name, model in models.items():
        model.save(folder / f"{name}.model")
    _stream(folder, x, y)
    expected = {
        "regressor": regressor.predict(x[:3]),
        "classifier": classifier.predict_proba(x[:3])[:, 1],
        "fleet": fleet.predict([0, 1, 0], x[:3]),
        "map": latent.inverse_transform(latent.embedding_[:3])[:, 0],
        "forecaster": forecaster.predict(),
        "stream": np.array([json.loads(line)["mean"] for line in (folder / "answers.jsonl").open()]),
    }
    (folder / "answers.jsonl").unlink()
    numbers = {name: np.asarray(values).tolist() for name, values in expected.items()}
    (folder / "expected.json").write_text(json.dumps(numbers, indent=1) + "\n")
    for path in sorted(folder.iterdir()):
        sys.stdout.write(f"{path.name}: {path.stat().st_size:,} bytes\n")
    return 0


def _stream(folder: Path, x: Any, y: Any) -> None:
    """A checkpoint of ``iegp stream`` with text, a gap and a row that waits, and its predictions of three rows."""
    lines = [
        json.dumps({"id": i, "a": x[i, 0], "place": "nsew"[i % 4], "b": None if i == 7 else x[i, 1], "y": y[i]})
        for i in range(N_ROWS)
    ]
    lines.append(json.dumps({"id": N_ROWS, "a": 0.5, "place": "n", "b": 0.25}))
    options = ["--target", "y", "--config", "small.toml", "--save", "stream.model", "--overwrite", "--quiet"]
    # The file holds the name of its source.
    with contextlib.chdir(folder):
        for name, text in (("in.jsonl", lines), ("new.jsonl", lines[:3]), ("small.toml", [_CONFIG])):
            Path(name).write_text("\n".join(text) + "\n")
        app(["stream", "in.jsonl", *options], standalone_mode=False)
        app(["predict", "stream.model", "new.jsonl", "--out", "answers.jsonl"], standalone_mode=False)
        for name in ("in.jsonl", "new.jsonl", "small.toml"):
            Path(name).unlink()


if __name__ == "__main__":
    sys.exit(main())
