"""A model that starts from nothing: what it does depends on the number of rows it has seen, and on nothing else."""

from __future__ import annotations

import copy
import itertools
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from core.builders import arrays_of, assert_close, assert_same_predictions, stream
from numpy.testing import assert_array_equal

from iegp.core import ensemble as ens
from iegp.core import model as online
from iegp.core.compute.tolerances import FIRST_FIT
from iegp.core.kernels import RBF, Matern
from iegp.core.model import warmup as warmup_fits
from iegp.core.predictions import Predictions
from iegp.core.settings import Settings

PLAIN = Settings(
    kernels=(RBF(0.5), RBF(2.0), Matern("dimension")),
    n_frequencies=6,
    features="orthogonal",
    drift_var=(0.0, 1e-3),
    weights="bayes",
    switch_prob=0.05,
    stacking_rate=0.1,
    shutdown=1e-16,
    prior_var=None,
    noise_var=None,
    noise_forgetting=(None, 0.98),
    warmup=100,
    learn_warmup=True,
    standardize=True,
    seed=0,
)
FITTED = replace(PLAIN, kernels=(RBF("evidence"), RBF("per-dimension", stretch=2.0)))
VARIANTS = {
    "plain": PLAIN,
    "fitted": FITTED,
    "switching": replace(PLAIN, weights="switching"),
    "stacking": replace(PLAIN, weights="stacking", warmup=50),
    "no scaling": replace(PLAIN, standardize=False),
    "nothing to fit": replace(PLAIN, standardize=False, prior_var=1.0, noise_var=0.1),
    "no warm-up": replace(PLAIN, warmup=0),
    "warm-up of one": replace(PLAIN, warmup=1),
}
variants = pytest.mark.parametrize("name", VARIANTS)


def units(n, n_outputs=1):
    """Rows in the units of a user: inputs in the thousands, labels around 50."""
    x, y = stream(n, 2, n_outputs)
    return 1000.0 * x + [5000.0, -3.0], 50.0 + 20.0 * y


def learned(settings, x, y, cuts=(), level=None):
    model = online.begin(settings, x.shape[1], y.shape[1])
    edges = [0, *cuts, len(x)]
    traces = [online.learn(model, x[a:b], y[a:b], level=level) for a, b in itertools.pairwise(edges)]
    return Predictions.concatenate(traces), model


def snapshot(model):
    return copy.deepcopy(model.__dict__)


def assert_unchanged(model, before):
    after = model.__dict__
    assert after.keys() == before.keys()
    for name in ("is_warming_up", "settings"):
        assert after[name] == before[name], name
    for name in ("kept_x", "kept_y"):
        assert_array_equal(after[name], before[name], err_msg=name)
    for name in ("scaling", "state"):
        for field, new, old in zip(after[name]._fields, after[name], before[name], strict=True):
            assert_array_equal(new, old, err_msg=f"{name}.{field}")
    for new, old in zip(*(arrays_of(part["experts"].ensemble) for part in (after, before)), strict=True):
        assert_array_equal(new, old)


@variants
def test_chunking_does_not_show_through_the_warm_up(name):
    x, y = units(150, 2)
    wanted, model = learned(VARIANTS[name], x, y, level=0.9)
    for cuts in (range(1, 150), (1, 33, 34, 100), (10, 20, 99, 101), (40,)):
        trace, other = learned(VARIANTS[name], x, y, cuts, level=0.9)
        assert_same_predictions(trace, wanted)
        assert other.n_seen == model.n_seen == 150
        assert_close(other.experts.ensemble.prior_ratio, model.experts.ensemble.prior_ratio, 1e-12)
        for a, b in zip(other.scaling, model.scaling, strict=True):
            assert_close(a, b, 1e-14)


