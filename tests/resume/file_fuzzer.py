"""Valid files of every kind, altered at random with right checksums, loaded and used: nothing but an error may happen.

Run as a program it goes through cases ``--first`` to ``--last`` and writes the number of each case to ``--progress``
before it begins, so that the parent process knows which one crashed. A case depends on its number alone.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import resource
import signal
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from numba.core import event
from resume.file_kinds import KINDS, Kind

from iegp.errors import IegpError, ModelFileError
from iegp.storage import model_file as modelfile

# Of the processor, less what compiling takes; and of the clock, which a busy machine needs more of. Either ends the
# process.
SECONDS_PER_CASE, CLOCK_SECONDS_PER_CASE = 20.0, 600
MEMORY = 1 << 30
# Beyond these the library itself overflows, for instance after a label of 1e200 standard deviations, which it learns.
# Such files load again; that they do no harm is all that is asked of them.
ABSURD, ABSURDLY_SMALL = 1e100, 1e-100

NUMBERS = (
    *(np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1.0, 0.5, 2.0, 3.0, -2000.0, 1e18, -1e18, 1e-18, 1e6),
    *(2.0**31, 2.0**53, 2.0**63, 1e-300, 5e-324, 1e150, 1e300, -1e300, 1e308, -1e308),
)
ENTRIES = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 1000, 2**31, 2**53, 2**62, 2**64, 10**30, -(10**30)),
    *(0.0, 0.5, -0.5, 1e-300, 1e100, 1e308, -1e308, float("nan"), float("inf"), float("-inf")),
    *("", "text", "gaussian", "poisson", "categorical", "ordinal-logit", "bernoulli-logit", "bayes", "switching"),
    *("stacking", "monte-carlo", "probit", "quadrature", "orthogonal", "regression", "classification", "count"),
    *("float32", "float64", [], {}, [[]], [0], [1.0, 1.0], {"a": 1}, "x" * 1000),
)


class Altered(NamedTuple):
    """A file that is not what it was, and how that came."""

    header: dict[str, Any]
    arrays: dict[str, Any]
    changes: list[str]


def altered(kind: Kind, rng: np.random.Generator) -> Altered:
    """One to three changes of arrays, or of the header."""
    case = Altered(copy.deepcopy(kind.header), dict(kind.arrays), [])
    for _ in range(int(rng.integers(1, 4))):
        (_alter_header if rng.random() < 0.35 else _alter_array)(case, rng)
    return case


def _alter_array(case: Altered, rng: np.random.Generator) -> None:
    # Large arrays are no more interesting than small ones.
    name = sorted(case.arrays)[int(rng.integers(len(case.arrays)))] if case.arrays else None
    if name is None:
        return
    array = case.arrays[name].copy()
    how = rng.choice(["entry", "swap", "fill", "kind", "drop"], p=[0.72, 0.1, 0.06, 0.1, 0.02])
    case.changes.append(f"{name}: {how}")
    if how == "drop":
        del case.arrays[name]
        return
    if how == "kind":
        case.arrays[name] = _another_kind(array, case.arrays, rng)
        return
    if array.size:
        flat = array.reshape(-1)
        place, other = (int(i) for i in rng.integers(flat.size, size=2))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if how == "swap":
                flat[[place, other]] = flat[[other, place]]
            else:
                value = _number(flat[place].item(), rng)
                case.changes[-1] += f" {place} {flat[place]} to {value}"
                flat[place if how == "entry" else slice(None)] = np.array(float(value)).astype(flat.dtype)
    case.arrays[name] = array


def _number(before: Any, rng: np.random.Generator) -> Any:
    nearby = (before * 1.001, before * -1, before + 1, before - 1, before * 10, before * 1e6, before / 1e6)
    return NUMBERS[int(rng.integers(len(NUMBERS)))] if rng.random() < 0.6 else nearby[int(rng.integers(len(nearby)))]


def _another_kind(array: Any, arrays: dict[str, Any], rng: np.random.Generator) -> Any:
    """Another type, another shape, or another array."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        others: list[Callable[[], Any]] = [
            *(lambda kind=kind: array.astype(kind) for kind in ("f4", "f2", "i8", "u1", "?", "u8", "i4")),
            lambda: array[:-1] if array.ndim else array,
            lambda: np.concatenate([array, array]) if array.ndim else array,
            lambda: array[None],
            lambda: array.reshape(-1),
            lambda: array.reshape(-1)[:0],
            lambda: array.T,
            lambda: array[::-1] if array.ndim else array,
            lambda: arrays[sorted(arrays)[int(rng.integers(len(arrays)))]],
        ]
        return np.ascontiguousarray(others[int(rng.integers(len(others)))]())


def _alter_header(case: Altered, rng: np.random.Generator) -> None:
    places = list(_places(case.header))
    holder, key = places[int(rng.integers(len(places)))]
    before = holder[key]
    if rng.random() < 0.05:
        del holder[key]
        case.changes.append(f"{key!r}: {before!r:.60} dropped")
        return
    entries = [*ENTRIES]
    if isinstance(before, int | float) and not isinstance(before, bool):
        entries = [*entries, *[before + 1, before - 1, before * 2, before * 1000, -before] * 6]
    if isinstance(before, list):
        entries = [*entries, *[before[:-1], [*before, *before], before[::-1], [*before, None]] * 6]
    holder[key] = copy.deepcopy(entries[int(rng.integers(len(entries)))])
    case.changes.append(f"{key!r}: {before!r:.60} to {holder[key]!r:.60}")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every entry of nested data: what holds it, and its key there."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in list(entries):
        yield value, key
        yield from _places(entry)


