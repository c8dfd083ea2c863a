"""A level that was not declared: the order and the latent function stay, and neighbours lose probability to it."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from core.editing.test_columns import SETTINGS, rows
from numpy.testing import assert_allclose, assert_array_equal

from iegp.core import model as online
from iegp.core.editing.new_level import add_level, mirrored
from iegp.errors import InputError

ORDERED = replace(SETTINGS, likelihood="ordinal-logit", sharpness=(1.0, 2.0), noise_var=1.0, noise_forgetting=(None,))
links = pytest.mark.parametrize("link", ["logit", "probit"])


def graded(n, cuts, seed=0):
    x, y = rows(n, 2, seed)
    return x, np.searchsorted(cuts, y[:, 0]).astype(float)[:, None]


def learned(n, cuts, n_levels, link="logit"):
    x, y = graded(n, cuts)
    model = online.begin(replace(ORDERED, likelihood=f"ordinal-{link}"), 2, n_levels, fills_gaps=True)
    online.absorb(model, x, y)
    return model, x, y


@links
@pytest.mark.parametrize("n", [5, 39, 100])
@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_a_new_level_takes_a_little_from_its_neighbours_only(link, n, place):
    model, x, _ = learned(n, [-0.5, 0.5], 3, link)
    grown = add_level(model, place)
    before, after = online.predict_classes(model, x), online.predict_classes(grown, x)
    assert after.shape == (n, 4)
    assert_allclose(after.sum(axis=1), 1.0, rtol=1e-9)
    assert (np.diff(grown.experts.ensemble.link) > 0).all()
    # One expert, as it is: what the new level has, its neighbours had.
    one = {"sharpness": np.ones(2)}
    plain, wider = (
        online.predict_classes(
            replace(each, experts=each.experts._replace(ensemble=each.experts.ensemble._replace(**one))), x
        )
        for each in (model, grown)
    )
    others = [k for k in range(3) if k not in (place - 1, place)]
    assert_allclose(wider[:, [k + (k >= place) for k in others]], plain[:, others], rtol=1e-8)
    assert (wider[:, place] > 0).all()
    assert wider[:, place].mean() < 0.5
    assert before.shape == (n, 3)


@links
def test_a_level_at_the_end_that_was_long_unseen_is_rare(link):
    model, x, _ = learned(400, [-0.5, 0.5], 3, link)
    for place in (0, 3):
        assert online.predict_classes(add_level(model, place), x)[:, place].mean() < 0.01


@links
@pytest.mark.parametrize("place", [1, 2])
def test_no_neighbour_gives_away_more_than_half(link, place):
    model, _, _ = learned(400, [-0.5, 0.5], 3, link)
    before, after = model.experts.ensemble.link, add_level(model, place).experts.ensemble.link
    stays = {1: -1, 2: 0}[place]
    assert_array_equal(after[:, stays], before[:, stays])
    assert (np.abs(after[:, 1] - after[:, stays]) >= 0.499 * np.diff(before)[:, 0]).all()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_kept_rows_keep_their_levels(place):
    model, _, y = learned(20, [0.0], 2)
    grown = add_level(model, place)
    assert_array_equal(grown.kept_y[:, 0], y[:, 0] + (y[:, 0] >= place))
    assert_array_equal(model.kept_y, y)


def test_during_the_warm_up_it_does_not_matter_when_a_level_was_seen_first():
    """The last refit looks at the rows alone."""
    x, y = graded(100, [-0.5, 0.5])
    first = int(np.flatnonzero(y == 1.0)[0])
    y[:10] = np.where(y[:10] == 1.0, 2.0, y[:10])
    whole = online.begin(ORDERED, 2, 3, fills_gaps=True)
    online.absorb(whole, x, y)
    model = online.begin(ORDERED, 2, 2, fills_gaps=True)
    assert first < 40
    online.absorb(model, x[:10], np.minimum(y[:10], 1.0))
    model = add_level(model, 1)
    online.absorb(model, x[10:], y[10:])
    assert_array_equal(online.predict_classes(model, x), online.predict_classes(whole, x))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_level_that_came_after_the_warm_up_is_learned(place):
    cuts = np.array([-0.6, 0.6])
    x, y = graded(1500, cuts)
    known = y[:, 0] != place
    early = np.flatnonzero(known)[:100]
    codes = y - (y > place)
    model = online.begin(ORDERED, 2, 2, fills_gaps=True)
    online.absorb(model, x[early], codes[early])
    model = add_level(model, place)
    late = slice(early[-1] + 1, None)
    trace = online.learn(model, x[late], y[late])
    hit = trace.proba[-400:].argmax(axis=1) == y[-400:, 0]
    assert hit[y[-400:, 0] == place].mean() > 0.5
    assert hit.mean() > 0.7


@links
@pytest.mark.parametrize("n", [3, 33, 100])
@pytest.mark.parametrize("n_levels", [2, 3])
def test_a_mirror_turns_the_order_around_and_nothing_else(link, n, n_levels):
    model, x, _ = learned(n, [-0.5, 0.5][: n_levels - 1], n_levels, link)
    turned = mirrored(model)
    assert_allclose(online.predict_classes(turned, x)[:, ::-1], online.predict_classes(model, x), rtol=1e-9, atol=1e-12)
    # No refit in between: a search for hyperparameters need not end at the same place.
    model, turned = copy.deepcopy(model), copy.deepcopy(turned)
    more_x, more_y = graded(5, [-0.5, 0.5][: n_levels - 1], seed=1)
    online.absorb(model, more_x, more_y)
    online.absorb(turned, more_x, n_levels - 1 - more_y)
    assert_allclose(online.predict_classes(turned, x)[:, ::-1], online.predict_classes(model, x), rtol=1e-6, atol=1e-9)


def test_models_without_order_are_refused():
    for refused in (lambda model: add_level(model, 1), mirrored):
        with pytest.raises(InputError, match="gaussian"):
            refused(online.begin(SETTINGS, 2, 1))
