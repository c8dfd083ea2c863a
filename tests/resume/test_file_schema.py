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
from iegp.storage import model_file as modelfile

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
    """Numbers of as many classes."""
    return np.digitize(Y, np.quantile(Y, np.arange(1, n) / n))


def models_of_labels() -> dict[str, Any]:
    """One of each, after its warm-up."""
    shape = SHAPE | {"warmup": 40}
    return {
        "two classes": iegp.IEGPClassifier(**shape).fit(X, classes(2)),
        "three classes": iegp.IEGPClassifier(**shape).fit(X, classes(3)),
        "levels": iegp.IEGPOrdinalClassifier(**shape).fit(X, classes(3)),
        "counts": iegp.IEGPCountRegressor(**shape).fit(X, classes(4)),
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [("y_mean", 1e18), ("y_mean", -2000.0), ("y_mean", 0.5), ("y_scale", -1.0), ("y_scale", 0.0), ("y_scale", np.nan)],
)
def test_labels_are_not_moved_out_of_range(refused, name, value):
    """Labels are checked as they are given, so no file may say that they are to be shifted afterwards."""
    for model in models_of_labels().values():
        assert f"scaling.{name}" in refused(model, f"scaling.{name}", value)


def many_experts() -> Any:
    """Static and drifting experts, noise that is fixed, learned and heavy-tailed, weights that switch."""
    settings: dict[str, Any] = {"noise_forgetting": (None, 0.95, (0.75, 5.0)), "drift_var": (0.0, 1e-3), "warmup": 40}
    return iegp.IEGPRegressor(**SHAPE, **settings, weights="switching").fit(X, Y)


