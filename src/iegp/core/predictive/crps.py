"""Continuous ranked probability score of mixtures: closed form for Gaussian components, quadrature for the others."""

from __future__ import annotations

import math

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.tolerances import (
    CRPS_CANCELLATION,
    CRPS_MAX_HALVINGS,
    CRPS_MAX_PANELS,
    CRPS_PANEL_TOLERANCE,
    CRPS_TAIL_TOLERANCE,
    NO_DENSITY,
)
from iegp.core.predictive.components import DOF, LOC, LOG_NORM, SCALE, WEIGHT, cdf_pdf_slope, gather
from iegp.core.predictive.student import student_cdf_pdf
from iegp.typing import Float

# Gauss-Kronrod rule on [-1, 1], 7 and 15 points: node, Kronrod weight, Gauss weight (0 where Gauss has no node).
_KRONROD = np.array(
    [
        (0.991455371120812639206854697526329, 0.022935322010529224963732008058970, 0.0),
        (0.949107912342758524526189684047851, 0.063092092629978553290700663189204, 0.129484966168869693270611432679082),
        (0.864864423359769072789712788640926, 0.104790010322250183839876322541518, 0.0),
        (0.741531185599394439863864773280788, 0.140653259715525918745189590510238, 0.279705391489276667901467771423780),
        (0.586087235467691130294144691693013, 0.169004726639267902826583426598550, 0.0),
        (0.405845151377397166906606412076961, 0.190350578064785409913256402421014, 0.381830050505118944950369775488975),
        (0.207784955007898467600689403773245, 0.204432940075298892414161999234649, 0.0),
        (0.000000000000000000000000000000000, 0.209482141084727828012999174891714, 0.417959183673469387755102040816327),
    ]
)


@compiled
def crps_rows(weights: Float, loc: Float, scale: Float, dof: Float, y: Float) -> Float:
    n, n_experts, n_outputs = loc.shape
    out = np.empty((n, n_outputs))
    table = np.empty((n_experts, 5))
    stack = np.empty((CRPS_MAX_HALVINGS + 2, 2))
    for i in range(n):
        for d in range(n_outputs):
            parts = gather(weights[i], loc[i, :, d], scale[i, :, d], dof[i, :, d], 0.0, table)
            out[i, d] = _crps_one(parts, y[i, d], stack)
    return out


@compiled
def _crps_one(parts: Float, y: float, stack: Float) -> float:
    if not abs(y) < math.inf or np.min(parts[:, DOF]) <= 0.5:
        return abs(y) + math.inf  # infinite, and NaN stays NaN
    if np.min(parts[:, DOF]) == math.inf:
        distance, score = _crps_gaussian(parts, y)
        if score > CRPS_CANCELLATION * distance:
            return score
    return _crps_integral(parts, y, stack)


@compiled
def _crps_gaussian(parts: Float, y: float) -> tuple[float, float]:
    """Compute ``E|Y - y|`` and the score ``E|Y - y| - E|Y - Y'| / 2`` of a Gaussian mixture."""
    distance, diversity = 0.0, 0.0
    for j in range(parts.shape[0]):
        distance += parts[j, WEIGHT] * _mean_absolute(y - parts[j, LOC], parts[j, SCALE])
        for k in range(j + 1):
            pair = _mean_absolute(parts[j, LOC] - parts[k, LOC], math.hypot(parts[j, SCALE], parts[k, SCALE]))
            diversity += (1.0 if k < j else 0.5) * parts[j, WEIGHT] * parts[k, WEIGHT] * pair
    return distance, distance - diversity


@compiled
def _mean_absolute(mean: float, std: float) -> float:
    """Compute ``E|Z|`` of a Gaussian."""
    r = mean / std
    density = math.exp(-0.5 * r * r) if abs(r) < NO_DENSITY else 0.0
    return std * math.sqrt(2.0 / math.pi) * density + mean * math.erf(r * math.sqrt(0.5))