@pytest.mark.parametrize("cuts", [(), range(1, 150), (3, 31, 33, 99, 120)], ids=["at once", "one by one", "pieces"])
@pytest.mark.parametrize(
    ("warmup", "wanted"),
    [
        (100, [1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 64, 100]),
        (128, [1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 64, 128]),
        (18, [1, 2, 4, 8, 12, 16, 18]),
        (1, [1]),
        (0, []),
        (1000, [1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 64, 128]),
    ],
)
def test_milestones_depend_on_the_row_count_only(monkeypatch, cuts, warmup, wanted):
    real, seen, fitted = warmup_fits.refit, [], []

    def spy(model, x, y, fit, **options):
        seen.append(len(x))
        fitted.append(fit)
        return real(model, x, y, fit, **options)

    monkeypatch.setattr(warmup_fits, "refit", spy)
    x, y = units(150)
    _, model = learned(replace(PLAIN, warmup=warmup), x, y, cuts)
    assert seen == wanted
    assert fitted == [n >= min(FIRST_FIT, warmup) for n in wanted]
    assert model.is_warming_up == (warmup > 150)
    assert len(model.kept_x) == len(model.kept_y) == (150 if warmup > 150 else 0)


class Boom(Exception):
    pass


def explode(*_, **__):
    raise Boom


@pytest.mark.parametrize(("n_before", "n_more"), [(31, 1), (31, 5), (31, 40), (20, 40), (0, 5), (0, 40)])
def test_model_is_as_it_was_if_a_refit_raises(monkeypatch, n_before, n_more):
    x, y = units(100)
    _, model = learned(PLAIN, x[:n_before], y[:n_before])
    before = snapshot(model)
    monkeypatch.setattr(warmup_fits, "fit_experts", explode)
    monkeypatch.setattr(warmup_fits, "default_experts", explode)
    with pytest.raises(Boom):
        online.learn(model, x[n_before : n_before + n_more], y[n_before : n_before + n_more])
    assert_unchanged(model, before)


@pytest.mark.parametrize("n_more", [1, 5, 40])
def test_model_is_as_it_was_if_scoring_raises(monkeypatch, n_more):
    """After the warm-up; the failure comes when the beliefs have already seen the rows."""
    x, y = units(200)
    _, model = learned(PLAIN, x[:120], y[:120])
    before = snapshot(model)
    # A few rows are one compiled call, which nothing can interrupt; with more, the weights come after the beliefs.
    monkeypatch.setattr(ens, "weigh" if n_more > ens.FEW_ROWS else "learn_rows", explode)
    with pytest.raises(Boom):
        online.learn(model, x[120 : 120 + n_more], y[120 : 120 + n_more])
    assert_unchanged(model, before)


WRONG_SHAPES = """
import sys
import numpy as np
from core.test_model import PLAIN, assert_unchanged, learned, online, snapshot, units

x, y = units(200)
_, model = learned(PLAIN, x[:120], y[:120])
before = snapshot(model)
for n in (1, 5, 40):
    for wrong_x, wrong_y in [((n, 5), (n, 1)), ((n, 1), (n, 1)), ((n, 2), (n, 3)), ((n, 2), (n + 1, 1))]:
        try:
            online.learn(model, np.zeros(wrong_x), np.zeros(wrong_y))
        except ValueError:
            assert_unchanged(model, before)
        else:
            sys.exit(f"x {wrong_x} and y {wrong_y} were learned by a model of two columns and one output")
"""


