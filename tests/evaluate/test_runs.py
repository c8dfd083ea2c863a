"""Runs: thin views of predictions, alike for numbers, counts, classes and fleets."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from iegp import Fleet, IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, IEGPRegressor
from iegp.evaluate.runs import ClassificationRun, PrequentialRun
from iegp.fleet import FleetRun
from iegp.kernels import RBF

SMALL = {"kernels": [RBF(1.0), RBF(3.0)], "n_frequencies": 5, "warmup": 16, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=60)
STREAMS = {
    "numbers": (IEGPRegressor, Y),
    "two outputs": (IEGPRegressor, np.column_stack([Y, -Y])),
    "counts": (IEGPCountRegressor, RNG.poisson(np.exp(Y)).astype(float)),
    "levels": (IEGPOrdinalClassifier, np.digitize(Y, [-0.5, 0.5])),
    "classes": (IEGPClassifier, np.digitize(Y, [-0.5, 0.5])),
}


@pytest.mark.parametrize("name", STREAMS)
def test_pieces_join_to_the_whole(name):
    estimator, labels = STREAMS[name]
    whole = estimator(**SMALL).prequential(X, labels)
    model = estimator(**SMALL)
    more = {"classes": np.unique(labels)} if name in ("classes", "levels") else {}
    pieces = [model.prequential(X[a:b], labels[a:b], **more) for a, b in ((0, 20), (20, 21), (21, 60))]
    joined = type(whole).concatenate(pieces)
    assert len(joined) == len(whole) == 60
    for field in fields(whole):
        one, two = getattr(joined, field.name), getattr(whole, field.name)
        if isinstance(two, np.ndarray) and two.dtype.kind == "f":
            assert_allclose(one, two, atol=1e-8)
        else:
            assert_array_equal(one, two)


@pytest.mark.parametrize("name", STREAMS)
def test_pit_has_the_shape_of_the_labels_where_they_have_an_order(name):
    estimator, labels = STREAMS[name]
    run = estimator(**SMALL).prequential(X, labels)
    if name == "classes":
        assert run.pit is None
    else:
        assert run.pit.shape == labels.shape
        assert np.all((run.pit[1:] >= 0.0) & (run.pit[1:] <= 1.0))


def test_pit_of_numbers_is_the_distribution_function():
    model = IEGPRegressor(**SMALL).partial_fit(X[:40], Y[:40])
    dist = model.predict_dist(X[40:41])
    assert_allclose(model.prequential(X[40:41], Y[40:41]).pit, dist.cdf(Y[40]), atol=1e-9)


def test_pit_of_counts_is_half_way_up_the_last_step():
    labels = STREAMS["counts"][1]
    model = IEGPCountRegressor(**SMALL).partial_fit(X[:40], labels[:40])
    dist = model.predict_dist(X[40:41])
    wanted = dist.cdf(labels[40]) - 0.5 * dist.pmf(labels[40])
    assert_allclose(model.prequential(X[40:41], labels[40:41]).pit, wanted, atol=1e-7)


def test_a_fleet_s_run_has_the_fields_of_a_single_model_s():
    base = IEGPRegressor(**SMALL).warm_up(X[:30], Y[:30])
    run = Fleet(base).learn("only", X[30:], Y[30:], level=0.9)
    single = base.prequential(X[30:], Y[30:], level=0.9)
    for name in ("mean", "std", "lower", "upper", "log_score", "weights", "pit", "y"):
        assert_allclose(getattr(run, name), getattr(single, name), atol=1e-8)
    assert (run.nmse, run.pnll, run.coverage) == pytest.approx((single.nmse, single.pnll, single.coverage))
    halves = [run.of("only"), run.of("only")]
    assert len(FleetRun.concatenate(halves)) == 60
    assert Fleet(base).learn("only", X[30:], Y[30:]).pit is None


def test_runs_are_made_from_arrays():
    ones = np.ones(3)
    run = PrequentialRun(
        mean=ones, std=ones, lower=0.0 * ones, upper=2.0 * ones, log_score=-ones, weights=ones[:, None], y=ones
    )
    assert (len(run), run.coverage, run.pnll, run.pit) == (3, 1.0, 1.0, None)
    proba = np.tile([0.2, 0.8], (3, 1))
    labels = ClassificationRun(
        proba=proba, log_score=np.log(proba[:, 1]), weights=ones[:, None], y=np.ones(3, dtype=int), classes=np.arange(2)
    )
    assert (labels.error, labels.pit) == (0.0, None)
    assert_array_equal(labels.predicted, [1, 1, 1])


@pytest.mark.parametrize("name", STREAMS)
def test_a_frame_has_a_row_for_each_row_and_the_index_of_the_input(name):
    estimator, labels = STREAMS[name]
    hours = pd.date_range("2026-01-01", periods=60, freq="h", tz="UTC")
    frame = pd.DataFrame(X, columns=["a", "b"], index=hours)
    model = estimator(**SMALL)
    more = {"classes": np.unique(labels)} if name in ("classes", "levels") else {}
    first, second = (model.prequential(frame[a:b], labels[a:b], **more) for a, b in ((0, 40), (40, 60)))
    whole = type(first).concatenate([first, second]).to_frame()
    assert list(whole.index) == list(hours)
    y = [column for column in whole if column.startswith("y")]
    assert_array_equal(whole[y].to_numpy().squeeze(), labels)
    assert_array_equal(whole["log_score"].to_numpy()[40:], second.log_score)
    assert "after 40 that the model had seen" in repr(second)
    assert "after" not in repr(first)


def test_frames_of_arrays_count_the_rows_of_the_stream():
    model = IEGPRegressor(**SMALL)
    model.prequential(X[:40], Y[:40])
    assert list(model.prequential(X[40:], Y[40:]).to_frame().index) == list(range(40, 60))
    run = Fleet(IEGPRegressor(**SMALL).warm_up(X, Y)).learn(["a", "b", "a"], X[:3], Y[:3])
    assert list(run.to_frame()["key"]) == ["a", "b", "a"]


def test_summaries_have_the_scores_in_the_units_of_the_labels():
    run = IEGPRegressor(**SMALL).prequential(X, Y)
    error = run.y[1:] - run.mean[1:]
    found = run.summary()
    assert found["mae"] == pytest.approx(np.abs(error).mean())
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert found["width"] == pytest.approx(np.mean(run.upper[1:] - run.lower[1:]))
    assert (found["nmse"], found["coverage"], found["log_score"]) == (run.nmse, run.coverage, -run.pnll)
    draws = run.mean[1:, None] + run.std[1:, None] * np.random.default_rng(0).standard_normal((59, 4000))
    spread = np.abs(draws[:, :2000] - draws[:, 2000:]).mean(axis=1)
    by_draws = np.abs(draws - run.y[1:, None]).mean(axis=1) - 0.5 * spread
    assert found["crps"] == pytest.approx(by_draws.mean(), rel=0.02)
    assert "rmse" in repr(found)
    classes = IEGPClassifier(**SMALL).prequential(X, STREAMS["classes"][1])
    assert classes.summary()["error"] == classes.error


def test_a_run_draws_itself():
    display = IEGPRegressor(**SMALL).prequential(X, Y).plot(target="volts")
    assert "volts" in display.ax_.get_ylabel()


def test_a_run_without_a_known_label_has_no_scores():
    """All rows were predicted before the first label came, as with a long delay."""
    run = IEGPRegressor(**SMALL, delay=100).prequential(X, Y)
    assert run.n_blind >= len(run)
    assert np.isnan([run.nmse, run.pnll, run.coverage, *run.summary().values()]).all()
    assert "before anything was known" in repr(run)
