"""A worker process: it keeps a shard, and does what it is told until the pipe closes."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Iterable
from multiprocessing.connection import Connection

from iegp.core.compute.threads import one_blas_thread
from iegp.core.ensemble import start
from iegp.core.state import Ensemble, Layout, State, belief_at
from iegp.parallel.messages import receive_flags, receive_floats, receive_into, send_array
from iegp.parallel.shard import Shard

LEARN, PREDICT, GIVE_BELIEFS = "learn", "predict", "give beliefs"


def work(connection: Connection, ensemble: Ensemble) -> None:
    """What the process runs. It ends when its parent closes the pipe, or is gone."""
    # Ctrl-C reaches every process of a terminal; what it means is the parent's to decide.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with one_blas_thread():
        serve(connection, ensemble)
    # Nothing is left to tidy up, and an interpreter that ends in good order takes a second.
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
