"""The only file that knows about Numba.

Hot functions are written once, in the subset of Python that Numba understands, and decorated with
:func:`compiled`. With Numba disabled (``NUMBA_DISABLE_JIT=1``) or absent they run as plain Python: slower, the same
results, and open to a debugger and to coverage.

Compiled code may also call BLAS and LAPACK. The routines are those SciPy already carries; they are registered with LLVM
*by name*, so that a compiled function holds no address and can be cached on disk for the next process.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

# `reassoc` and `contract` let sums be vectorised and use fused multiply-add. Flags that assume there is no NaN or
# infinity are left out on purpose: non-finite values must travel through the code unharmed.
FAST_SUMS = {"reassoc", "contract"}

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

if COMPILED:
    try:
        import llvmlite.binding as llvm
        import numba
        from numba.core import cgutils, types
        from numba.extending import get_cython_function_address, intrinsic
    except ImportError:  # pragma: no cover - Numba is a declared dependency
        COMPILED = False


@lru_cache
def _source_digest(folder: Path) -> str:
    """Digest every source that may end up inside a compiled function of this folder: its own, the core's, this file."""
    digest = hashlib.sha256()
    here = Path(__file__)
    for source in [here, *sorted((here.parent / "core").glob("**/*.py")), *sorted(folder.glob("**/*.py"))]:
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _top_folder(function: Callable[..., Any]) -> Path:
    """The folder of the function's sub-package of ``iegp``, or the folder of its file."""
    here, file = Path(__file__).parent, Path(function.__code__.co_filename)
    if file.is_relative_to(here):
        return here / file.relative_to(here).parts[0]
    return file.parent


def _jit(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    if not COMPILED:
        # Compiled arithmetic passes infinities on in silence; plain NumPy must not warn where it would not.
        plain: Callable[P, R] = np.errstate(all="ignore")(function)
        return plain
    options = {"nogil": True, "error_model": "numpy", **options}
    try:
        dispatcher = numba.njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        _say_nothing_is_kept()
        uncached: Callable[P, R] = numba.njit(**options)(function)
        return uncached
    # Numba stamps a cached function with the date and size of its own file. Ours call functions of other files, and
    # wheels carry one constant date, so an upgrade could run stale machine code: stamp all of the sources instead.
    dispatcher._cache._cache_file._source_stamp = _source_digest(_top_folder(function))
    wrapped: Callable[P, R] = dispatcher
    return wrapped


@lru_cache
def _say_nothing_is_kept() -> None:
    """Warn once that no folder for compiled code is writable: neither the package's, nor the user's, nor the chosen."""
    warnings.warn(
        "no folder for compiled code is writable, so every start compiles anew (about a minute); set NUMBA_CACHE_DIR "
        "to a folder that is",
        RuntimeWarning,
        stacklevel=4,
    )


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` on first use, release the GIL while it runs, and keep the machine code on disk."""
    # Said explicitly: Numba lets callees inherit the flags of whoever compiles them first; bits would depend on that.
    return _jit(function, fastmath=False)


def compiled_fast_sums(function: Callable[P, R]) -> Callable[P, R]:
    """Like :func:`compiled`, and sums may be reordered so that they vectorise."""
    return _jit(function, fastmath=FAST_SUMS)


if COMPILED:

    def fortran_routine(library: str, name: str, n_arguments: int) -> Any:
        """A BLAS or LAPACK routine as a function of addresses, callable from compiled code."""
        symbol = f"iegp_{name}"
        llvm.add_symbol(symbol, get_cython_function_address(f"scipy.linalg.{library}", name))
        return types.ExternalFunction(symbol, types.void(*([types.uintp] * n_arguments)))

    def _by_reference(numba_type: Any) -> Any:
        """Put a scalar on the stack and return its address, as Fortran wants its arguments."""

        @intrinsic
        def address_of(typing_context, value):  # type: ignore[no-untyped-def]  # noqa: ARG001 - Numba passes it
            def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
                cast = context.cast(builder, arguments[0], signature.args[0], numba_type)
                slot = cgutils.alloca_once_value(builder, cast)  # type: ignore[no-untyped-call]
                return builder.ptrtoint(slot, context.get_value_type(types.uintp))

            return types.uintp(value), codegen

        return address_of

    by_reference_int = _by_reference(types.int32)
    by_reference_char = _by_reference(types.int8)
    by_reference_double = _by_reference(types.float64)
