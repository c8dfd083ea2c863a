"""Experts as tensors on a device, and the states of the keys of a fleet."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from iegp.core.state import Ensemble, State
from iegp.core.weights import BAYES, RULES, STACKING, SWITCHING
from iegp.errors import InputError
from iegp.fleet.pytorch.features import DeviceBasis
from iegp.fleet.pytorch.noise import NoiseModel
from iegp.fleet.pytorch.weights import Rule
from iegp.typing import Int


class DeviceExperts(NamedTuple):
    """An :class:`Ensemble` with Gaussian labels, on a device."""

    basis: DeviceBasis
    drift: Tensor
    """(n_drifting, F): drifts of the drifting beliefs, per feature."""
    places: Tensor
    """(n_beliefs, F): where each feature lies among those of all beliefs on the CPU, which has none of zeros; -1."""
    is_static: tuple[bool, ...]
    """For each drift of a kernel."""
    static_beliefs: Tensor
    """(n_static,): their numbers among the beliefs; likewise ``drifting_beliefs``."""
    drifting_beliefs: Tensor
    noise_models: tuple[NoiseModel, ...]
    rule: Rule
    dtype: torch.dtype

    @property
    def n_kernels(self) -> int:
        return len(self.basis.frequencies)

    @property
    def n_beliefs(self) -> int:
        return len(self.is_static) * self.n_kernels

    @property
    def n_experts(self) -> int:
        return self.n_beliefs * len(self.noise_models)

    @property
    def n_features(self) -> int:
        return self.basis.n_features

    def part(self, state: DeviceState, first: int, last: int) -> tuple[DeviceExperts, DeviceState]:
        """Beliefs of some kernels, numbered anew; their states are those of ``state`` itself, no copies."""
        n_static = sum(self.is_static)
        n_drifting = len(self.is_static) - n_static
        still, moving = slice(first * n_static, last * n_static), slice(first * n_drifting, last * n_drifting)
        skipped = first * len(self.is_static)
        experts = self._replace(
            basis=self.basis.part(first, last),
            places=self.places[skipped : last * len(self.is_static)],
            drift=self.drift[moving],
            static_beliefs=self.static_beliefs[still] - skipped,
            drifting_beliefs=self.drifting_beliefs[moving] - skipped,
        )
        return experts, state._replace(
            static_root=state.static_root[:, still],
            static_mean=state.static_mean[:, still],
            drifting_covariance=state.drifting_covariance[:, moving],
            drifting_mean=state.drifting_mean[:, moving],
        )


class DeviceState(NamedTuple):
    """States of n keys, one entry of the first axis each. Beliefs have the fleet's dtype, the rest is float64."""

    static_root: Tensor
    """(n, n_static, F, F): P with ``P P'`` the covariance in units of the noise."""
    static_mean: Tensor
    """(n, n_static, F, D)"""
    drifting_covariance: Tensor
    drifting_mean: Tensor
    noise_shape: Tensor
    noise_scale: Tensor
    """(n, n_experts, D)"""
    log_weights: Tensor
    rows: Tensor
    """(n, 2)"""
    recent: Tensor
    """(n, 0, 0): there are no lags."""
    far: Tensor
    """(n, 1 + D): zeros, because labels far out are learned."""
    spread: Tensor
    """(n, D): ones, because it is not learned."""


def experts_on(ensemble: Ensemble, device: torch.device, dtype: torch.dtype) -> DeviceExperts:
    def tensor(array: np.ndarray) -> Tensor:
        return torch.tensor(array, dtype=torch.float64, device=device)

    if not math.isinf(ensemble.glitch):
        raise InputError(
            "robust=True is not available on PyTorch, where many rows are learned at once and a glitch would be among "
            "them; use robust=False, or iegp.Fleet"
        )
    if ensemble.learns_spread:
        raise InputError("spread=True is not available on PyTorch; use spread=False, or iegp.Fleet")
    if ensemble.rule not in (BAYES, SWITCHING, STACKING):
        raise InputError(
            f"weights={RULES[ensemble.rule]!r} is not available on PyTorch; use 'bayes', 'switching' or 'stacking', or "
            "iegp.Fleet"
        )
    if len(ensemble.lags.offsets):
        raise InputError("lags are not available on PyTorch; use lags=0, or iegp.Fleet")
    is_static = ~ensemble.drifts
    if np.any(is_static.reshape(ensemble.n_kernels, -1) != is_static[: ensemble.n_drifts]):
        raise InputError(
            "a term has a drift_var of its own, so that some kernels drift where others are static; PyTorch needs "
            "the same in all of them. Give every kernel such a term, or use iegp.Fleet instead"
        )
    numbers, places = np.arange(len(is_static)), _places(ensemble)
    drift = np.where(places < 0, 0.0, ensemble.drift[places])
    return DeviceExperts(
        basis=_basis(ensemble, device),
        drift=tensor(drift[~is_static]).to(dtype),
        places=torch.tensor(places, device=device),
        is_static=tuple(map(bool, is_static[: ensemble.n_drifts])),
        static_beliefs=torch.tensor(numbers[is_static], device=device),
        drifting_beliefs=torch.tensor(numbers[~is_static], device=device),
        noise_models=tuple(
            NoiseModel(float(f), float(t)) for f, t in zip(ensemble.forgetting, ensemble.tails, strict=True)
        ),
        rule=Rule(ensemble.rule, tensor(ensemble.transitions).log(), float(ensemble.rate), float(ensemble.shutdown)),
        dtype=dtype,
    )


