"""Simulated streams with known drift: none, gradual, abrupt, recurring, or alternating processes.

Every function draws from one seeded generator, so the same arguments give the same bits. The rows at which something
changes abruptly are in ``Stream.change_points``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from iegp._docstrings import entries, fill_docstrings
from iegp.datasets.stream import Stream
from iegp.errors import InputError
from iegp.typing import Float, Int

NoiseKind = Literal["gaussian", "student", "heteroscedastic"]
STUDENT_DOF = 3.0  # the heaviest whole number of degrees of freedom that still has a variance to scale by


def observation_noise(kind: NoiseKind, std: float, X: Float, rng: np.random.Generator) -> Float:
    """Draw independent noise (n,) for the rows of X (n, d), of standard deviation ``std`` over the whole stream.

    ``"student"`` is Student's t with 3 degrees of freedom, scaled to that standard deviation. ``"heteroscedastic"`` is
    Gaussian with a standard deviation that grows with the rank of the first input: the noisiest row has seven times the
    standard deviation of the quietest.

    >>> X = np.linspace(0.0, 1.0, 1000)[:, None]
    >>> e = observation_noise("heteroscedastic", 0.5, X, np.random.default_rng(0))
    >>> bool(e[900:].std() > 4 * e[:100].std())
    True
    """
    if std < 0:
        raise InputError(f"noise={std}: a standard deviation cannot be negative; try noise=0.1.")
    if kind == "gaussian":
        return std * rng.standard_normal(len(X))
    if kind == "student":
        unit = np.sqrt((STUDENT_DOF - 2) / STUDENT_DOF)
        heavy: Float = std * unit * rng.standard_t(STUDENT_DOF, len(X))
        return heavy
    if kind == "heteroscedastic":
        return std * _relative_std(X[:, 0]) * rng.standard_normal(len(X))
    raise InputError(f"noise_kind={kind!r} is unknown; choose 'gaussian', 'student' or 'heteroscedastic'.")


def _relative_std(x: Float) -> Float:
    # Ranks instead of values: the spread of noise levels is then the same for every distribution of inputs.
    rank = np.argsort(np.argsort(x, kind="stable"), kind="stable") / max(len(x) - 1, 1)
    level = 1.0 + 6.0 * rank
    scaled: Float = level / np.sqrt(np.mean(level**2))
    return scaled


DriftKind = Literal["none", "gradual", "abrupt", "recurring"]
CONCEPT_FREQUENCIES = 20
GP_FREQUENCIES = 500
DOCS = entries("""
n : int, default=5000
    Number of rows, at least 1.
noise_kind : {"gaussian", "student", "heteroscedastic"}, default="gaussian"
    Distribution of the noise: Gaussian; Student's t with 3 degrees of freedom; or Gaussian with a standard deviation
    that grows with the rank of the first input.
random_state : int, default=0
    Seed; the same seed gives the same bits.
