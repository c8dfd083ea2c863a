"""Random-walk beliefs, many at once: covariance S and mean, as in ``core.expert.gaussian_block.drifting_block``."""

from __future__ import annotations

import torch
from torch import Tensor

from iegp.fleet.pytorch import fused
from iegp.fleet.pytorch.static import Ahead, factors, relearn_by_row


def predict(covariance: Tensor, mean: Tensor, phi: Tensor, drift: Tensor) -> Ahead:
    """Each row of ``phi`` (N, r, F) as if it came next, the next step of the walk included; ``drift`` is (N, F)."""
    latent = (torch.bmm(phi, covariance) * phi).sum(-1)
    return Ahead(torch.bmm(phi, mean), 1.0 + _walked(phi, drift) + latent.clamp_min(0.0))


def _walked(phi: Tensor, drift: Tensor) -> Tensor:
    """(N, r): variance that one step of the walk adds to a row's prediction."""
    return (phi.square() * drift[:, None]).sum(-1)


def learn_row(covariance: Tensor, mean: Tensor, phi: Tensor, y: Tensor, drift: Tensor) -> Ahead:
    """One step of the walk, predict, then learn one row per belief, in place.

    ``drift`` (N, F) is 0 where there is no row, only padding.
    """
    if fused.is_possible_for_beliefs(covariance):
        return Ahead(*fused.learn_row(covariance, mean, phi, y, drift))
    covariance.diagonal(dim1=-2, dim2=-1).add_(drift)
    gain = torch.bmm(covariance, phi.mT)
    variance = 1.0 + torch.maximum(torch.bmm(phi, gain), _walked(phi, drift)[..., None])
    means = torch.bmm(phi, mean)
    mean.add_(gain * ((y - means) / variance))
    # Scaled first, so that entries (i, j) and (j, i) are the same product and S stays symmetric to the bit.
    gain = gain / variance.sqrt()
    covariance.baddbmm_(gain, gain.mT, alpha=-1.0)
    return Ahead(means, variance[..., 0])


def learn_block(covariance: Tensor, mean: Tensor, phi: Tensor, y: Tensor, drift: Tensor, counts: Tensor | int) -> Ahead:
    """Predict then learn r rows per belief, of which the first ``counts`` (N,) are real, in place."""
    r = phi.shape[1]
    steps = torch.arange(1, r + 1, dtype=phi.dtype, device=phi.device)
    # Row s has walked s + 1 steps when it comes, and no more when a later row looks back at it: the lower triangle.
    cross = torch.bmm(phi, covariance) + steps[:, None] * drift[:, None] * phi
    latent = torch.bmm(phi, cross.mT)
    latent.diagonal(dim1=-2, dim2=-1).add_(1.0)
    lower, inverse, _, is_bad = factors(latent, with_plus=False)
    rest = torch.nonzero(is_bad)[:, 0]
    kept = (covariance[rest], mean[rest]) if len(rest) else None

    means = torch.bmm(phi, mean)
    cross, innovations = torch.bmm(inverse, cross), torch.bmm(inverse, y - means)
    means = torch.baddbmm(means, lower.tril(-1), innovations)
    mean.baddbmm_(cross.mT, innovations)
    covariance.baddbmm_(cross.mT, cross, alpha=-1.0)
    covariance.diagonal(dim1=-2, dim2=-1).add_(drift * (counts[:, None] if isinstance(counts, Tensor) else counts))
    ahead = Ahead(means, lower.diagonal(dim1=-2, dim2=-1).square())
    if kept is not None:
        real, step = counts[rest, None] if isinstance(counts, Tensor) else counts, drift[rest]
        relearn_by_row(
            lambda t, f, label: learn_row(*kept, f, label, step * (t < real)), phi[rest], y[rest], rest, ahead
        )
        covariance[rest], mean[rest] = kept
    return ahead
