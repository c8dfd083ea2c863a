"""One thread at a time changes a model.

Learning updates arrays in place, in compiled code that releases the GIL: of two threads that learn at once, one would
undo parts of what the other does, without an error. So the second is refused. Threads that predict are not kept out.

The thread that writes is noted here, by the identity of the model, and not in the model: a lock can be neither copied
nor pickled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

from iegp.errors import ConcurrentWriteError

F = TypeVar("F", bound=Callable[..., Any])

_lock = threading.Lock()
_writers: dict[int, int] = {}
"""Thread by model, while it is changed."""


@contextmanager
def writing(model: object) -> Iterator[None]:
    """Refuse other threads that would change ``model`` meanwhile; the same thread may enter again."""
    key, me = id(model), threading.get_ident()
    with _lock:
        before = _writers.get(key)
        if before not in (None, me):
            raise ConcurrentWriteError(
                f"another thread (number {before}) is changing or saving this {type(model).__name__}. This call "
                "changed nothing; give each thread a model of its own, or let them take turns with a threading.Lock"
            )
        _writers[key] = me
    try:
        yield
    finally:
        if before is None:
            del _writers[key]


def one_writer(method: F) -> F:
    """Make a method that changes, or stores, its object refuse a second thread; see :func:`writing`."""

    @wraps(method)
    def guarded(self: object, *arguments: Any, **options: Any) -> Any:
        with writing(self):
            return method(self, *arguments, **options)

    return cast(F, guarded)
