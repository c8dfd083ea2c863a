"""How far one glitch among the first rows moves later means, ``python benchmarks/early_glitches.py``.

In standard deviations of the noise, against the same rows without the glitch.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse

import numpy as np

from iegp import presets

NOISE = 0.1
SIZES = 30.0, -30.0, 1e2, 1e3, 1e4, 1e6
# Hyperparameters are fitted every four rows before this one, and robust scaling is strict from it on.
MANY_ROWS = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="9,12,20,29,40", help="where the glitch is")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--length", type=int, default=64, help="rows of each stream")
    options = parser.parse_args()
    print("size | largest move up to row 31, by seed | from row 32 on | intervals that are 1.5 times as wide")
    for row in map(int, options.rows.split(",")):
        for size in SIZES:
            found = np.array([_moves(row, size, seed, _stream(options.length, seed)) for seed in range(options.seeds)])
            columns = [", ".join(f"{value:.3g}" for value in column) for column in found.T]
            print(f"row {row}: {size:g} | {columns[0]} | {columns[1]} | {columns[2]}", flush=True)


def _stream(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 2))
    return x, np.sin(x[:, 0]) + 0.5 * x[:, 1] + NOISE * rng.normal(size=n_rows)


def _moves(row: int, size: float, seed: int, stream: tuple[np.ndarray, np.ndarray]) -> tuple[float, float, int]:
    x, y = stream
    glitch = y.copy()
    glitch[row] += size * NOISE
    clean, hit = (presets.light(random_state=seed).prequential(x, labels) for labels in (y, glitch))
    moved = np.abs(hit.mean - clean.mean) / NOISE
    is_wide = hit.upper - hit.lower > 1.5 * (clean.upper - clean.lower)
    early = moved[row + 1 : MANY_ROWS].max(initial=0.0)
    return float(early), float(moved[max(row + 1, MANY_ROWS) :].max()), int(is_wide[row + 1 :].sum())


if __name__ == "__main__":
    main()
