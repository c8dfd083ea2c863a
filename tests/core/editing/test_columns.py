"""Columns that come later, and values that are absent: the past stays what it was, order and names do not matter."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from iegp.core import model as online
from iegp.core import scaling
from iegp.core.column_keys import column_key
from iegp.core.editing import columns
from iegp.core.features import fourier_rows
from iegp.core.frequencies import draw_frequencies
from iegp.core.kernels import RBF, Cauchy, Laplace, Matern
from iegp.core.settings import Settings
from iegp.errors import InputError
from iegp.storage import ensemble_state as snapshot

SETTINGS = Settings(
    kernels=(RBF(2.0), Matern("dimension"), Laplace("per-dimension", stretch=2.0), Cauchy("evidence")),
    n_frequencies=6,
    features="random",
    drift_var=(0.0, 1e-3),
    weights="stacking",
    switch_prob=0.05,
    stacking_rate=0.1,
    shutdown=1e-16,
    prior_var=None,
    noise_var=None,
    noise_forgetting=(None, 0.98),
    warmup=40,
    learn_warmup=True,
    standardize=True,
    seed=7,
)
KERNELS = (RBF(), Matern(nu=0.5), Matern(nu=2.5), Laplace(), Cauchy())


def rows(n, d=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * [100.0, 1.0, 0.01, 5.0][:d] + [1000.0, 0.0, 3.0, -2.0][:d]
    return x, (np.sin(x[:, :1] / 100.0) + x[:, 1:2] + 0.1 * rng.normal(size=(n, 1)))


def learned(settings, x, y, keys=None):
    model = online.begin(settings, x.shape[1], 1, keys, fills_gaps=True)
    online.absorb(model, x, y)
    return model


# -- keys ------------------------------------------------------------------------------------------------------------


def test_numbers_are_their_own_keys_and_never_those_of_text():
    numbers = [0, 1, 17, np.int64(5), 2**61]
    assert [column_key(n) for n in numbers] == [0, 1, 17, 5, 2**61]
    names = ["", "0", "1", "a", "temperature", "é", "\ud800", ("a", 1), None, -1, 0.5, float("inf"), b"a", "(1,)", (1,)]
    keys = [column_key(name) for name in names]
    assert len(set(keys)) == len(names)
    assert all(2**62 <= key < 2**63 for key in keys)


def test_names_that_are_the_same_key_of_a_dictionary_have_the_same_key():
    for same in ([1, True, 1.0, np.float64(1), np.uint8(1), Fraction(1)], ["a", np.str_("a")]):
        assert len({*same}) == 1
        assert len({column_key(name) for name in same}) == 1


def test_keys_never_change():
    """Stored models depend on them."""
    assert column_key("temperature") == 8912755711598727556


# -- frequencies -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_column_has_its_frequencies_wherever_it_stands(kernel):
    keys = [5, 0, column_key("a"), 2]
    drawn = draw_frequencies(kernel, 9, 4, "random", (3, 1), keys)
    for order in itertools.permutations(range(4)):
        assert_array_equal(draw_frequencies(kernel, 9, 4, "random", (3, 1), [keys[i] for i in order]), drawn[:, order])
    assert_array_equal(draw_frequencies(kernel, 9, 3, "random", (3, 1))[:, [0, 2]], drawn[:, [1, 3]])


def test_orthogonal_features_refuse_names():
    with pytest.raises(InputError, match="features='random'"):
        draw_frequencies(RBF(), 4, 2, "orthogonal", (0,), [1, 0])
    draw_frequencies(RBF(), 4, 2, "orthogonal", (0,), [0, 1])


# -- scaling ---------------------------------------------------------------------------------------------------------


def test_scaling_looks_at_values_that_are_there():
    x = np.array([[1.0, np.nan, -8.0, np.nan], [3.0, 5.0, np.nan, np.nan], [np.nan, 5.0, np.nan, np.nan]])
    found = scaling.from_rows(x, np.zeros((3, 1)))
    assert_array_equal(found.x_mean, [2.0, 5.0, -8.0, 0.0])
    # A scale of one is that of constant columns, and of no other.
    assert_array_equal(found.x_scale, [np.nextafter(1.0, 2.0), 1.0, 8.0, 1.0])
    one = scaling.from_rows(x[:1], np.array([[4.0]]))
    assert_array_equal(one.x_mean, [1.0, 0.0, -8.0, 0.0])
    assert_array_equal(one.x_scale, [1.0, 1.0, 8.0, 1.0])


@pytest.mark.parametrize("n", [1, 2, 50])
def test_scaling_of_a_column_does_not_depend_on_gaps_in_others(n):
    x, y = rows(n)
    gaps = np.column_stack([x, np.full(n, np.nan)])
    for whole, part in zip(scaling.from_rows(x, y), scaling.from_rows(gaps, y), strict=True):
        assert_allclose(part[: len(whole)], whole, rtol=1e-13)


# -- absent values ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 20, 40, 100])
def test_an_absent_value_is_the_centre_of_its_column(n):
    x, y = rows(n)
    model = learned(SETTINGS, x, y)
    ask = x[:3].copy()
    ask[:, 1] = np.nan
    filled = ask.copy()
    filled[:, 1] = model.scaling.x_mean[1]
    assert_array_equal(online.predict(model, ask).mean, online.predict(model, filled).mean)


def test_without_gaps_filling_them_changes_nothing():
    x, y = rows(100)
    plain = online.begin(SETTINGS, 4, 1)
    online.absorb(plain, x, y)
    assert_array_equal(online.predict(learned(SETTINGS, x, y), x).mean, online.predict(plain, x).mean)


def test_nan_is_still_refused_where_gaps_are_not_filled():
    x, y = rows(10)
    model = online.begin(SETTINGS, 4, 1)
    x[0, 2] = np.nan
    with pytest.raises(InputError, match="row 0, column 2"):
        online.absorb(model, x, y)
    assert model.n_seen == 0


def test_infinity_is_refused_where_gaps_are_filled():
    x, y = rows(10)
    x[0, 2] = np.inf
    with pytest.raises(InputError, match="row 0, column 2"):
        learned(SETTINGS, x, y)


def test_a_stream_may_be_all_gaps():
    x, y = rows(60)
    model = learned(SETTINGS, np.full_like(x, np.nan), y)
    dist = online.predict(model, x)
    assert np.isfinite(dist.mean).all()
    assert_allclose(dist.mean[0], y.mean(), atol=0.5)


# -- columns that come later -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 5, 39, 40, 100])
def test_a_new_column_leaves_the_past_as_it_was(n):
    x, y = rows(n, 2)
    model = learned(SETTINGS, x, y)
    wider = columns.add_columns(model, [column_key("late"), 9], np.array([3.0, 0.0]))
    assert (wider.n_columns, model.n_columns, wider.n_seen) == (4, 2, n)
    gaps = np.column_stack([x, np.full((n, 2), np.nan)])
    for kernel in range(model.experts.ensemble.n_kernels):
        mine, theirs = (m.experts.ensemble.kernel_basis(kernel).frequencies for m in (wider, model))
        assert_array_equal(mine[:, :2], theirs)
        z = scaling.identity(2, 1).standardise_x(x)
        assert_allclose(
            fourier_rows(np.column_stack([z, np.zeros((n, 2))]), mine), fourier_rows(z, theirs), rtol=0, atol=1e-12
        )
    before, after = online.predict(model, x), online.predict(wider, gaps)
    assert_allclose(after.mean, before.mean, rtol=1e-12)
    assert_allclose(after.std, before.std, rtol=1e-12)
    assert_array_equal(wider.kept_x, gaps[: len(wider.kept_x)])


def test_a_new_column_is_centred_at_its_first_value_in_units_of_its_size():
    model = learned(SETTINGS, *rows(100, 2))
    wider = columns.add_columns(model, [7, 8], np.array([-20.0, 0.0]))
    assert_array_equal(wider.scaling.x_mean[2:], [-20.0, 0.0])
    assert_array_equal(wider.scaling.x_scale[2:], [20.0, 1.0])
    raw = learned(replace(SETTINGS, standardize=False), *rows(100, 2))
    as_it_is = columns.add_columns(raw, [7, 8], np.array([-20.0, 0.0])).scaling
    assert_array_equal([as_it_is.x_mean[2:], as_it_is.x_scale[2:]], [[0.0, 0.0], [1.0, 1.0]])


def test_a_new_column_has_the_geometric_mean_of_the_length_scales():
    model = learned(SETTINGS, *rows(100, 2))
    wider = columns.add_columns(model, [7], np.array([1.0]))
    for narrow, wide in zip(model.experts.kernels, wider.experts.kernels, strict=True):
        known = narrow.scales(2)
        assert_array_equal(wide.scales(3)[:2], known)
        assert wide.scales(3)[2] == pytest.approx(np.sqrt(known[0] * known[1]))
    fitted = wider.experts.kernels[2].scales(3)
    assert fitted[0] != fitted[1]
    for number, kernel in enumerate(wider.experts.kernels):
        drawn = draw_frequencies(kernel, 6, 3, "random", (7, number), [0, 1, 7]) / kernel.scales(3)
        assert_array_equal(wider.experts.ensemble.kernel_basis(number).frequencies, drawn)


@pytest.mark.parametrize("after", [10, 60])
def test_a_column_that_came_later_is_learned(after):
    """Labels follow a column that was not there before: soon the model does too."""
    rng = np.random.default_rng(0)
    x, _ = rows(600, 2)
    late = rng.normal(size=600) + 1.0
    y = np.where(np.arange(600) < after, 0.0, 2.0 * late)[:, None] + 0.05 * rng.normal(size=(600, 1))
    model = learned(SETTINGS, x[:after], y[:after])
    model = columns.add_columns(model, [2], late[after : after + 1])
    trace = online.learn(model, np.column_stack([x, late])[after:], y[after:])
    assert np.mean((trace.mean[-100:, 0] - y[-100:, 0]) ** 2) < 0.2 * y[-100:].var()


def test_during_the_warm_up_it_does_not_matter_when_a_column_was_announced():
    """The last refit looks at the rows alone."""
    x, y = rows(80)
    x[:10, 3] = np.nan
    whole = learned(SETTINGS, x, y)
    model = learned(SETTINGS, x[:10, :3], y[:10])
    model = columns.add_columns(model, [3], x[10, 3:])
    online.absorb(model, x[10:], y[10:])
    assert_array_equal(online.predict(model, x).mean, online.predict(whole, x).mean)


def test_after_the_warm_up_nothing_but_the_new_column_changes():
    model = learned(SETTINGS, *rows(100, 2))
    wider = columns.add_columns(model, [2], np.array([1.0]))
    x, y = rows(50, 3, seed=1)
    online.absorb(wider, x, y)
    assert_array_equal(wider.scaling.x_mean[:2], model.scaling.x_mean)
    assert_array_equal(wider.experts.ensemble.basis.frequencies[:, :2], model.experts.ensemble.basis.frequencies)


@pytest.mark.parametrize("n", [20, 100])
def test_the_order_of_columns_does_not_matter(n):
    x, y = rows(n)
    there = online.predict(learned(SETTINGS, x, y, [0, 1, 2, 3]), x)
    back = online.predict(learned(SETTINGS, x[:, ::-1].copy(), y, [3, 2, 1, 0]), x[:, ::-1].copy())
    assert_allclose(back.mean, there.mean, rtol=1e-6, atol=1e-8)
    assert_allclose(back.std, there.std, rtol=1e-6)


def test_columns_that_are_there_already_are_refused():
    model = learned(SETTINGS, *rows(5, 2))
    for keys in ([1], [5, 5]):
        with pytest.raises(InputError, match="add each column once"):
            columns.add_columns(model, keys, np.ones(len(keys)))
    with pytest.raises(InputError, match="fills_gaps=True"):
        columns.add_columns(online.begin(SETTINGS, 2, 1), [5], np.ones(1))


# -- storing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [20, 100])
def test_named_columns_are_stored(n):
    x, y = rows(n)
    x[:, 3] = np.nan
    model = learned(SETTINGS, x, y, [column_key(name) for name in "abcd"])
    back = snapshot.restore(*snapshot.take(model))
    assert (back.column_keys, back.fills_gaps) == (model.column_keys, True)
    more_x, more_y = rows(100, seed=1)
    for each in (model, back):
        online.absorb(each, more_x, more_y)
    assert_array_equal(online.predict(back, x).mean, online.predict(model, x).mean)


def test_numbered_columns_leave_no_trace_in_a_file():
    model = online.begin(SETTINGS, 2, 1)
    assert "column_keys" not in snapshot.take(model)[0]
    assert snapshot.restore(*snapshot.take(model)).column_keys == (0, 1)


@pytest.mark.parametrize("keys", [[0], [0, 0], [0, -1], [0, "a"], [0, True]])
def test_keys_that_do_not_fit_are_refused(keys):
    config, arrays = snapshot.take(learned(SETTINGS, *rows(5, 2)))
    with pytest.raises(snapshot.ModelFileError, match="column_keys"):
        snapshot.restore(config | {"column_keys": keys}, arrays)
    with pytest.raises(snapshot.ModelFileError, match="fills_gaps"):
        snapshot.restore(config | {"fills_gaps": 1}, arrays)
