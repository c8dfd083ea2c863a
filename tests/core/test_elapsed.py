"""Drift per unit of elapsed time: blocks = rows = a loop with gaps; equal spacing is drift per row."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest
from core.builders import Kind, build, labels_of_every_kind, twin_rule, twins
from core.expert.test_laplace_block import LINK, TABLE, any_labels, inputs, start
from numpy.testing import assert_allclose, assert_array_equal
from oracles import elapsed as oracle

import iegp
from iegp.core import ensemble as ens
from iegp.core.clock import Clock, new_clock
from iegp.core.expert import sweep
from iegp.core.features import fourier_rows
from iegp.core.predictions import Predictions
from iegp.errors import InputError
from iegp.estimators.times import as_times
from iegp.kernels import RBF, Constant, Linear

RNG = np.random.default_rng(4)
N = 150
X = RNG.normal(size=(N, 2))
F = np.sin(X[:, 0]) + 0.5 * X[:, 1]
Y = F + 0.1 * RNG.normal(size=N)
# Bursts, ties, fractions, and gaps of many steps.
GAPS = np.where(RNG.uniform(size=N) < 0.1, 0.0, RNG.choice([0.3, 1.0, 1.0, 1.0, 2.5, 40.0], size=N))
TIME = 1000.0 + 60.0 * np.cumsum(GAPS)
LABELS = labels_of_every_kind(X, Y)


def model_of(labels, drift_var=(0.0, 0.02), drift_per="time", **changes):
    """A small model that has learned nothing."""
    estimator, _ = LABELS[labels]
    kernels = [RBF(1.0) + Linear() + Constant(), RBF(3.0)]
    settings = {"n_frequencies": 6, "warmup": 40, "drift_var": drift_var, "random_state": 0, "drift_per": drift_per}
    if estimator is iegp.IEGPRegressor:
        settings |= {"noise_forgetting": (None, 0.97, (0.8, 5.0))}
    return estimator(kernels=kernels, **(settings | changes))


def answers_of(run):
    parts = [run.proba] if hasattr(run, "proba") else [run.mean, run.std]
    return np.column_stack([*parts, run.log_score, run.weights])


def in_pieces(model, labels, edges, **more):
    y = LABELS[labels][1]
    if hasattr(model, "predict_proba"):
        more["classes"] = np.unique(y)
    runs = [model.prequential(X[a:b], y[a:b], time=TIME[a:b], **more) for a, b in itertools.pairwise(edges)]
    return np.concatenate([answers_of(run) for run in runs])


# --- the core against the oracle ------------------------------------------------------------------------------------

KINDS = [
    Kind(rule="bayes", drifts=(0.0, 0.02), n_outputs=2),
    Kind(rule="stacking", drifts=(0.0, 0.02), forgetting=(None, 0.9, 1.0)),
    Kind(rule="switching", switch=0.1, drifts=(0.05,), forgetting=(0.97,)),
    Kind(rule="switching", switch="skewed", drifts=(0.0, 0.05), n_outputs=2),
]
SIZES = [[N], [1] * N, [3, 40, 1, 60, 46]]


@pytest.mark.parametrize("sizes", SIZES, ids=["blocks", "rows", "pieces"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_gaussian_labels_are_those_of_the_oracle(kind, sizes):
    ensemble = build(kind)
    y = np.column_stack([Y, X[:, 0] - Y])[:, : kind.n_outputs].copy()
    wanted = oracle.run(X, y, twins(ensemble), twin_rule(ensemble), GAPS)
    state, parts = ens.start(ensemble), []
    for a, b in itertools.pairwise([0, *np.cumsum(sizes)]):
        parts += ens.learn_chunks(ensemble, state, X[a:b], y[a:b], ens.PassOptions(), GAPS[a:b])
    found = Predictions.concatenate(parts)
    for name in ("weights", "log_score", "mean", "std"):
        assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-8, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("drift", [0.0, 0.05], ids=["static", "drifting"])
@pytest.mark.parametrize("name", TABLE)
def test_other_labels_are_those_of_the_oracle(name, drift):
    n = 30
    x, frequencies = inputs(n, 3)
    y, gaps = any_labels(name, n), GAPS[:n]
    means, variances = oracle.latent(name, fourier_rows(x, frequencies), y, LINK[name], (2.0, drift), gaps)
    for by_blocks in (True, False):
        found = start(name, x, y, [frequencies], [2.0], [drift], LINK[name])
        found.work.steps[:] = gaps
        if by_blocks:
            sweep.sweep_kernel(*found, sweep.Span(0, 0, n))
        else:
            sweep.sweep_rows(*found)
        assert_allclose(found.work.means[0], means, rtol=1e-8, atol=1e-8)
        assert_allclose(found.work.variances[0], variances, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_prediction_is_that_of_the_row_when_it_comes(kind):
    ensemble = build(kind)
    y = np.column_stack([Y, X[:, 0] - Y])[:, : kind.n_outputs].copy()
    state = ens.start(ensemble)
    for _ in ens.learn_chunks(ensemble, state, X[:100], y[:100], ens.PassOptions(), GAPS[:100]):
        pass
    for gap in (0.0, 0.4, 1.0, 7.25, 1000.0):
        asked = ens.predict(ensemble, state, X[100:101], elapsed=np.array([gap]))
        row = X[100:101], y[100:101]
        (came,) = ens.learn_chunks(ensemble, state.copy(), *row, ens.PassOptions(), np.array([gap]))
        assert_allclose(asked.mean[0], came.mean[0], rtol=1e-10, atol=1e-10)
        assert_allclose(asked.std[0], came.std[0], rtol=1e-10)
        assert_allclose(asked.weights[0], came.weights[0], rtol=1e-9, atol=1e-12)


# --- models ---------------------------------------------------------------------------------------------------------


@pytest.mark.plain_cases(4)
@pytest.mark.parametrize("delay", [0, 4])
@pytest.mark.parametrize("labels", LABELS)
def test_equal_spacing_is_drift_per_row(labels, delay):
    """Also where times are so large that their differences are rounded."""
    y = LABELS[labels][1]
    weights = {"weights": "switching"} if labels in ("numbers", "classes") and delay == 0 else {}
    wanted = answers_of(model_of(labels, drift_per="row", delay=delay, **weights).prequential(X, y))
    for times in (np.arange(N), 1.7e9 + 0.1 * np.arange(N)):
        run = model_of(labels, delay=delay, **weights).prequential(X, y, time=times)
        assert_allclose(answers_of(run), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.plain_cases(3)
@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("labels", ["numbers", "two outputs", "three classes", "counts"])
def test_any_chunking_and_files(labels, delay, tmp_path):
    """Warm-up and refits included; one model is stored and loaded between the pieces."""
    whole = in_pieces(model_of(labels, delay=delay), labels, [0, N])
    rows = in_pieces(model_of(labels, delay=delay), labels, [*range(60), N])
    assert_allclose(rows, whole, rtol=1e-8, atol=1e-8)
    model, found = model_of(labels, delay=delay), []
    for a, b in itertools.pairwise([0, 5, 31, 70, 100, N]):
        found.append(in_pieces(model, labels, [a, b]))
        model.save(tmp_path / "m")
        model = iegp.load(tmp_path / "m")
    assert_allclose(np.concatenate(found), whole, rtol=1e-8, atol=1e-8)
    again = model_of(labels, delay=delay).partial_fit(X, LABELS[labels][1], time=TIME)
    assert_allclose(again.expert_weights_, model.expert_weights_, atol=1e-8)


@pytest.mark.plain_cases(9)
@pytest.mark.parametrize("delay", [1, 5, 40])
@pytest.mark.parametrize("weights", ["bayes", "switching"])
@pytest.mark.parametrize("labels", LABELS)
def test_labels_that_come_late(labels, weights, delay):
    """A loop that predicts row t at its time, then learns row t - delay."""
    y = LABELS[labels][1]
    noise = {"noise_forgetting": (None, 0.97), "robust": False} if labels in ("numbers", "two outputs") else {}
    settings = {"weights": weights} | noise
    late, plain = (model_of(labels, delay=d, **settings).warm_up(X[:40], y[:40], time=TIME[:40]) for d in (delay, 0))
    run = late.prequential(X[40:], y[40:], time=TIME[40:])
    found = run.proba if hasattr(run, "proba") else np.column_stack([run.mean, run.std])
    for t in range(40, N):
        row = X[t : t + 1], TIME[t : t + 1]
        if hasattr(plain, "predict_proba"):
            wanted = plain.predict_proba(row[0], time=row[1])[0]
        else:
            dist = plain.predict_dist(row[0], time=row[1])
            wanted = np.concatenate([np.atleast_1d(dist.mean[0]), np.atleast_1d(dist.std[0])])
        assert_allclose(found[t - 40], wanted, rtol=1e-8, atol=1e-8)
        if t - delay >= 40:
            old = slice(t - delay, t - delay + 1)
            plain.partial_fit(X[old], y[old], time=TIME[old])


def test_predict_counts_waiting_labels_as_known():
    late, plain = (model_of("numbers", delay=d, robust=False) for d in (6, 0))
    for model in (late, plain):
        model.set_params(noise_forgetting=None, weights="bayes").warm_up(X[:40], Y[:40], time=TIME[:40])
        model.partial_fit(X[40:100], Y[40:100], time=TIME[40:100])
    asked = {"X": X[100:104], "time": TIME[100:104] + 300.0, "return_std": True}
    assert_allclose(late.predict(**asked), plain.predict(**asked), atol=1e-9)


def test_no_gap_is_no_drift():
    """Rows at one time are rows of a static model, but for the walk before the first."""
    ensemble = build(Kind(rule="bayes", drifts=(0.05,)))
    still = build(Kind(rule="bayes", drifts=(1e-300,)))
    zeros = np.zeros(60)
    found, wanted = (
        Predictions.concatenate(
            list(ens.learn_chunks(own, ens.start(own), X[:60], Y[:60, None], ens.PassOptions(), zeros))
        )
        for own in (ensemble, still)
    )
    assert_allclose(found.mean, wanted.mean, rtol=1e-9, atol=1e-9)
    model = model_of("numbers", drift_var=0.1).fit(X, Y, time=TIME)
    last = TIME[-1]
    spread = model.predict_dist(np.repeat(X[:1], 4, axis=0), time=[last, last + 60, last + 600, last + 6000]).std
    assert np.all(np.diff(spread) > 0.0)
    assert_array_equal(model.predict(X[:3]), model.predict(X[:3], time=np.full(3, last + model.model_.clock.unit)))


def test_later_rows_say_nothing():
    """Labels and times from row 100 on change nothing before; the time of row 100 itself is known when it is asked."""
    y, times = Y.copy(), TIME.copy()
    y[100:] += 50.0
    times[101:] += 1e5
    one = model_of("numbers").prequential(X, Y, time=TIME)
    other = model_of("numbers").prequential(X, y, time=times)
    for name in ("mean", "std", "lower", "upper", "weights"):
        assert_array_equal(getattr(one, name)[:101], getattr(other, name)[:101])
    assert not np.allclose(one.mean[102:], other.mean[102:])


@pytest.mark.parametrize("delay", [0, 5])
def test_intervals_cover_on_irregular_streams(delay):
    """Random walks seen at irregular times: 95 % intervals cover 93 to 97 %, after long gaps too."""
    rng = np.random.default_rng(2)
    n = 6000
    gaps = rng.exponential(size=n) * rng.choice([0.05, 1.0, 20.0], p=[0.3, 0.65, 0.05], size=n)
    level = np.cumsum(0.05 * np.sqrt(gaps) * rng.normal(size=n))
    x = rng.normal(size=(n, 1))
    y = level + 0.1 * rng.normal(size=n)
    settings = {"noise_var": 0.01, "noise_forgetting": None, "drift_var": 0.0025, "standardize": False, "robust": False}
    kernels, times = [Constant(prior_var=1.0)], np.cumsum(gaps)
    model = iegp.IEGPRegressor(kernels, random_state=0, drift_per="time", delay=delay, **settings)
    run = model.prequential(x, y, time=times)
    inside = (y >= run.lower) & (y <= run.upper)
    assert 0.93 < inside.mean() < 0.97
    assert 0.90 < inside[gaps > 10.0].mean() < 0.99
    by_row = iegp.IEGPRegressor(kernels, random_state=0, delay=delay, **settings).prequential(x, y)
    assert np.mean((y >= by_row.lower) & (y <= by_row.upper))[()] < 1.0
    assert np.mean(((y >= by_row.lower) & (y <= by_row.upper))[gaps > 10.0]) < 0.8


def test_intervals_of_a_fitted_model_cover_on_an_irregular_stream():
    rng = np.random.default_rng(3)
    n = 4000
    gaps = rng.exponential(size=n) * rng.choice([0.1, 1.0, 30.0], p=[0.3, 0.67, 0.03], size=n)
    x = rng.uniform(-2, 2, size=(n, 1))
    walks = np.cumsum(0.06 * np.sqrt(gaps)[:, None] * rng.normal(size=(n, 2)), axis=0)
    y = walks[:, 0] + (1.0 + walks[:, 1]) * np.sin(2.0 * x[:, 0]) + 0.2 * rng.normal(size=n)
    model = iegp.IEGPRegressor([RBF(1.0) + Constant()], n_frequencies=20, warmup=400, random_state=0, drift_per="time")
    run = model.prequential(x, y, time=np.cumsum(gaps))
    assert 0.93 < np.mean((y >= run.lower) & (y <= run.upper))[()] < 0.97


# --- times ----------------------------------------------------------------------------------------------------------


def test_the_unit_is_the_median_positive_gap_of_the_warm_up():
    model = model_of("numbers", warmup=40).fit(X, Y, time=TIME)
    gaps = np.diff(TIME[:40])
    assert model.model_.clock.unit == np.median(gaps[gaps > 0.0])
    assert model.model_.clock.last == TIME[-1]
    assert len(model.model_.clock.held) == 0


def test_steps():
    clock = Clock(0.0, 0.0, 0.1, np.empty(0))
    times = np.cumsum(np.full(50, 0.1)) + 1e6
    assert_array_equal(clock.steps(times, np.nan), np.ones(50))
    assert_allclose(clock.steps(np.array([0.05, 0.05, 0.25]), 0.0), [0.5, 0.0, 2.0], rtol=1e-12)
    assert_array_equal(new_clock(warms_up=True).steps(np.array([3.0, 3.0, 9.0]), np.nan), [1.0, 0.0, 1.0])
    assert_array_equal(new_clock(warms_up=False).steps(np.array([3.0, 3.0, 9.0]), 1.0), [2.0, 0.0, 6.0])


def test_a_column_holds_the_time(tmp_path):
    pandas = pytest.importorskip("pandas")
    wanted = model_of("numbers").prequential(X, Y, time=TIME)
    as_first = model_of("numbers", time_column=0).prequential(np.column_stack([TIME, X]), Y)
    assert_array_equal(as_first.mean, wanted.mean)
    as_last = model_of("numbers", time_column=2)
    assert_array_equal(as_last.prequential(np.column_stack([X, TIME]), Y).mean, wanted.mean)
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "when": pandas.to_datetime(TIME, unit="s")})
    named = model_of("numbers", time_column="when")
    # A datetime is rounded to nanoseconds.
    assert_allclose(named.prequential(frame, Y).mean, wanted.mean, rtol=1e-9, atol=1e-9)
    assert named.n_features_in_ == 3
    later = frame[:4].assign(when=frame["when"].iloc[-1] + pandas.to_timedelta([0, 1, 2, 3], unit="h"))
    named.save(tmp_path / "m")
    assert_array_equal(iegp.load(tmp_path / "m").predict(later), named.predict(later))
    with pytest.raises(InputError, match="leave one of them out"):
        named.predict(later, time=TIME[:4])
    twice = frame.set_axis(["a", "when", "when"], axis=1)
    with pytest.raises(InputError, match="2 columns 'when'; give each a name of its own"):
        named.partial_fit(twice, Y)


BAD = {
    "backwards": ({"time": np.r_[TIME[100:104], TIME[:6]]}, "backwards at row 4"),
    "before the last": ({"time": TIME[90:100]}, "backwards at row 0"),
    "no time": ({}, "pass time="),
    "not a number": ({"time": np.full(10, np.nan)}, "nan at row 0"),
    "too few": ({"time": TIME[100:105]}, "10 rows need one time each"),
    "text": ({"time": ["noon"] * 10}, "numbers or datetimes"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_times_are_named_and_change_nothing(case):
    more, words = BAD[case]
    model = model_of("numbers").fit(X[:100], Y[:100], time=TIME[:100])
    before, clock = copy.deepcopy(model.model_.state), model.model_.clock
    for call in (model.partial_fit, model.prequential):
        with pytest.raises(InputError, match=words):
            call(X[100:110], Y[100:110], **more)
    assert all(np.array_equal(a, b) for a, b in zip(before, model.model_.state, strict=True))
    assert model.model_.clock == clock or np.array_equal(model.model_.clock.held, clock.held)


def test_settings_that_do_not_go_together_are_named():
    with pytest.raises(InputError, match="drift is per row"):
        model_of("numbers", drift_per="row").fit(X, Y, time=TIME)
    with pytest.raises(InputError, match="drift_per="):
        model_of("numbers", drift_per="day").fit(X, Y, time=TIME)
    with pytest.raises(InputError, match="is for drift_per='time'"):
        model_of("numbers", drift_per="row", time_column=0).fit(X, Y)
    with pytest.raises(InputError, match="is not a column of X"):
        model_of("numbers", time_column="when").fit(X, Y)
    static = {"drift_var": 0.0, "weights": "bayes", "shutdown": 0.0, "noise_forgetting": None, "robust": False}
    model = model_of("numbers", **static).warm_up(X, Y, time=TIME)
    with pytest.raises(InputError, match="drift_per='time'"):
        model.merge(copy.deepcopy(model))
    with pytest.raises(InputError, match="drift_per='time'"):
        iegp.Fleet(model)


@pytest.mark.filterwarnings("error")
def test_times_far_away_are_the_longest_gap():
    model = model_of("numbers", drift_var=0.1).fit(X, Y, time=TIME)
    spread = model.predict_dist(np.repeat(X[:1], 2, axis=0), time=[TIME[-1] + 1e200, 1e300]).std
    assert np.isfinite(spread).all()
    assert spread[0] == spread[1]


def test_an_error_shows_plain_numbers():
    with pytest.raises(InputError, match=r"backwards at row 1: 1\.0 comes after 2\.0"):
        model_of("numbers", drift_var=0.1).fit(X[:2], Y[:2], time=[2.0, 1.0])


@pytest.mark.parametrize("unit", [np.nan, 1.0, 0.1, 3600.0, 1e-300])
def test_the_steps_of_a_single_row_are_those_of_several(unit):
    rng = np.random.default_rng(0)
    times = np.concatenate([np.cumsum(rng.choice([0.0, 0.1, 0.3, 1.0, 7.7, 3600.0], size=200)), [1e6, 1e300, 1.7e308]])
    clock = Clock(0.0, 0.0, unit, np.empty(0))
    for before, after in [*itertools.pairwise(times), (np.nan, 3.0), (-1.7e308, 1.7e308), (-0.3, -0.1)]:
        several = clock.steps_since(np.array([before, before]), np.array([after, after]))
        assert clock.steps(np.array([after]), float(before))[0] == several[0]


def test_times_of_any_kind_are_the_same_moments():
    """Whatever unit one call has, and the next."""
    start, n = np.datetime64("2024-10-26T20:00:00"), 60
    stamps = start + np.arange(n) * np.timedelta64(600, "s")
    spans = stamps - start
    days = np.datetime64("2024-01-01") + np.arange(n)
    same = [
        (stamps.astype("M8[ns]"), stamps.astype("M8[us]").tolist()),
        (spans, spans.astype("m8[ns]")),
        (spans, spans.astype("m8[ms]").tolist()),
        (days.astype("M8[s]"), days.tolist()),
        (days.astype("M8[s]"), np.ma.array(days)),
    ]
    for one, two in same:
        assert_array_equal(as_times(one), as_times(two))
    assert_array_equal(as_times(spans), 600.0 * np.arange(n))


def test_masked_times_are_missing_and_others_are_named():
    masked = np.ma.array(np.arange(4.0), mask=[False, False, True, False])
    assert_array_equal(np.isnan(as_times(masked)), masked.mask)
    for wrong in (np.arange(3) + 0j, [10**400], ["noon"], [None]):
        with pytest.raises(InputError, match="numbers or datetimes"):
            as_times(wrong)
