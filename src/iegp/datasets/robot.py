"""A simulated two-joint robot arm with a load that changes while it moves: known physics and known drift.

The arm hangs in a vertical plane. ``q1`` is the angle of the upper arm against the horizontal, ``q2`` the angle of the
forearm against the upper arm. Each link is a uniform rod; the payload is a point mass at the tip.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from iegp.datasets.stream import Stream
from iegp.errors import InputError
from iegp.typing import Float

FEATURE_NAMES = ("q1 (rad)", "q2 (rad)", "qd1 (rad/s)", "qd2 (rad/s)", "qdd1 (rad/s^2)", "qdd2 (rad/s^2)")
N_SINES = 5


@dataclass(frozen=True)
class Arm:
    """Masses in kg, lengths in m; a rod's centre of mass lies in its middle and its inertia about it is m l²/12."""

    mass1: float = 3.0
    mass2: float = 2.0
    length1: float = 0.5
    length2: float = 0.4
    gravity: float = 9.81


def inverse_dynamics(arm: Arm, payload: Float | float, q: Float, qd: Float, qdd: Float) -> Float:
    """Compute the torques (n, 2) in N m that produce a motion: ``M(q) qdd + c(q, qd) + g(q)``, row by row.

    ``q``, ``qd``, ``qdd`` have shape (n, 2): joint angles, velocities and accelerations. ``payload`` is the mass at the
    tip, one number or one per row.

    >>> still = np.zeros((1, 2))                                     # stretched out horizontally, at rest
    >>> inverse_dynamics(Arm(), 0.0, still, still, still).round(3)   # (3*0.25 + 2*0.7)*9.81 and 2*0.2*9.81
    array([[21.092,  3.924]])
    """
    l1, l2 = arm.length1, arm.length2
    # First moment of all that hangs beyond the elbow, about the elbow; it drives coupling, Coriolis and gravity alike.
    moment2 = arm.mass2 * l2 / 2 + payload * l2
    moment1 = (arm.mass1 / 2 + arm.mass2 + payload) * l1
    inertia2 = arm.mass2 * l2**2 / 3 + payload * l2**2  # about the elbow
    inertia1 = (arm.mass1 / 3 + arm.mass2 + payload) * l1**2  # about the shoulder, forearm as a point at the elbow
    coupling = moment2 * l1 * np.cos(q[:, 1])
    m11, m12, m22 = inertia1 + inertia2 + 2 * coupling, inertia2 + coupling, inertia2

    swirl = moment2 * l1 * np.sin(q[:, 1])  # -d(coupling)/dq2
    coriolis1 = -swirl * (2 * qd[:, 0] * qd[:, 1] + qd[:, 1] ** 2)
    coriolis2 = swirl * qd[:, 0] ** 2
    gravity2 = arm.gravity * moment2 * np.cos(q[:, 0] + q[:, 1])
    gravity1 = arm.gravity * moment1 * np.cos(q[:, 0]) + gravity2

    torque1 = m11 * qdd[:, 0] + m12 * qdd[:, 1] + coriolis1 + gravity1
    torque2 = m12 * qdd[:, 0] + m22 * qdd[:, 1] + coriolis2 + gravity2
    return np.column_stack([torque1, torque2])


def trajectory(n: int, rate: float, rng: np.random.Generator) -> tuple[Float, Float, Float]:
    """Simulate a smooth path of both joints sampled ``rate`` times a second: q, qd, qdd (n, 2), exact derivatives.

    Each joint adds sines between 0.05 and 0.8 Hz, slower ones larger, so that the path never repeats itself within a
    run and no joint makes a full turn.
    """
    time = np.arange(n)[:, None, None] / rate
    hertz = rng.uniform(0.05, 0.8, size=(2, N_SINES))
    omega = 2 * np.pi * hertz
    amplitude = rng.uniform(0.5, 1.0, size=(2, N_SINES)) * 0.12 / (hertz + 0.15)
    angle = omega * time + rng.uniform(0, 2 * np.pi, size=(2, N_SINES))
    q = (amplitude * np.sin(angle)).sum(axis=-1) + np.array([-0.5, 0.8])  # a working posture, elbow bent
    qd = (amplitude * omega * np.cos(angle)).sum(axis=-1)
    qdd = -(amplitude * omega**2 * np.sin(angle)).sum(axis=-1)
    return q, qd, qdd


def robot_arm(
    n: int = 10_000,
    *,
    payload: float = 0.5,
    payload_change: float = 2.0,
    torque: int | None = 1,
    noise: float = 0.1,
    rate: float = 100.0,
    random_state: int = 0,
) -> Stream:
    """Simulate a two-joint arm that picks up a load half way: the torque is to be predicted from the motion.

    Parameters
    ----------
    n : int, default=10000
        Number of rows, at least 1.
    payload : float, default=0.5
        Mass at the tip in kg, at first; not negative.
    payload_change : float, default=2.0
        Mass in kg that is added from row ``n // 2`` on; with 0 nothing changes. The sum must not be negative.
    torque : {1, 2} or None, default=1
        Joint to predict the torque of; ``None`` gives both.
    noise : float, default=0.1
        Standard deviation of the Gaussian sensor noise on the torque, in N m.
    rate : float, default=100.0
        Rows per second, positive.
    random_state : int, default=0
        Seed; the same seed gives the same bits.

    Returns
    -------
    Stream
        X (n, 6) holds noise-free angles, velocities and accelerations of both joints; y is the torque in N m, (n,), or
        (n, 2) for both joints. ``change_points`` has the row at which the load changes.

    Examples
    --------
    >>> stream = robot_arm(1000)
    >>> stream.X.shape, stream.change_points, stream.target_name
    ((1000, 6), (500,), 'torque 1 (N m)')
    """
    _check_arm(n, payload, payload_change, torque, noise, rate)
    rng = np.random.default_rng(random_state)
    q, qd, qdd = trajectory(n, rate, rng)
    change = n // 2
    load = np.where(np.arange(n) < change, payload, payload + payload_change)
    torques = inverse_dynamics(Arm(), load, q, qd, qdd)
    torques = torques + noise * rng.standard_normal(torques.shape)
    return Stream(
        name="robot_arm",
        X=np.hstack([q, qd, qdd]),
        y=torques if torque is None else torques[:, torque - 1],
        feature_names=FEATURE_NAMES,
        target_name="torques 1 and 2 (N m)" if torque is None else f"torque {torque} (N m)",
        description=f"simulated two-joint arm at {rate:g} Hz; the payload goes from {payload:g} to "
        f"{payload + payload_change:g} kg at row {change}",
        change_points=(change,) if payload_change and change else (),
    )


def _check_arm(n: int, payload: float, payload_change: float, torque: int | None, noise: float, rate: float) -> None:
    if n < 1:
        raise InputError(f"n={n}: a stream needs at least one row; try n=10_000.")
    if torque not in (None, 1, 2):
        raise InputError(f"torque={torque!r}: the arm has joints 1 and 2; pass 1, 2, or None for both.")
    if min(payload, payload + payload_change) < 0:
        raise InputError(
            f"payload={payload}, payload_change={payload_change}: a mass cannot be negative; "
            "keep payload and payload + payload_change at zero or above."
        )
    if noise < 0 or rate <= 0:
        raise InputError(f"noise={noise}, rate={rate}: noise must be at least 0 and rate above 0; try noise=0.1.")
