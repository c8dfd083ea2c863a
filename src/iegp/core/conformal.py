"""Intervals that keep their level: adaptive conformal prediction on the quantiles of the ensemble.

Every label has a *score*: the normal quantile of its PIT, which is standard normal where predictions are calibrated.
An interval is ``shift - reach`` to ``shift + reach`` on that scale, so that nothing depends on units. Three numbers are
tracked for every level and output, each when a label arrives:

- ``reach``: the quantile of ``|score - shift|`` at the level, by online gradient descent on the pinball loss;
- ``shift``: moved towards the end that is missed more often, and back by a share of itself: that both ends are missed
  equally often is wide where one tail is long;
- ``debt``: misses so far beyond what the level allows. An interval reaches farther by a share of it, the larger the
  more there are, so that the long-run coverage is the level whatever the labels do, as long as misses end sometime.

Far in the tails a bound is a multiple of the distance between the median and a quantile, so that it is always finite.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.normal import normal_cdf, normal_quantile
from iegp.core.compute.tolerances import (
    DEBT_GAIN,
    DEBT_PER_DELAY,
    FARTHEST_QUANTILE,
    FARTHEST_SCORE,
    LARGEST_CORRECTION,
    LARGEST_DEBT,
    LEAST_SCORE_STEP,
    LOG_GROWTH,
    NEGLIGIBLE_TAIL_SHARE,
    SCORE_STEP,
    SCORE_STEP_ROWS,
    SHIFT_RETURN,
    USUAL_DEBT,
)
from iegp.core.predictive.components import Components, gather
from iegp.core.predictive.quantiles import quantile_of
from iegp.errors import InputError
from iegp.typing import Float

REACH, SHIFT, DEBT, COUNT = range(4)
# Tail probability beyond which scores are found by distance.
FARTHEST_TAIL = 0.5 * math.erfc(FARTHEST_QUANTILE * math.sqrt(0.5))


class Conformal(NamedTuple):
    """What is tracked; never changed in place. Of n rows, those that wait for their labels are the last."""

    levels: Float
    """(L,), increasing."""
    track: Float
    """(L, D, 4): reach, shift, debt, and the number of labels scored."""
    waiting: Float
    """(k, D, 1 + L): answers to rows whose labels have not arrived: score, NaN if it does not count, and for every
    level whether the label lies below the interval (-1), in it (0) or above (1)."""

    def number_of(self, level: float) -> int:
        """The place of a level."""
        places = np.flatnonzero(self.levels == level)
        if not len(places):
            known = ", ".join(f"{own:g}" for own in self.levels)
            raise InputError(
                f"level={level!r} is not among the levels that intervals keep ({known}); they are fixed when a model "
                "starts: name it in conformal_levels"
            )
        return int(places[0])


def begin(levels: tuple[float, ...], n_outputs: int) -> Conformal:
    """Before any label: the intervals of the ensemble."""
    track = np.zeros((len(levels), n_outputs, 4))
    track[:, :, REACH] = [[NormalDist().inv_cdf(0.5 + 0.5 * level)] for level in levels]
    return Conformal(np.array(levels), track, np.empty((0, n_outputs, 1 + len(levels))))


def follow(conformal: Conformal, scores: Float, delay: int, place: int = -1) -> tuple[Conformal, Float]:
    """Answer rows and learn from the labels that arrive meanwhile, in order.

    ``scores`` (n, D) of the labels are NaN where they do not count. Also returns the ends (n, D, 2) of the intervals of
    the level at ``place``, as scores.
    """
    track, ends = conformal.track.copy(), np.empty((len(scores), scores.shape[1], 2))
    new = np.zeros((len(scores), *conformal.waiting.shape[1:]))
    new[:, :, 0] = scores
    rows = np.concatenate([conformal.waiting, new])
    _follow(conformal.levels, track, rows, ends, delay, place)
    return conformal._replace(track=track, waiting=rows[max(len(rows) - delay, 0) :].copy()), ends


@compiled
def _follow(levels: Float, track: Float, rows: Float, ends: Float, delay: int, place: int) -> None:
    n_waiting = rows.shape[0] - ends.shape[0]
    for t in range(ends.shape[0]):
        row = rows[n_waiting + t]
        for d in range(row.shape[0]):
            for k in range(levels.size):
                low, high = ends_of(track[k, d], delay)
                row[d, 1 + k] = side_of(row[d, 0], low, high)
                if k == place:
                    ends[t, d, 0], ends[t, d, 1] = low, high
        if n_waiting + t >= delay:
            arrive(levels, track, rows[n_waiting + t - delay], delay)


@compiled
def side_of(score: float, low: float, high: float) -> float:
    """Whether a score lies below the interval (-1), in it (0) or above (1)."""
    return 1.0 if score > high else (-1.0 if score < low else 0.0)


@compiled
def ends_of(track: Float, delay: int) -> tuple[float, float]:
    """The ends of the next interval, as scores."""
    # So many misses too many or too few are usual; to compensate them at once makes intervals wide and narrow in turns.
    debt, usual = track[DEBT], USUAL_DEBT + DEBT_PER_DELAY * delay
    gain = DEBT_GAIN * abs(debt) / (abs(debt) + usual)
    correction = min(max(gain * debt, -LARGEST_CORRECTION), LARGEST_CORRECTION)
    reach = max(track[REACH] + correction, 0.0)
    return track[SHIFT] - reach, track[SHIFT] + reach


@compiled
def largest_debt(delay: int) -> float:
    """The most misses that are remembered: where labels come late, misses of one cause are as many as rows wait."""
    return LARGEST_DEBT + DEBT_PER_DELAY * delay


@compiled
def arrive(levels: Float, track: Float, answer: Float, delay: int) -> None:
    """Learn from the answer (D, 1 + L) to a row whose label has arrived."""
    most = largest_debt(delay)
    for d in range(track.shape[1]):
        score = answer[d, 0]
        if score != score:
            continue
        for k in range(levels.size):
            own, misses = track[k, d], 1.0 - levels[k]
            step = max(LEAST_SCORE_STEP, SCORE_STEP / math.sqrt(own[COUNT] + SCORE_STEP_ROWS))
            # Judged by what is known now, not by the answer: so there is no loop that a delay could make swing.
            side = side_of(score, own[SHIFT] - own[REACH], own[SHIFT] + own[REACH])
            own[REACH] = min(max(own[REACH] + step * (abs(side) - misses), 0.0), FARTHEST_SCORE)
            own[SHIFT] += step * (side - SHIFT_RETURN * own[SHIFT])
            own[DEBT] = min(max(own[DEBT] + abs(answer[d, 1 + k]) - misses, -most), most)
            own[COUNT] += 1.0


def latest(conformal: Conformal, delay: int) -> Conformal:
    """What is tracked once all labels that are waited for have arrived."""
    track = conformal.track.copy()
    for answer in conformal.waiting:
        arrive(conformal.levels, track, answer, delay)
    return conformal._replace(track=track, waiting=conformal.waiting[:0])


def next_interval(conformal: Conformal, components: Components, level: float, delay: int) -> tuple[Float, Float]:
    """Ends (n, D) of the intervals of rows that come next."""
    track = latest(conformal, delay).track[conformal.number_of(level)]
    ends = np.array([ends_of(own, delay) for own in track])
    lower, upper = bounds(components, np.tile(ends, (len(components.loc), 1, 1)))
    return lower, upper


def learn_late(conformal: Conformal, score: float, interval: tuple[float, float], y: float) -> Conformal:
    """Learn from the label of a row that was asked, for one output, and the interval that was given."""
    track = conformal.track.copy()
    arrive(conformal.levels, track, np.array([[score, *[side_of(y, *interval)] * len(conformal.levels)]]), 0)
    return conformal._replace(track=track)


# -- scores and bounds -------------------------------------------------------------------------------------------------


@compiled
def scores_of(components: Components, y: Float, pit: Float) -> Float:
    """(n, D): scores of labels with these PIT values."""
    weights, loc, scale, dof = components
    n, n_experts, n_outputs = loc.shape
    out, table = np.empty((n, n_outputs)), np.empty((n_experts, 5))
    for i in range(n):
        for d in range(n_outputs):
            if FARTHEST_TAIL < pit[i, d] < 1.0 - FARTHEST_TAIL:
                out[i, d] = normal_quantile(pit[i, d])
                continue
            floor = NEGLIGIBLE_TAIL_SHARE * FARTHEST_TAIL
            parts = gather(weights[i], loc[i, :, d], scale[i, :, d], dof[i, :, d], floor, table)
            out[i, d] = _score_by_distance(parts, y[i, d], 1.0 if pit[i, d] > 0.5 else -1.0)
    return out


@compiled
def _score_by_distance(parts: Float, y: float, side: float) -> float:
    """The score of a label far out on one side; NaN where nothing is predicted."""
    centre = quantile_of(parts, 0.5)
    unit = abs(quantile_of(parts, normal_cdf(side * FARTHEST_QUANTILE)) - centre)
    distance = abs(y - centre)
    if not distance >= 0.0 or not unit >= 0.0:
        return math.nan
    if distance <= unit:
        return side * FARTHEST_QUANTILE
    farther = math.inf if unit == 0.0 else math.log(distance / unit) / LOG_GROWTH
    return side * min(FARTHEST_QUANTILE + farther, FARTHEST_SCORE)


@compiled
def bounds(components: Components, ends: Float) -> tuple[Float, Float]:
    """Labels (n, D) that have the scores ``ends`` (n, D, 2)."""
    weights, loc, scale, dof = components
    n, n_experts, n_outputs = loc.shape
    lower, upper = np.empty((n, n_outputs)), np.empty((n, n_outputs))
    table = np.empty((n_experts, 5))
    floor = NEGLIGIBLE_TAIL_SHARE * FARTHEST_TAIL
    for i in range(n):
        for d in range(n_outputs):
            parts = gather(weights[i], loc[i, :, d], scale[i, :, d], dof[i, :, d], floor, table)
            lower[i, d] = _label_at(parts, ends[i, d, 0])
            upper[i, d] = _label_at(parts, ends[i, d, 1])
    return lower, upper


@compiled
def _label_at(parts: Float, score: float) -> float:
    if abs(score) <= FARTHEST_QUANTILE:
        return quantile_of(parts, normal_cdf(score))
    centre = quantile_of(parts, 0.5)
    end = quantile_of(parts, normal_cdf(math.copysign(FARTHEST_QUANTILE, score)))
    farther = min(abs(score), FARTHEST_SCORE) - FARTHEST_QUANTILE
    return centre + (end - centre) * math.exp(LOG_GROWTH * farther)
