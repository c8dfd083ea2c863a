"""Static beliefs, many at once: a square root P of the covariance (``P P' = S``, in units of the noise) and the mean.

The CPU keeps the inverse of this root, ``R``, and solves with it. On a GPU products are far quicker than solves, so P
itself is carried, and a block of rows changes it by a product too (Andrews' form). With ``U = Phi P`` and the Cholesky
factor ``L L' = I + U U'`` of the block,

    P_new = P - (P U') L'^-1 (L + I)^-1 U,        P_new P_new' = S - S Phi' (I + Phi S Phi')^-1 Phi S  exactly.

Only matrices of the size of the block are solved with. Nothing squares a condition number as long as no row of the
block is very surprising; blocks with such a row are learned row by row (Potter's form), as on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from iegp.core.compute.tolerances import MAX_BLOCK_LEVERAGE, MAX_BLOCK_LEVERAGE_FLOAT32
from iegp.fleet.pytorch import fused


class Ahead(NamedTuple):
    """One-step-ahead predictions of the rows of a block by N beliefs."""

    means: Tensor
    """(N, r, D)"""
    variances: Tensor
    """(N, r), in units of the noise."""


class Factors(NamedTuple):
    """Cholesky factors of N matrices (r, r).

    Blocks have at most 64 rows and pivots of at least one, so that inverses are accurate.
    """

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


def predict(root: Tensor, mean: Tensor, phi: Tensor) -> Ahead:
    """Each row of ``phi`` (N, r, F) as if it came next; ``root`` is (N, F, F), ``mean`` (N, F, D)."""
    return Ahead(torch.bmm(phi, mean), 1.0 + torch.bmm(phi, root).square().sum(-1))


def learn_row(root: Tensor, mean: Tensor, phi: Tensor, y: Tensor) -> Ahead:
    """Predict then learn one row per belief, ``phi`` (N, 1, F) and ``y`` (N, 1, D), in place."""
    if fused.is_possible_for_beliefs(root):
        return Ahead(*fused.learn_row(root, mean, phi, y, None))
    whitened = torch.bmm(phi, root)
    variance = 1.0 + whitened.square().sum(-1, keepdim=True)
    means = torch.bmm(phi, mean)
    gain = torch.bmm(root, whitened.mT)
    mean.add_(gain * ((y - means) / variance))
    pivot = variance.sqrt()
    root.baddbmm_(gain, whitened / (pivot * (pivot + 1.0)), alpha=-1.0)
    return Ahead(means, variance[..., 0])


def learn_block(root: Tensor, mean: Tensor, phi: Tensor, y: Tensor) -> Ahead:
    """Predict then learn r rows per belief, in place; the predictions are those of the row-by-row recursion."""
    eye = torch.eye(phi.shape[1], dtype=phi.dtype, device=phi.device)
    whitened = torch.bmm(phi, root)
    covariance = torch.baddbmm(eye, whitened, whitened.mT)
    limit = MAX_BLOCK_LEVERAGE if phi.dtype == torch.float64 else MAX_BLOCK_LEVERAGE_FLOAT32
    lower, inverse, inverse_plus, is_bad = factors(covariance, with_plus=True)
    assert inverse_plus is not None
    # Written so that a NaN counts as surprising.
    surprising = ~(covariance.diagonal(dim1=-2, dim2=-1).amax(-1) <= 1.0 + limit) | is_bad
    rest = torch.nonzero(surprising)[:, 0]
    kept = (root[rest], mean[rest]) if len(rest) else None

    means = torch.bmm(phi, mean)
    innovations = torch.bmm(inverse, y - means)
    # Row t regresses on the innovations of the rows before it: no look ahead.
    means = torch.baddbmm(means, lower.tril(-1), innovations)
    gain = torch.bmm(root, whitened.mT)
    mean.baddbmm_(gain, torch.bmm(inverse.mT, innovations))
    root.baddbmm_(gain, torch.bmm(torch.bmm(inverse.mT, inverse_plus), whitened), alpha=-1.0)
    ahead = Ahead(means, lower.diagonal(dim1=-2, dim2=-1).square())
    if kept is not None:
        relearn_by_row(lambda _, f, label: learn_row(*kept, f, label), phi[rest], y[rest], rest, ahead)
        root[rest], mean[rest] = kept
    return ahead


def relearn_by_row(
    learn: Callable[[int, Tensor, Tensor], Ahead], phi: Tensor, y: Tensor, rest: Tensor, ahead: Ahead
) -> None:
    """Overwrite the predictions of beliefs numbered ``rest``: ``learn`` learns row t of them, from before the block."""
    for t in range(phi.shape[1]):
        row = learn(t, phi[:, t : t + 1], y[:, t : t + 1])
        ahead.means[rest, t] = row.means[:, 0]
        ahead.variances[rest, t] = row.variances[:, 0]
