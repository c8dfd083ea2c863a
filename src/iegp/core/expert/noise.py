"""The noise models: how every expert learns its noise level while it predicts.

A belief works in units of the noise, so its normalised innovations ``e²/v`` do not depend on the noise level, which can
be learned from them afterwards. Each noise model does that in its own way; all of them share one belief, so that
several cost no linear algebra.

- *fixed*: the noise stays where it started (the paper); a Gaussian predictive.
- *conjugate*: ``noise ~ InverseGamma(shape, scale)``. Before each row both are multiplied by the forgetting factor (1
  is exact Bayes, less lets the noise drift), or by what elapsed time makes of it (:func:`share_kept`); the predictive
  is a Student-t with 2 shape degrees of freedom. The shape depends on the row count alone, and on elapsed time.
- *heavy-tailed*: the noise itself is Student-t with a given number of degrees of freedom ``nu``. Its squared scale
  follows the rows by one step of expectation-maximisation with forgetting: a row far out counts little,
  ``(nu + 1) / (nu + e²/(v scale))``, so single outliers neither widen the intervals nor are a surprise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from iegp._compile import compiled
from iegp.core.compute.tolerances import LARGEST_SQUARE, NOISE_FLOOR, START_ROWS, STIRLING_FROM
from iegp.core.expert.sweep import Workspace
from iegp.core.predictive.student import student_log_kernel, student_log_normaliser
from iegp.core.state import Ensemble, State
from iegp.typing import Float, Int


class Noise(NamedTuple):
    """What is known about the noise; ``inf`` as shape means that the level is fixed."""

    shape: Float
    """(n_noise,): inverse-gamma shape of conjugate noise models, ``inf`` for the others."""
    scale: Float
    """(n_experts, D): inverse-gamma scale; for the other noise models the squared scale of the noise itself."""


def start(forgetting: Float, tails: Float, noise_of: Int, noise_var: Float) -> Noise:
    """Before any row. ``forgetting`` and ``tails`` (n_noise,) have NaN for *fixed* and *not heavy-tailed*.

    ``noise_var`` is (n_experts, D). With forgetting below one the shape starts where it would settle, so the tails are
    the same from the first row on.
    """
    with np.errstate(divide="ignore"):
        rows = np.where(forgetting < 1.0, 1.0 / (1.0 - forgetting), START_ROWS)
    conjugate = ~np.isnan(forgetting) & np.isnan(tails)
    shape = np.where(conjugate, 0.5 * rows, np.inf)
    factor = np.where(conjugate, 0.5 * rows, 1.0 / _inflation(tails))
    return Noise(shape, noise_var * factor[noise_of, None])


@compiled
def squared_scale(scale: float, shape: float) -> float:
    """Squared scale of the noise in the next prediction."""
    return scale if math.isinf(shape) else scale / shape


@compiled
def next_dof(shape: float, forgetting: float, tail: float, steps: float = 1.0) -> float:
    """Degrees of freedom of a prediction so many steps ahead; ``inf`` is Gaussian."""
    if not math.isnan(tail):
        return tail
    return shape if math.isinf(shape) else 2.0 * shape * share_kept(shape, forgetting, steps)


@compiled
def share_kept(shape: float, forgetting: float, steps: float) -> float:
    """What is left of the confidence in a noise level, its shape, after so many steps; the level itself stays.

    ``forgetting`` to the power of ``steps``, but a long gap leaves no less than what the first row starts from:
    otherwise the tails would widen without end.
    """
    if steps == 1.0:
        return forgetting
    first = 0.5 * forgetting / (1.0 - forgetting) if forgetting < 1.0 else shape
    return max(math.pow(forgetting, steps), min(1.0, first / shape))


def level(noise: Noise, tails: Float, noise_of: Int) -> Float:
    """Noise variance (n_experts, D) as it is known now."""
    shape = noise.shape[noise_of][:, None]
    return np.asarray(noise.scale / np.where(np.isinf(shape), 1.0, shape) * _inflation(tails)[noise_of, None])


def _inflation(tails: Float) -> Float:
    """Variance of heavy-tailed noise of unit scale; where that is infinite or the noise is not heavy-tailed, one."""
    return np.where(tails > 2.0, tails / np.where(tails > 2.0, tails - 2.0, 1.0), 1.0)


@compiled
def score_rows(ensemble: Ensemble, state: State, work: Workspace) -> None:
    """Score every expert's prediction of every row, then learn the noise from it; ``state`` is updated in place.

    Writes the log scores (n, experts), summed over outputs, the predictive scales (n, experts, D) and the degrees of
    freedom (n, noise models) to ``work``.
    """
    means, variances, y, alive = work.means, work.variances, work.y, work.active.experts
    log_scores, scales, dof = work.log_scores, work.scales, work.dof
    forgetting, tails, shape, scale = ensemble.forgetting, ensemble.tails, state.noise_shape, state.noise_scale
    n, n_outputs = y.shape
    n_noise = shape.size
    normaliser, kept = np.empty(n_noise), np.empty(n_noise)
    for t in range(n):
        for k in range(n_noise):
            if not math.isinf(shape[k]):
                kept[k] = share_kept(shape[k], forgetting[k], work.steps[t])
                shape[k] *= kept[k]
            dof[t, k] = 2.0 * shape[k] if math.isnan(tails[k]) else tails[k]
            normaliser[k] = student_log_normaliser(dof[t, k])
        for e in range(alive.size):
            log_scores[t, e] = 0.0 if alive[e] else -math.inf
            b, k = e // n_noise, e % n_noise
            for d in range(n_outputs):
                if not alive[e]:
                    scales[t, e, d] = 1.0
                    continue
                if not math.isinf(shape[k]):
                    scale[e, d] *= kept[k]
                    noise = scale[e, d] / shape[k]
                else:
                    noise = scale[e, d]
                residual = y[t, d] - means[b, t, d]
                spread = math.sqrt(noise * variances[b, t])
                scales[t, e, d] = spread
                log_scores[t, e] += normaliser[k] + student_log_kernel(residual, spread, dof[t, k])
                # Bounded, so that no label makes the noise infinite for good.
                square = min(residual * residual / variances[b, t], LARGEST_SQUARE)
                scale[e, d] = _learned(scale[e, d], square, shape[k], forgetting[k], tails[k])
        for k in range(n_noise):
            if not math.isinf(shape[k]):
                shape[k] += 0.5


@compiled
def score_ahead(ensemble: Ensemble, state: State, work: Workspace, t: int, log_scores: Float, squares: Float) -> None:
    """Score every expert's prediction of row ``t``, ``work.steps[t]`` ahead, without learning from it.

    Writes the log scores (experts,) and the squared errors over their variances (beliefs, D), and the predictive scales
    and degrees of freedom to ``work``.
    """
    n_noise, n_outputs = ensemble.forgetting.size, work.y.shape[1]
    for k in range(n_noise):
        work.dof[t, k] = next_dof(state.noise_shape[k], ensemble.forgetting[k], ensemble.tails[k], work.steps[t])
    for e in range(log_scores.size):
        b, k = e // n_noise, e % n_noise
        if not work.active.experts[e]:
            log_scores[e] = -math.inf
            work.scales[t, e] = 1.0
            continue
        log_scores[e] = 0.0
        for d in range(n_outputs):
            level = squared_scale(state.noise_scale[e, d], state.noise_shape[k])
            residual, variance = work.y[t, d] - work.means[b, t, d], work.variances[b, t]
            spread = math.sqrt(level * variance)
            work.scales[t, e, d] = spread
            squares[b, d] = min(residual * residual / variance, LARGEST_SQUARE)
            dof = work.dof[t, k]
            log_scores[e] += student_log_normaliser(dof) + student_log_kernel(residual, spread, dof)


@compiled
def learn_arrived(ensemble: Ensemble, state: State, work: Workspace, t: int, answered: Float) -> None:
    """Learn the noise from a label that arrived, and score the prediction that was made one row ahead of it.

    Conjugate noise learns from that prediction, heavy-tailed noise from the answer that was given, ``answered``
    (beliefs, D). Writes the log scores to row ``t`` of ``work``.
    """
    forgetting, tails, shape, scale = ensemble.forgetting, ensemble.tails, state.noise_shape, state.noise_scale
    n_noise = shape.size
    kept = np.empty(n_noise)
    for k in range(n_noise):
        if not math.isinf(shape[k]):
            kept[k] = share_kept(shape[k], forgetting[k], work.steps[t])
            shape[k] *= kept[k]
    for e in range(work.active.experts.size):
        b, k = e // n_noise, e % n_noise
        work.log_scores[t, e] = 0.0 if work.active.experts[e] else -math.inf
        if not work.active.experts[e]:
            continue
        dof = 2.0 * shape[k] if math.isnan(tails[k]) else tails[k]
        for d in range(work.y.shape[1]):
            if not math.isinf(shape[k]):
                scale[e, d] *= kept[k]
            residual, variance = work.y[t, d] - work.means[b, t, d], work.variances[b, t]
            spread = math.sqrt(squared_scale(scale[e, d], shape[k]) * variance)
            work.log_scores[t, e] += student_log_normaliser(dof) + student_log_kernel(residual, spread, dof)
            square = min(residual * residual / variance, LARGEST_SQUARE)
            if not math.isnan(tails[k]):
                square = answered[b, d]
            if not math.isnan(square):
                scale[e, d] = _learned(scale[e, d], square, shape[k], forgetting[k], tails[k])
    for k in range(n_noise):
        if not math.isinf(shape[k]):
            shape[k] += 0.5


@compiled
def _learned(scale: float, square: float, shape: float, forgetting: float, tail: float) -> float:
    """The scale after a row with normalised squared innovation ``square``."""
    if not math.isinf(shape):
        return max(scale + 0.5 * square, NOISE_FLOOR * (shape + 0.5))
    if math.isnan(tail):
        return scale
    return heavy_tailed(scale, square, forgetting, tail, 1.0)


@compiled
def heavy_tailed(scale: float, square: float, forgetting: float, tail: float, n_rows: float) -> float:
    """The squared scale of heavy-tailed noise after so many rows like this one."""
    weight = (tail + 1.0) / (tail + square / scale)
    kept = forgetting if n_rows == 1.0 else forgetting**n_rows
    return max(kept * scale + (1.0 - kept) * weight * square, NOISE_FLOOR)


# -- what the noise contributes to an expert's marginal likelihood ---------------------------------------------------

# For noise that is fixed or learned without forgetting. With determinants left aside, n rows with the sum of squared
# normalised innovations s have the log likelihood ``-n/2 log(noise) - s / (2 noise)`` if the noise is fixed, and
# ``G(shape + n/2, scale + s/2) - G(shape, scale)`` with ``G(a, b) = lgamma(a) - a log(b)`` if it is inverse-gamma.
# (Both without ``n/2 log(2 pi)``, which all experts share.)


def learned_evidence(shape: Float, scale: Float, reference: Float) -> Float:
    """``G(shape, scale) + shape log(reference)``: with a reference near the noise level, a small number.

    G itself grows like the number of rows times its logarithm, and differences of it would lose digits.
    """
    return _stirling_remainder(shape) - shape - shape * np.log(scale / (shape * reference))


def _stirling_remainder(shape: Float) -> Float:
    """``lgamma(a) - a log(a) + a``."""
    few = np.minimum(shape, STIRLING_FROM)
    many = np.maximum(shape, STIRLING_FROM)
    series = 0.5 * np.log(2.0 * np.pi / many) + 1.0 / (12.0 * many) - 1.0 / (360.0 * many**3)
    return np.where(shape < STIRLING_FROM, gammaln(few) - few * np.log(few) + few, series)