def test_model_is_as_it_was_if_the_shape_is_wrong():
    """In a process of its own: compiled code that believes a wrong shape writes beyond its arrays."""
    tests = Path(__file__).parents[1]
    run = subprocess.run([sys.executable, "-c", WRONG_SHAPES], cwd=tests, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@variants
def test_prediction_is_pure_and_is_the_next_row_s(name):
    x, y = units(131)
    _, model = learned(VARIANTS[name], x[:130], y[:130])
    before = snapshot(model)
    one, many = online.predict(model, x[130:]), online.predict(model, x)
    assert_unchanged(model, before)
    assert_close(many.mean[-1:], one.mean, 1e-10)
    trace = online.learn(model, x[130:], y[130:], level=0.9)
    assert_close(one.mean, trace.mean, 1e-9)
    assert_close(one.std, trace.std, 1e-9)
    assert_close(one.logpdf(y[130:]), trace.log_score, 1e-8)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_of_the_user_change_nothing_but_the_units(factor):
    x, y = units(150)
    plain, _ = learned(PLAIN, x, y, level=0.9)
    scaled, _ = learned(PLAIN, x * [1e3, 1e-5], factor * y + 7.0 * factor, level=0.9)
    # The first two rows are predicted before there is any scaling.
    assert_close(scaled.mean[2:], factor * plain.mean[2:] + 7.0 * factor, 1e-6)
    assert_close(scaled.std[2:], factor * plain.std[2:], 1e-6)
    assert_close(scaled.lower[2:], factor * plain.lower[2:] + 7.0 * factor, 1e-6)
    assert_close(scaled.log_score[2:], plain.log_score[2:] - np.log(factor), 1e-6)
    assert_close(scaled.weights[2:], plain.weights[2:], 1e-6)


def test_no_rows_are_no_news():
    x, y = units(50)
    _, model = learned(PLAIN, x, y)
    before = snapshot(model)
    trace = online.learn(model, x[:0], y[:0], level=0.9)
    assert trace.mean.shape == (0, 1)
    assert_unchanged(model, before)


@pytest.mark.parametrize("learn_warmup", [True, False])
def test_warm_up_given_in_one_piece(learn_warmup):
    x, y = units(80)
    model = online.warmed_up(replace(PLAIN, learn_warmup=learn_warmup), x, y)
    assert not model.is_warming_up
    assert len(model.kept_x) == 0
    assert model.n_seen == (80 if learn_warmup else 0)
    assert_close(np.exp(model.state.log_weights), np.full(12, 1 / 12), 1e-12)
    is_prior = not np.any(model.state.vector)
    assert is_prior != learn_warmup
    assert_close(model.scaling.y_mean, y.mean(axis=0), 1e-12)


def test_warm_up_in_one_piece_is_the_last_milestone():
    x, y = units(100)
    _, model = learned(PLAIN, x, y)
    other = online.warmed_up(PLAIN, x, y)
    for a, b in zip(model.state, other.state, strict=True):
        assert_array_equal(a, b)


def test_a_refit_replays_every_kept_row_and_restarts_the_weights():
    x, y = units(100)
    _, model = learned(PLAIN, x, y)
    ensemble = model.experts.ensemble
    state = ens.start(ensemble)
    ens.learn(ensemble, state, (x - x.mean(axis=0)) / x.std(axis=0), (y - y.mean(axis=0)) / y.std(axis=0))
    for name in ("matrix", "vector", "noise_shape", "noise_scale"):
        assert_close(getattr(model.state, name), getattr(state, name), 1e-9)
    assert_close(np.exp(model.state.log_weights), np.full(12, 1 / 12), 1e-12)


def test_memory_is_flat_after_the_warm_up():
    x, y = units(400)
    _, model = learned(PLAIN, x, y)

    def size():
        return sum(a.nbytes for a in (*model.state, *model.scaling, model.kept_x, model.kept_y))

    before = size()
    for _ in range(5):
        online.learn(model, x, y)
    assert size() == before


@pytest.mark.parametrize("what", ["constant labels", "constant column", "repeated rows", "huge", "tiny"])
def test_odd_rows_from_the_first_on(what):
    x, y = units(120)
    if what == "constant labels":
        y[:] = 3.0
    elif what == "constant column":
        x[:, 0] = 1e6
    elif what == "repeated rows":
        x[:], y[:] = x[0], y[0]
    elif what == "huge":
        x, y = 1e150 * x, 1e150 * y
    else:
        x, y = 1e-150 * x, 1e-150 * y
    trace, model = learned(FITTED, x, y, (1, 2, 50), level=0.9)
    for name in Predictions._fields:
        assert np.all(np.isfinite(getattr(trace, name)[2:])), name
    assert np.all(np.isfinite(online.predict(model, x[:5]).mean))
