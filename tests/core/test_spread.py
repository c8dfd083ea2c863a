"""The spread of the mixture: as a slow version says, in any chunks, without a leak, stored, and of use."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import spread as oracle

import iegp
from iegp import Fleet, IEGPRegressor, presets
from iegp.errors import InputError
from iegp.evaluate.runs import PrequentialRun
from iegp.kernels import RBF, Laplace
from iegp.storage.conversions import CONVERSIONS

RNG = np.random.default_rng(4)
N, FIRST = 400, 64
X = RNG.uniform(-3.0, 3.0, size=(N, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.standard_t(3, N)
Y[[150, 300]] += 30.0
SMALL = {"kernels": [RBF(1.0), Laplace(2.0)], "n_frequencies": 8, "warmup": FIRST, "random_state": 0}
ONE = {"kernels": [RBF(1.0)], "drift_var": 0.0, "noise_forgetting": None}


def model(**changes):
    return IEGPRegressor(**(SMALL | {"spread": True} | changes))


def start(**changes):
    return model(**changes).warm_up(X[:FIRST], Y[:FIRST])


def mixtures_of(plain, x, y):
    """What a model without spread predicts of every row, row by row."""
    found = []
    for row, label in zip(x, y, strict=True):
        dist = plain.predict_dist(row[None], horizon=1)
        found.append((dist.weights[0], dist.loc[0, :, 0], dist.scale[0, :, 0], dist.dof[0, :, 0]))
        plain.partial_fit(row[None], [label])
    return found


@pytest.mark.plain_cases(0)
def test_rows_are_predicted_as_the_slow_version_says():
    x, y = X[FIRST:], Y[FIRST:]
    mixtures = mixtures_of(start(spread=False, robust=False), x, y)
    run = start(robust=False).prequential(x, y)
    spreads = oracle.spreads(mixtures, y)
    assert spreads.std() > 0.01
    scores = [oracle.log_density(*row) for row in zip(mixtures, y, spreads, strict=True)]
    assert_allclose(run.log_score, scores, rtol=1e-6)
    assert_allclose(run.pit, [oracle.cdf(*row) for row in zip(mixtures, y, spreads, strict=True)], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("delay", [0, 1, 7])
def test_one_expert_is_as_wide_as_its_past_errors(delay):
    """A label that comes late is learned late."""
    known, settings = FIRST - delay, ONE | {"robust": False, "delay": delay}
    runs = []
    for spread in (False, True):
        found = model(**settings, spread=spread).warm_up(X[:known], Y[:known])
        runs.append(found.prequential(X[known:], Y[known:]))
    plain, wide = runs
    assert_array_equal(wide.mean, plain.mean)
    mixtures = [([1.0], [m], np.array([s]), [np.inf]) for m, s in zip(plain.mean, plain.std, strict=True)]
    spreads = oracle.spreads(mixtures, Y[known:], delay)
    assert_allclose(wide.std / plain.std, np.sqrt(spreads), rtol=1e-9)
    assert spreads.std() > 0.01


def test_experts_learn_as_if_there_were_none():
    plain, wide = start(spread=False, robust=False), start(robust=False)
    before, after = plain.prequential(X[FIRST:], Y[FIRST:]), wide.prequential(X[FIRST:], Y[FIRST:])
    assert_array_equal(after.mean, before.mean)
    assert_array_equal(after.weights, before.weights)
    for name, array in plain.model_.state._asdict().items():
        if name != "spread":
            assert_array_equal(getattr(wide.model_.state, name), array)
    assert wide.model_.state.spread[0] != 1.0


@pytest.mark.parametrize("settings", [{}, {"delay": 5}, {"lags": 2}])
def test_cuts_do_not_matter_and_nothing_leaks(settings):
    whole = model(**settings).prequential(X, Y)
    cut = model(**settings).partial_fit(X[:90], Y[:90])
    runs = [cut.prequential(X[a:b], Y[a:b]) for a, b in ((90, 91), (91, 95), (95, 300), (300, N))]
    pieces = PrequentialRun.concatenate(runs)
    for name in ("std", "lower", "log_score"):
        assert_allclose(getattr(pieces, name), getattr(whole, name)[90:], rtol=1e-8)
    other = Y.copy()
    other[200] += 5.0
    changed, first = model(**settings).prequential(X, other), 201 + settings.get("delay", 0)
    assert_array_equal(changed.std[:first], whole.std[:first])
    assert np.any(changed.std[first : first + 3] != whole.std[first : first + 3])


@pytest.mark.parametrize("delay", [0, 5])
def test_resume_to_the_bit(delay, tmp_path):
    found = model(delay=delay).partial_fit(X[:200], Y[:200])
    found.save(tmp_path / "m")
    again = iegp.load(tmp_path / "m")
    assert again.model_.state.spread[0] == found.model_.state.spread[0] != 1.0
    now, then = (one.prequential(X[200:], Y[200:]) for one in (again, found))
    assert_array_equal(now.std, then.std)
    assert_array_equal(now.log_score, then.log_score)


def test_outputs_have_spreads_of_their_own():
    both = np.column_stack([Y, 2.0 * np.cos(X[:, 1]) + 0.3 * RNG.normal(size=N)])
    found = model(robust=False).warm_up(X[:FIRST], both[:FIRST])
    run = found.prequential(X[FIRST:], both[FIRST:])
    first, second = found.model_.state.spread
    assert first != second
    dist = copy.deepcopy(found).predict_dist(X[:1], horizon=1)
    plain = copy.deepcopy(found)
    plain.model_.state.spread[:] = 1.0
    assert_allclose(dist.scale[0], np.sqrt([first, second]) * plain.predict_dist(X[:1], horizon=1).scale[0], rtol=1e-12)
    assert np.isfinite(run.log_score).all()


def test_keys_of_a_fleet_are_single_models():
    template = start()
    fleet, singles = Fleet(template), {key: copy.deepcopy(template) for key in "ab"}
    keys = np.array(["a", "b"])[RNG.integers(2, size=N - FIRST)]
    run = fleet.learn(keys, X[FIRST:], Y[FIRST:])
    for key, single in singles.items():
        rows = np.flatnonzero(keys == key)
        assert_allclose(run.std[rows], single.prequential(X[FIRST:][rows], Y[FIRST:][rows]).std, rtol=1e-8)
        assert single.model_.state.spread[0] != 1.0


def test_weights_of_rows_count():
    found = start(robust=False)
    found.partial_fit(X[FIRST : FIRST + 9], Y[FIRST : FIRST + 9], sample_weight=np.zeros(9))
    assert found.model_.state.spread[0] == 1.0
    one, three = copy.deepcopy(found), copy.deepcopy(found)
    one.partial_fit(X[:1], Y[:1] + 9.0, sample_weight=[1.0])
    three.partial_fit(X[:1], Y[:1] + 9.0, sample_weight=[3.0])
    asked = 1.0 + (one.model_.state.spread[0] - 1.0) / 0.001
    assert_allclose(three.model_.state.spread[0], 1.0 + (1.0 - 0.999**3) * (asked - 1.0), rtol=1e-9)


@pytest.mark.parametrize("factor", [0.25, 4.0])
def test_noise_that_is_wrong_is_put_right(factor):
    rng = np.random.default_rng(0)
    x = rng.uniform(-3.0, 3.0, size=(6000, 1))
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=6000)
    fixed = {"noise_var": 0.01 * factor, "prior_var": 1.0, "standardize": False, "warmup": 0}
    found = model(**ONE, **fixed, robust=False)
    run = found.prequential(x, y)
    assert_allclose(found.model_.state.spread, 1.0 / factor, rtol=0.15)
    inside = (run.y > run.lower) & (run.y < run.upper)
    assert abs(inside[4000:].mean() - 0.95) < 0.015


def test_it_can_be_read():
    fitted = start().partial_fit(X[FIRST:], Y[FIRST:])
    assert_array_equal(fitted.spread_, fitted.model_.state.spread)
    assert fitted.spread_[0] != 1.0
    fitted.spread_[:] = 7.0  # a copy
    assert fitted.spread_[0] != 7.0
    assert_array_equal(start(spread=False).partial_fit(X[FIRST:], Y[FIRST:]).spread_, [1.0])


def test_a_glitch_does_not_move_it():
    found = start()
    found.partial_fit(X[FIRST:140], Y[FIRST:140])
    before = found.model_.state.spread.copy()
    found.partial_fit(X[:1], Y[:1] + 1e6)
    assert_array_equal(found.model_.state.spread, before)


def test_it_begins_after_the_warmup():
    assert start().model_.state.spread[0] == 1.0
    found = start().partial_fit(X[:200], Y[:200])
    assert found.model_.state.spread[0] != 1.0


def test_who_learns_it():
    assert start(spread=None).model_.settings.spread
    assert not start(spread=None, robust=False).model_.settings.spread
    assert start(spread=True, robust=False).model_.settings.spread
    for preset in (presets.ie_gp, presets.die_gp, presets.sie_gp, presets.dsie_gp, presets.doebe):
        assert not preset(random_state=0).partial_fit(X[:9], Y[:9]).model_.settings.spread
    with pytest.raises(InputError, match="spread='yes'"):
        start(spread="yes")


def test_merging_is_refused_with_a_reason():
    settings = {"drift_var": 0.0, "weights": "bayes", "shutdown": 0.0, "robust": False, "noise_forgetting": None}
    one, two = (start(**settings) for _ in range(2))
    with pytest.raises(InputError, match="spread=True"):
        one.merge(two)


def test_files_before_there_was_a_spread():
    """States, rows that wait in models and in fleets, and answers that wait; one of the rows has none."""
    arrays = {
        "state.noise_scale": np.ones((6, 2)),
        "state.rows": np.zeros(2),
        "batch.noise_scale": np.ones((6, 2)),
        "keys.noise_scale": np.ones((3, 6, 2)),
        "keys.rows": np.zeros((3, 2)),
        "waiting.squares": np.zeros((5, 4, 2)),
        "late.squares": np.zeros((7, 4, 2)),
        "pending.asked": np.array([[1.0, 2.0], [np.nan, np.nan]]),
    }
    _, found = CONVERSIONS[6]({}, arrays)
    assert_array_equal(found["state.spread"], np.ones(2))
    assert_array_equal(found["keys.spread"], np.ones((3, 2)))
    assert found["waiting.spread"].shape == (5, 2)
    assert found["late.spread"].shape == (7, 2)
    assert np.isnan(found["waiting.spread"]).all()
    assert_array_equal(found["pending.asked"], [[1.0, 2.0, 1.0, 1.0], [np.nan] * 4])
    assert set(found) - set(arrays) == {"state.spread", "keys.spread", "waiting.spread", "late.spread"}
