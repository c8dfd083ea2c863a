"""Engines that learn the parts of a history: this process, other processes on this machine, or a Ray cluster.

An engine is a function of the model, the parts and a number of workers that yields the number and the state of each
part when it is done. It keeps only a few more parts than workers in progress, so memory stays bounded.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np

from iegp._imports import optional
from iegp._processes import compile_in_turn, environment
from iegp.core.ensemble import start
from iegp.core.expert.bulk_learning import absorb_in_any_order
from iegp.core.model import Online
from iegp.core.state import State
from iegp.errors import InputError
from iegp.history.parts import Part

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
