"""Random Fourier features of the rows of many keys, for every kernel at once."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def features(x: Tensor, frequencies: Tensor, valid: Tensor | None, dtype: torch.dtype) -> Tensor:
    """``phi`` of rows ``x`` (n, r, d): (n, n_kernels, r, F), all sines, then all cosines.

    ``frequencies`` is (n_kernels, n_frequencies, d). Rows that only pad a key (``valid`` (n, r) is 0) get the zero
    vector: such a row changes no belief. Angles are float64 whatever ``dtype`` is, since large ones lose digits.
    """
    n, r, d = x.shape
    n_kernels, n_frequencies, _ = frequencies.shape
    angles = (x.reshape(n * r, d) @ frequencies.reshape(-1, d).mT).view(n, r, n_kernels, n_frequencies)
    angles = angles.permute(0, 2, 1, 3)
    phi = torch.empty((n, n_kernels, r, 2 * n_frequencies), dtype=torch.float64, device=x.device)
    torch.sin(angles, out=phi[..., :n_frequencies])
    torch.cos(angles, out=phi[..., n_frequencies:])
    scale = 1.0 / math.sqrt(n_frequencies)
    phi.mul_(scale if valid is None else scale * valid[:, None, :, None])
    return phi.to(dtype)