def _basis(ensemble: Ensemble, device: torch.device) -> DeviceBasis:
    """The bases of all kernels, filled up to the same size."""
    own, n_columns = [ensemble.kernel_basis(k) for k in range(ensemble.n_kernels)], ensemble.basis.frequencies.shape[1]
    n_waves, n_affine = max(len(b.amplitudes) for b in own), max(len(b.slopes) for b in own)
    basis = DeviceBasis(
        torch.zeros((len(own), n_waves, n_columns), dtype=torch.float64),
        torch.zeros((len(own), n_waves), dtype=torch.float64),
        torch.full((len(own), n_affine), n_columns),
        torch.zeros((len(own), n_affine), dtype=torch.float64),
        torch.zeros((len(own), n_affine, 3), dtype=torch.float64),
    )
    for k, one in enumerate(own):
        columns = np.where(one.columns < 0, n_columns, one.columns)
        for tensor, array in zip(basis, one._replace(columns=columns), strict=True):
            tensor[k, : len(array)] = torch.tensor(array)
    return DeviceBasis(*(tensor.to(device) for tensor in basis))


def _places(ensemble: Ensemble) -> Int:
    """(n_beliefs, F): place of each feature in the flat arrays of the CPU; -1 for those that are always zero."""
    layout = ensemble.layout
    waves, affine = np.diff(layout.waves)[layout.kernel_of], np.diff(layout.affine)[layout.kernel_of]
    most = int(waves.max(initial=0))
    places = np.full((ensemble.n_beliefs, 2 * most + int(affine.max(initial=0))), -1)
    for b, (w, a) in enumerate(zip(waves, affine, strict=True)):
        own = np.concatenate([np.arange(w), most + np.arange(w), 2 * most + np.arange(a)])
        places[b, own] = np.arange(layout.features[b], layout.features[b + 1])
    return places


def to_device(experts: DeviceExperts, states: State) -> DeviceState:
    """States of n keys as the CPU keeps them, each array with one more axis in front."""
    device, dtype = experts.places.device, experts.dtype
    flat, flat_vector, *rest = (torch.tensor(np.asarray(a), dtype=torch.float64, device=device) for a in states)
    n, n_beliefs, n_features = len(flat), experts.n_beliefs, experts.n_features
    # Features that are always zero have the identity: nothing is ever learned about them.
    matrix = torch.eye(n_features, dtype=torch.float64, device=device).repeat(n, n_beliefs, 1, 1)
    vector = torch.zeros((n, n_beliefs, n_features, flat_vector.shape[-1]), dtype=torch.float64, device=device)
    for b, own, entries, rows in _beliefs(experts):
        matrix[:, b, own[:, None], own] = flat[:, entries].view(n, len(own), len(own))
        vector[:, b, own] = flat_vector[:, rows]
    factor, z = matrix[:, experts.static_beliefs], vector[:, experts.static_beliefs]
    eye = torch.eye(matrix.shape[-1], dtype=torch.float64, device=device)
    root = torch.linalg.solve_triangular(factor, eye, upper=True)
    drifting = experts.drifting_beliefs
    return DeviceState(
        root.to(dtype), (root @ z).to(dtype), matrix[:, drifting].to(dtype), vector[:, drifting].to(dtype), *rest
    )


def to_host(experts: DeviceExperts, states: DeviceState) -> State:
    """The inverse of :func:`to_device`, in float64; static factors have positive diagonals, as on the CPU."""
    root, mean, covariance, drifting_mean = (tensor.double() for tensor in states[:4])
    n, _, n_features, n_outputs = mean.shape
    matrix = mean.new_empty((n, experts.n_beliefs, n_features, n_features))
    vector = mean.new_empty((n, experts.n_beliefs, n_features, n_outputs))
    # P = T Q with T upper triangular (a QR of the mirror image), so that S = T T' and R = inv(T).
    triangle = torch.linalg.qr(root.flip(-2).mT, mode="r").R.mT.flip(-2, -1)
    triangle = triangle * torch.where(triangle.diagonal(dim1=-2, dim2=-1) < 0.0, -1.0, 1.0)[..., None, :]
    eye = torch.eye(n_features, dtype=torch.float64, device=root.device)
    factor = torch.linalg.solve_triangular(triangle, eye, upper=True)
    matrix[:, experts.static_beliefs], vector[:, experts.static_beliefs] = factor, factor @ mean
    matrix[:, experts.drifting_beliefs], vector[:, experts.drifting_beliefs] = covariance, drifting_mean
    parts = [(matrix[:, b, own[:, None], own].reshape(n, -1), vector[:, b, own]) for b, own, _, _ in _beliefs(experts)]
    flat = (torch.cat(tables, dim=1) for tables in zip(*parts, strict=True))
    return State(*(tensor.cpu().numpy() for tensor in (*flat, *states[4:])))


def _beliefs(experts: DeviceExperts) -> Iterator[tuple[int, Tensor, slice, slice]]:
    """Number, features that are not zero, and where matrix and vector lie in the flat arrays of the CPU."""
    entry = row = 0
    for b in range(experts.n_beliefs):
        own = torch.nonzero(experts.places[b] >= 0)[:, 0]
        n = len(own)
        yield b, own, slice(entry, entry + n * n), slice(row, row + n)
        entry, row = entry + n * n, row + n
