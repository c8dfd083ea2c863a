"""Error of each form of a static expert's update, in nats, against 60-digit arithmetic.

    python benchmarks/numerical_forms.py

A flat kernel (neighbouring features nearly parallel) and a prior far wider than the noise: where forms differ.
"""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import numpy as np

from iegp.core import ensemble as ens
from iegp.core.expert import sweep
from iegp.core.features import fourier_rows, waves
from iegp.core.state import active_experts, layout_of
from iegp.core.weights import BAYES
from iegp.typing import Float

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
precise = importlib.import_module("oracles.precise")

N_ROWS, N_FREQUENCIES, N_COLUMNS = 240, 10, 3
RATIOS = (1e2, 1e4, 1e6, 1e8, 1e10, 1e12, 1e14)


def log_density(y: Float, means: Float, variances: Float) -> float:
    return float(np.sum(-0.5 * (np.log(2.0 * np.pi * variances) + (y - means) ** 2 / variances)))


def covariance(phi: Float, y: Float, ratio: float) -> float:
    """The paper's recursion, eq:posterior_update_1."""
    mean, sigma, total = np.zeros(phi.shape[1]), ratio * np.eye(phi.shape[1]), 0.0
    for row, label in zip(phi, y, strict=True):
        gain = sigma @ row
        variance = 1.0 + row @ gain
        if not variance > 0.0:
            return math.nan
        error = label - row @ mean
        total -= 0.5 * (math.log(2.0 * math.pi * variance) + error**2 / variance)
        mean, sigma = mean + gain * error / variance, sigma - np.outer(gain, gain) / variance
    return total


def block_cholesky(phi: Float, y: Float, ratio: float, rows: int) -> float:
    """Square-root information, blocks by the Cholesky factor of I + U'U whatever the leverage."""
    factor, z, total = np.eye(phi.shape[1]) / math.sqrt(ratio), np.zeros(phi.shape[1]), 0.0
    for start in range(0, len(phi), rows):
        block, labels = phi[start : start + rows], y[start : start + rows]
        u = np.linalg.solve(factor.T, block.T).T
        try:
            lower = np.asarray(np.linalg.cholesky(np.eye(len(block)) + u @ u.T))
            growth = np.linalg.cholesky(np.eye(len(factor)) + u.T @ u).T
        except np.linalg.LinAlgError:
            return math.nan
        total += _block_density(lower, labels - u @ z)
        z = np.linalg.solve(growth.T, z + u.T @ labels)
        factor = growth @ factor
    return total


def stacked_qr(phi: Float, y: Float, ratio: float, rows: int) -> float:
    """Square-root information, blocks by QR of the stacked factors; predictions from the same block Cholesky."""
    n = phi.shape[1]
    factor, z, total = np.eye(n) / math.sqrt(ratio), np.zeros(n), 0.0
    for start in range(0, len(phi), rows):
        block, labels = phi[start : start + rows], y[start : start + rows]
        u = np.linalg.solve(factor.T, block.T).T
        try:
            lower = np.asarray(np.linalg.cholesky(np.eye(len(block)) + u @ u.T))
        except np.linalg.LinAlgError:
            return math.nan
        total += _block_density(lower, labels - u @ z)
        r = np.asarray(np.linalg.qr(np.block([[factor, z[:, None]], [block, labels[:, None]]]), mode="r"))
        factor, z = r[:n, :n], r[:n, n]
    return total


def _block_density(lower: Float, residual: Float) -> float:
    whitened = np.linalg.solve(lower, residual)
    logs = np.log(np.diagonal(lower)).sum()
    return float(-0.5 * len(residual) * math.log(2.0 * math.pi) - logs - 0.5 * whitened @ whitened)


def ours(x: Float, y: Float, frequencies: Float, ratio: float, drift: float, by_row: bool) -> float:
    none, one = np.full(1, np.nan), np.ones(1)
    layout = layout_of([len(frequencies)], 1)
    basis, drifts = waves(frequencies), np.full(2 * len(frequencies), drift)
    ensemble = ens.Ensemble(
        basis, layout, drifts, ratio * one, np.ones((1, 1)), none, none, BAYES, np.ones((1, 1)), 1.0, 0.0
    )
    state = ens.start(ensemble)
    work = sweep.allocate_workspace(ensemble, active_experts(ensemble, state), x, y, 0)
    if by_row:
        sweep.sweep_rows(ensemble, state, None, work)
    else:
        sweep.sweep_blocks(ensemble, state, None, work)
    return log_density(y[:, 0], work.means[0, :, 0], work.variances[0])


def main() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N_ROWS, N_COLUMNS))
    y = np.sin(x[:, :1]) * 3.0 + 0.3 * rng.standard_normal((N_ROWS, 1))
    frequencies = rng.standard_normal((N_FREQUENCIES, N_COLUMNS)) / 10.0
    phi = fourier_rows(x, frequencies)
    rows = 2 * N_FREQUENCIES
    names = ("covariance", "block Chol.", "stacked QR", "iegp, blocks", "iegp, rows", "drift, blocks", "drift, rows")
    print(f"error of the log evidence in nats, {N_ROWS} rows, F = {rows}, RBF of length scale 10\n")
    print(f"{'prior/noise':>11} " + " ".join(f"{name:>13}" for name in names))
    for ratio in RATIOS:
        exact = precise.run(phi, y, ratio, 0.0, np.ones(1)).total
        drift = precise.run(phi, y, ratio, 1e-3, np.ones(1)).total
        errors = [
            covariance(phi, y[:, 0], ratio) - exact,
            block_cholesky(phi, y[:, 0], ratio, rows) - exact,
            stacked_qr(phi, y[:, 0], ratio, rows) - exact,
            ours(x, y, frequencies, ratio, 0.0, False) - exact,
            ours(x, y, frequencies, ratio, 0.0, True) - exact,
            ours(x, y, frequencies, ratio, 1e-3, False) - drift,
            ours(x, y, frequencies, ratio, 1e-3, True) - drift,
        ]
        print(f"{ratio:11.0e} " + " ".join(f"{'failed' if math.isnan(e) else f'{abs(e):.0e}':>13}" for e in errors))


if __name__ == "__main__":
    main()