WRONG = [
    ("scaling.x_mean", np.inf),
    ("scaling.x_scale", 0.0),
    ("scaling.y_mean", np.nan),
    ("scaling.y_scale", -1.0),
    ("ensemble.basis.frequencies", np.nan),
    ("ensemble.drift", -1.0),
    ("ensemble.basis.amplitudes", -0.1),
    ("ensemble.prior_ratio", 0.0),
    ("ensemble.noise_var", -1.0),
    ("ensemble.forgetting", 0.5),
    ("ensemble.tails", 3.0),
    ("ensemble.transitions", 0.5),
    ("ensemble.transitions", -0.1),
    ("ensemble.sharpness", 2.0),
    ("state.vector", np.nan),
    ("state.noise_shape", 1.0),
    ("state.noise_scale", -1.0),
    ("state.noise_scale", 0.0),
    ("state.log_weights", np.nan),
    ("state.log_weights", np.inf),
    ("state.rows", -1.0),
    ("state.rows", 0.5),
    ("state.rows", 1e300),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_numbers_that_cannot_be(refused, name, value):
    """An error that names the array and the number."""
    message = refused(many_experts(), name, value)
    assert name in message
    assert "must" in message


def test_weights_that_are_none(refused):
    """An expert may have lost all of its weight, but not every one."""
    assert "state.log_weights" in refused(many_experts(), "state.log_weights", -np.inf, slice(None))


@pytest.mark.parametrize(
    ("belief", "place", "value"),
    [
        (0, (0, 0), 0.0),
        (0, (0, 0), -1.0),
        (0, (1, 0), 1e-3),
        (0, (0, 1), np.nan),
        (0, (0, 1), 1e6),
        (1, (0, 0), 0.0),
        (1, (0, 1), 1e6),
        (1, (2, 2), np.inf),
    ],
)
def test_beliefs_that_cannot_be(refused, belief, place, value):
    """Zero factors, what is not triangular, what is no covariance."""
    n_features = 2 * SHAPE["n_frequencies"]
    flat = np.ravel_multi_index((belief, *place), (belief + 1, n_features, n_features))
    assert "state.matrix" in refused(many_experts(), "state.matrix", value, flat)


def test_links_that_cannot_be(refused):
    levels = iegp.IEGPOrdinalClassifier(**SHAPE).fit(X, classes(4))
    assert "ensemble.link" in refused(levels, "ensemble.link", 1e6, (0, 0))
    counts = iegp.IEGPCountRegressor(**SHAPE).fit(X, classes(4))
    assert "ensemble.link" in refused(counts, "ensemble.link", -1.0, (0, 1))
    assert "ensemble.link" in refused(iegp.IEGPClassifier(**SHAPE).fit(X, classes(2)), "ensemble.link", 1.0)


@pytest.mark.parametrize("value", [-1.0, 3.0, 0.5, np.nan])
def test_kept_codes_are_whole_numbers_in_range(refused, value):
    model = iegp.IEGPClassifier(**SHAPE, warmup=100).fit(X, classes(3))
    assert "kept.y" in refused(model, "kept.y", value, (5, 0))


MAP_WRONG = [
    ("scaling.scale", 0.0),
    ("experts.noise_var", 0.0),
    ("experts.prior_var", -1.0),
    ("experts.gram", -1.0),
    ("experts.inverse", -1.0),
    ("experts.second", np.nan),
    ("memory.vectors", np.nan),
    ("memory.positions", np.inf),
    ("memory.numbers", 10**6),
    ("memory.numbers", -1),
    ("log_weights", 0.5),
]


@pytest.mark.parametrize(("name", "value"), MAP_WRONG)
def test_maps_that_cannot_be(refused, name, value):
    rows = X @ np.random.default_rng(0).normal(size=(X.shape[1], 5))
    model = iegp.IEGPLVM(**SHAPE, warmup=40, init="pca").fit(rows)
    place = (0,) * {"gram": 3, "inverse": 3, "second": 3, "vectors": 2, "positions": 3}.get(name.split(".")[-1], 1)
    assert name in refused(model, name, value, place)


@pytest.mark.parametrize("field", ["noise_scale", "log_weights", "matrix", "rows"])
def test_fleets_that_cannot_be(tmp_path, field):
    fleet = iegp.Fleet(iegp.IEGPRegressor(**SHAPE).warm_up(X[:40], Y[:40]))
    fleet.learn(["a", "b"] * 20, X[40:], Y[40:])
    fleet.save(tmp_path / "f")
    header, arrays = modelfile.read(tmp_path / "f")
    arrays[f"page.0.{field}"][1].reshape(-1)[0] = -1.0
    modelfile.write(tmp_path / "f", header, arrays)
    with pytest.raises(ModelFileError, match=f"page.0.{field}"):
        iegp.Fleet.load(tmp_path / "f")


@pytest.mark.parametrize("entry", [{"warmup": 10}, {"warmup": 40}])
def test_a_warm_up_that_never_ends_is_refused(tmp_path, entry):
    """More rows are kept than the warm-up has: the next refit would be never."""
    iegp.IEGPRegressor(**SHAPE, warmup=64).fit(X[:40], Y[:40]).save(tmp_path / "m")
    header, arrays = modelfile.read(tmp_path / "m")
    header["online"]["settings"] |= entry
    modelfile.write(tmp_path / "m", header, arrays)
    with pytest.raises(ModelFileError, match="warm-up"):
        iegp.load(tmp_path / "m")


def test_counts_are_not_sharpened(tmp_path):
    """They have no classes: sharpening would read probabilities that are not there."""
    iegp.IEGPCountRegressor(**SHAPE).fit(X, classes(4)).save(tmp_path / "m")
    header, arrays = modelfile.read(tmp_path / "m")
    header["online"]["settings"]["sharpness"] = [2.0]
    arrays["ensemble.sharpness"] = np.array([2.0])
    modelfile.write(tmp_path / "m", header, arrays)
    with pytest.raises(ModelFileError, match="sharpened"):
        iegp.load(tmp_path / "m")


@pytest.mark.parametrize(("warmup", "place", "value"), [(20, 0, 0.0), (20, 1, 77.5), (100, 0, -1.0), (100, 77, 78.5)])
def test_times_of_rows_that_are_out_of_order(refused, warmup, place, value):
    """Time would go backwards between a row that was learned and one that waits, and variances below zero."""
    model = iegp.IEGPRegressor(**SHAPE, warmup=warmup, drift_var=1e-3, drift_per="time", delay=2)
    model.fit(X, Y, time=np.arange(80.0))
    assert "order" in refused(model, "clock.held", value, place)


FORECASTER_WRONG = [
    ("open", np.nan, (0, 0, 0)),
    ("open", 1.0, (2, 0, 0)),
    ("open", 5.0, (0, 0, 3)),
    ("open", np.nan, (1, 1, 5)),
    ("open", 100.0, (1, 1, 5)),
    ("width", 100.0, 0),
    ("moments", 0.0, (0, 0)),
    ("moments", 1e-300, (0, 0)),
    ("moments", -1.0, (1, 1)),
    ("moments", 10.0, (0, 1)),
    ("recent", 1e300, 0),
    ("clock", 0.0, 1),
    ("clock", 1e300, 0),
]


@pytest.fixture(scope="module")
def forecaster() -> iegp.IEGPForecaster:
    model = iegp.IEGPForecaster(3, lags=2, season=4, regressor=iegp.IEGPRegressor(**SHAPE, warmup=20), random_state=0)
    return model.fit(Y, time=np.arange(80.0))


@pytest.mark.parametrize(("name", "value", "place"), FORECASTER_WRONG)
def test_forecasters_that_cannot_be(tmp_path, forecaster, name, value, place):
    forecaster.save(tmp_path / "f")
    header, arrays = modelfile.read(tmp_path / "f")
    arrays[name][place] = value
    modelfile.write(tmp_path / "f", header, arrays)
    with pytest.raises(ModelFileError, match=name):
        iegp.IEGPForecaster.load(tmp_path / "f")


def test_forecasters_whose_models_are_others(tmp_path, forecaster):
    """One that has not begun, one of another horizon, one of other inputs, one of two numbers."""
    strange = [
        iegp.IEGPRegressor(**SHAPE, delay=1, lags=0),
        forecaster.models_[0],
        iegp.IEGPRegressor(**SHAPE, delay=1, lags=0).fit(X, Y),
        iegp.IEGPRegressor(**SHAPE, delay=1, lags=0).fit(np.ones((80, forecaster.models_[1].n_features_in_)), X[:, :2]),
    ]
    for model in strange:
        forecaster.save(tmp_path / "f")
        header, arrays = modelfile.read(tmp_path / "f")
        header["forecast"]["models"][1], own = model.to_parts()
        arrays = {name: array for name, array in arrays.items() if not name.startswith("model1.")}
        modelfile.write(tmp_path / "f", header, arrays | {f"model1.{name}": array for name, array in own.items()})
        with pytest.raises(ModelFileError, match="model 1"):
            iegp.IEGPForecaster.load(tmp_path / "f")


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 9, 10, 12, 80])
def test_forecasters_of_any_age_load_again(tmp_path, n):
    model = iegp.IEGPForecaster(3, regressor=iegp.IEGPRegressor(**SHAPE, warmup=20), random_state=0).fit(Y[:n])
    model.save(tmp_path / "f")
    loaded = iegp.IEGPForecaster.load(tmp_path / "f").partial_fit(Y[:9])
    np.testing.assert_array_equal(loaded.predict(), model.partial_fit(Y[:9]).predict())


