"""A latent variable model from its first row on: rows are kept until the warm-up is complete, then learned.

During the warm-up, a provisional model is fitted to the rows so far whenever one is needed: it depends on these rows
alone and is discarded when the next row comes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from iegp.core.latent import embedder as latent
from iegp.core.latent.embedder import EmbeddedRows, Embedder
from iegp.core.latent.experts import InitialMap
from iegp.core.latent.settings import LatentSettings
from iegp.typing import Float


@dataclass
class LatentOnline:
    """A model in the middle of a stream. ``kept`` holds the rows of an unfinished warm-up."""

    settings: LatentSettings
    kept: Float
    embedder: Embedder | None = None
    provisional: Embedder | None = field(default=None, repr=False)

    @property
    def n_seen(self) -> int:
        """Number of rows learned so far, or kept to be learned."""
        return len(self.kept) if self.embedder is None else self.embedder.n_seen

    @property
    def n_columns(self) -> int:
        return int(self.kept.shape[1])


def begin(settings: LatentSettings, n_columns: int) -> LatentOnline:
    """Return a model before its first row."""
    return LatentOnline(settings, np.empty((0, n_columns)))


def learn(model: LatentOnline, rows: Float, initial_map: InitialMap) -> EmbeddedRows | None:
    """Learn rows (n, D) in order, in place; return their positions, or None while the warm-up lasts.

    If the warm-up ends among these rows, the result covers all of its rows and those after it.
    """
    if model.embedder is not None:
        return latent.learn(model.embedder, rows)
    n_missing = model.settings.warmup - len(model.kept)
    kept = np.concatenate([model.kept, rows[:n_missing]])
    if len(kept) < model.settings.warmup:
        model.kept, model.provisional = kept, None
        return None
    embedder, first = latent.begin(model.settings, kept, initial_map)
    # Nothing of the model has changed until all rows are known to be usable.
    later = latent.learn(embedder, rows[n_missing:], n_missing)
    model.embedder, model.provisional, model.kept = embedder, None, np.empty((0, model.n_columns))
    return EmbeddedRows(
        np.concatenate([first.positions, later.positions], axis=1),
        np.concatenate([first.stitched, later.stitched]),
        np.concatenate([first.log_score, later.log_score]),
    )


def current(model: LatentOnline, initial_map: InitialMap) -> Embedder:
    """Return the model for predictions: during the warm-up, one fitted to the rows so far."""
    if model.embedder is not None:
        return model.embedder
    if model.provisional is None:
        model.provisional = latent.begin(model.settings, model.kept, initial_map)[0]
    return model.provisional
