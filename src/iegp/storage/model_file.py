"""Model files: safetensors, with everything that is not an array as JSON in the header.

Loading reads numbers and text and executes nothing. Files are replaced atomically: after a crash there is the old or
the new file, never half of one. ``format`` in the header is raised whenever older readers could not understand a file;
every released format stays readable (:mod:`iegp.storage.conversions`).

Files are written here, not by the ``safetensors`` package, which opens and closes a file by itself: here the file is
already open, is flushed to disk and then renamed, and errors of the disk keep their number. Version 0.4 of the package
also copies what it writes: 256 MiB for a model of 256 MiB, where this takes none (``python benchmarks/own_code.py
safetensors``).
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import stat
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from iegp.errors import IegpError, InputError, ModelFileError
from iegp.storage.conversions import converted
from iegp.storage.locks import short_name, try_lock
from iegp.typing import Arrays

# What the format's readers take: a file with more could be written and never be read again.
LARGEST_HEADER = 100_000_000
# The names of the format, and the order in which it wants the arrays: widest numbers first, so that all are aligned.
_NAMES = ("U64", "I64", "F64", "F32", "U32", "I32", "F16", "U16", "I16", "I8", "U8")
_KINDS = {np.dtype(f"<{name[0].lower()}{int(name[1:]) // 8}"): name for name in _NAMES} | {np.dtype(bool): "BOOL"}
_ORDER = {kind: place for place, kind in enumerate(_KINDS)}


def pieces(arrays: Arrays, metadata: dict[str, str]) -> Iterator[bytes | memoryview]:
    """Consecutive parts of the file. The arrays must be contiguous and may not change until all is written."""
    names = sorted(arrays, key=lambda name: (_ORDER[arrays[name].dtype], name))
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in names:
        start, end = end, end + arrays[name].nbytes
        kind, shape = _KINDS[arrays[name].dtype], list(arrays[name].shape)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > LARGEST_HEADER:
        raise IegpError(
            f"the names in this model take {len(text) / 1e6:,.0f} MB, more than the {LARGEST_HEADER / 1e6:.0f} MB that "
            "a model file may have for them; use shorter keys and ids, or fewer (one model file per range of keys)"
        )
    yield struct.pack("<Q", len(text)) + text
    for name in names:
        yield raw(arrays[name])


def raw(array: NDArray[Any]) -> memoryview:
    """The bytes of a contiguous array, not a copy of them."""
    return array.reshape(-1).view(np.uint8).data


FORMAT = 8
_KEY = "iegp"
# From this format on the checksum is of the header too.
_WHOLE_FILE = 4


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: Arrays, through_link: bool = True) -> None:
    """Write a model file atomically; ``through_link`` as for :func:`replacing`."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    content = pieces(arrays, {_KEY: signed({"format": FORMAT, **header}, arrays)})
    replace_atomically(Path(path), *content, through_link=through_link)


def signed(header: dict[str, Any], arrays: Arrays) -> str:
    """The header as JSON, with the checksum of all of it and of the arrays; another one in it is replaced."""
    return _json(header | {"sha256": _digest(arrays, header)})


