"""Engines that learn the parts of a history: this process, other processes on this machine, or a Ray cluster.

An engine is a function of the model, the parts and a number of workers that yields the number and the state of each
part when it is done. It keeps only a few more parts than workers in progress, so memory stays bounded. A Ray
Dataset has an engine of its own, because Ray Data streams its batches through the workers.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes

from iegp._imports import optional
from iegp._processes import compile_in_turn, environment
from iegp.core.ensemble import start
from iegp.core.expert.bulk_learning import absorb_in_any_order
from iegp.core.model import Online
from iegp.core.state import State
from iegp.errors import InputError
from iegp.history.parts import ArrayPart, Columns, Part, Rows, columns_among, table_rows

Engine = Callable[[Online, Iterator[Part], int], Iterator[tuple[int, State]]]

# Parts in progress per worker: one being learned, one waiting.
AHEAD = 2


def learn_part(model: Online, part: Part) -> State:
    """Learn the rows of a part from the initial state, and return the new state."""
    ensemble = model.experts.ensemble
    state = start(ensemble)
    for x, y in part.read():
        absorb_in_any_order(ensemble, state, model.scaling.standardise_x(x), model.scaling.standardise_y(y))
    return state


def learn_part_in_turn(model: Online, part: Part) -> State:
    """Do the same in a Ray worker, which waits for its turn to compile."""
    compile_in_turn(lambda: _learn_a_zero_row(model))
    return learn_part(model, part)


def _learn_a_zero_row(model: Online) -> None:
    ensemble = model.experts.ensemble
    absorb_in_any_order(ensemble, start(ensemble), np.zeros((1, model.n_columns)), np.zeros((1, model.n_outputs)))


def in_this_process(model: Online, parts: Iterator[Part]) -> Iterator[tuple[int, State]]:
    """Learn one part after another in this process."""
    for number, part in enumerate(parts):
        yield number, learn_part(model, part)


def local(model: Online, parts: Iterator[Part], n_workers: int) -> Iterator[tuple[int, State]]:
    """Learn parts in processes on this machine, started with spawn, so that they do not inherit threads."""
    if n_workers == 1:
        yield from in_this_process(model, parts)
        return
    context = multiprocessing.get_context("spawn")
    # Compiled before they start: they share the cache of this process.
    _learn_a_zero_row(model)
    pool = ProcessPoolExecutor(n_workers, context, _take_model, (model,))

    def submit(part: Part) -> Future[State]:
        # Processes are started by the first calls.
        with environment():
            return pool.submit(_learn_with_taken, part)

    try:
        yield from _keep_busy(parts, n_workers, submit, _first_done)
    except BrokenProcessPool as error:
        raise InputError(
            "a worker process ended before its part was learned: out of memory, killed, or the script that calls "
            "fit_history runs it at import. Put the call under if __name__ == '__main__', or use fewer workers"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def ray_cluster(model: Online, parts: Iterator[Part], n_workers: int) -> Iterator[tuple[int, State]]:
    """Learn parts as tasks of a Ray cluster: the connected one, or one on this machine that Ray starts.

    Ray places the tasks, and repeats those of a lost worker.
    """
    ray = optional("ray", "engine='ray'")
    shared = ray.put(model)
    task = ray.remote(num_cpus=1, max_retries=3)(learn_part_in_turn)

    def first_done(running: dict[Any, int]) -> list[Any]:
        return list(ray.wait(list(running), num_returns=1)[0])

    for number, reference in _keep_busy(
        parts, n_workers, lambda part: task.remote(shared, part), first_done, result=lambda reference: reference
    ):
        yield number, ray.get(reference)


ENGINES: dict[str, Engine] = {"local": local, "ray": ray_cluster}


def _keep_busy(
    parts: Iterator[Part],
    n_workers: int,
    submit: Callable[[Part], Any],
    first_done: Callable[[dict[Any, int]], list[Any]],
    result: Callable[[Any], Any] = lambda future: future.result(),
) -> Iterator[tuple[int, Any]]:
    running: dict[Any, int] = {}
    for number, part in enumerate(parts):
        running[submit(part)] = number
        if len(running) >= AHEAD * n_workers:
            for done in first_done(running):
                yield running.pop(done), result(done)
    while running:
        for done in first_done(running):
            yield running.pop(done), result(done)


def _first_done(running: dict[Future[State], int]) -> list[Future[State]]:
    return list(wait(running, return_when=FIRST_COMPLETED).done)


_taken: list[Online] = []


def _take_model(model: Online) -> None:
    """Store the model once per worker process, so that it is not sent with every part."""
    _taken[:] = [model]


def _learn_with_taken(part: Part) -> State:
    return learn_part(_taken[0], part)


_WHERE = "the Ray Dataset"


class Draft(Protocol):
    """Model in the process of learning a history, as :mod:`iegp.history.fit` keeps it."""

    names: tuple[str, ...] | None

    @property
    def n_warmup(self) -> int: ...
    def begin(self, rows: Rows, single_output: bool, names: tuple[str, ...] | None) -> Online: ...
    def untaught(self) -> Online: ...


def is_ray_dataset(dataset: Any) -> bool:
    """Return whether this is a Ray Dataset, without importing Ray."""
    return any(kind.__module__.split(".")[0] == "ray" and kind.__name__ == "Dataset" for kind in type(dataset).__mro__)


def learn_ray_dataset(
    dataset: Any, draft: Draft, target: str | None, features: Sequence[str] | None, part_rows: int
) -> Iterator[tuple[int, State]]:
    """Yield the states of parts as Ray Data finishes them. For a warm-up, Ray first materialises the dataset."""
    ray = optional("ray", "engine='ray'")
    if target is None:
        raise InputError("a Ray Dataset needs target=, the name of the column to predict")
    columns = _columns(dataset, target, features if features is not None else draft.names)
    if draft.n_warmup:
        first, dataset = dataset.split_at_indices([draft.n_warmup])
        batches = list(first.iter_batches(batch_size=draft.n_warmup, batch_format="pyarrow"))
        draft.begin(table_rows(pa.concat_tables(batches), columns, _WHERE, 0), True, columns.features)
    shared = ray.put(draft.untaught())

    def learn_batch(batch: pa.Table) -> dict[str, list[bytes]]:
        rows = table_rows(batch, columns, _WHERE, 0)
        return {"state": [to_bytes(learn_part_in_turn(ray.get(shared), ArrayPart(*rows))._asdict())]}

    states = dataset.map_batches(learn_batch, batch_size=part_rows, batch_format="pyarrow")
    for number, row in enumerate(states.iter_rows()):
        yield number, State(**from_bytes(row["state"]))


def _columns(dataset: Any, target: str, features: Sequence[str] | None) -> Columns:
    schema = dataset.schema()
    return columns_among(pa.schema(list(zip(schema.names, schema.types, strict=True))), target, features, _WHERE)
