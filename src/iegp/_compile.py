"""The only file that knows about Numba.

Hot functions are written once, in the subset of Python that Numba understands, and decorated with
:func:`compiled`. With Numba disabled (``NUMBA_DISABLE_JIT=1``) or absent they run as plain Python: slower, the same
results, and open to a debugger and to coverage.

Compiled code may also call BLAS and LAPACK. The routines are those SciPy already carries; they are registered with LLVM
*by name*, so that a compiled function holds no address and can be cached on disk for the next process.

Functions that are chosen at run time, such as the likelihood of the labels, are called through their *address*, a
number that is passed as an argument: the caller is compiled once, whatever it calls. Addresses belong to a process and
are never stored.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import math
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from iegp import _compile_ahead

P = ParamSpec("P")
R = TypeVar("R")

# `reassoc` and `contract` let sums be vectorised and use fused multiply-add. Flags that assume there is no NaN or
# infinity are left out on purpose: non-finite values must travel through the code unharmed.
FAST_SUMS = {"reassoc", "contract"}
FUSED = {"contract"}

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

if COMPILED:
    try:
        import llvmlite.binding as llvm
        import numba
        from llvmlite import ir
        from numba.core import cgutils, types
        from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
        from numba.core.ccallback import CFunc
        from numba.core.codegen import JITCodeLibrary
        from numba.core.compiler import Compiler
        from numba.core.dispatcher import Dispatcher
        from numba.core.registry import CPUDispatcher
        from numba.core.targetconfig import ConfigStack, TargetConfig
        from numba.extending import get_cython_function_address, intrinsic, overload
        from numba.np import arrayobj
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
    targetoptions = {"nopython": True, "nogil": True, "error_model": "numpy", **options}
    entry: Callable[P, R] = _Entry(function, targetoptions=targetoptions)
    return entry


if COMPILED:

    class _EntryLibrary(JITCodeLibrary):
        """Code of a function as Python calls it."""

        def _optimize_functions(self, ll_module: Any) -> None:
            if not hasattr(self._codegen, "_pass_builder"):
                super()._optimize_functions(ll_module)  # type: ignore[no-untyped-call]
                return
            # Newer versions of Numba make passes for every function that is only declared, too: most of them.
            ll_module.data_layout = self._codegen._data_layout
            for function in ll_module.functions:
                if not function.is_declaration:
                    manager, builder = self._codegen._function_pass_manager()  # type: ignore[no-untyped-call]
                    manager.run(function, builder)

    class _InnerLibrary(_EntryLibrary):
        """Code of a function that other compiled functions call: LLVM optimises it as part of them, never by itself.

        Numba would optimise a function once for itself and again inside each caller, and translate it to machine code
        every time, which is most of the time that a first call takes.
        """

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            """None: there is no machine code."""
            del name
            self._ensure_finalized()  # type: ignore[no-untyped-call]
            return 0

        @property
        def codegen(self) -> Any:
            return self

        def set_env(self, name: str, environment: Any) -> None:
            """Nothing to do: environments are for messages and objects of Python, which inner functions do without."""

    class _Libraries:
        """In place of a class of libraries: makes an inner one for what Python cannot call."""

        def __call__(self, codegen: Any, name: str) -> Any:
            flags = ConfigStack.top_or_none()  # type: ignore[no-untyped-call]
            inner = flags is not None and flags.no_cpython_wrapper
            return (_InnerLibrary if inner else _EntryLibrary)(codegen, name)  # type: ignore[no-untyped-call]

        def _unserialize(self, codegen: Any, stored: Any) -> Any:
            """Load a library from disk, such as that of a user's function: it is complete."""
            codegen._library_class = JITCodeLibrary
            try:
                return JITCodeLibrary._unserialize(codegen, stored)  # type: ignore[no-untyped-call]
            finally:
                codegen._library_class = self

    @contextmanager
    def _exchanged(owner: Any, name: str, value: Any) -> Iterator[None]:
        """Another value of an attribute for a while."""
        before = getattr(owner, name)
        setattr(owner, name, value)
        try:
            yield
        finally:
            setattr(owner, name, before)

    @contextmanager
    def _no_collection() -> Iterator[None]:
        """No search for garbage: a compiler makes objects by the million, and the search takes a sixth of its time."""
        was_on = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if was_on:
                gc.enable()

    def _are_equal(one: Any, other: Any) -> Any:
        """What Numba finds for options, which it compares by the hundred thousand: those that are set come first."""
        if one is other or (isinstance(other, TargetConfig) and one._values == other._values):
            return True
        return _EQUAL(one, other)

    def _hash(options: Any) -> int:
        """What Numba finds: a hash of the options' names alone, which are those of the class."""
        kind = type(options)
        if kind not in _HASHES:
            _HASHES[kind] = _HASH(options)
        return _HASHES[kind]

    _EQUAL: Any = TargetConfig.__eq__
    _HASH: Any = TargetConfig.__hash__
    _HASHES: dict[Any, int] = {}

    def _shapes_differ(source: Any, target: Any) -> None:
        """In place of Numba's function, which puts both shapes into the message: two seconds of compiling."""

    @overload(_shapes_differ)
    def _raise_that_shapes_differ(source, target):  # type: ignore[no-untyped-def]  # noqa: ARG001 - Numba passes them
        def raise_it(source, target):  # type: ignore[no-untyped-def]  # noqa: ARG001
            raise ValueError("cannot assign to a slice of another shape")

        return raise_it

    def _short_messages() -> AbstractContextManager[None]:
        """Compile assignments to slices with a message that is constant, as older versions of Numba do."""
        name = "raise_with_shape_context"
        return _exchanged(arrayobj, name, _shapes_differ) if hasattr(arrayobj, name) else nullcontext()

    class _EntryCompiler(Compiler):
        """Compiles an entry; what else has to be compiled for it, functions of NumPy among them, is inner code."""

        def compile_extra(self, function: Any) -> Any:
            """Compile a function."""
            # Numba holds its lock meanwhile: no other thread compiles.
            codegen = self.state.targetctx.codegen()
            with (
                _exchanged(codegen, "_library_class", _Libraries()),
                _exchanged(TargetConfig, "__eq__", _are_equal),
                _exchanged(TargetConfig, "__hash__", _hash),
                _short_messages(),
                _no_collection(),
            ):
                return super().compile_extra(function)  # type: ignore[no-untyped-call]

    class _Entry(CPUDispatcher):
        """A function as Python calls it; other compiled functions call a copy without wrappers, not kept on disk."""

        _inner: Any = None

        def __init__(self, function: Callable[..., Any], locals: Any = None, targetoptions: Any = None) -> None:
            super().__init__(function, locals or {}, targetoptions, _EntryCompiler)
            self._cache = _Cache(self)

        @property
        def _numba_type_(self) -> Any:
            if self._inner is None:
                options = {**self.targetoptions, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
                self._inner = CPUDispatcher(self.py_func, targetoptions=options)
            return types.Dispatcher(self._inner)

    class _Cache:
        """The files of an entry, looked up when it is first called: most functions of the package never are."""

        def __init__(self, entry: Any) -> None:
            self._entry = entry

        def load_overload(self, signature: Any, target: Any) -> Any:
            _keep_on_disk(self._entry, self._entry.py_func, self._entry.py_func)
            return self._entry._cache.load_overload(signature, target)

    class _Files(FunctionCache):
        """The files of a function on disk, which a second process may be filling."""

        def __init__(self, function: Any, stamp: str) -> None:
            super().__init__(function)  # type: ignore[no-untyped-call]
            files: Any = _OneFileEach
            self._cache_file: Any = files(self._cache_path, self._impl.filename_base, stamp)

        def load_overload(self, signature: Any, target: Any) -> Any:
            """Load what is compiled, or what the second process is about to have compiled."""
            found = super().load_overload(signature, target)  # type: ignore[no-untyped-call]
            if found is None:
                _announce()
                if _compile_ahead.is_done(self.name_of(signature, target)):
                    found = super().load_overload(signature, target)  # type: ignore[no-untyped-call]
            return found

        def name_of(self, signature: Any, target: Any) -> str:
            """The name of the file of a signature."""
            return str(self._cache_file.name_of(self._key_of(signature, target)))

        def has(self, signature: Any, target: Any) -> bool:
            """Whether a signature is on disk; nothing is loaded."""
            return self._cache_file.load(self._key_of(signature, target)) is not None

        def _key_of(self, signature: Any, target: Any) -> Any:
            return self._index_key(signature, target.codegen())  # type: ignore[no-untyped-call]

        def _guard_against_spurious_io_errors(self) -> Any:
            return _without_errors_of_the_disk()

    class _OneFileEach(IndexDataCacheFile):
        """A file for every signature, named after it.

        Numba numbers the files of a function and keeps a list of them. Two processes can give one number to two
        signatures, and one can read a file that the other is about to replace: it would run the wrong machine code.
        """

        def name_of(self, key: Any) -> str:
            """The name of the file of a key."""
            return f"{Path(self._index_name).stem}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"

        def save(self, key: Any, data: Any) -> None:
            """Write a file that is whole when it appears."""
            with self._open_for_write(self._data_path(self.name_of(key))) as file:  # type: ignore[no-untyped-call]
                pickle.dump((self._version, self._source_stamp), file)
                file.write(self._dump((key, data)))  # type: ignore[no-untyped-call]

        def load(self, key: Any) -> Any:
            """Read what belongs to this key, these sources and this version of Numba, or None."""
            try:
                with Path(self._data_path(self.name_of(key))).open("rb") as file:  # type: ignore[no-untyped-call]
                    if pickle.load(file) != (self._version, self._source_stamp):
                        return None
                    stored_key, data = pickle.load(file)
            except (FileNotFoundError, EOFError, pickle.UnpicklingError):
                return None
            return data if stored_key == key else None


@lru_cache
def _announce() -> None:
    """Say once why a first call takes long, where a person reads it: in a terminal or a notebook."""
    if sys.stderr.isatty() or "ipykernel" in sys.modules:
        sys.stderr.write(
            "iegp compiles its functions for this machine, once: about a quarter of a minute (`iegp compile` does it "
            "before)\n"
        )


def _keep_on_disk(compiled: Any, python: Callable[..., Any], source: Callable[..., Any]) -> None:
    """Cache what Numba compiles of a function of this package, if a folder for it is writable.

    ``source`` is in the file that it was written in.
    """
    # Numba stamps a cached function with the date and size of its own file. Ours call functions of other files, and
    # wheels carry one constant date, so an upgrade could run stale machine code: stamp all of the sources instead.
    try:
        compiled._cache = _Files(python, _source_digest(_top_folder(source)))
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        compiled._cache = NullCache()
        _say_nothing_is_kept()


@contextmanager
def _without_errors_of_the_disk() -> Iterator[None]:
    """Continue without the cache if its disk is full or fails: what is compiled is in memory."""
    try:
        yield
    except OSError:
        _say_nothing_is_kept()


@lru_cache
def _say_nothing_is_kept() -> None:
    """Warn once that no folder for compiled code is writable: neither the package's, nor the user's, nor the chosen."""
    warnings.warn(
        "no folder for compiled code is writable, so every start compiles anew (about a minute); set NUMBA_CACHE_DIR "
        "to a folder that is",
        RuntimeWarning,
        stacklevel=5,
    )


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` on first use, release the GIL while it runs, and keep the machine code on disk."""
    # Stated, because Numba lets a callee inherit the flags of its first caller, and bits would depend on that.
    return _jit(function, fastmath=False)


def compiled_fast_sums(function: Callable[P, R]) -> Callable[P, R]:
    """Like :func:`compiled`, and sums may be reordered so that they vectorise."""
    return _jit(function, fastmath=FAST_SUMS)


def compiled_fused(function: Callable[P, R]) -> Callable[P, R]:
    """Like :func:`compiled`, and a product and a sum may be one operation; no sum is reordered."""
    return _jit(function, fastmath=FUSED)


def specialised(template: Any, name: str, **functions: Any) -> Any:
    """A compiled copy of ``template`` whose global names ``functions`` are these: inlined, and kept on disk.

    Numba cannot keep functions on disk that take functions as arguments or in a closure. ``name`` must tell all copies
    of a template apart: it names the file.
    """
    return compiled(_copy(template, name, **functions))


def _copy(template: Any, name: str, **names: Any) -> FunctionType:
    """A function with other globals, and a name of its own."""
    copied = FunctionType(template.__code__, {**template.__globals__, **names}, template.__name__)
    copied.__qualname__, copied.__doc__ = f"{template.__qualname__}.{name}", template.__doc__
    copied.__module__ = template.__module__
    return copied


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


# -- calls through addresses -----------------------------------------------------------------------------------------


class CallForm(NamedTuple):
    """How functions of one kind are called through their addresses."""

    kinds: str
    """One letter per argument: v a contiguous vector, m a contiguous matrix, f a number."""
    n_results: int
    """1, or 3 for a tuple of three numbers."""
    entry: Callable[..., Any]
    """Takes pointers and sizes, and calls the global name ``function`` with arrays; it writes three results itself."""


OnError = Callable[[BaseException], None]


def address_of(function: Callable[..., Any], form: CallForm, on_error: OnError) -> int:
    """The address of a function in this process, for :func:`call_at` and :func:`call_for_three`.

    A compiled function of this package is kept on disk like any other. A plain Python function is called back, which
    takes the GIL and some microseconds; what it raises is handed to ``on_error``, and its results are NaN.
    """
    if not COMPILED:
        number = next(_NUMBERS)
        _FUNCTIONS[number] = function if _is_ours(function) else _guarded(function, form, on_error)
        return number
    entry = _c_entry(function, form) if isinstance(function, Dispatcher) else _callback(function, form, on_error)
    _KEPT.append(entry)
    address = entry.address if isinstance(entry, CFunc) else ctypes.cast(entry, ctypes.c_void_p).value
    return int(address or 0)


# Without compilation an "address" is a place in this dictionary.
_FUNCTIONS: dict[int, Callable[..., Any]] = {}
_NUMBERS = count(1)
# Functions whose addresses are in use must not be collected.
_KEPT: list[Any] = []


def _is_ours(function: Callable[..., Any]) -> bool:
    """Whether a function is one of this package."""
    return Path(function.__code__.co_filename).is_relative_to(Path(__file__).parent)


def _guarded(function: Callable[..., Any], form: CallForm, on_error: OnError) -> Callable[..., Any]:
    """The function with NaN in place of errors."""
    failed = math.nan if form.n_results == 1 else (math.nan,) * form.n_results

    def guarded(*arguments: Any) -> Any:
        try:
            found = function(*arguments)
            if form.n_results == 1:
                return float(found)
            first, second, third = found
            return float(first), float(second), float(third)
        except BaseException as error:  # an interruption, too, must not pass through compiled code
            on_error(error)
            return failed

    return guarded


def _callback(function: Callable[..., Any], form: CallForm, on_error: OnError) -> Any:
    """A C function that calls a Python function."""
    guarded = _guarded(function, form, on_error)

    def call(*raw: Any) -> float:
        found = guarded(*_arrays(form.kinds, iter(raw)))
        if form.n_results == 1:
            return float(found)
        _memory(raw[-1], form.n_results)[:] = found
        return 0.0

    c_types: dict[str, list[Any]] = {"v": [ctypes.c_void_p, ctypes.c_int64], "f": [ctypes.c_double]}
    c_types["m"] = [*c_types["v"], ctypes.c_int64]
    arguments = [c_type for kind in form.kinds for c_type in c_types[kind]]
    results = [] if form.n_results == 1 else [ctypes.c_void_p]
    return ctypes.CFUNCTYPE(ctypes.c_double, *arguments, *results)(call)


def _arrays(kinds: str, raw: Iterator[Any]) -> Iterator[Any]:
    """Numbers and arrays out of numbers, pointers and sizes."""
    for kind in kinds:
        if kind == "f":
            yield next(raw)
        elif kind == "v":
            yield _memory(next(raw), next(raw))
        else:
            pointer, n_rows, n_columns = next(raw), next(raw), next(raw)
            yield _memory(pointer, n_rows * n_columns).reshape(n_rows, n_columns)


def _memory(pointer: int | None, n: int) -> Any:
    """The array of n numbers at a place in memory; what is written to it is written there."""
    if pointer is None or n == 0:
        return np.empty(0)
    memory: Any = (ctypes.c_double * n).from_address(pointer)
    return np.frombuffer(memory)


# An array at a pointer, for entries.
array_at: Any = None

if COMPILED:
    array_at = numba.carray  # type: ignore[attr-defined]

    def _c_entry(function: Any, form: CallForm) -> Any:
        """A C function that calls a compiled function; those of this package are kept on disk."""
        python = function.py_func
        entry = _copy(form.entry, f"{python.__module__}.{python.__qualname__}", function=function)
        pointer: Any = types.CPointer(types.float64)  # type: ignore[no-untyped-call]
        numba_types: dict[str, list[Any]] = {
            "v": [pointer, types.int64],
            "m": [pointer, types.int64, types.int64],
            "f": [types.float64],
        }
        arguments = [numba_type for kind in form.kinds for numba_type in numba_types[kind]]
        results = [] if form.n_results == 1 else [pointer]
        options = {"nopython": True, "error_model": "numpy", "fastmath": False}
        c_function: Any = CFunc(entry, ((*arguments, *results), types.float64), {}, options)
        if _is_ours(python):
            _keep_on_disk(c_function, entry, form.entry)
        c_function.compile()
        return c_function

    def _lowered(context: Any, builder: Any, tuple_type: Any, values: Any) -> list[Any]:
        """The arguments of a C function: numbers as they are, arrays as pointer and sizes."""
        lowered = []
        for place, kind in enumerate(tuple_type.types):
            value = builder.extract_value(values, place)
            if isinstance(kind, types.Array):
                array = context.make_array(kind)(context, builder, value)
                lowered += [array.data, *cgutils.unpack_tuple(builder, array.shape)]  # type: ignore[no-untyped-call]
            else:
                lowered.append(value)
        return lowered

    def _call(builder: Any, address: Any, arguments: list[Any]) -> Any:
        kind = ir.FunctionType(ir.DoubleType(), [argument.type for argument in arguments])
        return builder.call(builder.inttoptr(address, kind.as_pointer()), arguments)

    def _check_types(arguments: Any) -> None:
        for kind in arguments.types:
            is_array = isinstance(kind, types.Array) and kind.layout == "C" and kind.dtype == types.float64
            if not (is_array or kind == types.float64):
                raise TypeError(f"{kind} cannot be passed through an address: use contiguous arrays and float64")

    @intrinsic
    def _call_at(typing_context, address, arguments):  # type: ignore[no-untyped-def]  # noqa: ARG001
        _check_types(arguments)

        def codegen(context, builder, signature, values):  # type: ignore[no-untyped-def]
            return _call(builder, values[0], _lowered(context, builder, signature.args[1], values[1]))

        return types.float64(types.int64, arguments), codegen

    @intrinsic
    def _call_for_three(typing_context, address, arguments):  # type: ignore[no-untyped-def]  # noqa: ARG001
        _check_types(arguments)
        three: Any = types.UniTuple(types.float64, 3)  # type: ignore[no-untyped-call]

        def codegen(context, builder, signature, values):  # type: ignore[no-untyped-def]
            size = ir.Constant(ir.IntType(64), 3)
            results = cgutils.alloca_once(builder, ir.DoubleType(), size)  # type: ignore[no-untyped-call]
            lowered = _lowered(context, builder, signature.args[1], values[1])
            _call(builder, values[0], [*lowered, results])
            places = [builder.gep(results, [ir.Constant(ir.IntType(64), i)]) for i in range(3)]
            return context.make_tuple(builder, three, [builder.load(place) for place in places])

        return three(types.int64, arguments), codegen


def _call_plain(address: int, arguments: tuple[Any, ...]) -> Any:
    return _FUNCTIONS[address](*arguments)


call_at: Callable[[int, tuple[Any, ...]], float] = _call_plain if not COMPILED else _call_at  # type: ignore[assignment]
"""``call_at(address, arguments)`` calls the function at an address with a tuple of arguments; it returns a number."""
call_for_three: Callable[[int, tuple[Any, ...]], tuple[float, float, float]]
"""``call_for_three(address, arguments)`` does so for a function of three results."""
call_for_three = _call_plain if not COMPILED else _call_for_three  # type: ignore[assignment]
