"""Data that real streams bring: finite, warning-free, sensible answers."""

from __future__ import annotations

import numpy as np
import pytest
from contracts.models import same_bits, small, state_bytes, stream

from iegp import IEGPRegressor
from iegp.core.scaling import from_rows
from iegp.errors import InputError

X, Y = stream(150)

ODD = {
    "zero column": (np.hstack([X, np.zeros((150, 1))]), Y),
    "constant column": (np.hstack([X, np.full((150, 1), 0.1)]), Y),
    "only constant columns": (np.full((150, 3), 1e9), Y),
    "constant target": (X, np.full(150, 0.1)),
    "zero target": (X, np.zeros(150)),
    "constant large target": (X, np.full(150, -3e11)),
    "everything zero": (np.zeros((150, 3)), np.zeros(150)),
    "duplicated rows": (np.repeat(X[:3], 50, axis=0), np.repeat(Y[:3], 50)),
    "same row, other labels": (np.repeat(X[:1], 150, axis=0), Y),
    "two labels": (X, (Y > 0).astype(float)),
    "one outlier": (X, np.where(np.arange(150) == 20, 1e9, Y)),
    "outlying row": (np.where(np.arange(150)[:, None] == 20, 1e9, X), Y),
    "rare column": (np.hstack([X, (np.arange(150)[:, None] == 149).astype(float)]), Y),
    "large offset": (X + 1e6, Y - 1e6),
    "ramp": (np.arange(150.0)[:, None], np.arange(150.0)),
    "one column": (X[:, :1], Y),
    "200 columns": (np.random.default_rng(0).normal(size=(150, 200)), Y),
    **{f"X times {s:g}": (s * X, Y) for s in (1e12, 1e150, 1e-12, 1e-150)},
    **{f"y times {s:g}": (X, s * Y) for s in (1e12, 1e150, 1e-12, 1e-150)},
    "columns of all scales": (X * [1e150, 1.0, 1e-150], 1e-150 * Y),
}


def assert_sensible(model: IEGPRegressor, rows: np.ndarray, labels: np.ndarray) -> None:
    """Finite everywhere, a positive std, weights that sum to one, a mean that stays near the labels."""
    mean, std = model.predict(rows, return_std=True)
    lower, upper = model.predict_dist(rows).interval()
    for values in (mean, std, lower, upper, model.predict_dist(rows).logpdf(labels)):
        assert np.isfinite(values).all()
    assert (std > 0).all()
    assert (lower < upper).all()
    weights = model.expert_weights_
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-9)
    width = np.ptp(labels) or max(1.0, np.abs(labels).max())
    assert (np.abs(mean - labels.mean()) <= 10 * width).all()


@pytest.mark.parametrize("name", ODD)
def test_odd_streams_give_finite_answers(name):
    rows, labels = ODD[name]
    model = small()
    run = model.prequential(rows, labels)
    for field in ("mean", "std", "lower", "upper", "log_score", "weights"):
        assert np.isfinite(getattr(run, field)).all(), field
    assert (run.std > 0).all()
    assert_sensible(model, rows, labels)
    assert np.isfinite(run.pnll)
    assert repr(model.experts_)


@pytest.mark.parametrize("name", ["constant column", "constant target", "200 columns", "X times 1e+150", "two labels"])
def test_the_default_model_takes_odd_streams_too(name):
    rows, labels = ODD[name]
    assert_sensible(IEGPRegressor(random_state=0, n_frequencies=20, warmup=100).fit(rows, labels), rows, labels)


@pytest.mark.parametrize("weights", ["bayes", "switching", "stacking"])
@pytest.mark.parametrize("name", ["one outlier", "same row, other labels", "zero target", "y times 1e+150"])
def test_every_weight_rule_takes_odd_streams(name, weights):
    rows, labels = ODD[name]
    model = small(weights=weights)
    run = model.prequential(rows, labels)
    assert np.isfinite(run.log_score).all()
    assert_sensible(model, rows, labels)


@pytest.mark.parametrize("scale", [1e12, 1e150, 1e-12, 1e-150])
def test_units_far_from_one_are_as_good_as_any(scale):
    """Scaling X or y by 10^±150 costs no accuracy."""
    reference = small().fit(X, Y)
    np.testing.assert_allclose(small().fit(scale * X, Y).predict(scale * X), reference.predict(X), rtol=1e-6, atol=1e-6)
    mean, std = small().fit(X, scale * Y).predict(X, return_std=True)
    expected_mean, expected_std = reference.predict(X, return_std=True)
    np.testing.assert_allclose(mean / scale, expected_mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(std / scale, expected_std, rtol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 31, 63])
