"""Sums in logs."""

from __future__ import annotations

import math

from iegp._compile import compiled
from iegp.typing import Float


@compiled
def log_sum_exp(values: Float) -> float:
    """log sum exp, safe for any range; -inf for an empty mixture."""
    largest = -math.inf
    for value in values:
        largest = max(largest, value)
    if math.isinf(largest):
        return largest
    total = 0.0
    for value in values:
        total += math.exp(value - largest)
    return largest + math.log(total)


@compiled
def log_add_exp(a: float, b: float) -> float:
    """log(exp(a) + exp(b)), safe for any range."""
    high, low = max(a, b), min(a, b)
    return high if math.isinf(low) or math.isinf(high) else high + math.log1p(math.exp(low - high))
