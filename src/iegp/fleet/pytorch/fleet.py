"""Fleets with states on a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import pairwise
from typing import Any, Literal, Self, overload

import numpy as np
import torch
from torch import Tensor

from iegp._docstrings import fill_docstrings
from iegp._writers import one_writer
from iegp.core.compute.tolerances import BLOCKS_PER_SYMMETRISING, FARTHEST_INPUT, FARTHEST_VALUE, PREDICT_ROWS
from iegp.core.predictive.mixture import Mixture
from iegp.core.predictive.quantiles import quantiles
from iegp.core.state import State
from iegp.errors import InputError
from iegp.fleet import files as fleet_file
from iegp.fleet.base import DTYPES, LocalFleet, Moments
from iegp.fleet.checks import Key, check_level, check_rows
from iegp.fleet.pages import BELIEFS
from iegp.fleet.pytorch import plan as planning
from iegp.fleet.pytorch import rows as keyed_rows
from iegp.fleet.pytorch.experts import experts_on
from iegp.fleet.pytorch.features import DeviceBasis
from iegp.fleet.pytorch.pages import DevicePages
from iegp.fleet.pytorch.plan import CALLS_BEFORE, Plan, Recording, Step
from iegp.fleet.pytorch.rows import DevicePredictions
from iegp.fleet.run import FleetRun
from iegp.fleet.shared_docs import TORCH
from iegp.fleet.template import Template
from iegp.typing import Float, Int

# Size of the states that are converted to those of the CPU, or back, at once.
CONVERT_BYTES = 256 * 2**20


@fill_docstrings(TORCH)
class TorchFleet(LocalFleet):
    """A :class:`iegp.Fleet` on a GPU (or on the CPU, with PyTorch): same methods, same files, same results.

    In float64 results equal those of ``Fleet`` to 1e-8; float32 halves the memory and here also computes the beliefs in
    float32 (``docs/gpu.md`` has the loss of accuracy). Needs PyTorch: ``pip install torch``.

    Parameters
    ----------
    template : IEGPRegressor
        A model past its warm-up; see :class:`iegp.Fleet`.
    {keys_to_start_with}
    {dtype}
    {device}

    {example_of_template}
    >>> from iegp.fleet import TorchFleet
    >>> fleet = TorchFleet(template, device="cpu")
    >>> fleet.learn(["fan", "pump"], X[:2], y[:2]).mean.shape
    (2,)
    >>> fleet.keys
    ['fan', 'pump']
    """

    def __init__(
        self, template: Template, keys: Iterable[Key] = (), *, dtype: str = "float64", device: str = "cuda"
    ) -> None:
        self.device = _device(device)
        self._begin_from(template, keys, dtype)

    # -- states ----------------------------------------------------------------------------------------------------

    def _allocate(self) -> None:
        model = self._model
        self._experts = experts_on(model.experts.ensemble, self.device, getattr(torch, self.dtype))
        self._pages = DevicePages(self._experts, model.state)
        self._blocks: Int = np.zeros(0, dtype=np.int64)
        self._scaling = [torch.tensor(array, dtype=torch.float64, device=self.device) for array in model.scaling]
        self._last_call: tuple[Any, Plan] | None = None
        self._last_slots: tuple[Int, int, Plan] | None = None
        self._rows_at_once = max(1, keyed_rows.WORK_BYTES // keyed_rows.bytes_per_row(self._experts))

    def _grow(self, n_more: int) -> None:
        self._pages.grow(n_more)
        self._blocks = np.append(self._blocks, np.zeros(n_more, dtype=np.int64))

    def _state(self, slot: int) -> State:
        return State(*(array[0] for array in self._pages.host(slot, slot + 1)))

    def _field(self, name: str) -> Float:
        values: Float = _numpy(self._pages.field(name))
        return values

    def _pieces(self) -> list[State]:
        pieces = []
        for first, last in self._pages.pieces(self._convert_keys):
            states = self._pages.host(first, last)._asdict()
            pieces.append(State(**{k: v.astype(self.dtype) if k in BELIEFS else v for k, v in states.items()}))
        return pieces

    def _fill(self, first: int, states: State) -> None:
        end = first + len(states.rows)
        cuts = {a for a, _ in self._pages.pieces(self._convert_keys) if first < a < end}
        for a, b in pairwise(sorted({first, end, *cuts})):
            self._pages.fill(a, State(*(part[a - first : b - first] for part in states)))

    @property
    def bytes_per_key(self) -> int:
        """Size of one key's state."""
        return int(self._pages.bytes_per_key)

    def _storage(self) -> str:
        return f"{self.dtype} on {self.device}"

    @property
    def basis(self) -> DeviceBasis:
        """What makes the features of all kernels, in standardised inputs."""
        return self._experts.basis

    def standardised(self, X: Any, y: Any) -> tuple[Tensor, Tensor]:
        """Move rows and labels to the device, in standardised units.

        {parameters}

        Returns
        -------
        rows : Tensor (n, d)
            Standardised rows, float64.
        labels : Tensor (n, D)
            Standardised labels, float64.
        """
        rows = self._rows(X)
        return self._standardised(rows, self._labels(y, len(rows)))

    # -- learning --------------------------------------------------------------------------------------------------

    @overload
    def learn(
        self, keys: Any, X: Any, y: Any, level: float | None = ..., *, as_tensors: Literal[False] = ...
    ) -> FleetRun: ...
    @overload
    def learn(
        self, keys: Any, X: Any, y: Any, level: float | None = ..., *, as_tensors: Literal[True]
    ) -> DevicePredictions: ...
    @one_writer
    def learn(
        self, keys: Any, X: Any, y: Any, level: float | None = None, *, as_tensors: bool = False
    ) -> FleetRun | DevicePredictions:
        """Predict each row with the model of its key, then learn it, the rows of a key in their order.

        Input is checked before any key learns. After an interrupt (Ctrl-C), or if the device runs out of memory, some
        keys may have learned and others not: continue from the last file.

        Parameters
        ----------
        keys : str, int or sequence of them (n,)
            One per row, or one for all. New keys start from the template. A NumPy array is fastest, and the same array
            as in the last call costs nothing.
        {X}
        {y}
        {level}
        as_tensors : bool, default=False
            Leave the predictions on the device, without waiting for them.

        Returns
        -------
        FleetRun, or DevicePredictions if ``as_tensors``
            One prediction per row, in the order of the rows.
        """
        check_level(level)
        if level is not None and as_tensors:
            raise InputError(
                f"level={level!r} with as_tensors=True: intervals are computed on the CPU, ask for one of them"
            )
        rows = self._rows(X)
        named = None if self._is_last(keys, len(rows)) else planning.distinct(keys, len(rows))
        labels = self._labels(y, len(rows))
        x, targets = self._standardised(rows, labels)
        if named is not None:
            slots = self._add(named.names)[named.which]
            kept = keys.copy() if isinstance(keys, np.ndarray) else None
            self._last_call = kept, self._plan(slots)
        assert self._last_call is not None
        run, intervals = self._learn(self._last_call[1], x, targets, level)
        if as_tensors:
            return run
        return self._answer(planning.as_objects(keys, len(rows)), run, intervals, labels, level)

    @one_writer
    def learn_slots(self, slots: Int | None, X: Tensor, y: Tensor) -> DevicePredictions:
        """Learn r rows of each of k keys that are on the device already, without checking their values.

        Parameters
        ----------
        slots : ndarray of int (k,) or None
            Indices of the keys in :attr:`keys`; ``None`` for all of them.
        X : Tensor (k, r, d)
            Rows: finite, float64, on the device of the fleet.
        y : Tensor (k, r) or (k, r, D)
            Targets, likewise.

        Returns
        -------
        DevicePredictions
            Tensors with one entry per row, (k * r, ...), key by key.
        """
        chosen = np.arange(len(self)) if slots is None else np.asarray(slots)
        k, r, d = X.shape
        if chosen.shape != (k,) or not ((chosen >= 0) & (chosen < len(self))).all():
            raise InputError(
                f"slots has shape {chosen.shape}; give {k} numbers from 0 to {len(self) - 1}, one per key of X"
            )
        last = self._last_slots
        if last is None or last[1] != r or not np.array_equal(last[0], chosen):
            self._last_slots = last = chosen.copy(), r, self._plan(np.repeat(chosen, r))
        x_mean, x_scale, y_mean, y_scale = self._scaling
        x, targets = (X.reshape(k * r, d) - x_mean) / x_scale, (y.reshape(k * r, -1) - y_mean) / y_scale
        return self._learn(last[2], x, targets, None)[0]

    def _learn(
        self, plan: Plan, x: Tensor, y: Tensor, level: float | None
    ) -> tuple[DevicePredictions, tuple[Float, Float] | None]:
        """Rows in standardised units, in their order; predictions in the user's units."""
        if level is not None or not plan.has_single_rows or self.device.type != "cuda":
            return self._learn_now(plan.steps, x, y, level)
        if plan.n_calls == CALLS_BEFORE:
            # Without memory for it the rows are learned without a recording; it is not tried again.
            with suppress(torch.OutOfMemoryError), self._as_current():
                plan.recording = Recording(lambda x, y: self._learn_now(plan.steps, x, y, None)[0], x, y)
        plan.n_calls += 1
        return (self._learn_now(plan.steps, x, y, None)[0] if plan.recording is None else plan.recording(x, y)), None

    def _learn_now(
        self, steps: list[Step], x: Tensor, y: Tensor, level: float | None
    ) -> tuple[DevicePredictions, tuple[Float, Float] | None]:
        (n, n_outputs), n_experts = y.shape, self._experts.n_experts
        mean, std, log_score = torch.empty_like(y), torch.empty_like(y), y.new_empty(n)
        used = y.new_empty((n, n_experts))
        kept = [y.new_empty((n, n_experts, n_outputs)) for _ in range(3)] if level is not None else []
        for step in steps:
            state = step.states(self._pages.pages)
            with self._as_current():
                shown, parts = keyed_rows.learn(self._experts, state, step.take(x), step.take(y), step.counts)
            self._symmetrise(step, state.drifting_covariance)
            step.store(self._pages.pages, state)
            for whole, part in zip((mean, std, log_score, used), shown, strict=True):
                step.put(whole, part)
            for whole, part in zip(kept, _mixture(parts) if kept else [], strict=True):
                step.put(whole, part)
        intervals = None
        if level is not None:
            tails = np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level])
            loc, scales, dof = map(_numpy, kept)
            lower, upper = quantiles(_numpy(used), loc, scales, dof, tails)
            intervals = lower, upper
        *_, y_mean, y_scale = self._scaling
        run = DevicePredictions(y_mean + y_scale * mean, y_scale * std, log_score - y_scale.log().sum(), used)
        return run, intervals

    def _symmetrise(self, step: Step, covariance: Tensor) -> None:
        """Remove the rounding that accumulates in the antisymmetric part, which rows do not reduce."""
        if not len(self._experts.drifting_beliefs) or step.shape[1] == 1:
            return
        self._blocks[step.slots] += 1
        if self._blocks[step.slots].max() >= BLOCKS_PER_SYMMETRISING:
            covariance.copy_(0.5 * (covariance + covariance.mT))
            self._blocks[step.slots] = 0

    def _answer(
        self,
        names: Any,
        run: DevicePredictions,
        intervals: tuple[Float, Float] | None,
        labels: Any,
        level: float | None,
    ) -> FleetRun:
        scaling = self._model.scaling
        mean, std, log_score, weights = map(_numpy, run)
        lower = upper = None
        if intervals is not None:
            lower, upper = (scaling.y_mean + scaling.y_scale * part for part in intervals)
        y = _numpy(labels) if isinstance(labels, Tensor) else labels.copy()
        parts = mean, std, lower, upper, y
        if self.single_output:
            mean, std, lower, upper, y = (None if part is None else part[:, 0] for part in parts)
        return FleetRun(names, mean, std, lower, upper, log_score, weights, y, level)

    # -- predicting ------------------------------------------------------------------------------------------------

    def _moments(self, keys: Any, X: Any) -> Moments:
        mean, std, *_ = self._predict(keys, X, keeps_mixture=False)
        return Moments(mean[:, 0], std[:, 0]) if self.single_output else Moments(mean, std)

    def predict_dist(self, keys: Any, X: Any) -> Mixture:
        _, _, used, loc, scales, dof = self._predict(keys, X, keeps_mixture=True)
        return Mixture.unchecked(used, loc, scales, dof, self.single_output)

    def _predict(self, keys: Any, X: Any, keeps_mixture: bool) -> list[Float]:
        rows = self._rows(X)
        named = planning.distinct(keys, len(rows))
        x = self._standardised(rows, None)[0]
        slots = self._slots(named.names)[named.which]
        n, n_experts, n_outputs = len(rows), self._experts.n_experts, self._model.n_outputs
        wholes = [x.new_empty((n, *shape)) for shape in ((n_outputs,), (n_outputs,), (n_experts,))]
        wholes += [x.new_empty((n, n_experts, n_outputs)) for _ in range(3 if keeps_mixture else 0)]
        known, unknown = np.flatnonzero(slots >= 0), np.flatnonzero(slots < 0)
        if len(known):
            here = torch.tensor(known, device=self.device)
            parts = [whole[: len(known)] for whole in map(torch.empty_like, wholes)]
            own = x.index_select(0, here)
            for step in self._plan(slots[known]).steps:
                with self._as_current():
                    predicted = keyed_rows.predict(self._experts, step.states(self._pages.pages), step.take(own))
                for part, values in zip(parts, _predicted(*predicted, keeps_mixture), strict=True):
                    step.put(part, values)
            for whole, part in zip(wholes, parts, strict=True):
                whole.index_copy_(0, here, part)
        for i in range(0, len(unknown), PREDICT_ROWS):
            here = torch.tensor(unknown[i : i + PREDICT_ROWS], device=self.device)
            with self._as_current():
                predicted = keyed_rows.predict(self._experts, self._pages.start, x.index_select(0, here)[None])
            for whole, values in zip(wholes, _predicted(*predicted, keeps_mixture), strict=True):
                whole.index_copy_(0, here, values[0])
        scaling = self._model.scaling
        mean, std, used, *mixture = map(_numpy, wholes)
        answer = [scaling.y_mean + scaling.y_scale * mean, scaling.y_scale * std, used]
        if mixture:
            answer += [scaling.y_mean + scaling.y_scale * mixture[0], scaling.y_scale * mixture[1], mixture[2]]
        return answer

    # -- files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all keys to one safetensors file, atomically: the same file that :class:`iegp.Fleet` writes and reads.

        Static beliefs are turned into the factors that the CPU keeps, which costs rounding: a fleet that is loaded
        again continues equal to 1e-8 (float64), not to the bit.

        {parameters}
        """
        super().save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "cuda") -> Self:
        """Load a fleet saved by any kind of fleet, with the dtype it has there. Nothing in the file is executed.

        Parameters
        ----------
        path : str or path
            The file.
        device : str, default="cuda"
            Device of the states, in PyTorch's notation.

        Returns
        -------
        TorchFleet
            With all keys of the file.
        """
        stored = fleet_file.read(path, DTYPES)
        fleet = cls.__new__(cls)
        fleet.device = _device(device)
        return fleet._restore(stored)

    # -- private ---------------------------------------------------------------------------------------------------

    @property
    def _convert_keys(self) -> int:
        return int(max(1, CONVERT_BYTES // self.bytes_per_key))

    def _as_current(self) -> AbstractContextManager[Any]:
        """Recordings, and kernels that are not PyTorch's own, go to the current device, wherever tensors lie."""
        return torch.cuda.device(self.device) if self.device.type == "cuda" else nullcontext()

    def _plan(self, slots: Int) -> Plan:
        return planning.plan(slots, self._pages.starts, self._rows_at_once, self.device)

    def _is_last(self, keys: Any, n_rows: int) -> bool:
        return self._last_call is not None and planning.are_same(keys, self._last_call[0]) and len(keys) == n_rows

    def _rows(self, X: Any) -> Float | Tensor:
        if isinstance(X, Tensor):
            if X.ndim != 2 or X.shape[1] != self._model.n_columns:
                return self._check_rows(np.empty(X.shape))
            return X.to(self.device, torch.float64)
        return self._check_rows(X)

    def _labels(self, y: Any, n_rows: int) -> Float | Tensor:
        n_outputs = self._model.n_outputs
        if isinstance(y, Tensor):
            wanted = (n_rows,) if self.single_output else (n_rows, n_outputs)
            if tuple(y.shape) != wanted:
                return self._check_labels(np.empty(y.shape), n_rows)
            return y.to(self.device, torch.float64).reshape(n_rows, n_outputs)
        return self._check_labels(y, n_rows)

    def _standardised(self, rows: Float | Tensor, labels: Float | Tensor | None) -> tuple[Tensor, Tensor]:
        """Rows and labels on the device, in standardised units, all of them usable."""
        x_mean, x_scale, y_mean, y_scale = self._scaling
        x = (self._moved(rows) - x_mean) / x_scale
        y = y_mean[None] if labels is None else (self._moved(labels) - y_mean) / y_scale
        # Written so that a NaN fails.
        if not bool((x.abs() <= FARTHEST_INPUT).all() & (y.abs() <= FARTHEST_VALUE).all()):
            self._raise_input_error(rows, labels)
        return x, y

    def _raise_input_error(self, rows: Float | Tensor, labels: Float | Tensor | None) -> None:
        """Repeat the checks on the CPU, where messages contain the row and the column."""
        model = self._model
        model.scaling.standardise_x(check_rows(_numpy(rows), model.n_columns, None))
        if labels is not None:
            values = _numpy(labels)
            shaped = values[:, 0] if self.single_output else values
            model.scaling.standardise_y(self._check_labels(shaped, len(values)))

    def _moved(self, values: Float | Tensor) -> Tensor:
        if isinstance(values, Tensor):
            return values
        tensor = torch.from_numpy(values)
        if self.device.type != "cuda":
            return tensor.to(self.device)
        # Only pinned memory is copied without the CPU's help.
        return tensor.pin_memory().to(self.device, non_blocking=True)


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.zeros(1, dtype=torch.float64, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise InputError(
            f"device={name!r} cannot be used ({str(error).splitlines()[0]}); use 'cuda' where PyTorch finds a GPU, "
            "or 'cpu'"
        ) from error
    return device


def _numpy(values: Any) -> Any:
    return values.cpu().numpy() if isinstance(values, Tensor) else values


def _predicted(shown: DevicePredictions, parts: keyed_rows.Components, keeps_mixture: bool) -> list[Tensor]:
    return [shown.mean, shown.std, shown.weights, *(_mixture(parts) if keeps_mixture else [])]


def _mixture(parts: keyed_rows.Components) -> list[Tensor]:
    """Centres, scales and degrees of freedom, each (n, r, n_experts, D)."""
    n, r, n_beliefs, n_noise_models, n_outputs = parts.scales.shape
    dof = parts.dof[:, :, None, :, None]
    return [
        part.expand(parts.scales.shape).reshape(n, r, n_beliefs * n_noise_models, n_outputs)
        for part in (parts.loc, parts.scales, dof)
    ]
