"""The variational bound of streaming sparse GPs, for Gaussian labels (collapsed) and for classes (quadrature).

Bui, Nguyen, Turner (2017), "Streaming sparse Gaussian process approximations". After a batch, all that is kept of it
is ``q(a) / p(a)``, how the posterior of the old inducing variables differs from their prior: the Gaussian factor
``exp(-a'Pa/2 + h'a)`` up to a constant. The paper writes it through ``D_a = inv(inv(S_a) - inv(K_aa))``, which need not
exist; its precision ``P = inv(D_a)`` always does. New inducing variables are whitened, ``b = L u`` with ``LL' = K_bb``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch

N_NODES = 20


class Hyper(NamedTuple):
    """Logs of ARD length scales (d,), signal variance and (regression only) noise variance."""

    log_scales: Any
    log_signal: Any
    log_noise: Any


class Memory(NamedTuple):
    """Summary of the batches before: the factor ``exp(-a'Pa/2 + h'a)`` at inducing inputs a."""

    points: Any
    precision: Any
    """P (M, M)."""
    shift: Any
    """h (M,)."""


class Whitened(NamedTuple):
    """A posterior of whitened inducing variables: u ~ N(mean, inverse of factor factor')."""

    points: Any
    lower: Any
    mean: Any
    factor: Any


def gram(x: Any, x2: Any, hyper: Hyper) -> Any:
    """RBF covariance with ARD length scales."""
    scale = torch.exp(hyper.log_scales)
    z, z2 = x / scale, x2 / scale
    square = (z**2).sum(1)[:, None] + (z2**2).sum(1)[None, :] - 2.0 * z @ z2.T
    return torch.exp(hyper.log_signal - 0.5 * torch.clamp(square, min=0.0))


def factor_of(points: Any, hyper: Hyper, jitter: float) -> Any:
    """Cholesky factor of the covariance of inducing variables; ``jitter`` is relative to the signal."""
    diagonal = jitter * torch.exp(hyper.log_signal) * torch.eye(len(points), dtype=points.dtype)
    return torch.linalg.cholesky(gram(points, points, hyper) + diagonal)


def project(lower: Any, points: Any, x: Any, hyper: Hyper) -> Any:
    """``inv(L) K_bx``, (M, n)."""
    return torch.linalg.solve_triangular(lower, gram(points, x, hyper), upper=False)


def collapsed(
    points: Any, hyper: Hyper, x: Any, y: Any, memory: Memory | None, jitter: float
) -> tuple[Any, Whitened, Any]:
    """The bound for Gaussian labels, the best posterior, and the shift ``c`` it was found from.

    Without memory it is the bound of Titsias (2009). Constants that depend on the memory alone are left out.
    """
    noise = torch.exp(hyper.log_noise)
    lower = factor_of(points, hyper, jitter)
    seen = project(lower, points, x, hyper)
    precision = torch.eye(len(points), dtype=points.dtype) + seen @ seen.T / noise
    shift = seen @ y / noise
    lost = (len(x) * torch.exp(hyper.log_signal) - (seen**2).sum()) / noise
    if memory is not None:
        old = project(lower, points, memory.points, hyper)
        precision = precision + old @ memory.precision @ old.T
        shift = shift + old @ memory.shift
        lost = lost + _lost_of(memory, old, hyper)
    factor = torch.linalg.cholesky(precision)
    white = torch.linalg.solve_triangular(factor, shift[:, None], upper=False)[:, 0]
    fit = -0.5 * (len(y) * torch.log(2.0 * math.pi * noise) + (y @ y) / noise)
    bound = fit - torch.log(torch.diagonal(factor)).sum() + 0.5 * white @ white - 0.5 * lost
    mean = torch.linalg.solve_triangular(factor.T, white[:, None], upper=True)[:, 0]
    return bound, Whitened(points, lower, mean, factor), shift


def _lost_of(memory: Memory, old: Any, hyper: Hyper) -> Any:
    """Compute ``tr P (K_aa - K_ab inv(K_bb) K_ba)``: the part of the old variables that new ones do not determine."""
    left = gram(memory.points, memory.points, hyper) - old.T @ old
    return (memory.precision * left).sum()


def remembered(posterior: Whitened, shift: Any) -> Memory:
    """The memory after a batch: ``P = inv(L)' (precision - I) inv(L)`` and ``h = inv(L)' shift``."""
    excess = posterior.factor @ posterior.factor.T - torch.eye(len(posterior.mean), dtype=posterior.mean.dtype)
    half = torch.linalg.solve_triangular(posterior.lower.T, excess, upper=True)
    precision = torch.linalg.solve_triangular(posterior.lower.T, half.T, upper=True)
    h = torch.linalg.solve_triangular(posterior.lower.T, shift[:, None], upper=True)[:, 0]
    return Memory(posterior.points, 0.5 * (precision + precision.T), h)


def latent(posterior: Whitened, hyper: Hyper, x: Any) -> tuple[Any, Any]:
    """Mean and variance of the function at rows ``x``."""
    seen = project(posterior.lower, posterior.points, x, hyper)
    spread = torch.linalg.solve_triangular(posterior.factor, seen, upper=False)
    variance = torch.exp(hyper.log_signal) - (seen**2).sum(0) + (spread**2).sum(0)
    return seen.T @ posterior.mean, torch.clamp(variance, min=1e-12)


def uncollapsed(
    points: Any, hyper: Hyper, mean: Any, factor: Any, x: Any, y: Any, memory: Memory | None, jitter: float
) -> Any:
    """The bound for labels -1 and +1 under a probit likelihood, at the posterior ``u ~ N(mean, inv(factor factor'))``.

    The expected log likelihood of a row is a Gauss-Hermite sum.
    """
    posterior = Whitened(points, factor_of(points, hyper, jitter), mean, factor)
    expected = _probit_expectation(*latent(posterior, hyper, x), y)
    identity = torch.eye(len(mean), dtype=mean.dtype)
    inverse = torch.linalg.solve_triangular(factor, identity, upper=False)
    log_det = torch.log(torch.diagonal(factor).abs()).sum()
    divergence = 0.5 * ((inverse**2).sum() + mean @ mean - len(mean)) + log_det
    bound = expected - divergence
    if memory is not None:
        old = project(posterior.lower, points, memory.points, hyper)
        spread = inverse @ old
        a = old.T @ mean
        about = (memory.precision * (spread.T @ spread)).sum() + a @ memory.precision @ a
        bound = bound - 0.5 * (_lost_of(memory, old, hyper) + about) + memory.shift @ a
    return bound


def _probit_expectation(mean: Any, variance: Any, y: Any) -> Any:
    nodes, weights = np.polynomial.hermite.hermgauss(N_NODES)
    f = mean[:, None] + torch.sqrt(2.0 * variance)[:, None] * torch.tensor(nodes)
    return (torch.special.log_ndtr(y[:, None] * f) @ torch.tensor(weights)).sum() / math.sqrt(math.pi)
