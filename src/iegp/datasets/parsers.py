"""Parsers of the formats in which the sets are published: ARFF, MATLAB, text tables, idx images.

Each function reads the files of one source into arrays ``X`` (n, d) and ``y`` (n,), with the types of the package's
``.npz`` files. Nothing is checked here; the caller compares the arrays with their checksums.
"""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

from iegp.typing import Arrays

MAX_UNPACKED = 512 * 2**20  # a small archive must not become an unbounded array


def arff(path: Path) -> Arrays:
    """Read numeric ARFF with the target in the last column."""
    text = path.read_text(encoding="latin-1")
    header = text.lower().index("@data")
    return _last_column_is_target(_table(text[header + len("@data") :], delimiter=","))


def csv_in_zip(path: Path, member: str) -> Arrays:
    """Read comma-separated numbers without header from a zip archive, target in the last column."""
    return _last_column_is_target(_table(_unzip(path, member), delimiter=","))


def matlab_columns(path: Path, variable: str, n_inputs: int, *, all_targets: bool = False) -> Arrays:
    """Read one MATLAB matrix: ``n_inputs`` columns of inputs, then the targets, of which the first is ``y``."""
    matrix = np.asarray(loadmat(path)[variable], dtype=np.float64)
    arrays: Arrays = {"X": matrix[:, :n_inputs], "y": matrix[:, n_inputs]}
    if all_targets:
        arrays["Y"] = matrix[:, n_inputs:]
    return arrays


def matlab_samples_in_columns(path: Path) -> Arrays:
    """Read the MATLAB variables ``X`` (d, n) and ``y`` of n numbers."""
    variables = loadmat(path)
    y = np.asarray(variables["y"], dtype=np.float64).ravel()
    X = np.asarray(variables["X"], dtype=np.float64)
    return {"X": X if X.shape[0] == len(y) else X.T, "y": y}


def pmlb(path: Path, n_inputs: int, dtype: str, labels: Sequence[int]) -> Arrays:
    """Read a Penn Machine Learning Benchmarks table: gzip, tabs, one header line, inputs and then the column "target".

    The smaller of its two labels becomes ``labels[0]``, the larger ``labels[1]``.
    """
    header, _, body = _gunzip(path).decode("ascii").partition("\n")
    if header.rstrip().split("\t")[-1] != "target":
        raise ValueError(f"the last column of {path.name} is not the target")
    table = _table(body, delimiter="\t")
    larger = table[:, -1] == table[:, -1].max()
    return {"X": table[:, -1 - n_inputs : -1].astype(dtype), "y": np.where(larger, *labels[::-1]).astype(np.int8)}


def ionosphere(path: Path, member: str) -> Arrays:
    """Read comma-separated numbers from a zip archive, last column ``g`` (good, +1) or ``b`` (bad, -1)."""
    rows = [line.split(",") for line in _unzip(path, member).split()]
    X = np.array([row[:-1] for row in rows], dtype=np.float64)
    return {"X": X, "y": np.array([1 if row[-1] == "g" else -1 for row in rows], dtype=np.int8)}


def zip_digits(train: Path, test: Path) -> Arrays:
    """Read the USPS digits: gzip, spaces, label first and then 256 pixels; training rows, then test rows."""
    tables = [_table(_gunzip(path).decode("ascii")) for path in (train, test)]
    both = np.concatenate(tables)
    is_test = np.arange(len(both)) >= len(tables[0])
    return {"X": both[:, 1:].astype(np.float32), "y": both[:, 0].astype(np.uint8), "is_test": is_test}


def oil_flow(*paths: Path) -> Arrays:
    """Read tables and their one-hot labels, in turn, of the training, the test and the validation part."""
    arrays: Arrays = {}
    for suffix, table, one_hot in zip(("", "_test", "_valid"), paths[::2], paths[1::2], strict=True):
        arrays[f"X{suffix}"] = np.loadtxt(table)
        arrays[f"y{suffix}"] = np.loadtxt(one_hot).argmax(axis=1).astype(np.uint8)
    return arrays


def idx_images(train_images: Path, train_labels: Path, test_images: Path, test_labels: Path) -> Arrays:
    """Read gzip-compressed idx files: training rows, then test rows, one flat uint8 row per image."""
    images = [_idx(_gunzip(path)) for path in (train_images, test_images)]
    labels = [_idx(_gunzip(path)) for path in (train_labels, test_labels)]
    X = np.concatenate([part.reshape(len(part), -1) for part in images])
    return {"X": X, "y": np.concatenate(labels), "is_test": np.arange(len(X)) >= len(images[0])}


# The formats that an entry of the catalogue may name.
PARSERS: dict[str, Callable[..., Arrays]] = {
    parser.__name__: parser
    for parser in (
        arff,
        csv_in_zip,
        matlab_columns,
        matlab_samples_in_columns,
        pmlb,
        ionosphere,
        zip_digits,
        oil_flow,
        idx_images,
    )
}


def _last_column_is_target(table: NDArray[np.float64]) -> Arrays:
    return {"X": table[:, :-1], "y": table[:, -1]}


def _table(text: str, delimiter: str | None = None) -> NDArray[np.float64]:
    return np.loadtxt(io.StringIO(text), delimiter=delimiter, comments="%", ndmin=2)


def _gunzip(path: Path) -> bytes:
    with gzip.open(path) as file:
        content = file.read(MAX_UNPACKED + 1)
    if len(content) > MAX_UNPACKED:
        raise ValueError(f"{path.name} unpacks to more than {MAX_UNPACKED} bytes")
    return content


def _unzip(path: Path, member: str) -> str:
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        content = file.read(MAX_UNPACKED + 1)
    if len(content) > MAX_UNPACKED:
        raise ValueError(f"{member} in {path.name} unpacks to more than {MAX_UNPACKED} bytes")
    return content.decode("ascii")


def _idx(content: bytes) -> NDArray[Any]:
    # Header: two zero bytes, type 8 (unsigned byte), number of axes, then each axis as a big-endian 32-bit integer.
    if content[:3] != b"\x00\x00\x08":
        raise ValueError("not an idx file of unsigned bytes")
    n_axes = content[3]
    shape = np.frombuffer(content, dtype=">u4", count=n_axes, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_axes).reshape(tuple(int(k) for k in shape))
