"""onGPLVM: a GPLVM that learns by stochastic steps on neighbourhoods, and adds new rows batch by batch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from iegp.core.compute.threads import one_blas_thread
from iegp.typing import Float, Int
from iegp_paper.competitors.maps.neighbourhood import negative_log_likelihood
from iegp_paper.competitors.maps.rows import principal_map, scaled_rows

# Where the logs of signal variance, length scale and noise variance begin, and between what they stay.
_START = np.log([1.0, 1.0, 0.1])
_LOWEST, _HIGHEST = np.log([1e-2, 0.05, 1e-4]), np.log([1e2, 20.0, 10.0])


@dataclass(eq=False, repr=False, kw_only=True)
class OnGPLVM:
    """Incremental stochastic GPLVM after Yao, Gall, Van Gool and Urtasun (2011), algorithm 2.

    The first rows start from principal components and are improved by algorithm 1: pick a row, take its R nearest rows
    *on the map*, move them and the kernel's parameters along the gradient of the GP likelihood of just these, with
    momentum. Algorithm 2 does the same for each batch of new rows: they start at the place of the most similar old row,
    neighbourhoods are picked around new rows, and rows that were there before are held near where they were. A step
    costs O(R³ + R² D) and a search over all rows.

    Parameters
    ----------
    n_components : int, default=2
    n_neighbors : int, default=100
        R; as many as the IE-GP paper's inducing points.
    first_share : float, default=0.1
        Share of the rows that are laid out by algorithm 1.
    n_steps : int, default=1000
        Its steps (IE-GP paper: at most 1,000 iterations).
    batch_size : int, default=50
        Rows of a batch of algorithm 2.
    steps_per_row : float, default=1.0
        Steps for each new row.
    rate, hyper_rate, momentum : float, default=0.1, 0.002 and 0.5
        Of the steps; gradients are per column of the data. A row moves by at most a tenth of the length scale.
    hold : float, default=1.0
        Weight of half the squared distance of an old row from where it was.
    random_state : int, default=0
    """

    n_components: int = field(default=2, kw_only=False)
    n_neighbors: int = 100
    first_share: float = 0.1
    n_steps: int = 1000
    batch_size: int = 50
    steps_per_row: float = 1.0
    rate: float = 0.1
    hyper_rate: float = 0.002
    momentum: float = 0.5
    hold: float = 1.0
    random_state: int = 0
    hyper_: Float = field(init=False)
    """Logs of signal variance, length scale and noise variance."""

    def fit_transform(self, X: ArrayLike) -> Float:
        """Learn the rows in order; return the final positions of all of them."""
        self._rows = scaled_rows(X, 3)
        n = len(self._rows)
        n_first = min(n, max(self.n_components + 1, round(self.first_share * n)))
        self._rng = np.random.default_rng(self.random_state)
        self._squares = np.sum(self._rows**2, axis=1)
        self._positions, self._speed = np.zeros((n, self.n_components)), np.zeros((n, self.n_components))
        self._positions[:n_first] = principal_map(self._rows[:n_first], self.n_components)
        self.hyper_, self._hyper_speed = _START.copy(), np.zeros(3)
        with one_blas_thread():
            self._improve(np.arange(n_first), n_first, self.n_steps, n_first)
            for begin in range(n_first, n, self.batch_size):
                self._take_in(begin, min(begin + self.batch_size, n))
        return self._positions.copy()

    def _take_in(self, begin: int, end: int) -> None:
        """Algorithm 2 for rows ``begin`` to ``end``."""
        new = self._rows[begin:end]
        distance = self._squares[:begin] - 2.0 * (new @ self._rows[:begin].T)
        self._positions[begin:end] = self._positions[np.argmin(distance, axis=1)]
        # Two rows at one place would stay together: their gradients are the same but for their data.
        self._positions[begin:end] += 1e-3 * self._rng.standard_normal((end - begin, self.n_components))
        n_steps = max(1, round(self.steps_per_row * (end - begin)))
        self._improve(np.arange(begin, end), end, n_steps, begin)

    def _improve(self, centres: Int, n: int, n_steps: int, n_old: int) -> None:
        """Make stochastic steps around rows of ``centres``; rows before ``n_old`` are held where they are now.

        In the first layout no row is held.
        """
        is_first = n_old == n
        anchor = None if is_first else self._positions[:n_old].copy()
        for _ in range(n_steps):
            centre = self._rng.choice(centres)
            distance = np.sum((self._positions[:n] - self._positions[centre]) ** 2, axis=1)
            size = min(self.n_neighbors, n)
            near = np.argpartition(distance, size - 1)[:size] if size < n else np.arange(n)
            self._step(near, anchor)

    def _step(self, near: Int, anchor: Float | None) -> None:
        rows = self._rows[near]
        slope = negative_log_likelihood(self._positions[near], rows @ rows.T, rows.shape[1], self.hyper_)
        gradient = slope.positions
        if anchor is not None:
            old = near < len(anchor)
            gradient[old] += self.hold * (self._positions[near[old]] - anchor[near[old]])
        speed = self.momentum * self._speed[near] - self.rate * gradient
        longest = 0.1 * np.exp(self.hyper_[1])
        length = np.linalg.norm(speed, axis=1, keepdims=True)
        speed *= np.minimum(1.0, longest / np.maximum(length, np.finfo(np.float64).tiny))
        self._speed[near] = speed
        self._positions[near] += speed
        self._hyper_speed = self.momentum * self._hyper_speed - self.hyper_rate * slope.hyper
        self.hyper_ = np.clip(self.hyper_ + np.clip(self._hyper_speed, -0.1, 0.1), _LOWEST, _HIGHEST)
