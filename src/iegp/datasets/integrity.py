"""Checksums of files and arrays: verify that they are what was published."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pooch import file_hash

from iegp.datasets.catalogue import Dataset
from iegp.errors import DatasetError
from iegp.typing import Arrays


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
