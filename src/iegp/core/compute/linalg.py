"""Dense linear algebra for compiled code, on row-major arrays.

Most functions are one BLAS or LAPACK call. Fortran sees a row-major matrix as its transpose, so every wrapper swaps
sides, triangles and transposes here, and callers can use the usual notation. Triangles are solved in panels: a product
subtracts what was solved before, ``substitution.py`` does the rest. Where compilation is off, the same names are plain
NumPy and SciPy.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from iegp import _compile
from iegp._compile import compiled
from iegp.core.compute.substitution import forward_column, forward_rows
from iegp.core.compute.tolerances import FEW_SIDES, PANEL_SIDES, PANEL_UNKNOWNS, STRIP_ROWS
from iegp.typing import Float

_N, _T, _L, _R, _U = (ord(letter) for letter in "NTLRU")

if _compile.COMPILED:
    from iegp._compile import by_reference_char as char
    from iegp._compile import by_reference_double as double
    from iegp._compile import by_reference_int as integer

    _dgemm = _compile.fortran_routine("cython_blas", "dgemm", 13)
    _dsyrk = _compile.fortran_routine("cython_blas", "dsyrk", 10)
    _dtrsm = _compile.fortran_routine("cython_blas", "dtrsm", 11)
    _dtrmm = _compile.fortran_routine("cython_blas", "dtrmm", 11)
    _dpotrf = _compile.fortran_routine("cython_lapack", "dpotrf", 5)

    @compiled
    def matmul(a: Float, b: Float, out: Float) -> None:
        """``out = a @ b``."""
        m, k, n = a.shape[0], a.shape[1], b.shape[1]
        _dgemm(
            char(_N), char(_N), integer(n), integer(m), integer(k), double(1.0), b.ctypes.data, integer(n),
            a.ctypes.data, integer(k), double(0.0), out.ctypes.data, integer(n),
        )  # fmt: skip

    @compiled
    def matmul_transposed(a: Float, b: Float, out: Float) -> None:
        """``out = a @ b.T``."""
        m, k, n = a.shape[0], a.shape[1], b.shape[0]
        _dgemm(
            char(_T), char(_N), integer(n), integer(m), integer(k), double(1.0), b.ctypes.data, integer(k),
            a.ctypes.data, integer(k), double(0.0), out.ctypes.data, integer(n),
        )  # fmt: skip

    @compiled
    def lower_matmul_transposed(a: Float, b: Float, out: Float) -> None:
        """Compute the lower triangle of ``out = a @ b.T``, in panels; what lies above it is undefined."""
        n, k = a.shape
        for begin in range(0, n, PANEL_UNKNOWNS):
            rows = min(PANEL_UNKNOWNS, n - begin)
            _dgemm(
                char(_T), char(_N), integer(begin + rows), integer(rows), integer(k), double(1.0), b.ctypes.data,
                integer(k), a.ctypes.data + 8 * begin * k, integer(k), double(0.0), out.ctypes.data + 8 * begin * n,
                integer(n),
            )  # fmt: skip

    @compiled
    def add_transposed_matmul(a: Float, b: Float, out: Float) -> None:
        """``out += a.T @ b``."""
        k, m, n = a.shape[0], a.shape[1], b.shape[1]
        _dgemm(
            char(_N), char(_T), integer(n), integer(m), integer(k), double(1.0), b.ctypes.data, integer(n),
            a.ctypes.data, integer(m), double(1.0), out.ctypes.data, integer(n),
        )  # fmt: skip

    @compiled
    def gram_of_rows(a: Float, out: Float) -> None:
        """Compute the lower triangle of ``a @ a.T``; the strict upper triangle of ``out`` is left as it was."""
        n, k = a.shape
        _dsyrk(
            char(_U), char(_T), integer(n), integer(k), double(1.0), a.ctypes.data, integer(k), double(0.0),
            out.ctypes.data, integer(n),
        )  # fmt: skip

    @compiled
    def gram_of_columns(a: Float, out: Float) -> None:
        """Compute the upper triangle of ``a.T @ a``; the strict lower triangle of ``out`` is left as it was."""
        k, n = a.shape
        _dsyrk(
            char(_L), char(_N), integer(n), integer(k), double(1.0), a.ctypes.data, integer(n), double(0.0),
            out.ctypes.data, integer(n),
        )  # fmt: skip

    @compiled
    def subtract_gram_of_columns(a: Float, out: Float) -> None:
        """Compute the upper triangle of ``out -= a.T @ a``."""
        k, n = a.shape
        _dsyrk(
            char(_L), char(_N), integer(n), integer(k), double(-1.0), a.ctypes.data, integer(n), double(1.0),
            out.ctypes.data, integer(n),
        )  # fmt: skip

    @compiled
    def solve_from_right(upper: Float, b: Float) -> None:
        """``b = b @ inv(upper)`` in place."""
        m, n = b.shape
        if m < FEW_SIDES:
            for t in range(m):
                forward_column(upper, b[t])
            return
        for start in range(0, m, PANEL_SIDES):
            sides = min(PANEL_SIDES, m - start)
            x = np.empty((n, sides))
            for i in range(n):
                for t in range(sides):
                    x[i, t] = b[start + t, i]
            _solve_upper_transposed(upper, x)
            for t in range(sides):
                for i in range(n):
                    b[start + t, i] = x[i, t]

    @compiled
    def solve_lower(lower: Float, b: Float) -> None:
        """``b = inv(lower) @ b`` in place."""
        m, n = b.shape
        if n < FEW_SIDES:
            _dtrsm(
                char(_R), char(_U), char(_N), char(_N), integer(n), integer(m), double(1.0), lower.ctypes.data,
                integer(m), b.ctypes.data, integer(n),
            )  # fmt: skip
            return
        for begin in range(0, m, PANEL_UNKNOWNS):
            end = min(m, begin + PANEL_UNKNOWNS)
            if begin > 0:
                _dgemm(
                    char(_N), char(_N), integer(n), integer(end - begin), integer(begin), double(-1.0), b.ctypes.data,
                    integer(n), lower.ctypes.data + 8 * begin * m, integer(m), double(1.0),
                    b.ctypes.data + 8 * begin * n, integer(n),
                )  # fmt: skip
            forward_rows(lower, b, begin, end)

    @compiled
    def solve_upper_transposed(upper: Float, b: Float) -> None:
        """``b = inv(upper.T) @ b`` in place."""
        if b.shape[1] >= FEW_SIDES:
            _solve_upper_transposed(upper, b)
            return
        for d in range(b.shape[1]):
            column = b[:, d].copy()
            forward_column(upper, column)
            b[:, d] = column

    @compiled
    def _solve_upper_transposed(upper: Float, b: Float) -> None:
        m, n = b.shape
        for begin in range(0, m, PANEL_UNKNOWNS):
            end = min(m, begin + PANEL_UNKNOWNS)
            if begin > 0:
                _dgemm(
                    char(_N), char(_T), integer(n), integer(end - begin), integer(begin), double(-1.0), b.ctypes.data,
                    integer(n), upper.ctypes.data + 8 * begin, integer(m), double(1.0), b.ctypes.data + 8 * begin * n,
                    integer(n),
                )  # fmt: skip
            forward_rows(upper.T, b, begin, end)

    @compiled
    def multiply_upper(upper: Float, b: Float) -> None:
        """``b = upper @ b`` in place."""
        m, n = b.shape
        _dtrmm(
            char(_R), char(_L), char(_N), char(_N), integer(n), integer(m), double(1.0), upper.ctypes.data, integer(m),
            b.ctypes.data, integer(n),
        )  # fmt: skip

    @compiled
    def multiply_uppers(upper: Float, b: Float) -> None:
        """Compute ``b = upper @ b`` in place for upper triangular ``b``, in strips: less than half of the work."""
        n = b.shape[0]
        left, right = upper.ctypes.data, b.ctypes.data
        for i in range(0, n, STRIP_ROWS):
            rows = min(STRIP_ROWS, n - i)
            j = i + rows
            corner = 8 * (i * n + i)
            _dtrmm(
                char(_R), char(_L), char(_N), char(_N), integer(n - i), integer(rows), double(1.0), left + corner,
                integer(n), right + corner, integer(n),
            )  # fmt: skip
            if j < n:
                # Rows below the strip are still as they were.
                beside = 8 * (i * n + j)
                _dgemm(
                    char(_N), char(_N), integer(n - j), integer(rows), integer(n - j), double(1.0),
                    right + 8 * (j * n + j), integer(n), left + beside, integer(n), double(1.0), right + beside,
                    integer(n),
                )  # fmt: skip

    @compiled
    def cholesky_lower(a: Float) -> int:
        """Factor ``a`` in place, from and to its lower triangle. Return 0, or the pivot that was not positive."""
        n = a.shape[0]
        info = np.zeros(1, np.int32)
        _dpotrf(char(_U), integer(n), a.ctypes.data, integer(n), info.ctypes.data)
        return int(info[0])

    @compiled
    def cholesky_upper(a: Float) -> int:
        """Factor ``a`` in place, from and to its upper triangle. Return 0, or the pivot that was not positive."""
        n = a.shape[0]
        info = np.zeros(1, np.int32)
        _dpotrf(char(_L), integer(n), a.ctypes.data, integer(n), info.ctypes.data)
        return int(info[0])

else:

    def matmul(a: Float, b: Float, out: Float) -> None:
        np.matmul(a, b, out=out)

    def matmul_transposed(a: Float, b: Float, out: Float) -> None:
        np.matmul(a, b.T, out=out)

    def lower_matmul_transposed(a: Float, b: Float, out: Float) -> None:
        np.matmul(a, b.T, out=out)

    def add_transposed_matmul(a: Float, b: Float, out: Float) -> None:
        out += a.T @ b

    def gram_of_rows(a: Float, out: Float) -> None:
        out[...] = a @ a.T

    def gram_of_columns(a: Float, out: Float) -> None:
        out[...] = a.T @ a

    def subtract_gram_of_columns(a: Float, out: Float) -> None:
        out -= a.T @ a

    def solve_from_right(upper: Float, b: Float) -> None:
        b[...] = solve_triangular(upper, b.T, trans="T", check_finite=False).T

    def solve_lower(lower: Float, b: Float) -> None:
        b[...] = solve_triangular(lower, b, lower=True, check_finite=False)

    def solve_upper_transposed(upper: Float, b: Float) -> None:
        b[...] = solve_triangular(upper, b, trans="T", check_finite=False)

    def multiply_upper(upper: Float, b: Float) -> None:
        b[...] = np.triu(upper) @ b

    def multiply_uppers(upper: Float, b: Float) -> None:
        b[...] = np.triu(upper) @ np.triu(b)

    def _factor(symmetric: Float) -> tuple[Float | None, int]:
        try:
            return np.asarray(np.linalg.cholesky(symmetric)), 0
        except np.linalg.LinAlgError:
            return None, 1

    def cholesky_lower(a: Float) -> int:
        factor, info = _factor(np.tril(a) + np.tril(a, -1).T)
        if factor is not None:
            a[...] = factor
        return info

    def cholesky_upper(a: Float) -> int:
        factor, info = _factor(np.triu(a) + np.triu(a, 1).T)
        if factor is not None:
            a[...] = factor.T
        return info