def test_fewer_rows_than_the_warm_up(n):
    model = small().fit(X[:n], Y[:n])
    assert_sensible(model, X[:n], Y[:n])
    assert model.n_samples_seen_ == n


@pytest.mark.parametrize("label", [0.0, 5.0, 1e12, 1e150, -1e-150])
def test_a_single_row(label):
    model = small().fit(X[:1], [label])
    assert_sensible(model, X[:1], np.array([label]))


@pytest.mark.parametrize("n", [2, 4, 8])
def test_after_the_first_refit_units_are_known(n):
    """With a handful of rows at 1e12 the prediction is there too, not near zero."""
    model = small().fit(X[:n], 1e12 + Y[:n])
    assert np.abs(model.predict(X[:n]) - 1e12).max() < 100


def test_constant_target_is_predicted_exactly_and_with_little_doubt():
    mean, std = small().fit(X, np.full(150, 0.1)).predict(X, return_std=True)
    np.testing.assert_allclose(mean, 0.1, atol=1e-6)
    assert std.max() < 0.05


def test_a_column_without_variance_changes_nothing():
    """The other columns are scaled as before, and a centred zero multiplies whatever frequency."""
    constant = np.hstack([X, np.full((150, 1), 4.2)])
    scaling = from_rows(constant, Y[:, None])
    assert np.all(scaling.standardise_x(constant)[:, 3] == 0.0)
    assert scaling.x_scale[3] == 1.0


@pytest.mark.parametrize("value", [0.2, 1.0, 1e6, -1e12, 1e150])
def test_a_constant_column_that_changes_after_the_warm_up(value):
    constant = np.hstack([X, np.full((150, 1), 0.1)])
    constant[100:, 3] = value
    model = small()
    run = model.prequential(constant, Y)
    for field in ("mean", "std", "log_score", "weights"):
        assert np.isfinite(getattr(run, field)).all(), field
    assert_sensible(model, constant, Y)


@pytest.mark.parametrize("jump", [1e6, -1e6, 1e12, 1e100, 1e150])
@pytest.mark.parametrize(("weights", "left"), [("stacking", 2.0), ("switching", 100.0), ("bayes", 1e4)])
def test_a_monstrous_label_is_survived(jump, weights, left):
    """One label 10^6 and more standard deviations away, then normal data: all finite, and the model recovers.

    How much is ``left`` of an error of 10^6 after 400 rows is the rule's business: Bayes has shut down the experts that
    would recover fastest.
    """
    rows, labels = stream(600)
    labels[100] = jump
    model = small(weights=weights, drift_var=(0.0, 1e-3, 1e-1))
    run = model.prequential(rows, labels)
    for field in ("mean", "std", "lower", "upper", "log_score", "weights"):
        assert np.isfinite(getattr(run, field)).all(), field
    assert model.expert_weights_.sum() == pytest.approx(1.0)
    if abs(jump) <= 1e6:
        assert np.median(np.abs(run.mean - labels)[500:]) < left


@pytest.mark.parametrize("where", ["X", "y"])
@pytest.mark.parametrize("n_rows", [1, 40])
def test_a_value_too_far_away_to_be_squared_is_refused_and_changes_nothing(where, n_rows):
    rows, labels = stream(200)
    model = small().fit(rows[:150] / 1e3, labels[:150] / 1e3)
    before = state_bytes(model)
    more_rows, more_labels = rows[150 : 150 + n_rows] / 1e3, labels[150 : 150 + n_rows] / 1e3
    (more_rows[:, 0] if where == "X" else more_labels)[n_rows - 1] = 1e306
    with pytest.raises(InputError, match=f"{where} has 1e\\+306 at row {n_rows - 1}, column 0"):
        model.partial_fit(more_rows, more_labels)
    assert state_bytes(model) == before


@pytest.mark.parametrize("offset", [1e6, 1e15, 1.7e18])
def test_a_large_offset_is_not_a_constant(offset):
    """A signal of 1e-11 of the offset still has four digits."""
    rows, labels = stream(400)
    run = small(warmup=200).prequential(rows, offset * (1.0 + 1e-11 * labels))
    plain = small(warmup=200).prequential(rows, labels)
    late = slice(250, None)
    shape = np.corrcoef(run.mean[late], plain.mean[late])[0, 1]
    assert shape > 0.99
    assert np.mean((run.lower <= run.y) & (run.y <= run.upper)) > 0.85


@pytest.mark.parametrize("jump", [1e200, 1e290, -1e299])
def test_a_label_whose_square_overflows_harms_neither_mean_nor_weights(jump):
    rows, labels = stream(300)
    labels[100] = jump
    model = small(drift_var=(0.0, 1e-3, 1e-1))
    run = model.prequential(rows, labels)
    assert np.isfinite(run.mean).all()
    assert np.isfinite(run.weights).all()
    assert np.isfinite(model.predict(rows)).all()
    assert model.expert_weights_.sum() == pytest.approx(1.0)


