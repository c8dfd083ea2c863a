"""Map competitors against independent calculations on small data."""

from __future__ import annotations

import numpy as np
import pytest
from iegp_paper.competitors.maps import GPLVM, BestKernelPCA, OnGPLVM, OnlinePCA, VarGPLVM
from iegp_paper.competitors.maps.neighbourhood import negative_log_likelihood
from iegp_paper.competitors.maps.rows import principal_map, scaled_rows
from iegp_paper.runs.embedding_data import nearest_neighbour_error
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from iegp.errors import InputError


@pytest.fixture
def clouds():
    """Three clouds in five dimensions, with labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 150)
    centres = 3.0 * rng.standard_normal((3, 5))
    return centres[labels] + 0.5 * rng.standard_normal((150, 5)), labels


def covariance(positions, hyper):
    signal, length, noise = np.exp(hyper)
    squared = ((positions[:, None] - positions[None]) ** 2).sum(axis=2)
    return signal * np.exp(-0.5 * squared / length**2) + noise * np.eye(len(positions))


def test_the_likelihood_of_a_neighbourhood_is_that_of_a_gp_per_column():
    rng = np.random.default_rng(1)
    positions, rows, hyper = rng.standard_normal((8, 2)), rng.standard_normal((8, 3)), np.log([1.3, 0.7, 0.2])
    found = negative_log_likelihood(positions, rows @ rows.T, 3, hyper)
    gp = multivariate_normal(np.zeros(8), covariance(positions, hyper))
    prior = multivariate_normal(np.zeros(2), np.eye(2))
    loss = -sum(gp.logpdf(column) for column in rows.T) - sum(prior.logpdf(own) for own in positions)
    constants = 0.5 * np.log(2 * np.pi) * (8 * 3 + 8 * 2)
    np.testing.assert_allclose(found.value, (loss - constants) / 3, rtol=1e-10)


def test_its_gradient_agrees_with_finite_differences():
    rng = np.random.default_rng(2)
    positions, rows, hyper = rng.standard_normal((7, 2)), rng.standard_normal((7, 4)), np.log([0.8, 1.1, 0.3])
    gram = rows @ rows.T
    found = negative_log_likelihood(positions, gram, 4, hyper)

    def of_positions(flat):
        return negative_log_likelihood(flat.reshape(7, 2), gram, 4, hyper).value

    numeric = approx_fprime(positions.ravel(), of_positions, 1e-7).reshape(7, 2)
    np.testing.assert_allclose(found.positions, numeric, atol=1e-5)
    numeric = approx_fprime(hyper, lambda h: negative_log_likelihood(positions, gram, 4, h).value, 1e-7)
    np.testing.assert_allclose(found.hyper, numeric, atol=1e-5)


def test_ongplvm_lowers_the_loss_of_all_rows_when_they_are_one_neighbourhood(clouds):
    rows = scaled_rows(clouds[0])[:60]
    rows = scaled_rows(rows)
    model = OnGPLVM(first_share=1.0, n_neighbors=60, n_steps=200, random_state=0)
    positions = model.fit_transform(rows)
    gram = rows @ rows.T
    before = negative_log_likelihood(principal_map(rows, 2), gram, 5, np.log([1.0, 1.0, 0.1])).value
    after = negative_log_likelihood(positions, gram, 5, model.hyper_).value
    assert after < before - 10.0


def test_ongplvm_takes_new_rows_in_and_holds_old_ones(clouds):
    rows, labels = clouds
    settings = {"n_steps": 100, "n_neighbors": 30, "batch_size": 10, "random_state": 0}
    positions = OnGPLVM(**settings).fit_transform(rows)
    assert positions.shape == (150, 2)
    assert nearest_neighbour_error(positions, labels) < 0.1
    np.testing.assert_array_equal(positions, OnGPLVM(**settings).fit_transform(rows))
    # Held by a great weight, old rows are where they are without new ones.
    held = OnGPLVM(first_share=0.5, hold=9.0, **settings).fit_transform(rows)
    loose = OnGPLVM(first_share=0.5, hold=0.0, **settings).fit_transform(rows)
    first = OnGPLVM(first_share=0.5, steps_per_row=0.01, **settings).fit_transform(rows)
    assert np.abs(held[:75] - first[:75]).mean() < np.abs(loose[:75] - first[:75]).mean()


def test_new_rows_start_beside_the_most_similar_old_one(clouds):
    rows = clouds[0]
    settings = {"first_share": 0.9, "n_steps": 50, "batch_size": 150, "steps_per_row": 1e-9, "random_state": 0}
    model = OnGPLVM(rate=0.0, **settings)
    positions = model.fit_transform(rows)
    nearest = ((rows[135:, None] - rows[None, :135]) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_allclose(positions[135:], positions[nearest], atol=0.01)


def test_online_pca_in_one_batch_is_pca(clouds):
    rows = clouds[0]
    found = OnlinePCA(batch_size=150).fit_transform(rows)
    centred = rows - rows.mean(axis=0)
    u, s, _ = np.linalg.svd(centred / np.sqrt(np.mean(centred**2)), full_matrices=False)
    np.testing.assert_allclose(np.abs(found), np.abs(u[:, :2] * s[:2]), rtol=1e-6, atol=1e-8)


def test_online_pca_in_batches_comes_close_to_pca(clouds):
    one, many = (OnlinePCA(batch_size=size).fit_transform(clouds[0]) for size in (150, 30))
    for column in range(2):
        assert abs(np.corrcoef(one[:, column], many[:, column])[0, 1]) > 0.99


def test_kernel_pca_is_the_eigenvectors_of_the_centred_kernel_matrix(clouds):
    rows, labels = clouds
    model = BestKernelPCA(lambda p: nearest_neighbour_error(p, labels), variances=(4.0,))
    found = model.fit_transform(rows)
    scaled = scaled_rows(rows)
    gram = np.exp(-((scaled[:, None] - scaled[None]) ** 2).sum(axis=2) / 8.0)
    centring = np.eye(150) - 1.0 / 150
    values, vectors = np.linalg.eigh(centring @ gram @ centring)
    expected = vectors[:, [-1, -2]] * np.sqrt(values[[-1, -2]])
    np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-6, atol=1e-8)
    assert model.seconds_ >= 0.0


def test_kernel_pca_keeps_the_kernel_of_the_best_score(clouds):
    rows, labels = clouds
    scores = {}

    def score(positions):
        scores[len(scores)] = nearest_neighbour_error(positions, labels)
        return scores[len(scores) - 1]

    variances = (2.0**-10, 1.0, 4.0)
    model = BestKernelPCA(score, variances=variances)
    model.fit_transform(rows)
    assert model.variance_ == variances[min(scores, key=lambda k: scores[k])]


@pytest.mark.parametrize("kind", [GPLVM, VarGPLVM])
def test_gpy_models_improve_on_their_start_and_leave_the_global_generator_alone(kind, clouds):
    pytest.importorskip("GPy", reason="the bench extra is not installed")
    rows, labels = clouds
    np.random.seed(7)  # noqa: NPY002  the generator that GPy uses
    expected = np.random.RandomState(7).random_sample()
    settings = {"n_inducing": 15, "n_steps": 15, "random_state": 0}
    positions = kind(**settings).fit_transform(rows[:90])
    assert np.random.random_sample() == expected  # noqa: NPY002
    assert positions.shape == (90, 2)
    assert nearest_neighbour_error(positions, labels[:90]) < 0.15
    np.testing.assert_allclose(positions, kind(**settings).fit_transform(rows[:90]))
    assert np.abs(positions - principal_map(scaled_rows(rows[:90]), 2)).max() > 0.01


@pytest.mark.parametrize("kind", [OnGPLVM, OnlinePCA, GPLVM])
def test_rows_that_make_no_map_are_refused(kind):
    with pytest.raises(InputError, match="alike"):
        kind().fit_transform(np.ones((10, 3)))
    with pytest.raises(InputError, match="rows"):
        kind().fit_transform(np.ones((1, 3)))


def test_the_nearest_neighbour_error_is_that_of_a_loop(clouds):
    rows, labels = clouds
    wrong = 0
    for i, row in enumerate(rows):
        distance = ((rows - row) ** 2).sum(axis=1)
        distance[i] = np.inf
        wrong += labels[distance.argmin()] != labels[i]
    assert nearest_neighbour_error(rows, labels) == wrong / 150