def write(path: Path, case: Altered) -> None:
    """With right checksums."""
    header = {name: value for name, value in case.header.items() if name != "sha256"}
    # As a model file is written, less what makes it last: flushing to disk would take most of the time.
    with mock.patch.object(modelfile, "replace_atomically", _put):
        modelfile.write(path, header, case.arrays)


def _put(path: Path, *content: bytes | memoryview, through_link: bool = True) -> None:
    del through_link
    with open(path, "wb") as file:
        file.writelines(content)


def is_absurd(case: Altered) -> bool:
    numbers = [array[np.isfinite(array)] for array in case.arrays.values() if array.dtype.kind == "f"]
    numbers.append(np.array(list(_header_numbers(case.header))))
    sizes = np.abs(np.concatenate([part.astype(np.float64).reshape(-1) for part in numbers]))
    return bool(np.any(sizes > ABSURD) or np.any((sizes < ABSURDLY_SMALL) & (sizes > 0.0)))


def _header_numbers(header: dict[str, Any]) -> Iterator[float]:
    for holder, key in _places(header):
        entry = holder[key]
        if isinstance(entry, int | float) and not isinstance(entry, bool):
            with contextlib.suppress(OverflowError):
                yield float(entry)


def run_case(number: int, kinds: dict[str, Kind], folder: Path) -> tuple[str, str]:
    """How a case ended, and its story: "refused", "refused at use", "absurd", "fine", or a defect."""
    rng = np.random.default_rng((number, 11))
    name = list(kinds)[number % len(kinds)]
    kind, case = kinds[name], altered(kinds[name], rng)
    story = f"case {number}, {name}: {'; '.join(case.changes)}"
    path = folder / kind.file_name
    try:
        write(path, case)
    except (ValueError, TypeError, OverflowError):
        return "not written", story
    try:
        model = kind.load(path)
    except ModelFileError as error:
        return "refused", f"{story}: {error}"
    except Exception as error:
        return f"LOADING FAILED: {error!r:.300}", story
    try:
        answers = kind.use(model)
    except IegpError as error:
        return "refused at use", f"{story}: {error}"
    except Exception as error:
        return f"USE FAILED: {error!r:.300}", story
    wrong = [what for what, values in answers.items() if not np.isfinite(values).all()]
    if wrong:
        return ("absurd" if is_absurd(case) else f"NOT FINITE: {', '.join(wrong)}"), story
    return "fine", story


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--first", "--last"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--progress", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS), metavar="KIND")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place, open(options.progress, "w") as progress:
        folder = Path(place)
        kinds = {name: make(folder) for name, make in KINDS.items() if name in options.kinds}
        for kind in kinds.values():
            # All code is compiled and loaded before memory is measured; and what was not altered must be fine.
            write(folder / kind.file_name, Altered(kind.header, dict(kind.arrays), []))
            assert all(np.isfinite(values).all() for values in kind.use(kind.load(folder / kind.file_name)).values())
        _limit_memory(_used() + MEMORY)
        event.register("numba:compiler_lock", Uncounted())
        began = time.monotonic()
        for number in range(options.first, options.last):
            progress.seek(0)
            progress.write(f"{number}\n")
            progress.flush()
            _limit_time(SECONDS_PER_CASE, CLOCK_SECONDS_PER_CASE)
            outcome, story = run_case(number, kinds, folder)
            _limit_time(0.0, 0)
            tally[outcome if outcome.islower() else "bad"] += 1
            if not outcome.islower():
                with open(options.results, "a") as results:
                    results.write(f"{outcome}: {story}\n")
        summary = {"tally": dict(tally), "seconds": time.monotonic() - began, "peak": _peak()}
    with open(options.results, "a") as results:
        results.write(json.dumps(summary) + "\n")


def _limit_time(seconds: float, clock_seconds: int) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(clock_seconds)


class Uncounted(event.Listener):
    """Compiling and loading of functions, which an altered file may need others of: on their first use, whatever it is.

    Their time and memory do not count; the clock goes on.
    """

    def __init__(self) -> None:
        self._depth, self._seconds, self._left = 0, 0.0, 0

    def on_start(self, event: event.Event) -> None:
        del event
        self._depth += 1
        if self._depth == 1:
            self._seconds, _ = signal.setitimer(signal.ITIMER_PROF, 0.0)
            self._left = resource.getrlimit(resource.RLIMIT_AS)[0] - _used()
            _limit_memory(resource.RLIM_INFINITY)

    def on_end(self, event: event.Event) -> None:
        del event
        self._depth -= 1
        if self._depth == 0:
            _limit_memory(_used() + self._left)
            signal.setitimer(signal.ITIMER_PROF, self._seconds)


def _used() -> int:
    """Bytes of address space."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _limit_memory(n_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (n_bytes, resource.RLIM_INFINITY))


def _peak() -> float:
    """Most resident memory so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
