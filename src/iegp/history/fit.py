"""Learn a history in parts that are merged exactly."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from iegp._imports import optional
from iegp.core.compute.threads import n_threads_from
from iegp.core.editing.merge import merged_states
from iegp.core.editing.merge_checks import check_mergeable
from iegp.core.ensemble import start
from iegp.core.expert.bulk_learning import absorb_in_any_order
from iegp.core.model import Online
from iegp.core.settings import check_choice, check_whole
from iegp.core.state import Ensemble, State
from iegp.errors import InputError
from iegp.history.parts import PART_ROWS, Part, Rows, array_parts, columns_of, find_files, first_rows, parquet_parts
from iegp.history.workers import ENGINES, is_ray_dataset, learn_ray_dataset


class MergeTree:
    """Merges states of parts 0, 1, 2, ... that come in any order; neighbours are merged as soon as both are there.

    At most one state per level and gap is kept: with parts that come nearly in order, about log2(parts) states.
    """

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble
        self._origin = start(ensemble)
        self._waiting: dict[tuple[int, int], State] = {}

    def add(self, number: int, state: State) -> None:
        """Add the state of one part."""
        level = 0
        while (level, number ^ 1) in self._waiting:
            other = self._waiting.pop((level, number ^ 1))
            pair = (other, state) if number & 1 else (state, other)
            state = merged_states(self._ensemble, *pair, self._origin)
            level, number = level + 1, number >> 1
        self._waiting[level, number] = state

    def total(self) -> State:
        """Merge all states; return the state before any row if there are none."""
        total: State | None = None
        for _, state in sorted(self._waiting.items(), key=lambda item: item[0][0]):
            total = state if total is None else merged_states(self._ensemble, state, total, self._origin)
        return self._origin if total is None else total


Model = TypeVar("Model", bound=Any)


def fit_history(
    dataset: Any,
    model: Model,
    *,
    engine: str = "local",
    n_workers: int | None = None,
    target: str | None = None,
    features: Sequence[str] | None = None,
    part_rows: int = PART_ROWS,
    progress: Callable[[int], object] | None = None,
) -> Model:
    """Learn a history in parallel; the result is that of one process that learned its rows in order (to 1e-8).

    Parameters
    ----------
    dataset : path, list of paths, pair of arrays, iterator of pairs, or Ray Dataset
        A folder or a pattern of Parquet files, or a list of them, with ``target`` (and ``features``); ``(X, y)``; an
        iterator of such pairs, read once and never held as a whole; a Ray Dataset with ``engine="ray"``.
    model : IEGPRegressor
        A model that can be merged: ``drift_var=0.0``, ``weights="bayes"``, ``shutdown=0.0``, ``noise_forgetting=None``
        or ``1.0``. If it is unfitted, the first ``warmup`` rows determine scaling and hyperparameters, in this process
        (``model.warm_up``). If it is past its warm-up, all rows are learned in addition to those that it has learned.
        It is changed when everything is learned, and returned.
    engine : {"local", "ray"}, default="local"
        Processes on this machine, or tasks of a Ray cluster (the extra ``ray``).
    n_workers : int or None, default=None
        Processes or tasks at a time; ``None`` is one per core here, or per CPU of the cluster. Results do not depend on
        it. Several local processes need the usual ``if __name__ == "__main__":`` around a script.
    target : str, optional
        Name of the column to predict; required for files and Ray Datasets, unused for arrays.
    features : sequence of str, optional
        Names of the input columns of files and Ray Datasets. By default those that the model was fitted with, or all
        columns but the target, which must then be numbers.
    part_rows : int
        Rows per part; whole row groups of a Parquet file.
    progress : callable, default=None
        Called with the number of rows learned so far, after every part.

    Returns
    -------
    IEGPRegressor
        ``model`` itself.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp import IEGPRegressor
    >>> from iegp.history import fit_history
    >>> from iegp.kernels import RBF
    >>> mergeable = {"drift_var": 0.0, "weights": "bayes", "shutdown": 0.0, "noise_forgetting": None}
    >>> model = IEGPRegressor([RBF(1.0)], n_frequencies=10, warmup=100, random_state=0, **mergeable)
    >>> X = np.linspace(-3, 3, 1000)[:, None]
    >>> fit_history((X, np.sin(X[:, 0])), model, n_workers=1).n_samples_seen_
    1000
    """
    check_choice("engine", engine, tuple(ENGINES))
    if part_rows < 1:
        raise InputError(f"part_rows={part_rows} must be at least 1; seconds of work per part are best")
    draft = _Draft(model)
    if is_ray_dataset(dataset):
        if engine != "ray":
            raise InputError("a Ray Dataset needs engine='ray'; or pass the files it was made of")
        results = learn_ray_dataset(dataset, draft, target, features, part_rows)
    else:
        parts = _parts(dataset, draft, target, features, part_rows)
        first = next(parts, None)
        n_workers = _n_workers(engine, n_workers)
        results = iter(()) if first is None else ENGINES[engine](draft.untaught(), _chain(first, parts), n_workers)
    tree: MergeTree | None = None
    n_rows = 0
    for number, state in results:
        tree = tree or MergeTree(draft.online.experts.ensemble)
        tree.add(number, state)
        n_rows += int(state.rows[0])
        if progress is not None:
            progress(n_rows)
    draft.finish(model, tree)
    return model


class _Draft:
    """Copy of the model while its history is being learned; the caller's model is changed at the end only."""

    def __init__(self, model: Any) -> None:
        if not hasattr(model, "warm_up") or not hasattr(model, "merge"):
            raise InputError(f"{type(model).__name__} cannot learn a history in parts; use an IEGPRegressor")
        self._fitted = model if hasattr(model, "model_") else None
        self._fresh = type(model)(**model.get_params(deep=False))
        self.names: tuple[str, ...] | None = None
        if self._fitted is not None:
            check_mergeable(self.online, "learn a history with")
            names = getattr(model, "feature_names_in_", None)
            self.names = None if names is None else tuple(map(str, names))

    @property
    def online(self) -> Online:
        return (self._fitted or self._fresh).model_  # type: ignore[no-any-return]

    @property
    def n_warmup(self) -> int:
        """Number of rows that must be read before parts can be distributed."""
        return 0 if self._fitted is not None else max(int(self._fresh.warmup), 1)

    def begin(self, rows: Rows, single_output: bool, names: tuple[str, ...] | None) -> Online:
        """Find scaling and hyperparameters from the first rows."""
        x, y = rows
        self._fresh.warm_up(x, y[:, 0] if single_output else y)
        check_mergeable(self.online, "learn a history with")
        self.names = names
        return self.untaught()

    def untaught(self) -> Online:
        """Return the model in its state before any row, with the code that workers need already compiled."""
        model = replace(self.online, state=start(self.online.experts.ensemble))
        # Compiled here, once, so that workers find everything in the cache.
        x, y = model.scaling.x_mean[None], model.scaling.y_mean[None]
        absorb_in_any_order(
            model.experts.ensemble, model.state, model.scaling.standardise_x(x), model.scaling.standardise_y(y)
        )
        return replace(model, state=start(model.experts.ensemble))

    def finish(self, model: Any, tree: MergeTree | None) -> None:
        """Merge all parts into the caller's model."""
        source, online = self._fitted or self._fresh, self.online
        if tree is not None:
            ensemble = online.experts.ensemble
            state = merged_states(ensemble, online.state, tree.total(), start(ensemble))
            online = replace(online, state=state)
        model.labels_ = source.labels_
        model.adopt(online, self.names)