@compiled
def _crps_integral(parts: Float, y: float, stack: Float) -> float:
    """Integrate F² below y and (1 - F)² above: the second is the first of the mirror image.

    The larger of the two comes first, because the tolerances are relative to the sum so far.
    """
    side = 1.0 if cdf_pdf_slope(y, parts)[0] >= 0.5 else -1.0
    total = 0.0
    for turn in (side, -side):
        parts[:, LOC] *= turn
        total = _add_tail(parts, turn * y, total, stack)
        parts[:, LOC] *= turn
    return total


@compiled
def _add_tail(parts: Float, y: float, total: float, stack: Float) -> float:
    """Add to ``total`` the integral of F² over ``x = y - unit sinh(u)``, u from 0 until the rest is negligible."""
    unit = np.sum(parts[:, WEIGHT] * parts[:, SCALE])
    rest = math.inf
    for panel in range(CRPS_MAX_PANELS):
        total = _add_panel(parts, y, unit, float(panel), total, stack)
        rest = _rest_of_tail(parts, y - unit * math.sinh(panel + 1.0))
        if rest <= CRPS_TAIL_TOLERANCE * total:
            return total
    return total + rest  # only with less than 0.53 degrees of freedom; the bound is then also a good estimate


@compiled
def _add_panel(parts: Float, y: float, unit: float, first: float, total: float, stack: Float) -> float:
    """Add to ``total`` the integral over ``first <= u <= first + 1``, halved wherever the two rules disagree.

    The integrand is a square of a monotone function: a step of F cannot hide between the nodes.
    """
    stack[0, 0], stack[0, 1] = first, 1.0
    size = 1
    while size > 0:
        size -= 1
        start, width = stack[size, 0], stack[size, 1]
        fine, coarse = _gauss_kronrod(parts, y, unit, start, width)
        if abs(fine - coarse) <= CRPS_PANEL_TOLERANCE * (total + fine) or width < 2.0**-CRPS_MAX_HALVINGS:
            total += fine
        else:
            half = 0.5 * width
            stack[size, 0], stack[size, 1] = start + half, half
            stack[size + 1, 0], stack[size + 1, 1] = start, half
            size += 2
    return total


@compiled
def _gauss_kronrod(parts: Float, y: float, unit: float, start: float, width: float) -> tuple[float, float]:
    """Integrate F² dx over a piece of u, by 15 points and by the 7 of them that make a Gauss rule."""
    fine, coarse = 0.0, 0.0
    half = 0.5 * width
    for j in range(2 * len(_KRONROD) - 1):
        row = min(j, 2 * len(_KRONROD) - 2 - j)
        offset = -_KRONROD[row, 0] if j == row else _KRONROD[row, 0]
        u = start + half + half * offset
        cdf = cdf_pdf_slope(y - unit * math.sinh(u), parts)[0]
        value = half * unit * math.cosh(u) * cdf * cdf
        fine += _KRONROD[row, 1] * value
        coarse += _KRONROD[row, 2] * value
    return fine, coarse


@compiled
def _rest_of_tail(parts: Float, x: float) -> float:
    """Bound the integral of F² below x from above; infinite while x is not yet in every component's lower tail.

    Below r a Student-t falls at least as fast as the power ``p = |r| pdf / cdf``, so that its square integrates to at
    most ``cdf² |r| / (2p - 1)``; by Minkowski's inequality the roots of these bounds add up.
    """
    root = 0.0
    for j in range(parts.shape[0]):
        r = (x - parts[j, LOC]) / parts[j, SCALE]
        if r > -1.0:
            return math.inf
        cdf, pdf = student_cdf_pdf(r, parts[j, DOF], parts[j, LOG_NORM])
        if cdf > 0.0:
            excess = -2.0 * r * pdf / cdf - 1.0
            if excess <= 0.0:
                return math.inf
            root += parts[j, WEIGHT] * cdf * math.sqrt(-r * parts[j, SCALE] / excess)
    return root * root