def test_more_lags_than_memory_holds_are_refused():
    with pytest.raises(iegp.errors.InputError, match="lags"):
        iegp.IEGPForecaster(3, lags=2**53).fit(Y)


# -- whatever the library writes, it reads --------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["bayes", "switching", "stacking"])
@pytest.mark.parametrize("absurd", [1e6, 1e150, -1e299])
def test_a_model_that_has_learned_an_absurd_label_loads_again(tmp_path, weights, absurd):
    y = Y.copy()
    y[70] = absurd
    settings = {"noise_forgetting": (None, 0.5, 1.0, (0.75, 5.0)), "drift_var": (0.0, 1e-3, 1.0)}
    model = iegp.IEGPRegressor(**SHAPE, **settings, weights=weights, warmup=40, shutdown=1e-16)
    for n in (20, 65, 72, 80):
        model.fit(X[:n], y[:n]).save(tmp_path / "m")
        assert iegp.load(tmp_path / "m").n_samples_seen_ == n


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e199])
def test_units_far_from_one_load_again(tmp_path, scale):
    for model in (iegp.IEGPRegressor(**SHAPE, warmup=40), iegp.IEGPRegressor(**SHAPE, warmup=200)):
        model.fit(scale * X, scale * Y).save(tmp_path / "m")
        assert iegp.load(tmp_path / "m").n_samples_seen_ == 80