def _json(header: dict[str, Any]) -> str:
    return json.dumps(header, allow_nan=True, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    """Parameters may be numbers of NumPy, as a grid search gives them."""
    if isinstance(value, np.number | np.bool_):
        return value.item()
    raise TypeError(f"{value!r:.100} cannot be written to a model file")


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a model file."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        # A named pipe would be waited for, for ever.
        raise ModelFileError(f"{os.fspath(path)} is not a plain file, so it is not a model file; name the file itself")
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            header = _header(path, file.metadata())
            names = list(file.keys())
            arrays = {name: np.array(file.get_tensor(name), order="C") for name in names}
    except (SafetensorError, TypeError, AttributeError) as error:  # the last two: types that NumPy does not have
        raise ModelFileError(f"{os.fspath(path)} is damaged or not a model file ({error})") from error
    is_signed = int(header["format"]) >= _WHOLE_FILE
    if header.get("sha256") != _digest(arrays, header if is_signed else None):
        raise ModelFileError(f"{os.fspath(path)} is damaged: it does not match its checksum; try an older copy")
    try:
        return converted(header, arrays, FORMAT)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{os.fspath(path)} is damaged ({error!r:.200}); try an older copy") from error


def _digest(arrays: Arrays, header: dict[str, Any] | None) -> str:
    """Checksum of all that a file says: of the header, without the checksum itself, and of the arrays."""
    digest = hashlib.sha256()
    if header is not None:
        entries = {name: value for name, value in header.items() if name != "sha256"}
        digest.update(_json(entries).encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(raw(arrays[name]))
    return digest.hexdigest()


def _header(path: str | os.PathLike[str], metadata: dict[str, str] | None) -> dict[str, Any]:
    if not metadata or _KEY not in metadata:
        raise ModelFileError(f"{os.fspath(path)} is a safetensors file but not a model file: it has no iegp header")
    try:
        header = json.loads(metadata[_KEY])
        number = int(header["format"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ModelFileError(
            f"{os.fspath(path)} has a header that cannot be read ({error}); try an older copy"
        ) from error
    if not 1 <= number <= FORMAT:
        raise ModelFileError(f"{os.fspath(path)} has format {number}; this version reads up to {FORMAT}: upgrade iegp")
    return dict(header)


def replace_atomically(path: Path, *content: bytes | memoryview, through_link: bool = True) -> None:
    """Put ``content``, part after part, at ``path``: write beside it, flush to disk, rename, flush the folder."""
    with replacing(path, through_link) as file:
        for part in content:
            file.write(part)


def real_path(path: Path) -> Path:
    """The file itself, where ``path`` is a symbolic link to it; the file need not exist."""
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return target


@contextlib.contextmanager
def replacing(path: Path, through_link: bool = True) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of ``path`` at the end of the block, flushed to disk, or not at all.

    Of a symbolic link it takes the place of the target, or, without ``through_link``, that of the link.
    """
    path = real_path(path) if through_link else path
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} does not exist; make it first")
    _check_replaceable(path)
    _remove_leftovers(path)
    temporary = path.with_name(f".{short_name(path)}.{os.getpid()}.{secrets.token_hex(4)}")
    # Errors name the file itself, not the temporary one.
    with naming(path):
        try:
            with open(temporary, "xb") as file:
                # By its lock others know that it is not left over.
                try_lock(file.fileno())
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            _remove(temporary)
            raise
        sync_folder(path.parent)


def _check_replaceable(path: Path) -> None:
    """Refuse what is no file: a rename would remove a device or a named pipe, for all programs, where it may."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.lstat(path).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
            raise InputError(f"{path} is a device or a pipe, which no file takes the place of; choose another name")


@contextlib.contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Errors of the operating system name ``path``: those of a descriptor name nothing."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files of processes that were killed while they replaced ``path``: their lock is free."""
    ours = re.compile(rf"\.{re.escape(short_name(path))}\.[0-9]+\.[0-9a-f]{{8}}")
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if ours.fullmatch(entry.name) and entry.is_file(follow_symlinks=False) and _is_abandoned(entry.path):
                _remove(Path(entry.path))


# Far more than a process needs between making a file and locking it.
_SECONDS_TO_LOCK = 60.0


def _is_abandoned(temporary: str) -> bool:
    try:
        with open(temporary, "rb") as file:
            found = os.fstat(file.fileno())
            # A file that another process made this instant may not be locked yet; then it is empty.
            is_ours = f".{os.getpid()}." in temporary
            is_begun = is_ours or found.st_size > 0 or found.st_mtime < time.time() - _SECONDS_TO_LOCK
            return is_begun and try_lock(file.fileno()) is True
    except OSError:
        return False


def _remove(temporary: Path) -> None:
    """Best effort: where a file could not be written, removing it may fail too."""
    with contextlib.suppress(OSError):
        temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Let a rename reach the disk."""
    if os.name == "posix":  # elsewhere a folder cannot be opened, and renames are durable without it
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
