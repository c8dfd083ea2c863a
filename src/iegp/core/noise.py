"""Learning the noise level of every expert while it predicts.

A belief works in units of the noise, so its normalised innovations ``e²/v`` do not depend on the noise level, and the noise
can be learned from them afterwards by the conjugate inverse-gamma: ``noise ~ IG(shape, scale)``. Before each row shape
and scale are multiplied by the *forgetting* factor (1 is exact Bayes, less lets the noise drift), and the
predictive is a Student-t. Several factors, and *fixed* noise (a Gaussian predictive), share one belief: a ladder of
them costs no linear algebra.

The shape is a function of the row count alone: the experts of one rung share it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.numerics import NOISE_FLOOR
from iegp.typing import Bool, Float, Int

# Exact Bayes (forgetting 1) starts with the weight of this many rows on the warm-up's noise level.
START_ROWS = 10.0


class Noise(NamedTuple):
    """What is known about the noise; ``inf`` as shape means that the level is fixed."""

    shape: Float
    """(n_rungs,): inverse-gamma shape of each rung of the ladder."""
    scale: Float
    """(n_experts, D): inverse-gamma scale, or the noise variance itself where it is fixed."""


def start(forgetting: Float, rung_of: Int, noise_var: Float) -> Noise:
    """Before any row. ``forgetting`` (n_rungs,) has NaN for fixed noise; ``noise_var`` is (n_experts, D).

    With forgetting below one the shape starts where it would settle, so the tails are the same from the first row on.
    """
    with np.errstate(divide="ignore"):
        rows = np.where(forgetting < 1.0, 1.0 / (1.0 - forgetting), START_ROWS)
    shape = np.where(np.isnan(forgetting), np.inf, 0.5 * rows)
    factor = np.where(np.isinf(shape), 1.0, shape)[rung_of]
    return Noise(shape, noise_var * factor[:, None])


def level(noise: Noise, rung_of: Int) -> Float:
    """Current noise variance (n_experts, D) in the units of the beliefs' targets."""
    shape = noise.shape[rung_of][:, None]
    return np.where(np.isinf(shape), noise.scale, noise.scale / np.where(np.isinf(shape), 1.0, shape))


def degrees_of_freedom(noise: Noise, forgetting: Float) -> Float:
    """Degrees of freedom (n_rungs,) of the next prediction; ``inf`` is Gaussian."""
    return np.where(np.isinf(noise.shape), np.inf, 2.0 * noise.shape * np.where(np.isnan(forgetting), 1.0, forgetting))


@compiled
def score_rows(
    means: Float,
    variances: Float,
    y: Float,
    belief_of: Int,
    rung_of: Int,
    forgetting: Float,
    shape: Float,
    scale: Float,
    alive: Bool,
    log_scores: Float,
    scales: Float,
    dof: Float,
) -> None:
    """Score every expert's prediction of every row, then learn the noise from it; ``shape`` and ``scale`` in place.

    ``means`` (beliefs, n, D) and ``variances`` (beliefs, n) come from the blocks. Writes ``log_scores`` (n, experts),
    summed over outputs, the predictive ``scales`` (n, experts, D) and ``dof`` (n, rungs).
    """
    n, n_outputs = y.shape
    n_rungs = shape.size
    normaliser = np.empty(n_rungs)
    for t in range(n):
        for k in range(n_rungs):
            if math.isinf(shape[k]):
                dof[t, k] = math.inf
                normaliser[k] = -0.5 * math.log(2.0 * math.pi)
            else:
                shape[k] *= forgetting[k]
                nu = 2.0 * shape[k]
                dof[t, k] = nu
                normaliser[k] = math.lgamma(0.5 * (nu + 1.0)) - math.lgamma(0.5 * nu) - 0.5 * math.log(math.pi * nu)
        for e in range(belief_of.size):
            if not alive[e]:
                log_scores[t, e] = -math.inf
                for d in range(n_outputs):
                    scales[t, e, d] = 1.0
                continue
            k, b = rung_of[e], belief_of[e]
            variance = variances[b, t]
            nu = dof[t, k]
            total = 0.0
            for d in range(n_outputs):
                residual = y[t, d] - means[b, t, d]
                # Bounded, so that one absurd label cannot turn the noise into infinity for ever.
                square = min(residual * residual / variance, 1.0e300)
                if math.isinf(nu):
                    noise = scale[e, d]
                    total += normaliser[k] - 0.5 * (math.log(noise * variance) + square / noise)
                else:
                    scale[e, d] *= forgetting[k]
                    noise = scale[e, d] / shape[k]
                    total += (
                        normaliser[k]
                        - 0.5 * math.log(noise * variance)
                        - 0.5 * (nu + 1.0) * math.log1p(square / (nu * noise))
                    )
                    scale[e, d] = max(scale[e, d] + 0.5 * square, NOISE_FLOOR * (shape[k] + 0.5))
                scales[t, e, d] = math.sqrt(noise * variance)
            log_scores[t, e] = total
        for k in range(n_rungs):
            if not math.isinf(shape[k]):
                shape[k] += 0.5
