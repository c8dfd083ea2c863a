"""The features of the rows of many keys, for every kernel at once."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class DeviceBasis(NamedTuple):
    """What makes the features: kernels with fewer are filled up with features that are always zero."""

    frequencies: Tensor
    """(n_kernels, n_waves, d)"""
    amplitudes: Tensor
    """(n_kernels, n_waves)"""
    columns: Tensor
    """(n_kernels, n_affine): column of an affine feature; d is a constant."""
    slopes: Tensor
    """(n_kernels, n_affine)"""
    curves: Tensor
    """(n_kernels, n_affine, 3), as in :class:`iegp.core.features.Basis`."""

    @property
    def n_features(self) -> int:
        return 2 * int(self.amplitudes.shape[1]) + int(self.slopes.shape[1])

    def part(self, first: int, last: int) -> DeviceBasis:
        """Some kernels."""
        return DeviceBasis(*(tensor[first:last] for tensor in self))


def features(x: Tensor, basis: DeviceBasis, valid: Tensor | None, dtype: torch.dtype) -> Tensor:
    """``phi`` of rows ``x`` (n, r, d): (n, n_kernels, r, F): all sines, all cosines, what is affine.

    Rows that only pad a key (``valid`` (n, r) is 0) get the zero vector: such a row changes no belief. Angles are
    float64 whatever ``dtype`` is, since large ones lose digits.
    """
    n, r, d = x.shape
    n_kernels, n_waves, _ = basis.frequencies.shape
    angles = (x.reshape(n * r, d) @ basis.frequencies.reshape(-1, d).mT).view(n, r, n_kernels, n_waves)
    angles = angles.permute(0, 2, 1, 3)
    phi = torch.empty((n, n_kernels, r, basis.n_features), dtype=torch.float64, device=x.device)
    torch.sin(angles, out=phi[..., :n_waves])
    torch.cos(angles, out=phi[..., n_waves : 2 * n_waves])
    phi[..., : 2 * n_waves] *= basis.amplitudes.repeat(1, 2)[:, None]
    if basis.slopes.shape[1]:
        known = torch.cat((x, x.new_ones((n, r, 1))), dim=-1)[..., basis.columns]
        bounds, turns, phases = basis.curves.unbind(-1)
        known = known.clamp(-bounds, bounds)
        known = torch.where(turns > 0.0, torch.sin(turns * known + phases), known)
        phi[..., 2 * n_waves :] = known.permute(0, 2, 1, 3) * basis.slopes[:, None]
    if valid is not None:
        phi.mul_(valid[:, None, :, None])
    return phi.to(dtype)
