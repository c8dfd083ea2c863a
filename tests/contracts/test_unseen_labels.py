"""What warm-up rows did not show, and what callers forget: nothing becomes impossible, nothing passes in silence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from contracts.models import small_classifier, small_counts, small_ordinal

from iegp.errors import InputError


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("absent", [0, 1, 2, 3])
def test_a_level_absent_from_the_warm_up_stays_possible(link, absent):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0] + 0.5 * rng.logistic(size=300), [-1.0, 0.0, 1.0])
    seen = y != absent
    model = small_ordinal(order=[0, 1, 2, 3], link=link).fit(X[seen], y[seen])
    # Of some 200 rows none had it. Without a prior on the cut-points its probability would be 1e-6 and less.
    assert model.predict_proba(X)[:, absent].mean() > 1e-4


def test_no_events_in_the_warm_up_do_not_make_events_impossible():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = small_counts().fit(X, np.zeros(200))
    # Half an event in 200 rows is where the rate starts.
    assert 1e-4 < model.predict(X).mean() < 1e-2


def test_a_refit_weights_experts_by_the_replay():
    """At the last row of a warm-up weights are those of the replay, not equal ones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(64, 3))
    y = (X[:, 0] > 0).astype(int)
    before = small_classifier(warmup=64).fit(X[:63], y[:63])
    after = small_classifier(warmup=64).fit(X, y)
    assert np.ptp(after.expert_weights_) > 0.25 * np.ptp(before.expert_weights_) > 0.0


def test_words_with_a_nan_among_them_are_refused():
    X = np.zeros((3, 3))
    with pytest.raises(InputError, match="NaN at row 1"):
        small_classifier().fit(X, ["cold", np.nan, "mild"])
    with pytest.raises((InputError, TypeError), match=r"mixed|not supported"):
        small_classifier().fit(X, ["cold", 3, "mild"])


def test_the_order_of_categories_is_the_order_of_levels():
    X = np.random.default_rng(0).normal(size=(60, 3))
    grades = pd.Categorical(np.resize(["poor", "fair", "good"], 60), ["poor", "fair", "good"], ordered=True)
    assert small_ordinal(order=None).fit(X, pd.Series(grades)).classes_.tolist() == ["poor", "fair", "good"]


def test_missing_exposures_are_an_error():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = small_counts().fit(X, np.ones(40), exposure=np.full(40, 2.0))
    with pytest.raises(InputError, match="exposure is missing"):
        model.partial_fit(X, np.ones(40))
    assert model.n_samples_seen_ == 40
    small_counts().fit(X, np.ones(40)).partial_fit(X, np.ones(40))
