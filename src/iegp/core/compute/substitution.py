"""Forward substitution for many right-hand sides at once.

Within a pass over rows (F = 100, OpenBLAS of SciPy 1.17) static experts are 1.1 times as fast as with BLAS's ``dtrsm``,
drifting ones as fast; alone, with all data in the cache, ``dtrsm`` is 1.0 to 1.3 times as fast
(``python benchmarks/own_code.py substitution``).

Right-hand sides lie in rows, so that the inner loop runs along memory. Two unknowns are solved for at a time, from four
known ones at a time: each value that is loaded is used twice, each sum is stored a quarter as often.
"""

from __future__ import annotations

from iegp._compile import compiled, compiled_fast_sums
from iegp.typing import Float


@compiled_fast_sums
def forward_rows(lower: Float, x: Float, begin: int, end: int) -> None:
    """Solve ``lower @ x_new = x`` for rows ``begin`` to ``end`` of ``x``, as if the rows before were zero."""
    n_sides = x.shape[1]
    j = begin
    while j + 1 < end:
        k = begin
        while k + 4 <= j:
            a0, a1, a2, a3 = lower[j, k], lower[j, k + 1], lower[j, k + 2], lower[j, k + 3]
            b0, b1, b2, b3 = lower[j + 1, k], lower[j + 1, k + 1], lower[j + 1, k + 2], lower[j + 1, k + 3]
            for t in range(n_sides):
                x0, x1, x2, x3 = x[k, t], x[k + 1, t], x[k + 2, t], x[k + 3, t]
                x[j, t] -= a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                x[j + 1, t] -= b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
            k += 4
        while k < j:
            a0, b0 = lower[j, k], lower[j + 1, k]
            for t in range(n_sides):
                x[j, t] -= a0 * x[k, t]
                x[j + 1, t] -= b0 * x[k, t]
            k += 1
        pivot, beside, next_pivot = lower[j, j], lower[j + 1, j], lower[j + 1, j + 1]
        for t in range(n_sides):
            solved = x[j, t] / pivot
            x[j, t] = solved
            x[j + 1, t] = (x[j + 1, t] - beside * solved) / next_pivot
        j += 2
    if j < end:
        for k in range(begin, j):
            a0 = lower[j, k]
            for t in range(n_sides):
                x[j, t] -= a0 * x[k, t]
        for t in range(n_sides):
            x[j, t] /= lower[j, j]


@compiled
def forward_column(upper: Float, x: Float) -> None:
    """Solve ``upper.T @ x_new = x`` for one right-hand side (F,), along the rows of ``upper``, four at a time."""
    n = x.size
    j = 0
    while j + 4 <= n:
        x0 = x[j] / upper[j, j]
        x1 = (x[j + 1] - x0 * upper[j, j + 1]) / upper[j + 1, j + 1]
        x2 = (x[j + 2] - x0 * upper[j, j + 2] - x1 * upper[j + 1, j + 2]) / upper[j + 2, j + 2]
        x3 = x[j + 3] - x0 * upper[j, j + 3] - x1 * upper[j + 1, j + 3] - x2 * upper[j + 2, j + 3]
        x3 /= upper[j + 3, j + 3]
        x[j], x[j + 1], x[j + 2], x[j + 3] = x0, x1, x2, x3
        for i in range(j + 4, n):
            x[i] = x[i] - x0 * upper[j, i] - x1 * upper[j + 1, i] - x2 * upper[j + 2, i] - x3 * upper[j + 3, i]
        j += 4
    while j < n:
        x0 = x[j] / upper[j, j]
        x[j] = x0
        for i in range(j + 1, n):
            x[i] -= x0 * upper[j, i]
        j += 1
