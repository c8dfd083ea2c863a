"""The command and the estimators are the same model: a file of numbers gives the same predictions to 1e-8."""

from __future__ import annotations

import numpy as np
import pytest
from stream_runs import sources
from stream_runs.process import iegp

from iegp import IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, IEGPRegressor, presets

N = 300
RECORDS = sources.numbers(N, seed=3)
X = np.array([[record["a"], record["b"]] for record in RECORDS])
Y = np.array([record["y"] for record in RECORDS])
SMALL = {"n_frequencies": 5, "warmup": 64}


def stream(folder, records, *flags):
    sources.write(folder / "in.csv", records)
    (folder / "c.toml").write_text("[parameters]\n" + "".join(f"{name} = {value}\n" for name, value in SMALL.items()))
    done = iegp(folder, "stream", "in.csv", "--target", "y", "--config", "c.toml", "--out", "out.jsonl", *flags)
    assert done.code == 0, done.err
    return sources.answers(folder / "out.jsonl")


def close(answers, name, expected, skip=1):
    got = np.array([answer[name] for answer in answers[skip:]], dtype=float)
    np.testing.assert_allclose(got, expected[skip:], rtol=1e-8, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("model", ["default", "ie-gp", "die-gp"])
def test_regression(tmp_path, model):
    answers = stream(tmp_path, RECORDS, "--model", model, "--seed", "5")
    if model == "default":
        estimator = IEGPRegressor(random_state=5, **SMALL)
    else:
        estimator = getattr(presets, model.replace("-", "_"))("regression", random_state=5, **SMALL)
    result = estimator.prequential(X, Y)
    close(answers, "mean", result.mean)
    close(answers, "std", result.std)
    close(answers, "log_score", result.log_score)
    assert answers[0]["mean"] is None


def test_counts(tmp_path):
    counts = np.floor(np.exp(1.0 + Y)).astype(int)
    records = [{**record, "y": int(count)} for record, count in zip(RECORDS, counts, strict=True)]
    answers = stream(tmp_path, records, "--task", "count", "--seed", "5")
    result = IEGPCountRegressor(random_state=5, **SMALL).prequential(X, counts)
    close(answers, "mean", result.mean, skip=0)
    close(answers, "log_score", result.log_score, skip=0)


def test_classes_known_beforehand(tmp_path):
    labels = np.array(["high" if y > 0.3 else "low" if y < -0.3 else "middle" for y in Y])
    records = [{**record, "y": str(label)} for record, label in zip(RECORDS, labels, strict=True)]
    answers = stream(tmp_path, records, "--classes", "high,low,middle", "--seed", "5")
    estimator = IEGPClassifier(random_state=5, **SMALL)
    result = estimator.prequential(X, labels, classes=["high", "low", "middle"])
    close(answers, "log_score", result.log_score, skip=0)
    proba = np.array([[answer["proba"][name] for name in ("high", "low", "middle")] for answer in answers])
    np.testing.assert_allclose(proba, result.proba, rtol=1e-8, atol=1e-8)


def test_ordered_classes_known_beforehand(tmp_path):
    labels = np.array([0 if y < -0.3 else 2 if y > 0.3 else 1 for y in Y])
    records = [{**record, "y": int(label)} for record, label in zip(RECORDS, labels, strict=True)]
    answers = stream(tmp_path, records, "--task", "ordinal", "--order", "0,1,2", "--seed", "5")
    result = IEGPOrdinalClassifier(random_state=5, **SMALL).prequential(X, labels, classes=[0, 1, 2])
    close(answers, "log_score", result.log_score, skip=0)
