"""Files of data sets: downloads with limits on time and size, and checksums that verify them."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pooch import HTTPDownloader, file_hash

from iegp.datasets.catalogue import Dataset
from iegp.errors import DatasetError
from iegp.typing import Arrays

MAX_BYTES = 256 * 2**20  # five times the largest file of the paper's sets
TIMEOUT_S = 30.0  # per connection and per read, not for the whole file
CHUNK = 2**16
# Some servers compress on the fly and then announce the wrong length: ask for the bytes as they are.
HEADERS = {"Accept-Encoding": "identity", "User-Agent": "iegp"}


class _SizeLimit:
    """Progress bar for pooch that stops a download that is too long, by its header or by the bytes received."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes, self._received = max_bytes, 0

    @property
    def total(self) -> int:
        return self._received

    @total.setter
    def total(self, announced: int) -> None:
        if announced > self._max_bytes:
            raise ValueError(f"the file has {announced} bytes, more than the {self._max_bytes} allowed")

    def update(self, n_bytes: int) -> None:
        self._received += n_bytes
        # pooch counts the last chunk as a full one.
        if self._received >= self._max_bytes + CHUNK:
            raise ValueError(f"the file is longer than the {self._max_bytes} bytes allowed")

    def reset(self) -> None:
        self._received = 0

    def close(self) -> None:
        pass


def fetch(url: str, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
    """Download one file to ``path``; on any failure raise and leave no file behind."""
    if not url.startswith(("https://", "http://")):
        raise DatasetError(f"{url}: only http and https addresses are fetched; correct the address.")
    get = HTTPDownloader(progressbar=_SizeLimit(max_bytes), chunk_size=CHUNK, timeout=TIMEOUT_S, headers=HEADERS)
    try:
        get(url, path, None)
    except (OSError, ValueError) as error:
        path.unlink(missing_ok=True)
        raise DatasetError(f"{url} could not be fetched: {_reason(error)}.") from error


def _reason(error: BaseException) -> str:
    """Return the message of the operating system or the server, without the layers of libraries around it."""
    while error.__context__ is not None:
        error = error.__context__
    return str(error) or type(error).__name__


def content_digest(array: NDArray[Any], digits: int | None = None) -> str:
    """Compute the SHA-256 of an array's type, shape and values, not of its memory layout, byte order or sign of zero.

    With ``digits``, floats are compared as printed with that many significant digits.

    >>> content_digest(np.array([[1.0, 0.0]])) == content_digest(np.array([[1.0, -0.0]], order="F"))
    True
    >>> content_digest(np.array([1.00000001])) == content_digest(np.array([1.0]), digits=8)
    False
    >>> content_digest(np.array([1.00000001]), digits=8) == content_digest(np.array([1.0]), digits=8)
    True
    """
    values = np.asarray(array).astype(array.dtype.newbyteorder("<"), order="C")
    is_float = values.dtype.kind == "f"
    if is_float:
        values = values + values.dtype.type(0)  # -0.0 becomes 0.0
    digest = hashlib.sha256(f"{values.dtype.str}{values.shape}".encode())
    if is_float and digits is not None:
        # Printing is correctly rounded on every platform; arithmetic rounding to decimals is not.
        digest.update((f"%.{digits - 1}e\n" * values.size % tuple(values.ravel().tolist())).encode())
    else:
        digest.update(values.tobytes())
    return digest.hexdigest()


def check_arrays(dataset: Dataset, arrays: Arrays, origin: str) -> None:
    """Raise unless the arrays are the published ones: all known, X and y among them, every checksum right."""
    for key in ("X", "y"):
        if key not in arrays:
            raise DatasetError(
                f"{origin} has no array {key!r}, so it is not a copy of {dataset.name!r}. {_remedy(dataset)}"
            )
    for key, array in arrays.items():
        if content_digest(array, dataset.digits) != dataset.content.get(key):
            raise DatasetError(
                f"{origin}: array {key!r} (shape {array.shape}, {array.dtype}) does not match the checksum of "
                f"{dataset.name!r}; the file is damaged or another version. {_remedy(dataset)}"
            )


def check_file(dataset: Dataset, path: Path) -> None:
    """Raise unless a file is the known ``.npz`` or has the published content. Checked once per process.

    A file that has changed since (by size or time) is checked again.
    """
    stat = path.stat()
    _check_file_once(dataset, path, stat.st_size, stat.st_mtime_ns)


@cache
def _check_file_once(dataset: Dataset, path: Path, size: int, mtime_ns: int) -> None:  # noqa: ARG001 (the cache's key)
    if file_hash(path) != dataset.sha256:
        check_arrays(dataset, read_npz(dataset, path), str(path))


def read_npz(dataset: Dataset, path: Path) -> Arrays:
    """Read every array of an ``.npz`` file without unpickling, so that a malicious file cannot run code."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except (OSError, ValueError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DatasetError(f"{path} cannot be read as arrays ({error}). {_remedy(dataset)}") from error


def _remedy(dataset: Dataset) -> str:
    return f"Remove it and try again, or put a good {dataset.filename} into the folder that $IEGP_DATA names."
