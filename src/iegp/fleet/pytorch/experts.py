"""Experts as tensors on a device, and the states of the keys of a fleet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from iegp.core.state import Ensemble, State
from iegp.errors import InputError
from iegp.fleet.pytorch.noise import NoiseModel
from iegp.fleet.pytorch.weights import Rule


class DeviceExperts(NamedTuple):
    """An :class:`Ensemble` with Gaussian labels, on a device."""

    frequencies: Tensor
    """(n_kernels, n_frequencies, d)"""
    drift: Tensor
    """(n_drifting,): drift ratios of the drifting beliefs."""
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
        return len(self.frequencies)

    @property
    def n_beliefs(self) -> int:
        return len(self.is_static) * self.n_kernels

    @property
    def n_experts(self) -> int:
        return self.n_beliefs * len(self.noise_models)

    @property
    def n_features(self) -> int:
        return 2 * int(self.frequencies.shape[1])

    def part(self, state: DeviceState, first: int, last: int) -> tuple[DeviceExperts, DeviceState]:
        """Beliefs of some kernels, numbered anew; their states are those of ``state`` itself, no copies."""
        n_static = sum(self.is_static)
        n_drifting = len(self.is_static) - n_static
        still, moving = slice(first * n_static, last * n_static), slice(first * n_drifting, last * n_drifting)
        skipped = first * len(self.is_static)
        experts = self._replace(
            frequencies=self.frequencies[first:last],
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
    """(n, 1)"""


def experts_on(ensemble: Ensemble, device: torch.device, dtype: torch.dtype) -> DeviceExperts:
    def tensor(array: np.ndarray) -> Tensor:
        return torch.tensor(array, dtype=torch.float64, device=device)

    layout = ensemble.layout
    if len(set(layout.n_features.tolist())) > 1:
        raise InputError(
            f"the kernels have {layout.feature_counts()} features; PyTorch needs the same number in each, "
            "use iegp.Fleet instead"
        )
    # A drift of zero is zero for every kernel.
    is_static = ensemble.drift_ratio == 0.0
    numbers = np.arange(len(is_static))
    return DeviceExperts(
        frequencies=tensor(ensemble.frequencies.reshape(layout.n_kernels, -1, ensemble.frequencies.shape[1])),
        drift=tensor(ensemble.drift_ratio[~is_static]).to(dtype),
        is_static=tuple(map(bool, is_static[: ensemble.n_drifts])),
        static_beliefs=torch.tensor(numbers[is_static], device=device),
        drifting_beliefs=torch.tensor(numbers[~is_static], device=device),
        noise_models=tuple(
            NoiseModel(float(f), float(t)) for f, t in zip(ensemble.forgetting, ensemble.tails, strict=True)
        ),
        rule=Rule(ensemble.rule, tensor(ensemble.transitions).log(), float(ensemble.rate), float(ensemble.shutdown)),
        dtype=dtype,
    )


def to_device(experts: DeviceExperts, states: State) -> DeviceState:
    """States of n keys as the CPU keeps them, each array with one more axis in front."""
    device, dtype = experts.frequencies.device, experts.dtype
    matrix, vector, *rest = (torch.tensor(np.asarray(a), dtype=torch.float64, device=device) for a in states)
    n, n_beliefs, n_features = len(matrix), experts.n_beliefs, experts.n_features
    matrix, vector = matrix.view(n, n_beliefs, n_features, n_features), vector.view(n, n_beliefs, n_features, -1)
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
    flat = matrix.view(n, -1), vector.view(n, -1, n_outputs)
    return State(*(tensor.cpu().numpy() for tensor in (*flat, *states[4:])))