def _parts(
    dataset: Any, draft: _Draft, target: str | None, features: Sequence[str] | None, part_rows: int
) -> Iterator[Part]:
    """Yield parts of the history, after its first rows have served as warm-up."""
    if isinstance(dataset, str | os.PathLike) or (
        isinstance(dataset, list) and dataset and all(isinstance(path, str | os.PathLike) for path in dataset)
    ):
        if target is None:
            raise InputError("files need target=, the name of the column to predict")
        paths = find_files(dataset)
        columns = columns_of(paths[0], target, features if features is not None or draft.names is None else draft.names)
        if draft.names is not None and columns.features != draft.names:
            raise InputError(f"the model knows the columns {list(draft.names)!r:.200}; leave features= out")
        skip = draft.n_warmup
        if skip:
            whole = (rows for part in parquet_parts(paths, columns, 0, 1) for rows in part.read())
            first, _ = first_rows(whole, skip)
            draft.begin(first, True, columns.features)
        yield from parquet_parts(paths, columns, skip, part_rows)
        return
    pairs = [dataset] if isinstance(dataset, tuple) and len(dataset) == 2 else dataset
    checked = _Checked(pairs, draft)
    rows: Iterator[Rows] = iter(checked)
    if draft.n_warmup:
        first, rows = first_rows(rows, draft.n_warmup)
        draft.begin(first, checked.single_output, None)
    yield from array_parts(rows, part_rows)


class _Checked:
    """Pairs of arrays, each checked when it is read."""

    def __init__(self, pairs: Iterable[Any], draft: _Draft) -> None:
        self._pairs, self.single_output = pairs, True
        self._shape: tuple[int, int] | None = None
        if draft.n_warmup == 0:
            self._shape = draft.online.n_columns, draft.online.n_outputs

    def __iter__(self) -> Iterator[Rows]:
        for number, pair in enumerate(self._pairs):
            try:
                x, y = (np.ascontiguousarray(part, dtype=np.float64) for part in pair)
            except (TypeError, ValueError) as error:
                raise InputError(f"piece {number} of the history is not a pair of arrays (X, y): {error}") from error
            self.single_output = y.ndim == 1
            y = y[:, None] if y.ndim == 1 else y
            shape = x.shape[-1], y.shape[-1]
            self._shape = self._shape or shape
            if x.ndim != 2 or y.ndim != 2 or len(x) != len(y) or shape != self._shape:
                raise InputError(
                    f"piece {number} of the history has X {x.shape} and y {y.shape}; {self._shape[0]} columns of X and "
                    f"{self._shape[1]} of y are expected, with as many rows"
                )
            if not (np.isfinite(x).all() and np.isfinite(y).all()):
                raise InputError(f"piece {number} of the history has NaN or infinity; drop such rows or fill them in")
            yield x, y


def _n_workers(engine: str, n_workers: int | None) -> int:
    if n_workers is not None:
        check_whole("n_workers", n_workers, 1)
        return int(n_workers)
    if engine == "ray":
        ray = optional("ray", "engine='ray'")
        if not ray.is_initialized():
            ray.init()
        return max(1, int(ray.cluster_resources().get("CPU", 1)))
    return n_threads_from(-1)


def _chain(first: Part, others: Iterator[Part]) -> Iterator[Part]:
    yield first
    yield from others
