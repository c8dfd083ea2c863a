"""From the formats in which the sets are published to arrays: ARFF, MATLAB, tables of text, idx images.

Each function makes a parser: it is told file names and returns a function from the folder that holds the files to
arrays ``X`` (n, d) and ``y`` (n,), with the types of our own files. Nothing is checked here; whoever calls compares the
arrays with their checksums.
"""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

from iegp.datasets.entry import Parser
from iegp.typing import Arrays

MAX_UNPACKED = 512 * 2**20  # a small archive must not become an unbounded array


def arff(filename: str) -> Parser:
    """Numeric ARFF, target in the last column."""

    def parse(folder: Path) -> Arrays:
        text = (folder / filename).read_text(encoding="latin-1")
        header = text.lower().index("@data")
        return _last_column_is_target(_table(text[header + len("@data") :], delimiter=","))

    return parse


def csv_in_zip(filename: str, member: str) -> Parser:
    """Comma-separated numbers without header inside a zip archive, target in the last column."""

    def parse(folder: Path) -> Arrays:
        return _last_column_is_target(_table(_unzip(folder / filename, member), delimiter=","))

    return parse


def matlab_columns(filename: str, variable: str, n_inputs: int, *, all_targets: bool = False) -> Parser:
    """One MATLAB matrix: ``n_inputs`` columns of inputs, then the targets, of which the first is ``y``."""

    def parse(folder: Path) -> Arrays:
        matrix = np.asarray(loadmat(folder / filename)[variable], dtype=np.float64)
        arrays: Arrays = {"X": matrix[:, :n_inputs], "y": matrix[:, n_inputs]}
        if all_targets:
            arrays["Y"] = matrix[:, n_inputs:]
        return arrays

    return parse


def matlab_samples_in_columns(filename: str) -> Parser:
    """MATLAB variables ``X`` (d, n) and ``y`` of n numbers."""

    def parse(folder: Path) -> Arrays:
        variables = loadmat(folder / filename)
        y = np.asarray(variables["y"], dtype=np.float64).ravel()
        X = np.asarray(variables["X"], dtype=np.float64)
        return {"X": X if X.shape[0] == len(y) else X.T, "y": y}

    return parse


def pmlb(filename: str, n_inputs: int, dtype: str, labels: tuple[int, int]) -> Parser:
    """A Penn Machine Learning Benchmarks table: gzip, tabs, one header line, inputs last before the column "target".

    The smaller of its two labels becomes ``labels[0]``, the larger ``labels[1]``.
    """

    def parse(folder: Path) -> Arrays:
        header, _, body = _gunzip(folder / filename).decode("ascii").partition("\n")
        if header.rstrip().split("\t")[-1] != "target":
            raise ValueError(f"the last column of {filename} is not the target")
        table = _table(body, delimiter="\t")
        larger = table[:, -1] == table[:, -1].max()
        return {"X": table[:, -1 - n_inputs : -1].astype(dtype), "y": np.where(larger, *labels[::-1]).astype(np.int8)}

    return parse


def ionosphere(filename: str, member: str) -> Parser:
    """Comma-separated numbers inside a zip archive, last column ``g`` (good, +1) or ``b`` (bad, -1)."""

    def parse(folder: Path) -> Arrays:
        rows = [line.split(",") for line in _unzip(folder / filename, member).split()]
        X = np.array([row[:-1] for row in rows], dtype=np.float64)
        return {"X": X, "y": np.array([1 if row[-1] == "g" else -1 for row in rows], dtype=np.int8)}

    return parse


def zip_digits(train: str, test: str) -> Parser:
    """The USPS digits: gzip, spaces, label first and then 256 pixels; training rows, then test rows."""

    def parse(folder: Path) -> Arrays:
        tables = [_table(_gunzip(folder / name).decode("ascii")) for name in (train, test)]
        both = np.concatenate(tables)
        is_test = np.arange(len(both)) >= len(tables[0])
        return {"X": both[:, 1:].astype(np.float32), "y": both[:, 0].astype(np.uint8), "is_test": is_test}

    return parse


def oil_flow(parts: dict[str, str]) -> Parser:
    """Tables ``Data<part>.txt`` and one-hot labels ``Data<part>Lbls.txt``; ``parts`` maps suffixes of keys to parts."""

    def parse(folder: Path) -> Arrays:
        arrays: Arrays = {}
        for suffix, part in parts.items():
            arrays[f"X{suffix}"] = np.loadtxt(folder / f"Data{part}.txt")
            one_hot = np.loadtxt(folder / f"Data{part}Lbls.txt")
            arrays[f"y{suffix}"] = one_hot.argmax(axis=1).astype(np.uint8)
        return arrays

    return parse


def idx_images(train: tuple[str, str], test: tuple[str, str]) -> Parser:
    """gzip-compressed idx files (images, labels): training rows, then test rows, one flat uint8 row per image."""

    def parse(folder: Path) -> Arrays:
        images = [_idx(_gunzip(folder / part[0])) for part in (train, test)]
        labels = [_idx(_gunzip(folder / part[1])) for part in (train, test)]
        X = np.concatenate([part.reshape(len(part), -1) for part in images])
        return {"X": X, "y": np.concatenate(labels), "is_test": np.arange(len(X)) >= len(images[0])}

    return parse


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
