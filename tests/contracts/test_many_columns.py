"""More columns than linear terms may see: the default models leave these terms out, kernels of the user are refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import iegp
from iegp import (
    Fleet,
    IEGPClassifier,
    IEGPCountRegressor,
    IEGPOrdinalClassifier,
    IEGPRegressor,
    presets,
)
from iegp.adapters import RiverRegressor
from iegp.core.compute.tolerances import MAX_LINEAR_COLUMNS
from iegp.core.kernels import others
from iegp.errors import InputError, ModelFileError
from iegp.estimators.defaults import KERNELS
from iegp.kernels import RBF, Constant, Linear
from iegp.storage import ensemble_state
from iegp.storage import model_file as modelfile

SMALL: dict[str, Any] = {"n_frequencies": 3, "warmup": 24, "random_state": 0}
LIMIT = 8
MODELS: dict[str, Any] = {
    "default": lambda **given: IEGPRegressor(**(SMALL | given)),
    "classes": lambda **given: IEGPClassifier(**(SMALL | given)),
    "counts": lambda **given: IEGPCountRegressor(**(SMALL | given)),
    "ordinal": lambda **given: IEGPOrdinalClassifier(**(SMALL | given)),
    "light": lambda **given: presets.light(**(SMALL | given)),
    "light classes": lambda **given: presets.light("classification", **(SMALL | given)),
    "light counts": lambda **given: presets.light("count", **(SMALL | given)),
    "light ordinal": lambda **given: presets.light("ordinal", **(SMALL | given)),
}


@pytest.fixture
def low_limit(monkeypatch):
    """Linear terms see few columns, so that models stay small."""
    monkeypatch.setattr(others, "MAX_LINEAR_COLUMNS", LIMIT)


def stream(n: int, d: int, kind: str = "default") -> tuple[Any, Any]:
    rng = np.random.default_rng(d)
    x = rng.normal(size=(n, d))
    f = x[:, 0] - x[:, 1]
    if kind in ("default", "light"):
        return x, f + 0.1 * rng.normal(size=n)
    if kind.endswith("counts"):
        return x, rng.poisson(np.exp(0.5 * f))
    return x, np.digitize(f, [-1.0, 1.0])


def linear_terms(model: Any) -> list[Linear]:
    return [term for kernel in model.experts.kernels for term in kernel.terms if isinstance(term, Linear)]


def bits(run: Any) -> bytes:
    return b"".join(np.asarray(getattr(run, name)).tobytes() for name in ("log_score", "weights"))


def reloaded(model: Any, path: Any) -> Any:
    model.save(path)
    return iegp.load(path)


# -- estimators ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(MODELS))
def test_default_models_learn_more_columns_than_linear_terms_see(name, tmp_path):
    x, y = stream(40, MAX_LINEAR_COLUMNS + 1, name)
    model = MODELS[name](n_frequencies=2)
    first = model.prequential(x[:10], y[:10]) if "class" not in name and name != "ordinal" else None
    if first is None:
        model.partial_fit(x[:10], y[:10], classes=[0, 1, 2])
    model = reloaded(model, tmp_path / "m")
    twin = reloaded(model, tmp_path / "m")
    assert bits(model.prequential(x[10:30], y[10:30])) == bits(twin.prequential(x[10:30], y[10:30]))
    twin = reloaded(model, tmp_path / "m")
    run = model.prequential(x[30:], y[30:])
    assert np.isfinite(run.log_score).all()
    assert bits(run) == bits(twin.prequential(x[30:], y[30:]))
    assert all(term.lags == "only" for term in linear_terms(model.model_))
    assert len(model.model_.experts.kernels) == len(model.model_.settings.kernels)
    assert all(kernel.terms for kernel in model.model_.experts.kernels)


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.usefixtures("low_limit")
def test_as_many_columns_as_linear_terms_see_keep_them(name):
    n_lags = {"default": 3, "light": 3, "counts": 3, "light counts": 3, "ordinal": 3, "light ordinal": 3}.get(name, 9)
    d = 4
    x, y = stream(40, d, name)
    model = MODELS[name]().fit(x, y)
    wide = {term.lags for term in linear_terms(model.model_)}
    allowed = {True: d + n_lags, False: d, "only": n_lags}
    wanted = {t.lags for k in model.model_.settings.kernels for t in k.terms if isinstance(t, Linear)}
    assert wide == {lags for lags in wanted if allowed[lags] <= LIMIT}


@pytest.mark.usefixtures("low_limit")
def test_kernels_of_the_user_are_refused():
    x, y = stream(30, LIMIT + 1)
    for kernels in ([Linear()], [RBF() + Linear() + Constant()], list(KERNELS)):
        model = IEGPRegressor(kernels, lags=3, **SMALL)
        with pytest.raises(InputError, match=r"Linear sees \d+ columns, more than 8"):
            model.fit(x, y)
    with pytest.raises(InputError, match="Linear sees"):
        RiverRegressor([Linear()]).learn_one(dict(enumerate(x[0])), y[0])


@pytest.mark.usefixtures("low_limit")
def test_the_rest_of_the_model_is_that_of_the_kernels_without_their_linear_terms():
    x, y = stream(60, LIMIT + 1)
    shorter = []
    for kernel in KERNELS:
        terms = [t for t in kernel.terms if not (isinstance(t, Linear) and t.lags != "only")]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        shorter.append(total)
    given = {"lags": 3, "drift_units": "prior", "drift_var": (0.0, 1e-4, 5e-3)}
    runs = [IEGPRegressor(kernels, **own, **SMALL).prequential(x, y) for kernels, own in ((None, {}), (shorter, given))]
    assert bits(runs[0]) == bits(runs[1])


@pytest.mark.usefixtures("low_limit")
def test_columns_that_come_in_the_warmup_and_after_it():
    """In the warm-up terms see them from the next refit on; later, they keep the columns that they have."""
    x, y = stream(80, LIMIT + 2)
    for n_first, is_left_out in ((10, True), (40, False)):
        river = RiverRegressor(n_frequencies=3, warmup=24, seed=0)
        for row in range(80):
            d = 3 if row < n_first else LIMIT + 2
            river.learn_one(dict(enumerate(x[row, :d].tolist())), y[row])
            if row in (n_first - 1, n_first, n_first + 6, 60):
                features = dict(enumerate(x[row, :d].tolist()))
                before = river.predict_one(features)
                river._estimator.model_ = ensemble_state.restore(*ensemble_state.take(river._estimator.model_))
                assert river.predict_one(features) == before
        kinds = {term.lags for term in linear_terms(river._estimator.model_)}
        assert kinds == ({"only"} if is_left_out else {True, "only"})


@pytest.mark.usefixtures("low_limit")
def test_text_that_becomes_many_columns(tmp_path):
    x, y = stream(80, 2)
    frame = pd.DataFrame(x, columns=["a", "b"])
    frame["word"] = [f"w{row % 12}" if row > 6 else "w0" for row in range(80)]
    whole = IEGPRegressor(**SMALL)
    whole.prequential(frame[:60], y[:60])
    parts = IEGPRegressor(**SMALL)
    for start, stop in ((0, 7), (7, 16), (16, 30), (30, 60)):
        parts.prequential(frame[start:stop], y[start:stop])
        parts = reloaded(parts, tmp_path / "m")
    np.testing.assert_allclose(
        whole.prequential(frame[60:], y[60:]).log_score, parts.prequential(frame[60:], y[60:]).log_score, rtol=1e-8
    )
    assert {term.lags for term in linear_terms(parts.model_)} == {"only"}


@pytest.mark.usefixtures("low_limit")
def test_lags_of_many_classes_count():
    """Three lags of four classes are twelve columns."""
    x, y = stream(60, 2)
    model = IEGPClassifier(**SMALL).fit(x, np.digitize(y, [-1.0, 0.0, 1.0]))
    assert {term.lags for term in linear_terms(model.model_)} == {False}


# -- fleets, files, the command --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("low_limit")
def test_fleets(tmp_path):
    x, y = stream(60, LIMIT + 1)
    fleet = Fleet(IEGPRegressor(**SMALL).fit(x[:30], y[:30]))
    keys = np.arange(30) % 3
    fleet.learn(keys[:15], x[30:45], y[30:45])
    fleet.save(tmp_path / "f")
    again = Fleet.load(tmp_path / "f")
    assert_array_equal(fleet.predict(keys[15:], x[45:]), again.predict(keys[15:], x[45:]))
    one = IEGPRegressor.from_fleet(again, keys[0])
    assert one.kernels is None
    one.fit(x, y)
    assert {term.lags for term in linear_terms(one.model_)} == {"only"}


@pytest.mark.usefixtures("low_limit")
def test_files_that_lack_terms_for_no_reason_are_refused(tmp_path):
    path = tmp_path / "m"
    for d, edit in ((LIMIT + 1, "settings"), (2, "kernels")):
        x, y = stream(40, d)
        IEGPRegressor(**SMALL).fit(x, y).save(path)
        header, arrays = modelfile.read(path)
        core = header["online"]
        if edit == "settings":
            assert core["settings"].pop("leaves_out_linear")
        else:
            core["kernels"] = json.loads(json.dumps(core["kernels"]))
            core["kernels"][5]["sum"] = [t for t in core["kernels"][5]["sum"] if t["kernel"] != "Linear"]
        modelfile.write(path, header, arrays)
        with pytest.raises(ModelFileError):
            iegp.load(path)
