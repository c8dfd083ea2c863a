"""The arm against derivations that share nothing with it: energy in Cartesian coordinates, and Lagrange's equations."""

from __future__ import annotations

import numpy as np
import pytest

from iegp.datasets import robot_arm
from iegp.datasets.robot import Arm, inverse_dynamics, trajectory
from iegp.errors import InputError

ARM = Arm(mass1=3.1, mass2=1.7, length1=0.55, length2=0.35)
PAYLOAD = 1.3
# Three-point Gauss-Legendre integrates a rod's energy exactly: velocities are linear along it, energies quadratic.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(3)
ALONG, SHARE = (NODES + 1) / 2, WEIGHTS / 2


def points(q):
    """Positions (n, k, 2) and masses (k,) of point masses that stand for the two rods and the payload."""
    upper = np.stack([np.cos(q[:, 0]), np.sin(q[:, 0])], axis=-1)[:, None, :]
    fore = np.stack([np.cos(q.sum(axis=1)), np.sin(q.sum(axis=1))], axis=-1)[:, None, :]
    rod1 = ARM.length1 * ALONG[:, None] * upper
    rod2 = ARM.length1 * upper + ARM.length2 * ALONG[:, None] * fore
    tip = ARM.length1 * upper + ARM.length2 * fore
    masses = np.concatenate([ARM.mass1 * SHARE, ARM.mass2 * SHARE, [PAYLOAD]])
    return np.concatenate([rod1, rod2, tip], axis=1), masses


def kinetic(q, qd):
    step = 1e-4
    ahead, masses = points(q + step * qd)
    behind, _ = points(q - step * qd)
    velocity = (ahead - behind) / (2 * step)
    return 0.5 * (masses * (velocity**2).sum(axis=-1)).sum(axis=-1)


def potential(q):
    position, masses = points(q)
    return ARM.gravity * (masses * position[..., 1]).sum(axis=-1)


@pytest.fixture
def motion():
    return trajectory(400, 1000.0, np.random.default_rng(1))


def test_power_is_the_rate_of_change_of_energy(motion):
    q, qd, qdd = motion
    power = (inverse_dynamics(ARM, PAYLOAD, q, qd, qdd) * qd).sum(axis=1)
    energy = kinetic(q, qd) + potential(q)
    # Fourth-order central difference in time, rows 1/1000 s apart.
    rate = (energy[:-4] - 8 * energy[1:-3] + 8 * energy[3:-1] - energy[4:]) * 1000 / 12
    np.testing.assert_allclose(power[2:-2], rate, atol=1e-5 * np.abs(power).max())


def test_lagrange_equations_by_finite_differences(motion):
    q, qd, qdd = (part[::20] for part in motion)
    step = 1e-3

    def momentum(j, q, qd):
        nudge = step * np.eye(2)[j]
        return (kinetic(q, qd + nudge) - kinetic(q, qd - nudge)) / (2 * step)

    torques = []
    for j in range(2):
        # d/dt of the momentum along the motion, minus the slope of the Lagrangian in q_j.
        dt = 1e-3
        ahead = momentum(j, q + dt * qd + dt**2 / 2 * qdd, qd + dt * qdd)
        behind = momentum(j, q - dt * qd + dt**2 / 2 * qdd, qd - dt * qdd)
        nudge = step * np.eye(2)[j]
        slope = (kinetic(q + nudge, qd) - kinetic(q - nudge, qd) - potential(q + nudge) + potential(q - nudge)) / (
            2 * step
        )
        torques.append((ahead - behind) / (2 * dt) - slope)
    expected = np.column_stack(torques)
    actual = inverse_dynamics(ARM, PAYLOAD, q, qd, qdd)
    np.testing.assert_allclose(actual, expected, atol=2e-5 * np.abs(expected).max())


def test_trajectory_derivatives_are_those_of_its_positions(motion):
    q, qd, qdd = motion
    np.testing.assert_allclose(np.gradient(q, 1e-3, axis=0)[1:-1], qd[1:-1], atol=1e-4)
    np.testing.assert_allclose(np.gradient(qd, 1e-3, axis=0)[1:-1], qdd[1:-1], atol=1e-3)


def test_the_stream_is_the_arm_under_noise():
    stream = robot_arm(2000, payload=0.5, payload_change=1.5, torque=None, noise=0.05, random_state=3)
    q, qd, qdd = stream.X[:, :2], stream.X[:, 2:4], stream.X[:, 4:]
    load = np.where(np.arange(2000) < 1000, 0.5, 2.0)
    error = stream.y - inverse_dynamics(Arm(), load, q, qd, qdd)
    assert stream.change_points == (1000,)
    assert error.std() == pytest.approx(0.05, rel=0.1)  # 4000 draws: off by 10 % less often than once in 10^9
    assert "row 1000" in stream.description


def test_the_load_matters_only_from_the_change_on():
    steady = robot_arm(1000, payload_change=0.0, noise=0.0)
    loaded = robot_arm(1000, payload_change=2.0, noise=0.0)
    assert steady.change_points == ()
    np.testing.assert_array_equal(steady.y[:500], loaded.y[:500])
    assert np.abs(steady.y[500:] - loaded.y[500:]).mean() > 5.0


def test_torque_selects_a_column():
    both = robot_arm(50, torque=None)
    assert both.y.shape == (50, 2)
    np.testing.assert_array_equal(robot_arm(50, torque=2).y, both.y[:, 1])


def test_same_seed_same_bits():
    np.testing.assert_array_equal(robot_arm(100, random_state=5).y, robot_arm(100, random_state=5).y)
    assert not np.array_equal(robot_arm(100, random_state=5).X, robot_arm(100, random_state=6).X)


@pytest.mark.parametrize(
    "arguments", [{"n": 0}, {"torque": 3}, {"payload_change": -1.0}, {"noise": -0.1}, {"rate": 0.0}]
)
def test_impossible_arms_are_refused(arguments):
    with pytest.raises(InputError, match=next(iter(arguments))):
        robot_arm(**arguments)
