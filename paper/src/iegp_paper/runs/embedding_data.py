"""Rows and labels for maps, and the error of a map."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from iegp.datasets import list_datasets, load_arrays, load_embedded
from iegp.typing import Float, Int


def rows_and_labels(name: str, rows: int | None, seed: int | None = None) -> tuple[Float, Int]:
    """Return some rows in an order given by the seed (without one, the file's); of USPS the digits 0 to 4."""
    if name in list_datasets():
        arrays = load_arrays(name)
        values, labels = arrays["X"], arrays["y"]
    else:
        stream = load_embedded(name)
        values, labels = stream.X, stream.y
    if name == "usps":
        values, labels = values[labels <= 4], labels[labels <= 4]
    if seed is not None:
        order = np.random.default_rng(seed).permutation(len(values))
        values, labels = values[order], labels[order]
    return np.asarray(values[:rows], dtype=np.float64), np.asarray(labels[:rows], dtype=np.int64)


def nearest_neighbour_error(positions: Float, labels: Int) -> float:
    """Compute the share of rows with a nearest other row of another label."""
    nearest = NearestNeighbors(n_neighbors=2).fit(positions).kneighbors(positions, return_distance=False)
    other = np.where(nearest[:, 0] == np.arange(len(labels)), nearest[:, 1], nearest[:, 0])
    return float(np.mean(labels[other] != labels))
