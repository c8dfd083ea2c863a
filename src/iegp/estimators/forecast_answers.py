"""Forecasts that wait for their labels, and what is learned from them: widths of intervals, dependence of horizons.

All of it is of constant size: the last ``horizon`` origins, one width per horizon, one matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from iegp.core.compute.tolerances import DEPENDENCE_ORIGINS, INTERVAL_STEP, LARGEST_NORMAL_SCORE, MOST_WIDENING
from iegp.storage.schema import LARGEST_FLOAT, Field, Rule
from iegp.typing import Float

FIELDS = ("mean", "lower", "upper", "score", "y", "width")
"""Columns of an answer: mean and interval of the model, normal score of the label, label, factor of the interval."""
MEAN, LOWER, UPPER, SCORE, LABEL, WIDTH = range(len(FIELDS))


class PastAnswers(NamedTuple):
    """What follows from earlier forecasts; arrays are never changed in place."""

    open: Float
    """(horizon, horizon, fields): of the newest origins, oldest first, by horizon; NaN where a label is not known."""
    width: Float
    """(horizon,): factor by which intervals are wider than those of the models."""
    moments: Float
    """(horizon, horizon): second moments of the normal scores of labels, by horizon."""

    @property
    def correlation(self) -> Float:
        """(horizon, horizon): dependence between the horizons of one forecast."""
        std = np.sqrt(np.diag(self.moments))
        return np.asarray(self.moments / np.outer(std, std))


def no_answers(horizon: int) -> PastAnswers:
    """Before the first row; the dependence is that of a random walk."""
    ahead = np.arange(1.0, horizon + 1.0)
    walk = np.sqrt(np.minimum.outer(ahead, ahead) / np.maximum.outer(ahead, ahead))
    return PastAnswers(np.full((horizon, horizon, len(FIELDS)), np.nan), np.ones(horizon), walk)


def normal_scores(pit: Float) -> Float:
    """Standard normal values of the same probabilities."""
    bound = ndtr(LARGEST_NORMAL_SCORE)
    return np.asarray(ndtri(np.clip(pit, 1.0 - bound, bound)))


def arrive(answers: PastAnswers, new: Float, n_before: int, level: float) -> tuple[PastAnswers, Float]:
    """Add what the models say of rows whose labels arrive; return also the answers of the origins that are complete.

    ``new`` (n, horizon, fields) has, for each row that arrives and each horizon, the answer given so many rows before;
    ``n_before`` rows came before them. Origins are complete in order, one for each row after the first ``horizon``.
    """
    horizon, n = len(answers.width), len(new)
    table = np.concatenate([answers.open, np.full((n, *answers.open.shape[1:]), np.nan)])
    ahead, width, moments = np.arange(horizon), answers.width, answers.moments
    for i in range(n):
        origins = horizon + i - 1 - ahead
        # Before any label was known there was nothing to say.
        known = n_before + i - ahead - 1 > ahead
        table[origins, ahead, :WIDTH] = new[i, :, :WIDTH]
        width = np.where(known, _adapted(width, table[origins, ahead], level), width)
        table[horizon + i, :, WIDTH] = width
        n_complete = n_before + i + 1 - 2 * horizon
        if n_complete > 0:
            share = 1.0 / min(n_complete + horizon, DEPENDENCE_ORIGINS)
            scores = table[i, :, SCORE]
            moments = moments + share * (np.outer(scores, scores) - moments)
    return PastAnswers(table[n:], width, moments), table[max(0, horizon - n_before) : n]


def _adapted(width: Float, given: Float, level: float) -> Float:
    """Wider after a label outside the interval given, a little narrower after one inside: ``level`` in the long run."""
    lower, upper = widened(given)
    outside = (given[:, LABEL] < lower) | (given[:, LABEL] > upper)
    step = np.exp(INTERVAL_STEP * (outside - (1.0 - level)))
    return np.asarray(np.clip(width * step, 1.0 / MOST_WIDENING, MOST_WIDENING))


def widened(given: Float) -> tuple[Float, Float]:
    """Ends of the intervals that were given."""
    mean, width = given[..., MEAN], given[..., WIDTH]
    return mean + width * (given[..., LOWER] - mean), mean + width * (given[..., UPPER] - mean)


def drawn(answers: PastAnswers, n: int, horizon: int, generator: np.random.Generator) -> Float:
    """(n, horizon): probabilities, uniform for each horizon, as dependent as the labels of earlier forecasts were."""
    correlation = answers.correlation[:horizon, :horizon]
    values, vectors = np.linalg.eigh(correlation)
    # The symmetric root: that of the vectors alone has signs that differ between machines.
    root = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    return np.asarray(ndtr(generator.standard_normal((n, horizon)) @ root))


def answers_schema(horizon: int, n_seen: int) -> dict[str, Field]:
    """What :class:`PastAnswers` must be after ``n_seen`` rows; early in a series answers may still be missing."""
    origin, ahead = np.indices((horizon, horizon))
    is_known = (origin + ahead < horizon - 1)[..., None] & (np.arange(len(FIELDS)) != WIDTH)
    is_settled = n_seen > 3 * horizon

    def are_known(table: NDArray[np.floating]) -> NDArray[np.bool_]:
        as_wanted = np.isfinite(table) == (is_known | (np.arange(len(FIELDS)) == WIDTH))
        return np.asarray(as_wanted | (not is_settled))

    least, most = np.full(len(FIELDS), -LARGEST_FLOAT), np.full(len(FIELDS), LARGEST_FLOAT)
    least[[SCORE, WIDTH]], most[[SCORE, WIDTH]] = (-_FARTHEST, 1.0 / MOST_WIDENING), (_FARTHEST, MOST_WIDENING)
    return {
        "open": Field((horizon, horizon, len(FIELDS)), least, most, gaps=True, rules=(Rule("be known", are_known),)),
        "width": Field((horizon,), 1.0 / MOST_WIDENING, MOST_WIDENING),
        "moments": Field((horizon, horizon), rules=(Rule("be second moments", _are_moments),)),
    }


# Rounding of the largest score.
_FARTHEST = LARGEST_NORMAL_SCORE * (1.0 + 1e-6)


def _are_moments(moments: NDArray[np.floating]) -> bool:
    """Symmetric, and no dependence beyond one."""
    squares = np.diag(moments)
    if not np.all((squares > 0.0) & (squares <= _FARTHEST**2)):
        return False
    dependence = moments / np.sqrt(np.outer(squares, squares))
    return bool(np.all(np.abs(dependence) <= 1.0 + 1e-6) and np.allclose(dependence, dependence.T, rtol=0.0, atol=1e-6))