""")


@fill_docstrings(DOCS)
def drifting(
    kind: DriftKind = "abrupt",
    n: int = 5_000,
    d: int = 5,
    *,
    noise: float = 0.1,
    noise_kind: NoiseKind = "gaussian",
    random_state: int = 0,
) -> Stream:
    """Simulate a smooth random function of standard normal inputs that changes into another one.

    Both functions are draws from a unit-variance Gaussian process, so ``noise`` is roughly the noise-to-signal ratio.

    Parameters
    ----------
    kind : {"none", "gradual", "abrupt", "recurring"}, default="abrupt"
        ``"none"`` keeps the first function; ``"abrupt"`` changes at row ``n // 2``; ``"gradual"`` moves linearly from
        one to the other over the middle third; ``"recurring"`` alternates between them at each quarter.
    {n}
    d : int, default=5
        Number of inputs, at least 1.
    noise : float, default=0.1
        Standard deviation of the noise; 0 for none.
    {noise_kind}
    {random_state}

    Returns
    -------
    Stream
        X (n, d) and y (n,), with the abrupt changes in ``change_points``.

    Examples
    --------
    >>> stream = drifting("recurring", n=400, d=2)
    >>> stream.X.shape, stream.change_points
    ((400, 2), (100, 200, 300))
    """
    _check_size(n, d, least=1)
    share, changes = _drift(kind, n)
    rng = np.random.default_rng(random_state)
    before, after = (_random_function(d, np.sqrt(d), CONCEPT_FREQUENCIES, rng) for _ in range(2))
    X = rng.standard_normal((n, d))
    y = (1 - share) * before(X) + share * after(X) + observation_noise(noise_kind, noise, X, rng)
    about = f"a random function with {kind} drift"
    return Stream(f"drifting_{kind}", X, y, _numbered(d), "y", about, changes)


@fill_docstrings(DOCS)
def friedman(
    kind: DriftKind = "none",
    n: int = 5_000,
    d: int = 10,
    *,
    noise: float = 1.0,
    noise_kind: NoiseKind = "gaussian",
    random_state: int = 0,
) -> Stream:
    """Simulate Friedman's function of five of d uniform inputs; drift exchanges the roles of the inputs.

    ``y = 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 + noise``; after the drift x1..x5 enter in reverse order.
    The signal has a standard deviation of about 4.9.

    Parameters
    ----------
    kind : {"none", "gradual", "abrupt", "recurring"}, default="none"
        When the roles change, as in :func:`drifting`.
    {n}
    d : int, default=10
        Number of inputs, at least 5; those after the fifth have no influence.
    noise : float, default=1.0
        Standard deviation of the noise, in units of y; 0 for none.
    {noise_kind}
    {random_state}

    Returns
    -------
    Stream
        X (n, d), uniform on [0, 1], and y (n,).

    Examples
    --------
    >>> stream = friedman("abrupt", n=1000)
    >>> stream.X.shape, stream.change_points, round(float(stream.y.mean()), 1)
    ((1000, 10), (500,), 14.3)
    """
    _check_size(n, d, least=5)
    share, changes = _drift(kind, n)
    rng = np.random.default_rng(random_state)
    X = rng.uniform(size=(n, d))
    signal = (1 - share) * _friedman(X) + share * _friedman(X[:, 4::-1])
    y = signal + observation_noise(noise_kind, noise, X, rng)
    return Stream(f"friedman_{kind}", X, y, _numbered(d), "y", f"Friedman's function with {kind} drift", changes)


@fill_docstrings(DOCS)
def switching_gp(
    n: int = 4_000,
    d: int = 2,
    *,
    length_scales: Sequence[float] = (0.5, 3.0),
    n_segments: int = 4,
    noise: float = 0.1,
    random_state: int = 0,
) -> Stream:
    """Simulate Gaussian processes with different length scales that alternate.

    One function per length scale is drawn once, from the random-feature approximation of a unit-variance RBF kernel.
    Segment k starts at row ``k * n // n_segments`` and shows function ``k % len(length_scales)``.

    Parameters
    ----------
    n : int, default=4000
        Number of rows, at least 1.
    d : int, default=2
        Number of standard normal inputs, at least 1.
    length_scales : sequence of float, default=(0.5, 3.0)
        Positive length scales, one function for each. With a single one nothing changes.
    n_segments : int, default=4
        Number of segments of (nearly) equal length, between 1 and n.
    noise : float, default=0.1
        Standard deviation of the Gaussian noise; the functions have unit variance.
    {random_state}

    Returns
    -------
    Stream
        X (n, d) and y (n,), with the first row of every later segment in ``change_points``.

    Examples
    --------
    >>> stream = switching_gp(n=1000, n_segments=4)
    >>> stream.change_points
    (250, 500, 750)
    """
    _check_size(n, d, least=1)
    _check_segments(n, length_scales, n_segments)
    rng = np.random.default_rng(random_state)
    functions = [_random_function(d, scale, GP_FREQUENCIES, rng) for scale in length_scales]
    X = rng.standard_normal((n, d))
    starts = tuple(k * n // n_segments for k in range(n_segments))
    active = (np.searchsorted(starts, np.arange(n), side="right") - 1) % len(functions)
    y = _row_by_row(functions, active, X) + observation_noise("gaussian", noise, X, rng)
    about = "alternating random-feature Gaussian processes, length scales " + ", ".join(f"{s:g}" for s in length_scales)
    return Stream("switching_gp", X, y, _numbered(d), "y", about, starts[1:] if len(functions) > 1 else ())


def _drift(kind: DriftKind, n: int) -> tuple[Float, tuple[int, ...]]:
    """Return the share (n,) of the second concept in each row, and the rows where it jumps."""
    row = np.arange(n)
    if kind == "none":
        return np.zeros(n), ()
    if kind == "gradual":
        return np.clip((row - n / 3) / (n / 3), 0.0, 1.0), ()
    if kind == "abrupt":
        starts: tuple[int, ...] = (n // 2,)
    elif kind == "recurring":
        starts = tuple(k * n // 4 for k in (1, 2, 3))
    else:
        raise InputError(f"kind={kind!r} is unknown; choose 'none', 'gradual', 'abrupt' or 'recurring'.")
    return (np.searchsorted(starts, row, side="right") % 2).astype(np.float64), starts


def _random_function(
    d: int, length_scale: float, n_frequencies: int, rng: np.random.Generator
) -> Callable[[Float], Float]:
    """Draw a function (n, d) -> (n,) from a unit-variance RBF Gaussian process in random Fourier features."""
    frequencies = rng.standard_normal((d, n_frequencies)) / length_scale
    weights = rng.standard_normal((2, n_frequencies)) / np.sqrt(n_frequencies)

    def function(X: Float) -> Float:
        angles = X @ frequencies
        values: Float = np.cos(angles) @ weights[0] + np.sin(angles) @ weights[1]
        return values

    return function


def _row_by_row(functions: Sequence[Callable[[Float], Float]], active: Int, X: Float) -> Float:
    y = np.empty(len(X))
    for k, function in enumerate(functions):
        rows = active == k
        y[rows] = function(X[rows])
    return y


def _friedman(X: Float) -> Float:
    wave: Float = 10 * np.sin(np.pi * X[:, 0] * X[:, 1])
    return wave + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]


def _numbered(d: int) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(1, d + 1))


def _check_size(n: int, d: int, least: int) -> None:
    if n < 1 or d < least:
        raise InputError(f"n={n}, d={d}: at least 1 row and {least} column(s) are needed; try n=5_000, d={least + 4}.")


def _check_segments(n: int, length_scales: Sequence[float], n_segments: int) -> None:
    if not length_scales or min(length_scales) <= 0:
        raise InputError(f"length_scales={list(length_scales)}: give one or more positive numbers, e.g. (0.5, 3.0).")
    if not 1 <= n_segments <= n:
        raise InputError(f"n_segments={n_segments}: between 1 and n={n} segments fit into the stream; try 4.")
