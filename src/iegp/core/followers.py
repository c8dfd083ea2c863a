"""What follows a pass over rows: intervals that keep their level, and changes of the stream that are noticed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from iegp.core import changes as chg
from iegp.core import conformal as conf
from iegp.core.predictions import Predictions
from iegp.core.predictive.components import Components
from iegp.typing import Bool, Float


@dataclass
class Followers:
    """What learns from predictions and labels beside the experts, row by row after a pass, and never changes them."""

    conformal: conf.Conformal | None = None
    changes: chg.Changes | None = None
    span: chg.Span = chg.FROM_START
    """Rows that are still to come in this pass."""
    is_blind: bool = False
    """Whether rows are predicted before the units of y are known: nothing is learned from them."""
    is_fitting: bool = False
    """Whether the experts are not settled yet, so that no change can be noticed."""
    ignored: Bool | None = None
    """(n,): rows still to come in this pass from which nothing is learned."""

    def follow(self, predictions: Predictions, components: Components, y: Float, level: float | None) -> Predictions:
        """The predictions of rows, with PIT values; where intervals keep their level, with these."""
        n = predictions.n_rows
        ignored = np.zeros(n, dtype=bool) if self.ignored is None else self.ignored[:n]
        self.ignored = None if self.ignored is None else self.ignored[n:]
        if self.changes is not None:
            self._watch(self.changes, predictions, ignored)
        if self.conformal is not None:
            scores = conf.scores_of(components, y, predictions.pit)
            scores[ignored | self.is_blind] = np.nan
            place = -1 if level is None else self.conformal.number_of(level)
            self.conformal, ends = conf.follow(self.conformal, scores, self.span.delay, place)
            if level is not None:
                lower, upper = conf.bounds(components, ends)
                predictions = predictions._replace(lower=lower, upper=upper)
        return predictions

    def _watch(self, changes: chg.Changes, predictions: Predictions, ignored: Bool) -> None:
        n, (first, times, *_) = predictions.n_rows, self.span
        scores: Float = chg.scores_from(predictions.pit)
        scores[ignored | self.is_fitting] = np.nan
        self.changes = chg.watch(changes, np.concatenate([scores, predictions.mean], axis=1), self.span)
        self.span = self.span._replace(first=first + n, times=None if times is None else times[n:])
