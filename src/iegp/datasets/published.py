"""The paper's data sets by name: read from a local folder or the cache, or downloaded once from a public source.

A set is looked for as ``<name>.npz`` in the folder that ``$IEGP_DATA`` names, then in the user's cache (on Linux
``$XDG_CACHE_HOME/iegp`` or ``~/.cache/iegp``); failing both it is downloaded into the cache. Every file is verified by
its checksum before it is used.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from pooch import os_cache

from iegp._docstrings import entries, fill_docstrings
from iegp.datasets.catalogue import CATALOGUE, Dataset, Source
from iegp.datasets.download import check_arrays, check_file, fetch, read_npz
from iegp.datasets.stream import Stream
from iegp.errors import DatasetError
from iegp.name_suggestions import closest
from iegp.typing import Arrays

DOCS = entries("""
name : str
    One of :func:`list_datasets`; another raises ``DatasetError``.
download : bool, default=True
    Whether a set that is not on this machine is downloaded into the cache. With ``False`` the network is never
    used, and a missing set raises ``DatasetError``.
""")


def list_datasets() -> tuple[str, ...]:
    """List the names of the paper's data sets (and of a few that follow-up work uses).

    Returns
    -------
    tuple of str
        Names that :func:`load_dataset` accepts.

    Examples
    --------
    >>> list_datasets()[:3]
    ('toms_hardware', 'sarcos', 'sarcos_test')
    """
    return tuple(CATALOGUE)


@fill_docstrings(DOCS)
def describe_dataset(name: str) -> Dataset:
    """Describe a data set of the paper without loading it.

    {parameters}

    Returns
    -------
    Dataset
        Title, task, description, column names, provenance, and known pitfalls (``notes``).

    Examples
    --------
    >>> describe_dataset("musk").notes[0]
    'SORTED BY CLASS, all positives first: shuffle before online use.'
    """
    if name not in CATALOGUE:
        raise DatasetError(f"{name!r} is no data set of the paper. {closest(name, CATALOGUE)}")
    return CATALOGUE[name]


@fill_docstrings(DOCS)
def load_dataset(name: str, *, download: bool = True) -> Stream:
    """Load a data set of the paper in the row order of its source.

    Known pitfalls are in ``describe_dataset(name).notes``: read them before interpreting a result.

    {parameters}

    Returns
    -------
    Stream
        X (n, d) and y (n,); classes are int64.

    Examples
    --------
    >>> load_dataset("sarcos").X.shape  # doctest: +SKIP
    (44484, 21)
    """
    dataset = describe_dataset(name)
    arrays = load_arrays(name, download=download)
    return Stream(
        name=dataset.name,
        X=arrays["X"],
        y=arrays["y"],
        feature_names=dataset.feature_names,
        target_name=dataset.target_name,
        description=dataset.description,
        task="regression" if dataset.task == "regression" else "classification",
        delay=dataset.delay,
    )


@fill_docstrings(DOCS)
def load_arrays(name: str, *, download: bool = True) -> Arrays:
    """Load every array of a data set's file with its own type.

    {parameters}

    Returns
    -------
    dict of str to ndarray
        ``X``, ``y`` and any further arrays of the file.

    Examples
    --------
    >>> load_arrays("mnist")["X"].dtype  # doctest: +SKIP
    dtype('uint8')
    """
    return read_npz(describe_dataset(name), dataset_path(name, download=download))


@fill_docstrings(DOCS)
def dataset_path(name: str, *, download: bool = True) -> Path:
    """Find the verified ``.npz`` file of a data set.

    {parameters}

    Returns
    -------
    Path
        File in the folder that ``$IEGP_DATA`` names, or in the cache. A file with a wrong checksum raises
        ``DatasetError``.
    """
    dataset = describe_dataset(name)
    for folder in _folders():
        path = folder / dataset.filename
        if path.is_file():
            check_file(dataset, path)
            return path
    if not download:
        raise DatasetError(f"{_not_here(dataset)} {_by_hand(dataset)}")
    return _download(dataset)


def _folders() -> list[Path]:
    own = os.environ.get("IEGP_DATA")
    return [*([Path(own)] if own else []), _cache_folder()]


def _cache_folder() -> Path:
    return Path(os_cache("iegp"))


def _download(dataset: Dataset) -> Path:
    failures = []
    for source in dataset.sources:
        try:
            return _store(dataset, _arrays_from(dataset, source))
        except DatasetError as error:
            failures.append(str(error))
    tried = " ".join(failures)
    raise DatasetError(
        f"{_not_here(dataset)} Downloading failed: {tried} Check the network, or else: {_by_hand(dataset)}"
    )


def _arrays_from(dataset: Dataset, source: Source) -> Arrays:
    origin = source.base + source.files[0]
    with tempfile.TemporaryDirectory(prefix="iegp-") as folder:
        paths = [Path(folder) / Path(file).name for file in source.files]
        for file, path in zip(source.files, paths, strict=True):
            fetch(source.base + file, path)
        try:
            arrays = source.parse(paths)
        except Exception as error:  # a downloaded file may hold anything, and parsers raise errors of many types
            raise DatasetError(f"{origin} is not in the expected format ({type(error).__name__}: {error}).") from error
    check_arrays(dataset, arrays, origin)
    return arrays


def _store(dataset: Dataset, arrays: Arrays) -> Path:
    target = _cache_folder() / dataset.filename
    with _replacing(target) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **dict[str, Any](arrays))
    return target


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """Yield a temporary file beside ``target`` that replaces it at the end, so that no reader sees half a file."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise DatasetError(
            f"{target} cannot be written ({error}); point $XDG_CACHE_HOME to a folder that you can write to."
        ) from error


def _not_here(dataset: Dataset) -> str:
    places = " nor ".join(str(folder) for folder in _folders())
    return f"Data set {dataset.name!r} ({dataset.title}) is not in {places}."


def _by_hand(dataset: Dataset) -> str:
    return (
        f"It is published by: {dataset.published}. Save it as {dataset.filename} (arrays X and y) in a folder "
        "and set $IEGP_DATA to that folder."
    )
