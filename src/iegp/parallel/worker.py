"""A worker process: it keeps a shard, and does what it is told until the pipe closes."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Iterable
from multiprocessing.connection import Connection

import numpy as np

from iegp.core.compute.threads import one_blas_thread
from iegp.parallel.messages import receive_flags, receive_floats, receive_into, send_array
from iegp.parallel.shard import Shard
from iegp.typing import Float

LEARN, PREDICT, GIVE_BELIEFS = "learn", "predict", "give beliefs"


def work(connection: Connection, frequencies: Float, drift_ratio: Float, n_outputs: int) -> None:
    """What the process runs. It ends when its parent closes the pipe, or is gone."""
    # Ctrl-C reaches every process of a terminal; what it means is the parent's to decide.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with one_blas_thread():
        serve(connection, frequencies, drift_ratio, n_outputs)
    # Nothing is left to tidy up, and an interpreter that ends in good order takes a second.
    os._exit(0)


def serve(connection: Connection, frequencies: Float, drift_ratio: Float, n_outputs: int) -> None:
    """Receive the beliefs and say so, then do task after task. An answer is "" and arrays, or what went wrong."""
    try:
        shard = _receive_shard(connection, frequencies, drift_ratio, n_outputs)
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


def send_beliefs(connection: Connection, matrix: Float, vector: Float, which: Iterable[int]) -> None:
    """One by one, so that no copy of all of them is ever made."""
    for belief in which:
        send_array(connection, matrix[belief])
        send_array(connection, vector[belief])


def receive_beliefs(connection: Connection, matrix: Float, vector: Float, which: Iterable[int]) -> None:
    """Into these places."""
    for belief in which:
        receive_into(connection, matrix[belief])
        receive_into(connection, vector[belief])


def _receive_shard(connection: Connection, frequencies: Float, drift_ratio: Float, n_outputs: int) -> Shard:
    n_beliefs, n_features = len(drift_ratio), 2 * frequencies.shape[1]
    matrix, vector = np.empty((n_beliefs, n_features, n_features)), np.empty((n_beliefs, n_features, n_outputs))
    receive_beliefs(connection, matrix, vector, range(n_beliefs))
    return Shard(frequencies, drift_ratio, matrix, vector)


def _do(task: str, n: int, shard: Shard, connection: Connection) -> None:
    if task == GIVE_BELIEFS:
        connection.send("")
        send_beliefs(connection, shard.matrix, shard.vector, range(len(shard.matrix)))
        return
    active = receive_flags(connection, len(shard.drift_ratio))
    x = receive_floats(connection, n, shard.frequencies.shape[2])
    if task == LEARN:
        y = receive_floats(connection, n, shard.vector.shape[2])
        means, variances = shard.learn(x, y, active)
    else:
        means, variances = shard.predict(x, active)
    connection.send("")
    send_array(connection, means)
    send_array(connection, variances)
