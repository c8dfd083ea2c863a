"""IEGPLVM keeps scikit-learn's contract, and its own."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from iegp import IEGPLVM, presets
from iegp.kernels import RBF

STRICT = {"xfail_strict": True} if "xfail_strict" in inspect.signature(parametrize_with_checks).parameters else {}
SMALL = {"kernels": [RBF(0.5), RBF(2.0)], "n_frequencies": 8, "warmup": 32, "init": "pca", "random_state": 0}


def small(**overrides):
    return IEGPLVM(**(SMALL | overrides))


def ring(n=150, seed=0):
    angle = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, n)
    return np.stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)], axis=1)


@parametrize_with_checks(
    [small(), small(weights="switching", forgetting=0.99, init="tsne")],
    expected_failed_checks=lambda estimator: {},  # noqa: ARG005
    **STRICT,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_stored_rows_stay_where_they_are():
    X = ring()
    model = small()
    embedded = model.fit_transform(X)
    assert (model.transform(X) == embedded).all()
    assert (model.embedding_ == embedded).all()
    assert (model.stored_rows_ == np.arange(150)).all()
    assert model.stitched_embedding_.shape == (150, 2)


def test_a_row_close_to_a_learned_one_lands_next_to_it():
    X = ring(300)
    model = small(n_frequencies=20, warmup=100)
    embedded = model.fit_transform(X)
    moved = np.linalg.norm(model.transform(X + 1e-4) - embedded, axis=1)
    assert np.median(moved) < 0.05 * embedded.std()


def test_the_whole_stream_comes_out_of_fit_transform_even_if_not_all_is_stored():
    X = ring()
    model = small(max_stored=40)
    assert model.fit_transform(X).shape == (150, 2)
    assert len(model.embedding_) == len(model.stored_rows_) <= 40


def test_partial_fit_transform_answers_for_its_own_rows():
    X = ring()
    model = small()
    parts = [model.partial_fit_transform(part) for part in np.split(X, [10, 40, 90])]
    assert [len(part) for part in parts] == [10, 30, 50, 60]
    assert (parts[-1] == model.embedding_[-60:]).all()


def test_partial_fit_in_any_chunks_is_fit():
    X = ring()
    model = small()
    for part in np.array_split(X, 23):
        model.partial_fit(part)
    assert_allclose(model.embedding_, small().fit(X).embedding_, atol=1e-8)


def test_inverse_transform_gives_rows_back_with_calibrated_spread():
    X = ring(400) + 0.05 * np.random.default_rng(1).normal(size=(400, 4))
    model = small(n_frequencies=30, warmup=150).fit(X[:300])
    mean, std = model.inverse_transform(model.transform(X[300:]), return_std=True)
    assert mean.shape == std.shape == (100, 4)
    assert np.sqrt(np.mean((mean - X[300:]) ** 2)) < 0.15
    assert 0.7 < np.mean(np.abs(mean - X[300:]) < 1.96 * std) <= 1.0
    assert_allclose(model.inverse_transform(model.embedding_[:5]), model.inverse_transform(model.embedding_)[:5])
    far = model.inverse_transform(np.full((1, 2), 3.0 * np.abs(model.embedding_).max()), return_std=True)[1]
    assert far.min() > std.max()


def test_odd_rows_score_low():
    X = ring(300)
    model = small(n_frequencies=20, warmup=100).fit(X[:250])
    odd = np.random.default_rng(2).normal(size=(50, 4)) * 2.0
    assert model.score_samples(odd).max() < np.median(model.score_samples(X[250:]))


def test_scores_are_densities_in_the_users_units():
    X = ring()
    one, other = small().fit(X), small().fit(8.0 * X)
    assert_allclose(other.score_samples(8.0 * X), one.score_samples(X) - 4 * np.log(8.0), rtol=1e-6, atol=1e-6)


def test_asking_changes_nothing():
    X = ring()
    model = small().fit(X[:100])
    before = pickle.dumps(model)
    model.transform(X)
    model.score_samples(X)
    model.inverse_transform(np.zeros((1, 2)))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies_go_on_like_the_original(copied):
    X = ring(300)
    model = small().fit(X[:200])
    twin = copied(model)
    assert (twin.partial_fit(X[200:]).embedding_ == model.partial_fit(X[200:]).embedding_).all()


def test_bad_input_changes_nothing():
    X = ring()
    model = small().fit(X[:100])
    before = pickle.dumps(model)
    wrong = X[100:].copy()
    wrong[3, 1] = np.inf
    for bad, message in ((wrong, "infinity at row 3, column 1"), (X[:, :3], "3 features"), (X[:2] * np.nan, "row 0")):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(bad)
        with pytest.raises(ValueError, match=message):
            model.transform(bad)
    with pytest.raises(ValueError, match="overflows"):
        model.partial_fit(np.full((1, 4), 1e290))
    with pytest.raises(ValueError, match="n_components=2"):
        model.inverse_transform(np.zeros((1, 3)))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("n_before", [0, 100])
def test_a_value_that_overflows_is_named_by_its_row_of_the_call(n_before):
    X = ring(700)
    X[650, 1] = 1e160
    model = small(warmup=60)
    if n_before:
        model.fit(ring(n_before))
    with pytest.raises(ValueError, match="at row 650, column 1"):
        model.partial_fit(X)


def test_rows_of_the_largest_numbers_give_no_warning():
    assert np.isfinite(small(warmup=60).fit(ring() * 1e300).embedding_).all()


def test_missing_entries_are_allowed_everywhere():
    X = ring(300)
    gappy = X.copy()
    gappy[::7, 2] = np.nan
    model = small(n_frequencies=20, warmup=100).fit(gappy)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.score_samples(gappy)).all()
    assert (model.transform(gappy) == model.embedding_).all()
    placed = model.transform(gappy[::7] + 1e-6)
    completed = model.inverse_transform(placed)[:, 2]
    assert np.median(np.abs(completed - X[::7, 2])) < 0.3


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ("umap", "init='umap'"),
        (np.zeros((5, 2)), r"shape \(5, 2\)"),
        (np.full((32, 2), np.nan), "NaN"),
        ([["a"]], "init="),
    ],
    ids=["word", "short", "nan", "text"],
)
def test_init_is_checked(init, message):
    with pytest.raises(ValueError, match=message):
        small(init=init).fit(ring())


def test_a_picture_may_be_given():
    X = ring()
    model = small(init=X[:32, :2], start_spread=1.0, warmup_iter=0).fit(X)
    start = X[:32, :2] - X[:32, :2].mean(axis=0)
    assert_allclose(model.embedding_[:32], start / np.sqrt(np.mean(start**2)), atol=1e-12)


@pytest.mark.parametrize("n_components", [1, 3, 5])
@pytest.mark.parametrize("init", ["pca", "tsne"])
def test_other_numbers_of_dimensions(n_components, init):
    assert small(n_components=n_components, init=init).fit_transform(ring(60)).shape == (60, n_components)


def test_few_and_degenerate_rows():
    assert small().fit_transform(ring(1)).shape == (1, 2)
    assert np.isfinite(small().fit_transform(np.ones((50, 3)))).all()
    assert np.isfinite(small(init="tsne").fit_transform(np.repeat(ring(2), 30, axis=0))).all()
    assert np.isfinite(small().fit_transform(ring(60)[:, :1])).all()


def test_before_learning_there_is_nothing():
    for name in ("embedding_", "stitched_embedding_", "expert_weights_", "n_samples_seen_", "noise_var_"):
        assert not hasattr(small(), name)
        assert hasattr(small().fit(ring(40)), name)
    with pytest.raises(NotFittedError):
        small().inverse_transform(np.zeros((1, 2)))


def test_names_pipelines_clones_and_frames():
    X = ring()
    model = small().fit(X)
    assert list(model.get_feature_names_out()) == ["iegplvm0", "iegplvm1"]
    assert make_pipeline(MaxAbsScaler(), small()).fit_transform(X).shape == (150, 2)
    assert (clone(model).fit_transform(X) == model.embedding_).all()
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = small().set_output(transform="pandas").fit_transform(pandas.DataFrame(X, columns=list("abcd")))
    assert list(frame.columns) == ["iegplvm0", "iegplvm1"]


def test_weights_sum_to_one_and_variances_are_positive():
    for weights in ("bayes", "switching", "stacking"):
        model = small(weights=weights).fit(ring())
        assert model.expert_weights_.sum() == pytest.approx(1.0)
        assert (model.noise_var_ > 0.0).all()
        assert (model.prior_var_ > 0.0).all()


def test_every_expert_and_the_chosen_one_are_shown():
    X = ring(200)
    model = small(weights="switching", switch_prob=0.3).fit(X)
    positions, chosen = model.expert_embeddings_, model.chosen_experts_
    assert positions.shape == (len(model.expert_weights_), 200, 2)
    assert (positions[chosen, np.arange(200)] == model.stitched_embedding_).all()
    assert (positions[np.argmax(model.expert_weights_)] == model.embedding_).all()


def test_a_drifting_map_predicts_rows_and_their_spread():
    X = ring(300)
    still, walking = (small(drift_var=drift_var).fit(X) for drift_var in (0.0, 1e-3))
    mean, std = walking.inverse_transform(walking.embedding_, return_std=True)
    assert np.median(np.abs(mean - X)) < 0.3
    assert np.median(std) > np.median(still.inverse_transform(still.embedding_, return_std=True)[1])
    assert np.isfinite(walking.score_samples(X)).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"drift_var": -1.0}, "drift_var=-1.0"),
        ({"drift_var": 0.1, "forgetting": 0.9}, "two ways"),
        ({"max_iter": 0}, "max_iter"),
        ({"weigh_warmup": "yes"}, "weigh_warmup"),
    ],
)
def test_drift_and_steps_are_checked(wrong, message):
    with pytest.raises(ValueError, match=message):
        small(**wrong).fit(ring())


def test_presets_of_the_variants():
    made = presets.ie_gplvm(), presets.die_gplvm(), presets.sie_gplvm(), presets.dsie_gplvm(drift_var=0.1)
    assert [(m.drift_var, m.weights) for m in made] == [
        (0.0, "bayes"),
        (1e-3, "bayes"),
        (0.0, "switching"),
        (0.1, "switching"),
    ]