def test_the_default_model_recovers_from_a_monstrous_label():
    """A Gaussian belief forgets a label 10^6 deviations away like one over the number of rows, not faster."""
    rows, labels = stream(600)
    labels[100] = 1e6
    run = IEGPRegressor(random_state=0, warmup=64).prequential(rows, labels)
    for field in ("mean", "std", "lower", "upper", "log_score", "weights"):
        assert np.isfinite(getattr(run, field)).all(), field
    assert np.median(np.abs(run.mean - labels)[500:]) < 2000.0
    assert np.mean((run.lower <= labels) & (labels <= run.upper)) > 0.9


def test_a_lasting_jump_of_a_million_deviations_is_followed():
    rows, labels = stream(600)
    labels[100:] += 1e6
    model = small(drift_var=(0.0, 1e-3, 1e-1))
    run = model.prequential(rows, labels)
    for field in ("mean", "std", "lower", "upper", "log_score", "weights"):
        assert np.isfinite(getattr(run, field)).all(), field
    assert np.median(np.abs(run.mean - labels)[500:]) < 5e4


# -- containers and types --------------------------------------------------------------------------------------------


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.setflags(write=False)
    return array


WHOLE, WHOLE_Y = np.round(3 * X), np.round(3 * Y)
WIDE = np.full((300, 9), np.nan)
WIDE[::2, 1:7:2] = WHOLE
CONTAINERS = {
    "integers": (WHOLE.astype(np.int64), WHOLE_Y.astype(np.int32)),
    "small integers": (WHOLE.astype(np.int8), WHOLE_Y.astype(np.int8)),
    "float32": (WHOLE.astype(np.float32), WHOLE_Y.astype(np.float32)),
    "float16": (WHOLE.astype(np.float16), WHOLE_Y.astype(np.float16)),
    "Fortran order": (np.asfortranarray(WHOLE), WHOLE_Y),
    "read-only": (read_only(WHOLE), read_only(WHOLE_Y)),
    "not contiguous": (WIDE[::2, 1:7:2], np.repeat(WHOLE_Y, 3)[::3]),
    "reversed twice": (np.ascontiguousarray(WHOLE[::-1])[::-1], np.ascontiguousarray(WHOLE_Y[::-1])[::-1]),
    "lists": (WHOLE.tolist(), WHOLE_Y.tolist()),
    "tuples": (tuple(map(tuple, WHOLE.tolist())), tuple(WHOLE_Y.tolist())),
    "objects": (WHOLE.astype(object), WHOLE_Y.astype(object)),
    "big-endian": (WHOLE.astype(">f8"), WHOLE_Y.astype(">f8")),
    "memory view": (memoryview(WHOLE), memoryview(WHOLE_Y)),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_and_types_do_not_matter(name):
    rows, labels = CONTAINERS[name]
    reference = small()
    expected = reference.prequential(WHOLE, WHOLE_Y)
    model = small()
    run = model.prequential(rows, labels)
    assert same_bits(run.mean, expected.mean)
    assert same_bits(run.log_score, expected.log_score)
    assert same_bits(model.predict(rows), reference.predict(WHOLE))
    one_by_one = small()
    for t in range(40):
        one_by_one.partial_fit(rows[t : t + 1], labels[t : t + 1])
    np.testing.assert_allclose(
        one_by_one.predict(rows), small().fit(WHOLE[:40], WHOLE_Y[:40]).predict(WHOLE), rtol=1e-8, atol=1e-9
    )


def test_booleans():
    rows, labels = X > 0, Y > 0
    expected = small().fit(rows.astype(float), labels.astype(float)).predict(rows.astype(float))
    assert same_bits(small().fit(rows, labels).predict(rows), expected)


def test_a_column_of_labels_gives_a_column_of_predictions():
    model = small().fit(X, Y[:, None])
    assert model.predict(X).shape == (150, 1)
    assert same_bits(model.predict(X)[:, 0], small().fit(X, Y).predict(X))
    run = small().prequential(X, Y[:, None])
    assert run.mean.shape == run.lower.shape == (150, 1)
    assert run.log_score.shape == (150,)


def test_the_same_two_outputs_are_predicted_the_same():
    model = small().fit(X, np.stack([Y, Y], axis=1))
    mean, std = model.predict(X, return_std=True)
    assert same_bits(mean[:, 0].copy(), mean[:, 1].copy())
    assert same_bits(std[:, 0].copy(), std[:, 1].copy())
