"""Saving and loading classifiers, counts and ordered classes: to the bit, and no file that does not fit together."""

from __future__ import annotations

import copy
import datetime
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contracts.models import (
    GRADES,
    class_stream,
    count_stream,
    grade_stream,
    same_bits,
    small,
    small_classifier,
    small_counts,
    small_ordinal,
    state_bytes,
    stream,
)
from resume.test_damaged_files import edited, parts, unpacked, with_right_checksum

from iegp import IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, load
from iegp.errors import InputError, ModelFileError
from iegp.presets import dsie_gp

X, NUMBERS = class_stream(120)
X3, NUMBERS3 = class_stream(120, 3)


def objects(*values: object) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# name: (model, its data)
MODELS = {
    "text": (small_classifier, {}, (X, np.array(["no", "yes"])[NUMBERS])),
    "text objects": (small_classifier, {}, (X3, objects("a", "bb", "ß")[NUMBERS3])),
    "booleans": (small_classifier, {"weights": "bayes", "shutdown": 0.1}, (X, NUMBERS == 1)),
    "integers": (small_classifier, {"weights": "switching"}, (X3, np.array([-7, 0, 2**40])[NUMBERS3])),
    "floats": (small_classifier, {"drift_var": 0.0}, (X3, np.array([-1.0, 0.0, 2.0])[NUMBERS3])),
    "small types": (small_classifier, {}, (X, np.array([3, 200], dtype=np.uint8)[NUMBERS])),
    "probit": (small_classifier, {"link": "probit", "sharpness": 1.0}, (X, NUMBERS)),
    "draws": (small_classifier, {"integration": "monte-carlo"}, (X3, NUMBERS3)),
    "nothing to fit": (small_classifier, {"standardize": False, "prior_var": 2.0, "warmup": 0}, (X3, NUMBERS3)),
    "grades": (small_ordinal, {}, grade_stream(120)),
    "grades, probit": (small_ordinal, {"link": "probit", "order": list(GRADES)}, grade_stream(120)),
    "sorted grades": (small_ordinal, {"order": None}, (X3, NUMBERS3)),
    "counts": (small_counts, {}, count_stream(120)),
    "Poisson counts": (small_counts, {"overdispersion": 0.0, "integration": "monte-carlo"}, count_stream(120)),
}
models = pytest.mark.parametrize("name", MODELS)


def first(name: str, n: int) -> Any:
    """The model after its first n rows; a classifier is told its classes."""
    return copy.deepcopy(_first(name, n))


@cache
def _first(name: str, n: int) -> Any:
    build, options, data = MODELS[name]
    rows = [part[:n] for part in data]
    if build is small_classifier:
        return build(**options).partial_fit(*rows, classes=np.unique(data[1]))
    return build(**options).partial_fit(*rows, **({"classes": range(3)} if name == "sorted grades" else {}))


def reloaded(model: Any, folder: Path) -> Any:
    model.save(folder / "model.safetensors")
    return load(folder / "model.safetensors")


def predicted(model: Any, data: tuple[np.ndarray, ...]) -> np.ndarray:
    return np.asarray(model.predict(data[0], *data[2:]) if len(data) == 3 else model.predict_proba(data[0]))


@models
@pytest.mark.parametrize("stop", [1, 20, 32, 40, 64, 90])
def test_resuming_gives_the_bits_of_the_uninterrupted_run(name, stop, tmp_path):
    data = MODELS[name][2]
    model = first(name, stop)
    resumed = reloaded(model, tmp_path)
    assert type(resumed) is type(model)
    assert resumed.n_samples_seen_ == stop
    assert same_bits(predicted(resumed, data), predicted(model, data))
    assert same_bits(resumed.expert_weights_, model.expert_weights_)
    rest = [part[stop:] for part in data]
    run, rerun = model.prequential(*rest), resumed.prequential(*rest)
    fields = ("mean", "std", "lower", "upper") if len(data) == 3 else ("proba",)
    for field in (*fields, "log_score", "weights"):
        assert same_bits(getattr(run, field), getattr(rerun, field)), field
    assert state_bytes(resumed) == state_bytes(model)


