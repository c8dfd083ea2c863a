"""Noise models (``iegp.core.expert.noise``) over the rows of many keys at once.

Every function takes the noise scale before the rows, (n, B, D) for n keys and B beliefs, and the normalised squared
innovations ``squares`` (n, r, B, D), and gives the scale after each row, (n, r, B, D). Rows that only pad a key come
last, so that what a key keeps is the entry of its last real row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from iegp.core.compute.tolerances import (
    GAUSSIAN_DOF,
    LARGE_ARGUMENT,
    LARGEST_ROOT,
    LEAST_CLOSED_FORGETTING,
    MANY_DOF,
    NOISE_FLOOR,
)
from iegp.core.predictive.student import HALF_LOG_2PI, HALF_LOG_PI, student_log_normaliser
from iegp.fleet.pytorch import fused


class NoiseModel(NamedTuple):
    """One way of learning the noise; NaN as ``forgetting`` keeps it fixed, NaN as ``tail`` means no heavy tails."""

    forgetting: float
    tail: float

    @property
    def is_conjugate(self) -> bool:
        return not math.isnan(self.forgetting) and math.isnan(self.tail)

    @property
    def is_heavy_tailed(self) -> bool:
        return not math.isnan(self.tail)


def shapes_before(shape: Tensor, forgetting: float, r: int) -> Tensor:
    """Inverse-gamma shape (n, r) with which each row is predicted, from ``shape`` (n,) before the first one."""
    t = torch.arange(r, dtype=shape.dtype, device=shape.device)
    if forgetting == 1.0:
        return shape[:, None] + 0.5 * t
    powers = forgetting**t
    return forgetting * (powers * shape[:, None] + 0.5 * (1.0 - powers) / (1.0 - forgetting))


def scales_after(noise_model: NoiseModel, scale: Tensor, squares: Tensor, shapes: Tensor | None) -> Tensor:
    """Noise scale after each row, where it is learned; ``shapes`` (n, r) as of :func:`shapes_before` if conjugate."""
    if noise_model.is_conjugate:
        assert shapes is not None
        floors = NOISE_FLOOR * (shapes + 0.5)[..., None, None]
        if squares.shape[1] > 1 and noise_model.forgetting >= LEAST_CLOSED_FORGETTING:
            return _conjugate_at_once(scale, squares, floors, noise_model.forgetting)
        return _conjugate_row_by_row(scale, squares, floors, noise_model.forgetting)
    return _heavy_tailed(scale, squares, noise_model)


def _conjugate_row_by_row(scale: Tensor, squares: Tensor, floors: Tensor, forgetting: float) -> Tensor:
    after = torch.empty_like(squares)
    for t in range(squares.shape[1]):
        scale = torch.maximum(forgetting * scale + 0.5 * squares[:, t], floors[:, t])
        after[:, t] = scale
    return after


def _conjugate_at_once(scale: Tensor, squares: Tensor, floors: Tensor, forgetting: float) -> Tensor:
    """The recursion ``s_t = max(f s_{t-1} + b_t, c_t)`` for all rows at once.

    Without floors it is ``f^{t+1} s + T_t`` with ``T_t = sum f^{t-u} b_u``. A floor met at row u replaces what came
    before it, so that the answer is ``T_t + f^t max(f s, max over u <= t of (c_u - T_u) / f^u)``.
    """
    t = torch.arange(squares.shape[1], dtype=squares.dtype, device=squares.device)
    decay = torch.where(t[:, None] >= t, forgetting ** (t[:, None] - t).clamp_min(0.0), 0.0)
    gathered = (decay @ (0.5 * squares).flatten(2)).view(squares.shape)
    powers = (forgetting**t)[:, None, None]
    raised = torch.cummax((floors - gathered) / powers, dim=1).values
    return gathered + powers * torch.maximum(forgetting * scale[:, None], raised)


def _heavy_tailed(scale: Tensor, squares: Tensor, noise_model: NoiseModel) -> Tensor:
    """A step of expectation-maximisation per row, which no closed form runs ahead of."""
    if fused.is_possible(squares):
        return fused.heavy_tailed(scale, squares, noise_model.forgetting, noise_model.tail)
    after = torch.empty_like(squares)
    pulls = (1.0 - noise_model.forgetting) * (noise_model.tail + 1.0) * squares
    for t in range(squares.shape[1]):
        pull = pulls[:, t] / (noise_model.tail + squares[:, t] / scale)
        scale = (noise_model.forgetting * scale + pull).clamp_min(NOISE_FLOOR)
        after[:, t] = scale
    return after


def log_density(residuals: Tensor, scales: Tensor, dof: Tensor | float) -> Tensor:
    """Student-t log density; ``dof`` is a number, infinite for a Gaussian, or (n, r, 1, 1)."""
    r = residuals.abs() / scales
    if not isinstance(dof, Tensor):
        if dof > GAUSSIAN_DOF:
            return torch.where(r < LARGEST_ROOT, -0.5 * r.square(), -math.inf) - scales.log() - HALF_LOG_2PI
        return student_log_normaliser(dof) - 0.5 * (dof + 1.0) * _log1p_square(r / math.sqrt(dof)) - scales.log()
    return _log_normaliser(dof) - 0.5 * (dof + 1.0) * _log1p_square(r / dof.sqrt()) - scales.log()


def _log1p_square(t: Tensor) -> Tensor:
    """``log(1 + t²)`` without overflow of the square."""
    return torch.where(t > LARGE_ARGUMENT, 2.0 * t.log(), torch.log1p(t.square()))


def _log_normaliser(dof: Tensor) -> Tensor:
    """As ``core.predictive.student.student_log_normaliser``: Stirling's series from 30 degrees of freedom on."""
    few = torch.lgamma(0.5 * (dof + 1.0)) - torch.lgamma(0.5 * dof) - 0.5 * dof.log() - HALF_LOG_PI
    v = 2.0 / dof
    v2 = v * v
    series = -1.0 / 8 + v2 * (1.0 / 192 + v2 * (-1.0 / 640 + v2 * (17.0 / 14336 - v2 * (31.0 / 18432))))
    return torch.where(dof < MANY_DOF, few, v * series - HALF_LOG_2PI)
