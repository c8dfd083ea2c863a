"""``exp(-x)`` of a whole array at once: 2.4 times as fast as ``np.exp``.

``x = k log 2 + r`` with ``|r| <= log(2) / 2`` in two parts, the Taylor polynomial of degree 11 for ``exp(-r)``, and
``k`` written into the exponent bits of the result. The loops have no branch, so they vectorise. Error below 1e-14;
beyond 700 the result is exp(-700), which is nothing beside whatever it is added to. Measured by
``python benchmarks/own_code.py exponential``.
"""

from __future__ import annotations

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.tolerances import FARTHEST_EXPONENT
from iegp.typing import Float, Int

_INVERSE_LOG2 = 1.4426950408889634
_LOG2_HIGH = 6.93147180369123816490e-01
_LOG2_LOW = 1.90821492927058770002e-10
# Adding and subtracting 1.5 * 2^52 rounds to the nearest integer without a branch.
_ROUND = 6755399441055744.0
_BIAS = 1023
_MANTISSA_BITS = 52


@compiled
def exp_negative(x: Float, bits: Int, out: Float) -> None:
    """Compute ``out = exp(-x)`` for a 1-D array of ``x >= 0``; ``bits`` (int64, same size) is a work array."""
    for i in range(x.size):
        value = min(x[i], FARTHEST_EXPONENT)
        k = (value * _INVERSE_LOG2 + _ROUND) - _ROUND
        r = (k * _LOG2_HIGH - value) + k * _LOG2_LOW
        out[i] = _polynomial(r)
        bits[i] = (_BIAS - np.int64(k)) << _MANTISSA_BITS
    powers = bits.view(np.float64)
    for i in range(x.size):
        out[i] *= powers[i]


@compiled
def _polynomial(r: float) -> float:
    """Compute ``exp(r)`` for ``|r| <= log(2) / 2``."""
    even = 1.0 / 2.0 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0)))))
    high = 1.0 / 40320.0 + r * (1.0 / 362880.0 + r * (1.0 / 3628800.0 + r * (1.0 / 39916800.0)))
    cube = r * r * r
    return 1.0 + r + r * r * (even + cube * cube * high)
