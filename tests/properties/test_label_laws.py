"""What must hold for classes, grades and counts whatever the data are: symmetries, limits, weights, purity."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from contracts.models import (
    GRADES,
    class_stream,
    count_stream,
    grade_stream,
    same_bits,
    small_classifier,
    small_counts,
    small_ordinal,
    state_bytes,
)
from numpy.testing import assert_allclose, assert_array_equal

from iegp.core.likelihoods.categorical import softmax

BUILD = {
    "two classes": small_classifier,
    "three classes": small_classifier,
    "grades": small_ordinal,
    "counts": small_counts,
}
DATA = {
    "two classes": class_stream(150),
    "three classes": class_stream(150, 3),
    "grades": grade_stream(150),
    "counts": count_stream(150),
}
NOTHING_TO_FIT = {"standardize": False, "prior_var": 2.0, "warmup": 0}
RULES = {
    "stacking": {},
    "bayes": {"weights": "bayes"},
    "shutdown": {"weights": "bayes", "shutdown": 0.05},
    "switching": {"weights": "switching", "switch_prob": 0.1},
}
kinds = pytest.mark.parametrize("kind", BUILD)


def shown(run: Any) -> np.ndarray:
    """The predictions of a run."""
    return np.asarray(np.stack([run.mean, run.std], axis=1) if hasattr(run, "mean") else run.proba)


def predicted(kind: str, model: Any) -> np.ndarray:
    x, _, *exposure = DATA[kind]
    return np.asarray(model.predict(x, *exposure) if kind == "counts" else model.predict_proba(x))


# -- weights -----------------------------------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("rule", RULES)
def test_weights_and_probabilities_sum_to_one_before_every_row(kind, rule):
    model = BUILD[kind](**RULES[rule])
    run = model.prequential(*DATA[kind])
    assert (run.weights >= 0.0).all()
    assert_allclose(run.weights.sum(axis=1), 1.0, atol=1e-12)
    assert model.expert_weights_.sum() == pytest.approx(1.0, abs=1e-12)
    assert [expert.weight for expert in model.experts_] == model.expert_weights_.tolist()
    if kind != "counts":
        assert (run.proba > 0.0).all()
        assert_allclose(run.proba.sum(axis=1), 1.0, atol=1e-12)
        # The score of a label is the log of its probability.
        column = np.searchsorted(np.sort(run.classes), run.y)
        of_label = run.proba[np.arange(150), np.argsort(run.classes)[column]]
        assert_allclose(run.log_score, np.log(of_label), rtol=1e-7, atol=1e-9)


@kinds
@pytest.mark.parametrize("shutdown", [1e-2, 0.3, 0.99])
def test_shutdown_keeps_the_best_expert_and_is_final(kind, shutdown):
    """At the end of the warm-up all start anew; from then on who is out is out, and the best one is never out."""
    options = {"weights": "bayes", "drift_var": (0.0, 1e-1)}
    free, model = BUILD[kind](**options, shutdown=0.0), BUILD[kind](**options, shutdown=shutdown)
    runs = [each.prequential(*DATA[kind]) for each in (free, model)]
    # Weights before rows 64 to 149, and after the last.
    unhindered, kept = (
        np.vstack([run.weights[64:], each.expert_weights_]) for run, each in zip(runs, (free, model), strict=True)
    )
    alive = kept > 0.0
    assert alive[0].all()
    assert not alive[-1].all(), "no expert was shut down: the test shows nothing"
    assert not (alive[1:] & ~alive[:-1]).any()
    assert alive.any(axis=1).all()
    first = int(np.argmin(alive.all(axis=1)))  # the first row at which an expert is shut down
    assert_allclose(kept[:first], unhindered[:first], rtol=1e-8)
    expected = unhindered[first] * (unhindered[first] >= shutdown)
    expected[unhindered[first].argmax()] = unhindered[first].max()
    assert_allclose(kept[first], expected / expected.sum(), rtol=1e-8)


@kinds
def test_switching_with_no_switches_is_bayes(kind):
    n_experts = len(BUILD[kind]().fit(*DATA[kind]).experts_)
    bayes = BUILD[kind](weights="bayes", shutdown=0.0).prequential(*DATA[kind])
    for never in (0.0, np.eye(n_experts)):
        run = BUILD[kind](weights="switching", switch_prob=never).prequential(*DATA[kind])
        assert_allclose(run.weights, bayes.weights, rtol=1e-10, atol=1e-300)
        assert_allclose(shown(run), shown(bayes), rtol=1e-10)
    switching = BUILD[kind](weights="switching", switch_prob=0.1).prequential(*DATA[kind])
    assert np.abs(switching.weights - bayes.weights).max() > 1e-3


@kinds
def test_stacking_at_full_rate_is_bayes(kind):
    bayes = BUILD[kind](weights="bayes", shutdown=0.0).prequential(*DATA[kind])
    run = BUILD[kind](weights="stacking", stacking_rate=1.0).prequential(*DATA[kind])
    assert_allclose(run.weights, bayes.weights, rtol=1e-8, atol=1e-12)


@kinds
def test_almost_no_drift_is_no_drift(kind):
    """Static and drifting experts are learned by different formulas; in the limit they agree."""
    static = shown(BUILD[kind](drift_var=0.0).prequential(*DATA[kind]))
    for drift, tolerance in ((1e-13, 1e-9), (1e-9, 1e-5)):
        assert_allclose(shown(BUILD[kind](drift_var=drift).prequential(*DATA[kind])), static, rtol=tolerance)
    assert not np.allclose(shown(BUILD[kind](drift_var=0.1).prequential(*DATA[kind])), static, rtol=1e-2)


# -- symmetries --------------------------------------------------------------------------------------------------------

VARIANTS = {
    "stacking": {},
    "bayes": {"weights": "bayes"},
    "switching, static": {"weights": "switching", "drift_var": 0.0},
    "paper's integration": {"integration": "probit"},
    "nothing to fit": NOTHING_TO_FIT,
}


@pytest.mark.parametrize("variant", [*VARIANTS, "probit"])
def test_two_classes_swapped_are_mirrored(variant):
    options = {"link": "probit"} if variant == "probit" else VARIANTS[variant]
    x, numbers = DATA["two classes"]
    run, mirrored = (small_classifier(**options).prequential(x, labels) for labels in (numbers, 1 - numbers))
    assert_allclose(mirrored.proba[:, ::-1], run.proba, rtol=1e-8)
    assert_allclose(mirrored.log_score, run.log_score, rtol=1e-8)
    assert_allclose(mirrored.weights, run.weights, rtol=1e-8)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_classes", [3, 5])
def test_the_order_of_classes_does_not_matter(variant, n_classes):
    x, numbers = class_stream(150, n_classes)
    run = small_classifier(**VARIANTS[variant]).prequential(x, numbers)
    for permutation in (np.roll(np.arange(n_classes), 1), np.arange(n_classes)[::-1]):
        other = small_classifier(**VARIANTS[variant]).prequential(x, permutation[numbers])
        assert_allclose(other.proba[:, permutation], run.proba, rtol=0, atol=1e-6)
        assert_allclose(other.log_score, run.log_score, rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        ({}, 1e-4),
        ({"weights": "switching", "drift_var": 0.0}, 1e-4),
        ({"link": "probit"}, 1e-4),
        (NOTHING_TO_FIT, 1e-10),
        (NOTHING_TO_FIT | {"link": "probit"}, 1e-10),
    ],
    ids=str,
)
def test_grades_in_reversed_order_have_reversed_probabilities(options, tolerance):
    x, grades = DATA["grades"]
    run = small_ordinal(**options).prequential(x, grades)
    backwards = small_ordinal(**options, order=GRADES[::-1]).prequential(x, grades)
    assert backwards.classes.tolist() == list(GRADES[::-1])
    assert_allclose(backwards.proba[:, ::-1], run.proba, rtol=0, atol=tolerance)


@pytest.mark.parametrize("factor", [1e-3, 0.5, 60.0])
@pytest.mark.parametrize("options", [{}, {"overdispersion": 0.0}, {"prior_var": 1.0, "weights": "bayes"}], ids=str)
def test_exposures_in_other_units_give_rates_in_other_units(factor, options):
    x, counts, exposure = DATA["counts"]
    model = small_counts(**options).fit(x, counts, exposure)
    other = small_counts(**options).fit(x, counts, factor * exposure)
    assert_allclose(factor * other.predict(x), model.predict(x), rtol=1e-3)
    assert_allclose(other.predict(x, factor * exposure), model.predict(x, exposure), rtol=1e-3)
    here, there = model.predict_dist(x, exposure), other.predict_dist(x, factor * exposure)
    assert_allclose(there.logpmf(counts), here.logpmf(counts), atol=1e-3)


def test_twice_the_exposure_is_not_twice_the_weight():
    """Half the counts over half the time is the same rate, known less well."""
    x, counts, exposure = DATA["counts"]
    short = small_counts(drift_var=0.0, overdispersion=0.0, prior_var=1.0).fit(x, counts / 50, exposure / 50)
    long = small_counts(drift_var=0.0, overdispersion=0.0, prior_var=1.0).fit(x, counts, exposure)
    assert abs(np.log(short.predict(x).mean() / long.predict(x).mean())) < 0.3
    assert np.ptp(np.log(short.predict(x))) < np.ptp(np.log(long.predict(x)))


@kinds
def test_shifted_and_scaled_columns_say_the_same(kind):
    x, *rest = DATA[kind]
    scale, shift = np.array([1e-3, 1.0, 1e4]), np.array([5.0, -1.0, 3e4])
    model, other = BUILD[kind](prior_var=2.0).fit(x, *rest), BUILD[kind](prior_var=2.0).fit(scale * x + shift, *rest)
    ask = (lambda m, rows: m.predict(rows)) if kind == "counts" else (lambda m, rows: m.predict_proba(rows))
    assert_allclose(ask(other, scale * x + shift), ask(model, x), rtol=1e-5)


# -- purity ------------------------------------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("n_seen", [20, 150])
def test_looking_changes_nothing(kind, n_seen):
    model = BUILD[kind]().fit(*(part[:n_seen] for part in DATA[kind]))
    x = DATA[kind][0]
    before = state_bytes(model)
    first = predicted(kind, model)
    for n in (1, 6, 7, 150):
        model.predict(x[:n])
        if kind == "counts":
            dist = model.predict_dist(x[:n], exposure=2.0)
            assert np.isfinite(dist.interval(0.9)).all()
        else:
            model.predict_log_proba(x[:n])
    repr(model.experts_)
    model.expert_weights_[:] = 7.0
    assert same_bits(predicted(kind, model), first)
    assert state_bytes(model) == before


@kinds
def test_many_threads_may_predict_at_once(kind):
    model = BUILD[kind]().fit(*DATA[kind])
    ask = model.predict if kind == "counts" else model.predict_proba
    jobs = [DATA[kind][0][i : i + 1 + i % 9] for i in range(120)]
    serial = [ask(rows) for rows in jobs]
    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(ask, jobs))
    for mine, theirs in zip(threaded, serial, strict=True):
        assert same_bits(mine, theirs)


@kinds
def test_rows_do_not_influence_each_other_in_predict(kind):
    model = BUILD[kind]().fit(*DATA[kind])
    x = DATA[kind][0]
    ask = model.predict if kind == "counts" else model.predict_proba
    together = ask(x)
    for row in (0, 70, 149):
        assert_allclose(ask(x[row : row + 1])[0], together[row], rtol=1e-9)
    assert_allclose(ask(x[::-1])[::-1], together, rtol=1e-9)


@pytest.mark.parametrize("kind", [*BUILD, "four classes"])
def test_the_same_rows_give_the_same_bits_whatever_else_lies_in_memory(kind):
    """A loop that is vectorised only where its arrays lie far enough apart must not round otherwise there."""
    build, data = BUILD.get(kind, small_classifier), DATA.get(kind, class_stream(150, 4))
    rng, others, expected = np.random.default_rng(0), [], None
    for _ in range(20):
        others += [np.empty(size) for size in rng.integers(1, 3000, size=3)]
        others = [others[i] for i in rng.permutation(len(others))[:20]]
        run = build(drift_var=0.0, n_frequencies=6, sharpness=1.0, **NOTHING_TO_FIT) if kind != "counts" else build()
        run = run.prequential(*data)
        expected = shown(run) if expected is None else expected
        assert_array_equal(shown(run), expected)


@pytest.mark.parametrize("n_classes", [3, 4, 8, 17])
def test_softmax_has_the_same_bits_wherever_its_arrays_lie(n_classes):
    rng = np.random.default_rng(0)
    for _ in range(100):
        room, link = np.zeros(50 * n_classes), np.zeros(n_classes)
        values, near, far = room[:n_classes], room[n_classes : 2 * n_classes], room[-n_classes:]
        values[:] = 2.0 * rng.normal(size=n_classes)
        assert softmax(values, link, near) == softmax(values, link, far)
        assert_array_equal(near, far)


@kinds
def test_learning_leaves_the_callers_arrays_alone_and_keeps_no_alias(kind):
    for n in (3, 100):
        model = BUILD[kind]().fit(*DATA[kind])
        parts = [np.array(part[:n]) for part in DATA[kind]]
        run = model.prequential(*parts)
        for part, original in zip(parts, DATA[kind], strict=True):
            assert_array_equal(part, original[:n])
        truth, proba = run.y.copy(), shown(run).copy()
        parts[0][:] = np.nan
        parts[1][:] = parts[1][0]
        model.partial_fit(*DATA[kind])
        assert_array_equal(run.y, truth)
        assert_array_equal(shown(run), proba)
