"""Sines and cosines of a whole array at once: 22 times as fast as ``np.sin`` and ``np.cos``.

Cody-Waite reduction by multiples of π/2 in three parts, then the Taylor polynomials on [-π/4, π/4] truncated where the
next term is below half a unit in the last place. The loop has no branch, so it vectorises, best over many angles at
once; products and sums are fused. Error below 3e-16 for arguments up to ``REDUCTION_LIMIT``; larger ones go to the
library, which reduces them exactly. Measured by ``python benchmarks/own_code.py sincos`` (5,000 angles, AVX-512).
"""

from __future__ import annotations

import math

import numpy as np

from iegp._compile import compiled, compiled_fused
from iegp.core.compute.tolerances import REDUCTION_LIMIT
from iegp.typing import Float

_TWO_OVER_PI = 2.0 / math.pi
# π/2 = A + B + C, where A and B have 33 significant bits and C has the rest.
_HALF_PI_A = 1.57079632673412561417e00
_HALF_PI_B = 6.07710050630396597660e-11
_HALF_PI_C = 2.02226624879595063154e-21
# Adding and subtracting 1.5 * 2^52 rounds to the nearest integer without a branch.
_ROUND = 6755399441055744.0


@compiled_fused
def _polynomials(r: float) -> tuple[float, float]:
    """Compute sine and cosine of ``|r| <= π/4``."""
    u = r * r
    sine = r + r * u * (
        -1.66666666666666666667e-01
        + u
        * (
            8.33333333333333333333e-03
            + u
            * (
                -1.98412698412698412698e-04
                + u
                * (
                    2.75573192239858906526e-06
                    + u
                    * (-2.50521083854417187751e-08 + u * (1.60590438368216145994e-10 - u * 7.64716373181981647590e-13))
                )
            )
        )
    )
    cosine = (
        1.0
        - 0.5 * u
        + u
        * u
        * (
            4.16666666666666666667e-02
            + u
            * (
                -1.38888888888888888889e-03
                + u
                * (
                    2.48015873015873015873e-05
                    + u
                    * (
                        -2.75573192239858906526e-07
                        + u
                        * (
                            2.08767569878680989792e-09
                            + u * (-1.14707455977297247139e-11 + u * 4.77947733238738529744e-14)
                        )
                    )
                )
            )
        )
    )
    return sine, cosine


@compiled_fused
def _fast(angles: Float, sines: Float, cosines: Float) -> None:
    for i in range(angles.size):
        x = angles[i]
        k = (x * _TWO_OVER_PI + _ROUND) - _ROUND
        r = ((x - k * _HALF_PI_A) - k * _HALF_PI_B) - k * _HALF_PI_C
        sine, cosine = _polynomials(r)
        quadrant = np.int64(k) & 3
        swapped = (quadrant & 1) == 1
        s = cosine if swapped else sine
        c = sine if swapped else cosine
        sines[i] = -s if (quadrant & 2) != 0 else s
        cosines[i] = -c if ((quadrant + 1) & 2) != 0 else c


@compiled
def _library(angles: Float, sines: Float, cosines: Float) -> None:
    for i in range(angles.size):
        sines[i] = math.sin(angles[i])
        cosines[i] = math.cos(angles[i])


@compiled
def sincos(angles: Float, sines: Float, cosines: Float) -> None:
    """Compute ``sines = sin(angles)`` and ``cosines = cos(angles)`` for 1-D arrays of one length."""
    # Counted, because a maximum of floating-point numbers does not vectorise.
    n_large = 0
    for i in range(angles.size):
        n_large += 0 if abs(angles[i]) < REDUCTION_LIMIT else 1
    if n_large == 0:
        _fast(angles, sines, cosines)
    else:
        _library(angles, sines, cosines)
