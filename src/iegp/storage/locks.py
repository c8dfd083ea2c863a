"""Locks that end with the process that holds them: the operating system releases them, however the process ends.

A lock belongs to an open file (``flock``), so that it works between processes and between two openings in one process.
Where there are none (Windows, some network drives), runs are not kept apart and temporary files are not removed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from iegp.errors import InputError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


# Bytes of a name that stands in the names of files beside it: file systems allow 255, some 143.
_LONGEST_NAME = 100


def short_name(path: Path) -> str:
    """The name of a file for the names of those beside it: its digest, where it is long."""
    name = os.fsencode(path.name)
    return path.name if len(name) <= _LONGEST_NAME else hashlib.sha256(name).hexdigest()[:32]


def try_lock(descriptor: int) -> bool | None:
    """Lock an open file until it is closed; False if another has locked it, None if there are no locks here."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return None
    return True


def lock_of(model: Path) -> Path:
    """The file that is locked while a run saves to ``model``."""
    return model.with_name(f".{short_name(model)}.lock")


@contextlib.contextmanager
def only_run(model: Path) -> Iterator[None]:
    """Keep other runs from saving to ``model`` meanwhile; an :class:`InputError` names the process that does.

    The lock is a file beside the model, because the model itself is replaced at every checkpoint.
    """
    path = lock_of(model)
    descriptor = _open_locked(path, model)
    try:
        yield
    finally:
        # Removed before it is released: a process that waits for it in between notices that and makes another.
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(descriptor)


def _open_locked(path: Path, model: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    while True:
        descriptor = os.open(path, flags, 0o666)
        try:
            if try_lock(descriptor) is False:
                raise _in_use(descriptor, model)
            if _is_at(descriptor, path):
                with contextlib.suppress(OSError):  # the lock holds without the number, too
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, b"%d\n" % os.getpid())
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _in_use(descriptor: int, model: Path) -> InputError:
    pid = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
    holder = f"process {pid}" if pid.isdecimal() else "another process"
    return InputError(
        f"{model} is in use: {holder} saves to it. Wait until it is done, stop it, or choose another name for --save"
    )


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is the one at ``path``: another may have been removed since it was opened."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    return False
