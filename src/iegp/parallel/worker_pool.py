"""Pool of worker processes of an ensemble: experts are divided among them, and each task is sent to all at once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import NamedTuple

import numpy as np

from iegp._processes import environment
from iegp.core.expert.belief import Ahead
from iegp.core.state import Ensemble, Layout, State
from iegp.errors import InputError, WorkerError
from iegp.parallel.worker import (
    GIVE_BELIEFS,
    LEARN,
    PREDICT,
    compile_worker_code,
    receive_beliefs,
    receive_floats,
    send_array,
    send_beliefs,
    work,
)
from iegp.typing import Bool, Float, Int

# A worker that does not end by itself in this time, because it is at work, is ended.
SECONDS_TO_END = 2.0
ADVICE = (
    "What experts had learned is lost, and this ensemble with it: start a new one from the last model you saved "
    "(ensemble.to_model().save(path) now and then, ProcessEnsemble(iegp.load(path)) to continue)"
)


class Worker(NamedTuple):
    process: BaseProcess
    connection: Connection
    beliefs: Int
    """Which of the ensemble's beliefs it keeps."""


class WorkerPool:
    """Workers that keep all beliefs of an ensemble. After a failure, of whatever kind, none is left."""

    def __init__(self, ensemble: Ensemble, state: State, n_workers: int) -> None:
        self.workers: list[Worker] = []
        self._ended_because: Exception = InputError(
            "this ensemble is closed; call to_model() before close(), and make a new one from that model"
        )
        self._n_outputs = state.vector.shape[1]
        with self.closed_on_error():
            n_workers = min(n_workers, ensemble.n_kernels)
            self.workers = [_started(ensemble, i, n_workers) for i in range(n_workers)]
            # While they start.
            compile_worker_code(ensemble)
            for worker in self.workers:
                with _watched(worker):
                    send_beliefs(worker.connection, ensemble.layout, state, worker.beliefs)
            for worker in self.workers:
                with _watched(worker):
                    _check_answer(worker)

    def __len__(self) -> int:
        return len(self.workers)

    def learn(self, x: Float, y: Float, active: Bool, ahead: Ahead) -> None:
        """Predictions of all active beliefs, one step ahead, into ``ahead``; rows are learned."""
        self._ask(LEARN, active, [x, y], ahead)

    def predict(self, x: Float, active: Bool, ahead: Ahead) -> None:
        """Predictions of all active beliefs, one step ahead, into ``ahead``; nothing is learned."""
        self._ask(PREDICT, active, [x], ahead)

    def _ask(self, task: str, active: Bool, rows: list[Float], ahead: Ahead) -> None:
        self.check_open()
        with self.closed_on_error():
            n = len(rows[0])
            for worker in self.workers:
                with _watched(worker):
                    worker.connection.send((task, n))
                    for array in (active[worker.beliefs], *rows):
                        send_array(worker.connection, array)
            for worker in self.workers:
                own = worker.beliefs[active[worker.beliefs]]
                with _watched(worker):
                    _check_answer(worker)
                    ahead.means[own] = receive_floats(worker.connection, len(own), n, self._n_outputs)
                    ahead.variances[own] = receive_floats(worker.connection, len(own), n)

    def gather(self, layout: Layout, state: State) -> None:
        """Copy all beliefs out of the workers into ``state``."""
        self.check_open()
        with self.closed_on_error():
            for worker in self.workers:
                with _watched(worker):
                    worker.connection.send((GIVE_BELIEFS, 0))
                    _check_answer(worker)
                    receive_beliefs(worker.connection, layout, state, worker.beliefs)

    def check_open(self) -> None:
        """Raise what ended the workers, if they have been ended."""
        if not self.workers:
            raise type(self._ended_because)(*self._ended_because.args)

    def close(self) -> None:
        """End all workers. Twice is as good as once."""
        workers, self.workers = self.workers, []
        for worker in workers:
            worker.connection.close()
        for worker in workers:
            worker.process.join(SECONDS_TO_END)
            if worker.process.exitcode is None:
                worker.process.kill()
                worker.process.join()

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Whatever breaks off a step leaves workers, or their parent, at different rows: then all are ended."""
        try:
            yield
        except BaseException as error:
            self._ended_because = (
                error
                if isinstance(error, WorkerError)
                else WorkerError(
                    f"this ensemble was broken off by {type(error).__name__} in the middle of a step. {ADVICE}"
                )
            )
            self.close()
            raise


def _started(ensemble: Ensemble, number: int, n_workers: int) -> Worker:
    """A process with every ``n_workers``-th kernel: neighbours, which are often shut down together, are spread."""
    kernels = np.arange(number, ensemble.n_kernels, n_workers)
    beliefs = (kernels[:, None] * ensemble.n_drifts + np.arange(ensemble.n_drifts)).ravel()
    # Started afresh, so that threads of this process are not inherited.
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    what, name = (there, ensemble.part(kernels)), f"iegp-experts-{number}"
    process = context.Process(target=work, args=what, name=name, daemon=True)
    with environment():
        process.start()
    # Or the end of the worker would not close the pipe.
    there.close()
    return Worker(process, here, beliefs)


def _check_answer(worker: Worker) -> None:
    failure = worker.connection.recv()
    if failure:
        raise WorkerError(f"worker process {worker.process.pid} has failed. {ADVICE}.\n{failure}")


@contextmanager
def _watched(worker: Worker) -> Iterator[None]:
    """Say what happened where a pipe breaks because the worker is gone."""
    try:
        yield
    except (EOFError, ConnectionError) as error:
        worker.process.join(SECONDS_TO_END)
        raise WorkerError(
            f"worker process {worker.process.pid} has ended (exit code {worker.process.exitcode}): killed, out of "
            "memory, or the script makes the ensemble at import; put that under if __name__ == '__main__'. " + ADVICE
        ) from error
