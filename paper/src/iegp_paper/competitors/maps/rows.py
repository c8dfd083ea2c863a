"""Scaling of the rows of a map, and the initial map of latent variable models."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.decomposition import PCA

from iegp.errors import InputError
from iegp.typing import Float
from iegp_paper.competitors.rows import checked_x


def scaled_rows(X: ArrayLike, least: int = 2) -> Float:
    """Centre rows and divide them by one scale, so that their average variance per column is one."""
    rows = checked_x(X, None)
    if len(rows) < least:
        raise InputError(f"X has {len(rows)} rows; a map needs at least {least}")
    centred = rows - rows.mean(axis=0)
    scale = float(np.sqrt(np.mean(centred**2)))
    if scale == 0.0:
        raise InputError("all rows of X are alike; there is nothing to lay out")
    return np.asarray(centred / scale)


def principal_map(rows: Float, n_components: int) -> Float:
    """Compute principal components of variance one: the latent means of probabilistic PCA, up to their scale."""
    positions = PCA(n_components, svd_solver="full" if min(rows.shape) < 500 else "randomized", random_state=0)
    found: Float = positions.fit_transform(rows)
    return np.asarray(found / np.maximum(found.std(axis=0), np.finfo(np.float64).tiny))