@models
def test_labels_have_their_type_again(name, tmp_path):
    data = MODELS[name][2]
    model = first(name, 90)
    twin = reloaded(model, tmp_path)
    if len(data) == 3:
        assert not hasattr(twin, "classes_")
        return
    assert twin.classes_.dtype == model.classes_.dtype
    assert twin.classes_.tolist() == model.classes_.tolist()
    assert [type(label) for label in twin.classes_.tolist()] == [type(label) for label in model.classes_.tolist()]
    predictions = twin.predict(X)
    assert predictions.dtype == data[1].dtype
    assert predictions.tolist() == model.predict(X).tolist()
    with pytest.raises(InputError, match="at row 0"):
        twin.partial_fit(X[:1], ["never seen"])


@models
def test_an_unfitted_model_keeps_its_parameters(name, tmp_path):
    build, options, data = MODELS[name]
    model = build(**options)
    twin = reloaded(model, tmp_path)
    assert not hasattr(twin, "n_samples_seen_")
    assert not hasattr(twin, "classes_")
    for key, value in model.get_params().items():
        mine = twin.get_params()[key]
        assert (tuple(mine) if isinstance(mine, list) else mine) == (tuple(value) if isinstance(value, list) else value)
    assert same_bits(predicted(twin.fit(*data), data), predicted(model.fit(*data), data))


def test_stopping_at_every_row_is_not_noticed(tmp_path):
    for name in ("text", "grades", "counts"):
        data = MODELS[name][2]
        model = hopping = first(name, 1)
        hopping = reloaded(model, tmp_path)
        for t in range(1, 70):
            row = [part[t : t + 1] for part in data]
            model.partial_fit(*row)
            hopping = reloaded(hopping.partial_fit(*row), tmp_path)
        assert state_bytes(hopping) == state_bytes(model)


def test_the_default_models_and_a_preset(tmp_path):
    for kind, data in (
        (IEGPClassifier, (X, NUMBERS)),
        (IEGPClassifier, (X3, NUMBERS3)),
        (IEGPOrdinalClassifier, (X3, NUMBERS3)),
        (IEGPCountRegressor, count_stream(120)),
    ):
        model = kind(random_state=0, n_frequencies=3, warmup=40).fit(*data)
        twin = reloaded(model, tmp_path)
        assert same_bits(predicted(twin, data), predicted(model, data))
        assert repr(twin.experts_) == repr(model.experts_)
        assert repr(reloaded(kind(), tmp_path)) == repr(kind())
    model = dsie_gp("classification", n_frequencies=3, random_state=0).warm_up(X, NUMBERS)
    assert same_bits(reloaded(model, tmp_path).predict_proba(X), model.predict_proba(X))


def test_the_order_of_grades_as_an_array_is_kept(tmp_path):
    for order in (np.array(GRADES), objects(*GRADES), tuple(GRADES)):
        twin = reloaded(small_ordinal(order=order), tmp_path)
        assert list(twin.order) == list(GRADES)
        fitted = reloaded(small_ordinal(order=order).fit(*grade_stream(50)), tmp_path)
        assert fitted.classes_.tolist() == list(GRADES)
    numbers = reloaded(small_ordinal(order=np.array([3, 1, 2])), tmp_path)
    assert list(numbers.order) == [3, 1, 2]


def test_feature_names(tmp_path):
    for name in ("text", "grades", "counts"):
        model = first(name, 70)
        model.feature_names_in_ = np.array(["load", "wind", "süd"], dtype=object)
        twin = reloaded(model, tmp_path)
        assert list(twin.feature_names_in_) == ["load", "wind", "süd"]
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            twin.predict(X)


def test_loaded_models_do_not_share_memory(tmp_path):
    for name in ("text", "grades", "counts"):
        data = MODELS[name][2]
        first(name, 90).save(tmp_path / "m")
        one, two = load(tmp_path / "m"), load(tmp_path / "m")
        before = predicted(two, data)
        for t in range(90, 120):
            one.partial_fit(*(part[t : t + 1] for part in data))
        assert same_bits(predicted(two, data), before)
        assert not same_bits(predicted(one, data), before)


UNSTORABLE = {
    "dates": np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")[NUMBERS],
    "times": np.array([0, 1], dtype="m8[s]")[NUMBERS],
}


