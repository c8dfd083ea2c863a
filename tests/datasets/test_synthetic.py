from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from iegp.datasets import drifting, friedman, switching_gp
from iegp.datasets.synthetic import observation_noise
from iegp.errors import InputError

QUIET = {"noise": 0.0, "random_state": 4}


@pytest.mark.parametrize("make", [drifting, friedman])
@pytest.mark.parametrize(
    ("kind", "changes", "same_as_before"),
    [
        ("none", (), (True, True, True, True)),
        ("abrupt", (600,), (True, True, False, False)),
        ("recurring", (300, 600, 900), (True, False, True, False)),
    ],
)
def test_the_concept_changes_where_it_says(make, kind, changes, same_as_before):
    stream, steady = make(kind, n=1200, **QUIET), make("none", n=1200, **QUIET)
    assert stream.change_points == changes
    np.testing.assert_array_equal(stream.X, steady.X)
    for quarter, same in enumerate(same_as_before):
        rows = slice(300 * quarter, 300 * (quarter + 1))
        assert np.array_equal(stream.y[rows], steady.y[rows]) is same


@pytest.mark.parametrize("make", [drifting, friedman])
def test_gradual_drift_goes_from_the_first_concept_to_the_second(make):
    gradual, first, second = (make(kind, n=900, **QUIET).y for kind in ("gradual", "none", "abrupt"))
    np.testing.assert_array_equal(gradual[:301], first[:301])
    np.testing.assert_allclose(gradual[600:], second[600:])
    half = slice(450, 451)
    np.testing.assert_allclose(gradual[half], (first[half] + second[half]) / 2)


def test_friedman_is_friedmans_function():
    # scikit-learn's own generator on the same inputs: it draws them first from a legacy generator.
    X, y = make_friedman1(n_samples=50, n_features=7, noise=0.0, random_state=0)
    ours = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    np.testing.assert_allclose(ours, y)
    stream = friedman(n=50, d=7, **QUIET)
    Z = stream.X
    expected = 10 * np.sin(np.pi * Z[:, 0] * Z[:, 1]) + 20 * (Z[:, 2] - 0.5) ** 2 + 10 * Z[:, 3] + 5 * Z[:, 4]
    np.testing.assert_allclose(stream.y, expected)


def test_switching_gp_shows_the_right_function_in_each_stretch():
    stream = switching_gp(n=1000, length_scales=(0.3, 5.0), n_segments=4, **QUIET)
    assert stream.change_points == (250, 500, 750)
    # Roughness: between nearby inputs a short length scale moves far more than a long one.
    rough = []
    for start in (0, 250, 500, 750):
        X, y = stream.X[start : start + 250], stream.y[start : start + 250]
        gap = np.linalg.norm(X[:, None] - X[None], axis=-1) + np.eye(250)
        near = np.argwhere(gap < 0.2)
        rough.append(np.mean((y[near[:, 0]] - y[near[:, 1]]) ** 2))
    assert min(rough[0], rough[2]) > 20 * max(rough[1], rough[3])


def test_one_process_never_changes():
    assert switching_gp(n=100, length_scales=(1.0,)).change_points == ()


@pytest.mark.parametrize("kind", ["gaussian", "student", "heteroscedastic"])
def test_noise_has_the_standard_deviation_asked_for(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200_000, 2))
    noise = observation_noise(kind, 0.3, X, rng)
    assert abs(noise.mean()) < 0.01
    assert noise.std() == pytest.approx(0.3, rel=0.05)  # Student-t with 3 degrees converges slowly; the seed is fixed


def test_student_noise_has_heavy_tails():
    rng = np.random.default_rng(0)
    heavy = observation_noise("student", 1.0, np.zeros((20_000, 1)), rng)
    assert np.mean(np.abs(heavy) > 4) > 10 * 6.3e-5  # Gaussian: 6.3e-5


@pytest.mark.parametrize(
    "call",
    [
        lambda: drifting("sudden"),
        lambda: drifting(n=0),
        lambda: drifting(noise_kind="cauchy"),
        lambda: drifting(noise=-1.0),
        lambda: friedman(d=4),
        lambda: switching_gp(length_scales=()),
        lambda: switching_gp(length_scales=(1.0, -1.0)),
        lambda: switching_gp(n=10, n_segments=11),
    ],
)
def test_impossible_streams_are_refused(call):
    with pytest.raises(InputError):
        call()


@pytest.mark.parametrize("make", [drifting, friedman, switching_gp])
def test_same_seed_same_bits(make):
    np.testing.assert_array_equal(make(n=64, random_state=1).y, make(n=64, random_state=1).y)
    assert not np.array_equal(make(n=64, random_state=1).y, make(n=64, random_state=2).y)
