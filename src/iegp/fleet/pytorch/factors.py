"""Cholesky factors of the covariances of many blocks, with the inverses that learning multiplies by."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from iegp.fleet.pytorch import fused


class Factors(NamedTuple):
    """Of N matrices (r, r). Blocks have at most 64 rows and pivots of at least one, so that inverses are harmless."""

    lower: Tensor
    """L, with L L' the matrix."""
    inverse: Tensor
    """inv(L)"""
    inverse_plus: Tensor | None
    """inv(L + I), if asked for."""
    is_bad: Tensor
    """(N,): the matrix was not positive definite; its factors are of no use."""


def factors(matrices: Tensor, with_plus: bool) -> Factors:
    """Factor ``matrices`` (N, r, r), of which the lower triangles count."""
    # In float64 the library is quicker (fleets on an H200: 6.5e6 against 4.8e6 rows/s), in float32 the kernel.
    if matrices.dtype == torch.float32 and fused.is_possible_for_blocks(matrices):
        return Factors(*fused.factors(matrices, with_plus))
    eye = torch.eye(matrices.shape[-1], dtype=matrices.dtype, device=matrices.device)
    lower, info = torch.linalg.cholesky_ex(matrices)
    if not with_plus:
        return Factors(lower, torch.linalg.solve_triangular(lower, eye, upper=False), None, info != 0)
    inverses = torch.linalg.solve_triangular(torch.stack((lower, lower + eye)), eye, upper=False)
    return Factors(lower, inverses[0], inverses[1], info != 0)