@pytest.mark.parametrize(("prior_var", "noise_var"), [(1e8, 1e-6), (1e-8, 1.0), (1.0, 1e-100), (1e-100, 1e100)])
def test_extreme_settings_load_again(tmp_path, prior_var, noise_var):
    variances = {"prior_var": prior_var, "noise_var": noise_var}
    iegp.IEGPRegressor(**SHAPE, **variances, drift_var=(0.0, 1e-3)).fit(X, Y).save(tmp_path / "m")
    assert iegp.load(tmp_path / "m").n_samples_seen_ == 80


@pytest.mark.parametrize("prior_var", [1e16, 1e60, 1e100])
def test_a_prior_beyond_the_precision_of_numbers_gives_answers(prior_var):
    """Covariances of experts that drift became negative, and answers NaN."""
    model = iegp.IEGPRegressor(**SHAPE, prior_var=prior_var, drift_var=(0.0, 1e-3, 1.0), warmup=20)
    run = model.prequential(X, Y)
    assert np.isfinite(run.log_score[21:]).all()
    assert (run.std > 0.0).all()
    assert np.abs(run.mean[40:]).max() < 10.0 * np.abs(Y).max()


def test_whole_numbers_beyond_64_bits_are_numbers(tmp_path):
    """NumPy makes objects of them, which compiled code does not know."""
    huge: dict[str, Any] = {"drift_var": (0.0, 10**20), "noise_forgetting": (None, (0.75, 10**30))}
    iegp.IEGPRegressor(**SHAPE, **huge, warmup=40).fit(X, Y).save(tmp_path / "m")
    assert iegp.load(tmp_path / "m").n_samples_seen_ == 80


@pytest.mark.parametrize("number", [int, np.float32, np.int64])
@pytest.mark.parametrize("name", ["noise_var", "prior_var", "both"])
def test_variances_of_any_kind_of_number_load_again(tmp_path, name, number):
    """A whole number made an array of whole numbers, which compiled code took and the file did not."""
    given = dict.fromkeys(("noise_var", "prior_var") if name == "both" else (name,), number(2))
    model = iegp.IEGPRegressor(**SHAPE, **given, shutdown=0, warmup=40).fit(X, Y)
    assert model.model_.experts.ensemble.noise_var.dtype == np.float64
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(iegp.load(tmp_path / "m").predict(X), model.predict(X))


def test_parameters_may_be_whole_numbers_of_numpy(tmp_path):
    """As a grid search over np.arange gives them."""
    numbers = {"n_frequencies": np.int64(3), "warmup": np.int32(40), "delay": np.int64(1), "lags": (np.int64(2),)}
    model = iegp.IEGPRegressor(**(SHAPE | numbers), learn_warmup=np.True_).fit(X, Y)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(iegp.load(tmp_path / "m").predict(X), model.predict(X))
    forecaster = iegp.IEGPForecaster(np.int64(2), season=np.int64(3), random_state=0).fit(Y)
    forecaster.save(tmp_path / "f")
    np.testing.assert_array_equal(iegp.IEGPForecaster.load(tmp_path / "f").predict(), forecaster.predict())
