"""The components of a mixture; of one row and output, a small table of those that matter, and its distribution."""

from __future__ import annotations

import math
from typing import NamedTuple

from iegp._compile import compiled
from iegp.core.predictive.student import student_cdf_pdf, student_log_normaliser
from iegp.typing import Float


class Components(NamedTuple):
    """Arrays of a mixture of n rows, M experts, D outputs, for compiled code; see :class:`.mixture.Mixture`."""

    weights: Float
    """(n, M)"""
    loc: Float
    """(n, M, D)"""
    scale: Float
    """(n, M, D)"""
    dof: Float
    """(n, M, D)"""


# Columns of the small table of the components that matter in one row and output.
WEIGHT, LOC, SCALE, DOF, LOG_NORM = 0, 1, 2, 3, 4


@compiled
def heavier_than(floor: float, weights: Float, columns: tuple[Float, ...], table: Float) -> Float:
    """Copy the components of one row heavier than ``floor`` to rows of ``table``; return a view of these.

    The first column has the weights (M,), normalised, those after it what ``columns``, each (M,), have.
    """
    count, total = 0, 0.0
    for m in range(weights.size):
        if weights[m] > floor:
            table[count, 0] = weights[m]
            for c in range(len(columns)):
                table[count, 1 + c] = columns[c][m]
            total += weights[m]
            count += 1
    parts = table[:count]
    parts[:, 0] /= total
    return parts


@compiled
def gather(weights: Float, loc: Float, scale: Float, dof: Float, floor: float, table: Float) -> Float:
    """The components heavier than ``floor`` as rows of ``table`` (M, 5), for one row and output: arguments are (M,)."""
    parts = heavier_than(floor, weights, (loc, scale, dof), table)
    for j in range(parts.shape[0]):
        parts[j, LOG_NORM] = student_log_normaliser(parts[j, DOF])
    return parts


@compiled
def cdf_pdf_slope(x: float, parts: Float) -> tuple[float, float, float]:
    """Compute the distribution function of a mixture, its density, and the derivative of the density."""
    cdf, pdf, slope = 0.0, 0.0, 0.0
    for j in range(parts.shape[0]):
        weight, scale, dof = parts[j, WEIGHT], parts[j, SCALE], parts[j, DOF]
        r = (x - parts[j, LOC]) / scale
        below, density = student_cdf_pdf(r, dof, parts[j, LOG_NORM])
        cdf += weight * below
        if density > 0.0:
            density *= weight / scale
            pdf += density
            pull = r if dof == math.inf else (dof + 1.0) * r / (dof + r * r)
            slope -= density * pull / scale
    return cdf, pdf, slope


@compiled
def inflation(dof: float) -> float:
    """Compute the variance of a Student-t of unit scale."""
    if dof <= 2.0:
        return math.inf
    return 1.0 + 2.0 / (dof - 2.0)
