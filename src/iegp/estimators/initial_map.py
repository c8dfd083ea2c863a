"""Initial maps of the warm-up rows for the latent variable model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from iegp._imports import on_demand
from iegp.core.latent.experts import InitialMap
from iegp.core.latent.warmup import principal_positions
from iegp.errors import InputError
from iegp.typing import Float

INITS = ("pca", "tsne")
# With fewer rows than this t-SNE has too few neighbours; principal components are used instead.
_FEWEST = 16
_LEADING, _PERPLEXITY, _ITERATIONS = 50, 30.0, 500


def initial_map(init: Any, n_components: int, warmup: int, seed: int) -> InitialMap:
    """The initial map that ``init`` asks for, checked."""
    if isinstance(init, str):
        if init not in INITS:
            raise InputError(f"init={init!r} is not known; use 'pca', 'tsne' or an array of positions")
        return (lambda columns: _tsne(columns, n_components, seed)) if init == "tsne" else _leading
    try:
        positions = np.array(init, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"init={init!r:.80} is not known; use 'pca', 'tsne' or an array of positions") from error
    if positions.ndim != 2 or positions.shape[1] != n_components or len(positions) < warmup:
        raise InputError(
            f"init has shape {positions.shape}; give one row of {n_components} numbers for each of the first "
            f"warmup={warmup} rows"
        )
    if not np.isfinite(positions).all():
        raise InputError("init contains NaN or infinity; positions must be finite numbers")
    return lambda columns: positions[: len(columns)]


def _leading(columns: Float) -> None:
    """The core uses principal components if it is given no initial map."""
    del columns


def _tsne(columns: Float, n_components: int, seed: int) -> Float | None:
    n = len(columns)
    if n < _FEWEST or not np.any(columns.std(axis=0) > 0.0):
        return None
    # 215 modules, needed by this method alone.
    tsne_class = on_demand("sklearn.manifold").TSNE
    start = principal_positions(columns, n_components) * 1e-4
    tsne = tsne_class(
        n_components=n_components,
        perplexity=min(_PERPLEXITY, (n - 1) / 3.0),
        init=start.astype(np.float32),
        max_iter=_ITERATIONS,
        method="barnes_hut" if n_components < 4 else "exact",
        random_state=seed % 2**32,
        n_jobs=1,
    )
    # Several threads wait for each other longer than they work on so few rows.
    with threadpool_limits(1):
        positions = np.asarray(tsne.fit_transform(columns[:, :_LEADING]), dtype=np.float64)
    return positions if math.isfinite(float(positions.sum())) else None