@pytest.mark.parametrize("name", UNSTORABLE)
def test_labels_that_cannot_be_stored_are_refused_when_saving(name, tmp_path):
    model = small_classifier().fit(X, UNSTORABLE[name])
    assert model.predict(X).dtype == UNSTORABLE[name].dtype
    small().save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    with pytest.raises(InputError, match=r"cannot be stored.*text or numbers"):
        model.save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize(
    "order",
    [
        [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
        np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
    ],
    ids=["dates", "NumPy dates"],
)
def test_orders_that_cannot_be_stored_are_refused_when_saving(order, tmp_path):
    with pytest.raises(InputError, match=r"cannot be stored|order"):
        small_ordinal(order=order).save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


# -- damaged headers ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def contents(tmp_path_factory) -> dict[str, bytes]:
    """Files of models in the middle of their warm-up."""
    folder = tmp_path_factory.mktemp("whole")
    files = {}
    for name in ("text", "text objects", "integers", "floats", "booleans", "grades", "counts"):
        first(name, 40).save(folder / "m")
        files[name] = (folder / "m").read_bytes()
    small().fit(*stream(40)).save(folder / "m")
    return files | {"regression": (folder / "m").read_bytes()}


def refused(damaged: bytes, folder: Path) -> str:
    (folder / "damaged").write_bytes(damaged)
    with pytest.raises(ModelFileError) as caught:
        load(folder / "damaged")
    return str(caught.value)


def test_the_whole_files_are_fine(contents, tmp_path):
    for content in contents.values():
        (tmp_path / "m").write_bytes(with_right_checksum(*unpacked(*parts(content))))
        assert load(tmp_path / "m").n_samples_seen_ == 40


def classes_of(content: bytes) -> dict[str, Any]:
    return json.loads(parts(content)[0]["__metadata__"]["iegp"])["classes"]


BAD_CLASSES = [
    ("text", ["no"]),
    ("text", ["no", "perhaps", "yes"]),
    ("text", ["no", "no"]),
    ("text", []),
    ("text", None),
    ("text", "no"),
    ("text", {"no": 1, "yes": 2}),
    ("text", ["no", None]),
    ("text", ["no", ["yes"]]),
    ("text", [1, 2]),
    ("text", ["no", "a longer word than the type has room for"]),
    ("text", ...),
    ("text objects", ["a", "bb"]),
    ("text objects", ["a", "bb", "a"]),
    ("text objects", ["a", "bb", None]),
    ("integers", [0, 1]),
    ("integers", [0, 1, 1]),
    ("integers", [0, 1, "2"]),
    ("integers", [0, 1, 2.5]),
    ("integers", [0, 1, 2**70]),
    ("floats", [0.0, 1.0, float("nan")]),
    ("floats", [0.0, 0.0, 1.0]),
    ("floats", ["a", "b", "c"]),
    ("booleans", [False, False]),
    ("booleans", [0, 7]),
    ("grades", ["poor", "fair"]),
    ("grades", ["poor", "fair", "fair"]),
]


@pytest.mark.parametrize(("name", "labels"), BAD_CLASSES, ids=[f"{name}: {labels}" for name, labels in BAD_CLASSES])
def test_class_labels_that_do_not_fit_the_model(contents, name, labels, tmp_path):
    refused(edited(contents[name], ("classes", "labels"), labels), tmp_path)


@pytest.mark.parametrize("kind", ["<M8[D]", "V8", "S3", "c16", "O", "nonsense", 3, ["<U3"], ..., "<U1", "?"])
def test_types_of_class_labels_that_cannot_be(contents, kind, tmp_path):
    refused(edited(contents["text"], ("classes", "type"), kind), tmp_path)


@pytest.mark.parametrize("value", [None, [], 3, "x", {}, ["no", "yes"], ...], ids=str)
@pytest.mark.parametrize("name", ["text", "grades"])
def test_classes_that_are_no_description(contents, name, value, tmp_path):
    refused(edited(contents[name], ("classes",), value), tmp_path)


ESTIMATORS = {
    "text": "IEGPClassifier",
    "integers": "IEGPClassifier",
    "grades": "IEGPOrdinalClassifier",
    "counts": "IEGPCountRegressor",
    "regression": "IEGPRegressor",
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("estimator", sorted(set(ESTIMATORS.values())))
def test_a_model_cannot_pass_for_another_estimator(contents, name, estimator, tmp_path):
    if ESTIMATORS[name] == estimator:
        assert type(load_bytes(contents[name], tmp_path)).__name__ == estimator
        return
    refused(edited(contents[name], ("estimator",), estimator), tmp_path)
    # Not even with parameters and classes that would suit it.
    donor = next(key for key, value in ESTIMATORS.items() if value == estimator)
    header = json.loads(parts(contents[donor])[0]["__metadata__"]["iegp"])
    damaged = edited(contents[name], ("estimator",), estimator)
    damaged = edited(damaged, ("parameters",), header["parameters"])
    for key in ("classes", "single_output"):
        if key in header:
            damaged = edited(damaged, (key,), header[key])
    assert "likelihood" in refused(damaged, tmp_path)


def load_bytes(content: bytes, folder: Path) -> Any:
    (folder / "m").write_bytes(content)
    return load(folder / "m")


LIKELIHOODS = [
    "gaussian",
    "bernoulli-logit",
    "bernoulli-probit",
    "categorical",
    "ordinal-logit",
    "ordinal-probit",
    "poisson",
]
# A logit and a probit have arrays of the same shapes: only the words differ, and the model still makes sense.
ALIKE = {"text": {"bernoulli-logit", "bernoulli-probit"}, "grades": {"ordinal-logit", "ordinal-probit"}}


@pytest.mark.parametrize("likelihood", [*LIKELIHOODS, "cauchy", None, 3, ["poisson"], ""])
@pytest.mark.parametrize("name", ["text", "integers", "grades", "counts", "regression"])
def test_a_likelihood_that_is_not_the_models(contents, name, likelihood, tmp_path):
    own = json.loads(parts(contents[name])[0]["__metadata__"]["iegp"])["online"]["settings"]["likelihood"]
    damaged = edited(contents[name], ("online", "settings", "likelihood"), likelihood)
    if likelihood == own or (isinstance(likelihood, str) and likelihood in ALIKE.get(name, set())):
        assert load_bytes(damaged, tmp_path).n_samples_seen_ == 40
    else:
        refused(damaged, tmp_path)


WRONG_SETTINGS = [
    *[("integration", value) for value in ("monte-carlo", "exact", None, 3, ["quadrature"])],
    *[("sharpness", value) for value in ([], [1.0], [1.0, 2.0, 3.0], [1.0, -2.0], [1.0, "x"], None, 3)],
    *[("overdispersion", value) for value in (-1.0, "much", float("nan"), [0.1])],
    *[("n_frequencies", value) for value in (0, 7, None)],
    *[("drift_var", value) for value in ([], [0.0], None)],
]


@pytest.mark.parametrize(("key", "value"), WRONG_SETTINGS, ids=[f"{key}={value}" for key, value in WRONG_SETTINGS])
def test_wrong_settings(contents, key, value, tmp_path):
    refused(edited(contents["integers"], ("online", "settings", key), value), tmp_path)


TENSORS = ["ensemble.link", "ensemble.sharpness", "ensemble.nodes", "state.vector", "state.noise_scale", "kept.y"]


@pytest.mark.parametrize("tensor", TENSORS)
@pytest.mark.parametrize("name", ["integers", "grades", "counts"])
def test_arrays_of_another_shape_or_missing(contents, name, tensor, tmp_path):
    arrays, metadata = unpacked(*parts(contents[name]))
    original = arrays[tensor]
    wrong = [original[:-1], np.concatenate([original, original]), original[None], original.astype(np.float32)]
    for array in wrong:
        arrays[tensor] = np.ascontiguousarray(array)
        assert "damaged" in refused(with_right_checksum(arrays, metadata), tmp_path), array.shape
    if original.size:
        del arrays[tensor]
        refused(with_right_checksum(arrays, metadata), tmp_path)


@pytest.mark.parametrize("value", [-1.0, 3.0, 0.5, np.nan, 1e300])
def test_kept_class_numbers_that_are_no_classes(contents, value, tmp_path):
    """The rows of an unfinished warm-up are replayed by compiled code, which trusts them."""
    for name in ("integers", "grades"):
        arrays, metadata = unpacked(*parts(contents[name]))
        arrays["kept.y"][3, 0] = value
        refused(with_right_checksum(arrays, metadata), tmp_path)
