"""Ensembles too large for one core: one stream, thousands of experts, divided among processes of this machine."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from types import FrameType, TracebackType
from typing import Any, Literal, NoReturn, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from iegp._docstrings import fill_docstrings
from iegp.core import ensemble as ens
from iegp.core.compute.threads import n_threads_from
from iegp.core.compute.tolerances import CHUNK_ROWS, PREDICT_ROWS
from iegp.core.expert.belief import Ahead
from iegp.core.expert.sweep import allocate_workspace
from iegp.core.model import to_user_mixture
from iegp.core.predictions import Predictions, allocate_predictions, in_user_units
from iegp.core.predictive.components import Components
from iegp.core.predictive.mixture import Mixture
from iegp.core.settings import check_whole
from iegp.core.state import State, active_experts
from iegp.errors import InputError
from iegp.fleet.checks import check_labels, check_level, check_rows
from iegp.fleet.run import FleetRun
from iegp.fleet.shared_docs import FLEET
from iegp.fleet.template import Template, UnfittedCopy, take
from iegp.parallel.worker_pool import WorkerPool
from iegp.typing import Float


@fill_docstrings(FLEET)
class ProcessEnsemble:
    """One model with its experts divided among worker processes: the methods of ``TorchEnsemble``, without a GPU.

    Every worker keeps the beliefs of some kernels and computes their predictions. Noise and weights, which depend on
    all experts, stay in this process. Weights and predictions are those of the template in one process, bit by bit on
    the same machine. Calls from several threads are executed one after the other. In a script, create it under ``if
    __name__ == "__main__":``, because workers import the script. ``docs/scale.md`` says when threads are enough.

    Parameters
    ----------
    template : IEGPRegressor
        A model past its warm-up, the state to start from. It is not changed, and not needed any more.
    n_workers : int or None, default=None
        Number of processes, at most that of kernels; ``None`` is one per core. Each has one BLAS thread.

    {example_of_template}
    >>> from iegp.parallel import ProcessEnsemble
    >>> with ProcessEnsemble(template, n_workers=1) as ensemble:
    ...     run = ensemble.learn(X, y)
    ...     model = ensemble.to_model()
    >>> run.mean.shape, model.n_samples_seen_
    ((200,), 400)
    """

    KEY = "stream"

    def __init__(self, template: Template, *, n_workers: int | None = None) -> None:
        taken = take(template, "an ensemble over processes", "spread it over threads with n_jobs instead")
        if taken.model.settings.robust:
            raise InputError(
                "robust=True is not available for an ensemble over processes, where a worker learns a row before the "
                "whole ensemble has judged it; use robust=False, or spread it over threads with n_jobs instead"
            )
        if taken.model.settings.spread:
            raise InputError(
                "spread=True is not available for an ensemble over processes; use spread=False, or spread it over "
                "threads with n_jobs instead"
            )
        self._single_output, self._feature_names = taken.single_output, taken.feature_names
        self._unfitted = UnfittedCopy(template)
        # Concurrent calls would receive each other's predictions.
        self._one_at_a_time = Lock()
        state = taken.model.state
        self._pool = WorkerPool(taken.model.experts.ensemble, state, _n_workers(n_workers))
        # The workers have the beliefs.
        mine = State(state.matrix[:0].copy(), state.vector[:0].copy(), *(array.copy() for array in state[2:]))
        self._model = replace(taken.model, state=mine)

    # -- attributes ------------------------------------------------------------------------------------------------

    @property
    def n_workers(self) -> int:
        """Number of running processes; 0 after :meth:`close`."""
        return len(self._pool)

    @property
    def expert_weights_(self) -> Float:
        """(n_experts,): current weights of the experts."""
        return np.asarray(np.exp(self._model.state.log_weights))

    @property
    def n_samples_seen_(self) -> int:
        """Rows learned, those of the template included."""
        return self._model.n_seen

    def __repr__(self) -> str:
        ensemble = self._model.experts.ensemble
        features = ensemble.layout.feature_counts()
        return f"ProcessEnsemble({ensemble.n_experts} experts of {features} features, {self.n_workers} workers)"

    # -- learning --------------------------------------------------------------------------------------------------

    def learn(self, X: ArrayLike, y: ArrayLike, level: float | None = None) -> FleetRun:
        """Predict each row, then learn it, in order.

        Input is checked before anything is learned. The result holds the weights of every row, 8 bytes per row and
        expert: pass a long stream in pieces. Ctrl-C takes effect between chunks of 2,048 rows; ``n_samples_seen_`` is
        the number of rows learned. A second Ctrl-C stops at once, and the ensemble is lost.

        {parameters}

        {returns_run}
        """
        check_level(level)
        rows = check_rows(X, self._model.n_columns, self._feature_names)
        labels = check_labels(y, len(rows), self._model.n_outputs, self._single_output)
        self._pool.check_open()
        predictions = Predictions.concatenate(list(self._predictions(rows, labels, level)))
        keys = np.full(len(rows), self.KEY, dtype=object)
        return FleetRun.of_predictions(predictions, labels, self._single_output, level=level, keys=keys)

    def _predictions(self, rows: Float, labels: Float, level: float | None) -> Iterator[Predictions]:
        """In the same chunks as in one process, so that experts are shut down at the same rows."""
        scaling = self._model.scaling
        x, y = scaling.standardise_x(rows), scaling.standardise_y(labels)
        for i in range(0, max(len(x), 1), CHUNK_ROWS):
            chunk = self._learn_chunk(x[i : i + CHUNK_ROWS], y[i : i + CHUNK_ROWS], level)
            yield in_user_units(chunk, self._model.experts.ensemble, scaling)

    def _learn_chunk(self, x: Float, y: Float, level: float | None) -> Predictions:
        ensemble, state = self._model.experts.ensemble, self._model.state
        predictions = allocate_predictions(ensemble, len(x))
        # Beliefs of the workers and weights of this process must have learned the same rows.
        with self._one_at_a_time, delayed_interrupts(), self._pool.closed_on_error():
            work = allocate_workspace(ensemble, active_experts(ensemble, state), x, y, 0)
            self._pool.learn(x, y, work.active.beliefs, Ahead(work.means, work.variances))
            ens.weigh(ensemble, state, None, work, predictions)
        return ens.completed(ensemble, predictions, ens.expert_predictions(work), y, ens.PassOptions(level=level))

    # -- predicting ------------------------------------------------------------------------------------------------

    @overload
    def predict(self, X: ArrayLike, return_std: Literal[False] = ...) -> Float: ...
    @overload
    def predict(self, X: ArrayLike, return_std: Literal[True]) -> tuple[Float, Float]: ...
    def predict(self, X: ArrayLike, return_std: bool = False) -> Float | tuple[Float, Float]:
        """Predict the targets, each row as if it came next. Changes nothing.

        {parameters}

        {returns_means}
        """
        dist = self.predict_dist(X)
        return (dist.mean, dist.std) if return_std else dist.mean

    def predict_dist(self, X: ArrayLike) -> Mixture:
        """Predict the whole distribution of each row's target. Changes nothing.

        {parameters}

        {returns_mixture}
        """
        rows = check_rows(X, self._model.n_columns, self._feature_names)
        self._pool.check_open()
        x = self._model.scaling.standardise_x(rows)
        parts = [self._predict(x[i : i + PREDICT_ROWS]) for i in range(0, max(len(x), 1), PREDICT_ROWS)]
        dist = to_user_mixture(self._model.scaling, Mixture.concatenate(parts))
        return Mixture.unchecked(dist.weights, dist.loc, dist.scale, dist.dof, self._single_output)

    def _predict(self, x: Float) -> Mixture:
        ensemble, state = self._model.experts.ensemble, self._model.state
        n, n_beliefs, n_outputs = len(x), ensemble.n_beliefs, self._model.n_outputs
        ahead = Ahead(np.zeros((n_beliefs, n, n_outputs)), np.ones((n_beliefs, n)))
        shape = n, ensemble.n_experts, n_outputs
        components = Components(np.empty(shape[:2]), np.empty(shape), np.empty(shape), np.empty(shape))
        with self._one_at_a_time, delayed_interrupts():
            self._pool.predict(x, active_experts(ensemble, state).beliefs, ahead)
            ens.mix_into(ensemble, state, ahead, components, ens.rows_ahead(len(x), 1))
        return Mixture.unchecked(*components, single_output=False)

    # -- ending ----------------------------------------------------------------------------------------------------

    def to_model(self) -> Any:
        """Make an estimator with the current state, to be saved or used in one process.

        Returns
        -------
        IEGPRegressor
            Fitted model, with the parameters of the template.
        """
        self._pool.check_open()
        ensemble, mine = self._model.experts.ensemble, self._model.state
        layout = ensemble.layout
        beliefs = np.empty(layout.matrix[-1]), np.empty((layout.features[-1], self._model.n_outputs))
        with self._one_at_a_time, delayed_interrupts():
            state = State(*beliefs, *(array.copy() for array in mine[2:]))
            self._pool.gather(layout, state)
        return self._unfitted.with_state(self._model, state)

    def close(self) -> None:
        """Stop the workers. Their state is lost: call :meth:`to_model` first to keep it."""
        with self._one_at_a_time:
            self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise InputError("an ensemble over processes can be neither copied nor pickled; use to_model() instead")


def _n_workers(n_workers: int | None) -> int:
    if n_workers is None:
        return n_threads_from(-1)
    check_whole("n_workers", n_workers, 1)
    return int(n_workers)


@contextmanager
def delayed_interrupts() -> Iterator[None]:
    """Let Ctrl-C take effect when the block is over; a second one at once.

    Only the main thread is ever interrupted, and only it may say what a signal does; elsewhere nothing is changed.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def remember(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))
        if len(came) > 1:
            before(number, frame)

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        before(*came[0])
