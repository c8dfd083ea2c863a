"""A worker process: it keeps some kernels of an ensemble with their beliefs, and serves tasks until the pipe closes."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Iterable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import FEW_ROWS
from iegp.core.ensemble import start
from iegp.core.expert.belief import Ahead
from iegp.core.expert.sweep import allocate_workspace, predict_rows, sweep_blocks, sweep_rows
from iegp.core.state import Active, Ensemble, Layout, State, belief_at
from iegp.typing import Bool, Float

LEARN, PREDICT, GIVE_BELIEFS = "learn", "predict", "give beliefs"


class Shard(NamedTuple):
    """Beliefs are ordered kernel by kernel, then drift, as in the ensemble they are taken from."""

    ensemble: Ensemble
    """The kernels of this process alone; weights need all experts and are not kept here."""
    state: State
    """Beliefs are updated in place; the rest is not used."""

    def learn(self, x: Float, y: Float, active: Bool) -> tuple[Float, Float]:
        """One-step-ahead means (active beliefs, n, D) and variances (active beliefs, n) of rows that are then learned.

        Row for row, and block for block, what one process with all experts does.
        """
        experts = np.repeat(active, len(self.ensemble.forgetting))
        work = allocate_workspace(self.ensemble, Active(experts, active), x, y, 0)
        if len(x) <= FEW_ROWS:
            sweep_rows(self.ensemble, self.state, None, work)
        else:
            sweep_blocks(self.ensemble, self.state, None, work)
        return work.means[active], work.variances[active]

    def predict(self, x: Float, active: Bool) -> tuple[Float, Float]:
        """Means and variances, as of :meth:`learn`, of rows each of which might come next; nothing is learned."""
        n_beliefs, n_outputs = self.ensemble.noise_var.shape
        ahead = Ahead(np.zeros((n_beliefs, len(x), n_outputs)), np.ones((n_beliefs, len(x))))
        predict_rows(self.ensemble, self.state, active, x, ahead, np.ones(len(x)))
        return ahead.means[active], ahead.variances[active]


def compile_worker_code(ensemble: Ensemble) -> None:
    """Call all that a worker will call, on one kernel: compiled here, once, workers find it in the cache."""
    one = ensemble.part(np.arange(1))
    shard = Shard(one, start(one))
    active = np.ones(one.n_beliefs, dtype=bool)
    for n in (1, FEW_ROWS + 1):
        x, y = np.zeros((n, one.basis.frequencies.shape[1])), np.zeros((n, one.noise_var.shape[1]))
        shard.predict(x, active)
        shard.learn(x, y, active)


def work(connection: Connection, ensemble: Ensemble) -> None:
    """Main function of the process. It ends when its parent closes the pipe or ends."""
    # Ctrl-C reaches every process of a terminal; the parent handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with one_blas_thread():
        serve(connection, ensemble)
    # There is nothing to clean up, and the interpreter's normal exit takes a second.
    os._exit(0)


def serve(connection: Connection, ensemble: Ensemble) -> None:
    """Receive the beliefs and say so, then do task after task. An answer is "" and arrays, or what went wrong."""
    try:
        shard = _receive_shard(connection, ensemble)
        connection.send("")
        while True:
            task, n = connection.recv()
            try:
                _do(task, n, shard, connection)
            except (EOFError, ConnectionError):
                raise
            except Exception:
                # Such as no memory: beliefs may be half updated, so this was the last task.
                connection.send(traceback.format_exc())
                return
    except (EOFError, ConnectionError):
        return


def send_beliefs(connection: Connection, layout: Layout, state: State, which: Iterable[int]) -> None:
    """One by one, so that no copy of all of them is ever made."""
    for number in which:
        for array in belief_at(layout, state, number):
            send_array(connection, array)


def receive_beliefs(connection: Connection, layout: Layout, state: State, which: Iterable[int]) -> None:
    """Into their places in ``state``."""
    for number in which:
        for array in belief_at(layout, state, number):
            receive_into(connection, array)


def _receive_shard(connection: Connection, ensemble: Ensemble) -> Shard:
    state = start(ensemble)
    receive_beliefs(connection, ensemble.layout, state, range(ensemble.n_beliefs))
    return Shard(ensemble, state)


def _do(task: str, n: int, shard: Shard, connection: Connection) -> None:
    if task == GIVE_BELIEFS:
        connection.send("")
        send_beliefs(connection, shard.ensemble.layout, shard.state, range(shard.ensemble.n_beliefs))
        return
    active = receive_flags(connection, shard.ensemble.n_beliefs)
    x = receive_floats(connection, n, shard.ensemble.basis.frequencies.shape[1])
    if task == LEARN:
        y = receive_floats(connection, n, shard.state.vector.shape[1])
        means, variances = shard.learn(x, y, active)
    else:
        means, variances = shard.predict(x, active)
    connection.send("")
    send_array(connection, means)
    send_array(connection, variances)


# -- arrays between processes ----------------------------------------------------------------------------------------

# Their bytes go through a pipe. Sixteen bytes per belief and row come back, against microseconds of work: a pipe is
# quick enough, and unlike shared memory it leaves nothing behind when a process is killed.


def send_array(connection: Connection, array: NDArray[Any]) -> None:
    """Any array; the other side must know its shape."""
    connection.send_bytes(_bytes_of(np.ascontiguousarray(array)))


def receive_into(connection: Connection, array: NDArray[Any]) -> None:
    """Fill a contiguous array."""
    connection.recv_bytes_into(_bytes_of(array))


def receive_floats(connection: Connection, *shape: int) -> Float:
    array: Float = np.empty(shape)
    receive_into(connection, array)
    return array


def receive_flags(connection: Connection, n: int) -> Bool:
    array: Bool = np.empty(n, dtype=bool)
    receive_into(connection, array)
    return array


def _bytes_of(array: NDArray[Any]) -> memoryview:
    # An empty array cannot be cast, and has no bytes.
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(bytearray())
